"""JavaScript that is stopped by force: wherever such a stop arrives, each run ends, and the next one runs.

The runner looks so soon here, whether the code still goes on, that stops arrive all through a run's
end as well: in its last instruction, in what leads to the answer, and after it.
"""

import os
import subprocess
import sys
import time

import pytest

pytestmark = pytest.mark.plain_start  # the process itself is what is looked at

ROUNDS = 20
START = "console.log('started');"
BUSY = "for (const until = Date.now() + {}; Date.now() < until;);"


@pytest.fixture
def hasty(start_altered, burners):
    # Doubled from there as ever: with stops at every millisecond nothing could come to its end.
    return start_altered("channel_worker.mjs", "DEAF_AFTER_MS", 1)


@pytest.fixture
def burners():
    """The machine is busy, so that the runner's two threads do not keep step; what else is tested beside this comes first."""
    burning = [subprocess.Popen([sys.executable, "-c", "import os; os.nice(5)\nwhile True: pass"]) for _ in range(os.cpu_count())]
    yield
    for one in burning:
        one.kill()
        one.wait()


@pytest.mark.parametrize("code", [
    "while (true) {}",
    "while (true) await null",
    "require('child_process').execSync('sleep 0.03'); while (true) {}",
    "setTimeout(() => { console.log('started'); while (true) {} }, 2); await new Promise(() => {})",
    "setTimeout(() => { console.log('started'); while (true) {} }, 2);",
    pytest.param("require('zlib').gzip('x', () => { console.log('started'); while (true) {} });", marks=pytest.mark.slow),
    "require('zlib').gzip('x', () => { console.log('started'); " + BUSY.format(4) + " });",
    "try { process.exit(3) } catch {} while (true) {}",
    "await new Promise((r) => setTimeout(r, 3)); " + BUSY.format(3),
    BUSY.format(4),
])
def test_each_run_ends(hasty, code):
    hasty.run("var kept = 0")
    for number in range(1, ROUNDS + 1):
        hasty.start(f"kept++; {'' if 'started' in code else START}\n{code}")
        hasty.wait_for_stdout("started")
        hasty.interrupt()
        ending = hasty.finish()
        assert ending.done["interrupted"] or "true" not in code or ending.done["exit_code"] == 3
        assert hasty.run("kept").text == str(number)


def test_what_is_stopped_in_the_midst_of_writing_can_write_again(javascript):
    javascript.start("const stuck = Buffer.from('stuck'); stuck.subarray = () => { while (true) {} };"
                     "process.stdout.write(stuck)")
    javascript.wait_for_stdout("stuck")
    javascript.interrupt()
    assert javascript.finish().done["interrupted"]
    assert javascript.run("console.log('later')").stdout == "later\n"


def test_code_left_behind_by_an_earlier_run_can_be_stopped(javascript):
    javascript.run("setInterval(() => { if (!require('fs').existsSync('go')) return;"
                   " console.log('left behind'); while (true) {} }, 5); var kept = 1")
    (javascript.cwd / "go").touch()  # only now: what it says sooner would be the run's own output
    javascript.wait_for_stdout("left behind")
    javascript.start("kept")
    javascript.interrupt()
    javascript.finish()  # interrupted, or as it is when the loop was ended first
    assert javascript.run("kept").text == "1"


def test_the_time_to_come_to_an_end_begins_when_a_stop_has_arrived(javascript):
    """Node's own code runs then, and a stop that hits it breaks the timers. Both are due before the first
    runs: after a stop node goes on with those only."""
    # The child says it: the main thread is then where no stop can arrive.
    javascript.start("setTimeout(() => { require('child_process').execSync("
                     "'echo started; until test -e go; do sleep 0.02; done', { stdio: 'inherit' }); while (true) {} }, 1);"
                     f"setTimeout(() => {{ {BUSY.format(300)} console.log('whole') }}, 1);"
                     f"{BUSY.format(20)} await new Promise(() => {{}})")
    javascript.wait_for_stdout("started")
    javascript.interrupt()
    time.sleep(2.4)  # the stop by force is on its way, and cannot arrive
    (javascript.cwd / "go").touch()
    ending = javascript.finish()
    assert ending.done["interrupted"] and "whole" in ending.stdout, ending


@pytest.mark.parametrize("code", [
    "throw { [Symbol.for('nodejs.util.inspect.custom')]() { console.log('started'); while (true) {} } }",
    "console.log('started'); ({ [Symbol.for('nodejs.util.inspect.custom')]() { while (true) {} } })",
])
def test_what_takes_for_ever_to_show(javascript, code):
    javascript.start(code)
    javascript.wait_for_stdout("started")
    javascript.interrupt()
    assert javascript.finish().done["interrupted"]
    assert javascript.run("'alive'").text == "'alive'"


@pytest.mark.parametrize("code", [
    "process.env = Object.freeze({ ...process.env })", "process.env = null", "delete Map.prototype[Symbol.iterator]",
    "Promise.prototype.then = () => { throw 1 }", "Array.prototype.filter = null",
    "Set.prototype.has = () => { throw 1 }", "process.getActiveResourcesInfo = null; setTimeout = null",
])
def test_code_that_breaks_what_the_runner_needs_is_answered(javascript, code):
    javascript.run(code, env={"BEFORE": "1"})
    javascript.run("1", env={"BEFORE": "2"})


@pytest.mark.parametrize("code", ["await new Promise(() => {})", "while (true) await null",
                                  "setTimeout(() => process.exit(1), 1); await new Promise(() => {})"])
def test_a_promise_that_is_never_kept_outlives_garbage_collections(javascript, code):
    javascript.run("require('v8').setFlagsFromString('--expose-gc'); var collect = require('vm').runInNewContext('gc')")
    javascript.start("console.log('started');\n" + code)
    javascript.wait_for_stdout("started")
    javascript.interrupt()
    javascript.finish()
    assert javascript.run("collect(); collect(); 'alive'").text == "'alive'"
