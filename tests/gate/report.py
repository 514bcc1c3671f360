"""The end of a test run: what a reader of many pages looks for first stands last, and is short."""

import collections

from outcome import FAILED, PASSED, SKIPPED

CHARACTERS_MAX = 11_800
FAILURE_LINES, FLAKY_LINES = 40, 12
SHOWN_MAX, TITLES_MAX = 12, 40  # failures with their output, and those after them by name alone


class Verdict:
    """All outcomes, told apart. `tried` has for each case all its outcomes, in order."""

    def __init__(self, tried, quarantine, wrong):
        self.flaky, self.failed, self.quarantined, self.skipped, self.passed = [], [], [], [], []
        self.wrong = wrong  # with the quarantine itself
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
        return not self.failed and not self.wrong and bool(self.passed)

    def counts(self):
        failed = len(self.failed) + len(self.wrong)
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
    lines = [f"  FAILED tests/quarantine.txt: {what}" for what in verdict.wrong]
    if not verdict.passed:
        lines.append("  FAILED: no test passed")
    shown, rest = verdict.failed[:SHOWN_MAX], verdict.failed[SHOWN_MAX:]
    named = [f"  FAILED {outcome.title}"[:160] for outcome in rest[:TITLES_MAX]]
    named += [f"  and {len(rest) - TITLES_MAX} more"] if len(rest) > TITLES_MAX else []
    room = CHARACTERS_MAX - sum(len(line) + 1 for line in lines + named)
    for number, outcome in enumerate(shown):
        title = f"  FAILED {outcome.title}"[:300]
        part = max(0, room // (len(shown) - number) - len(title) - 2)
        output = tail(outcome.text, FAILURE_LINES)
        lines.append(title + "\n" + (output[-part:] if part else ""))
        room -= len(lines[-1]) + 1
    lines += named
    return "\n".join(["== What failed", *lines])
