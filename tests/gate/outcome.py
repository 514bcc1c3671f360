"""Says what came of one case: of GoogleTest, of pytest, or a program that is a test as a whole."""

from dataclasses import dataclass, field

PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"


@dataclass
class Outcome:
    """`test` is CTest's name of the program that ran the case; `case` is FILE::NAME, or None."""

    test: str
    case: str | None
    state: str
    seconds: float
    text: str = ""  # a failure's output, a skip's reason
    labels: frozenset = field(default_factory=frozenset)
    user: str = ""  # whose run it was

    @property
    def name(self):
        """As quarantine.txt names it, whoever ran it."""
        return self.case or self.test

    @property
    def title(self):
        return f"{self.name} ({self.user})" if self.user else self.name
