"""An interrupt that the runner sees only when the next run is there: the box says whose it was."""

import os
import signal

import pytest

pytestmark = pytest.mark.plain_start  # the process itself is what is looked at

ENDLESS = {"python": "while True: pass", "javascript": "while (true) {}",
           "sql": "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"}
SHORT = {"python": "sum(range(200000))", "javascript": "1 + 1", "sql": "SELECT 1"}


@pytest.fixture(params=sorted(SHORT))
def runner(start, request):
    return start(request.param)


def asleep(runner):
    """Stops the runner between two runs, so that what follows reaches it all at once."""
    runner.run(SHORT[runner.language])
    runner.wait_until_idle()
    os.kill(runner.process.pid, signal.SIGSTOP)


def wake(runner):
    os.kill(runner.process.pid, signal.SIGCONT)


def test_it_is_dropped_when_it_was_for_the_run_before(runner):
    for _ in range(20):
        asleep(runner)
        runner.interrupt()
        runner.start(SHORT[runner.language], after_interrupt=True)
        wake(runner)
        ending = runner.finish()
        assert ending.ok, ending


def test_it_ends_the_run_when_it_came_for_that_one(runner):
    for _ in range(20):
        asleep(runner)
        runner.start(ENDLESS[runner.language])
        runner.interrupt()
        wake(runner)
        assert runner.finish().done["interrupted"]
