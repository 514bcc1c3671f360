"""The power goes before any write of a box that stores what its session knows, wakes it, or makes way for another build.

As in test_power_cut.py: strace ends the box with SIGKILL before the Nth call that changes something on the disk, for N from 1
until it comes through. Each time the session has the state from before or the one from after.
"""

import contextlib
import shutil
import signal
import subprocess

import pytest

import other_build
from boxes import boxes_of, everything_left, until
from conftest import needs
from database import check_database
from hutch_client import Client, ToolError, hutch_binary
from numbered_state import NumberedState
from trial import Trial

# The packets of a snapshot come in through a pipe, and each makes a write to its file.
CALLS = ("write", "fsync", "renameat", "unlinkat", "openat")
# When it wakes, a box makes room for what comes and says how often it was tried to read what there is.
WAKING_CALLS = ("unlinkat", "openat", "fchmodat", "renameat")
PAYLOAD_BYTES = 2_000_000  # a large value, which lies in a file of its own
ROUNDS_MAX = 120


@pytest.fixture(autouse=True)
def has_strace():
    needs(shutil.which("strace"), "strace")


@pytest.fixture(scope="module")
def other(tmp_path_factory):
    return other_build.make(tmp_path_factory.mktemp("other"))


def was_cut(log):
    """Who ends the tracer may come before it has said of what the box has died: its last call has not returned then."""
    said = log.read_text() if log.exists() else ""
    return "killed by SIGKILL" in said or "<unavailable>" in said or said.rstrip().endswith("= ?")


def end_tracer(tracer):
    """One that lets go of threads that are being killed may wait for them for ever."""
    tracer.send_signal(signal.SIGINT)
    try:
        tracer.communicate(timeout=20)
    except subprocess.TimeoutExpired:
        tracer.kill()
        tracer.communicate()


@contextlib.contextmanager
def cut_before(box, call, number, log):
    """All threads of the box: it flushes beside its loop."""
    tracer = subprocess.Popen(["strace", "-f", "-o", str(log), "-p", str(box), "-e", f"trace={call}",
                               "-e", f"inject={call}:signal=KILL:when={number}"],
                              stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        assert "attached" in tracer.stderr.readline()
        yield
    finally:
        end_tracer(tracer)


def until_it_comes_through(round_of):
    """round_of(number) returns whether the box was killed."""
    for number in range(1, ROUNDS_MAX):
        if not round_of(number):
            assert number > 1, "this call was never made"
            print(number - 1, "cuts")
            return
    raise AssertionError(f"still killed after {ROUNDS_MAX} calls")


def check(known, client, is_cut):
    numbers = known.check(client)
    assert is_cut or set(numbers.values()) == {known.number}, (numbers, known.number)


def end(known, client):
    client.call("delete_session", session_id=known.session)
    check_database(known.state)
    until(lambda: not everything_left(known.state), what=f"cleaning up of {everything_left(known.state)}")


@pytest.mark.parametrize("call", CALLS)
def test_cut_before_each_call_of_a_pause(client, state, tmp_path, call):
    known = NumberedState(client, state, "kept", PAYLOAD_BYTES)
    known.step(client)
    known.rest(client)

    def pause(number):
        log = tmp_path / f"{number}.log"
        known.step(client)
        known.note_least()
        with cut_before(boxes_of(state)[known.session], call, number, log):
            client.call("pause_session", session_id=known.session)
            until(lambda: known.session not in boxes_of(state), what="the end of the box")
        check(known, client, was_cut(log))
        return was_cut(log)

    until_it_comes_through(pause)
    end(known, client)


@pytest.mark.parametrize("call", CALLS)
def test_cut_before_each_call_of_an_autosave(client, state, tmp_path, call):
    known = NumberedState(client, state, "kept", PAYLOAD_BYTES, ("python", "javascript"))
    known.step(client)
    known.rest(client)

    def autosave(number):
        log = tmp_path / f"{number}.log"
        known.check(client)  # which wakes it
        known.note_least()
        box = boxes_of(state)[known.session]
        with cut_before(box, call, number, log):
            with contextlib.suppress(AssertionError, ToolError):  # it may be in a run that the box ends
                known.step(client)
            until(lambda: boxes_of(state).get(known.session) != box or set(known.stored().values()) == {known.number}, what="an autosave")
        check(known, client, was_cut(log))
        return was_cut(log)

    until_it_comes_through(autosave)
    end(known, client)


def changes_the_disk(line):
    return not line.startswith("openat(") or "O_CREAT" in line or "O_TRUNC" in line


def numbers_of_calls(trial, call, wake):
    """Returns those that change something on the disk, each by its number among all of its name, until the box wakes."""
    trial.trace("hutch-box", f"-e trace={call}", once=True)
    wake()
    lines = [line for line in trial.log_of("hutch-box").read_text().splitlines() if line.startswith(call + "(")]
    return [number for number, line in enumerate(lines, 1) if changes_the_disk(line)]


@pytest.mark.parametrize("call", WAKING_CALLS)
def test_cut_before_each_call_of_a_box_that_wakes(tmp_path, call):
    trial = Trial(tmp_path)
    with trial.client() as client:
        known = NumberedState(client, trial.state, "kept", PAYLOAD_BYTES)

        def wake():
            result = client.reply(known.start_look(client))["result"]
            assert "internal error" not in result["content"][0]["text"], result
            return not result["isError"] and result["structuredContent"]["status"] == "completed", result

        def rest():
            known.step(client)
            known.rest(client)

        rest()
        numbers = numbers_of_calls(trial, call, wake)
        cuts = 0
        for number in numbers:
            rest()
            # The next box is to come through: two that end while a snapshot is being read are taken for its doing.
            trial.trace("hutch-box", f"-e trace={call} -e inject={call}:signal=KILL:when={number}", once=True)
            has_woken, result = wake()
            known.check(client)
            # A box that ends before it has started is tried again, and nobody hears of it.
            is_cut = was_cut(trial.log_of("hutch-box"))
            assert is_cut or has_woken, result
            cuts += is_cut
        print(cuts, "cuts at", len(numbers), "calls")
        # One that ends its work a little otherwise may make the last of them no more.
        assert cuts >= len(numbers) * 3 // 4 and cuts > 0, (cuts, numbers)
        end(known, client)


@pytest.mark.parametrize("call", CALLS)
def test_cut_before_each_call_of_a_box_that_makes_way(state, tmp_path, other, call):
    builds = [hutch_binary(), other]
    with Client(state, binary=builds[0]) as client:
        known = NumberedState(client, state, "kept", PAYLOAD_BYTES)
        known.step(client)
        known.rest(client)

    def make_way(number):
        log = tmp_path / f"{number}.log"
        with Client(state, binary=builds[0]) as client:
            known.step(client)
            known.note_least()
        builds.reverse()
        with Client(state, binary=builds[0]) as client:
            with cut_before(boxes_of(state)[known.session], call, number, log):
                client.reply(known.start_look(client))
            check(known, client, was_cut(log))
        return was_cut(log)

    until_it_comes_through(make_way)
    with Client(state, binary=builds[0]) as client:
        end(known, client)
