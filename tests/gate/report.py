"""The end of a test run: what a reader of many pages looks for first stands last, and is short."""

import collections

from outcome import FAILED, PASSED, SKIPPED

CHARACTERS_MAX = 12_000
FAILURE_LINES, FLAKY_LINES = 40, 12
TITLES_MAX = 60  # of failures that no room is left for: by name alone


class Verdict:
    """All outcomes, told apart. `tried` has for each case all its outcomes, in order."""

    def __init__(self, tried, quarantine, unknown):
        self.flaky, self.failed, self.quarantined, self.skipped, self.passed = [], [], [], [], []
        self.unknown = unknown  # entries of the quarantine that name no test
        for outcomes in tried:
            last = outcomes[-1]
            if last.name in quarantine:
                self.quarantined.append((last, quarantine[last.name]))
            elif last.state == FAILED:
                self.failed.append(last)
            elif last.state == SKIPPED:
                self.skipped.append(last)
            else:
                self.passed.append(last)
                if len(outcomes) > 1:
                    self.flaky.append(outcomes[0])

    @property
    def ok(self):
        return not self.failed and not self.unknown and bool(self.passed)

    def counts(self):
        failed = len(self.failed) + len(self.unknown)
        return f"{len(self.passed)} passed, {failed} failed, {len(self.skipped)} skipped"


def text(verdict):
    parts = [_slowest(verdict), _skips(verdict), _quarantined(verdict), _flaky(verdict), _failed(verdict)]
    return "\n".join([part for part in parts if part] + [verdict.counts()])


def tail(output, lines):
    kept = [line.rstrip()[:400] for line in output.splitlines() if line.strip()][-lines:]
    return "\n".join("    " + line for line in kept)


def _slowest(verdict):
    by_test = collections.Counter()
    for outcome in verdict.passed + verdict.failed:
        by_test[(outcome.test, outcome.user)] += outcome.seconds
    lines = [f"  {seconds:6.1f} s  {test}{f' ({user})' if user else ''}"
             for (test, user), seconds in by_test.most_common(8)]
    return "\n".join(["== Longest", *lines])


def _skips(verdict):
    by_reason = collections.Counter(outcome.text.strip() for outcome in verdict.skipped)
    return "\n".join(["== Skipped", *(f"  {count:4d}  {reason[:300]}" for reason, count in by_reason.most_common())]
                     if by_reason else [])


def _quarantined(verdict):
    lines = [f"  QUARANTINED {outcome.title}: {'passes' if outcome.state == PASSED else outcome.state}; "
             f"{what}; {why}; since {since}" for outcome, (what, why, since) in verdict.quarantined]
    return "\n".join(["== Quarantine", *lines] if lines else [])


def _flaky(verdict):
    lines = [f"  FLAKY {outcome.title}: failed first, then passed alone\n{tail(outcome.text, FLAKY_LINES)}"
             for outcome in verdict.flaky[:10]]
    lines += [f"  FLAKY {outcome.title}" for outcome in verdict.flaky[10:]]
    return "\n".join(["== The next defects to mend", *lines] if lines else [])


def _failed(verdict):
    if verdict.ok:
        return ""
    lines = [f"  FAILED tests/quarantine.txt: {name} names no test" for name in verdict.unknown]
    if not verdict.passed:
        lines.append("  FAILED: no test passed")
    room = CHARACTERS_MAX - sum(map(len, lines))
    for number, outcome in enumerate(verdict.failed):
        block = f"  FAILED {outcome.title}\n{tail(outcome.text, FAILURE_LINES)}"
        if len(block) > room:
            rest = verdict.failed[number:]
            lines += [f"  FAILED {one.title}"[:160] for one in rest[:TITLES_MAX]]
            lines += [f"  and {len(rest) - TITLES_MAX} more"] if len(rest) > TITLES_MAX else []
            break
        room -= len(block)
        lines.append(block)
    return "\n".join(["== What failed", *lines])
