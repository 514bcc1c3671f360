"""hutch is replaced by another build again and again while sessions work: no variable is lost, and what runs comes to its end.

HUTCH_STORED_CHANGES (20) says how often: some three minutes on two cores.
"""

import os
import re
import threading
import time

import pytest

import other_build
from boxes import everything_left, until
from database import check_database, rows
from hutch_client import Client, ToolError, hutch_binary
from numbered_state import NumberedState

CHANGES = int(os.environ.get("HUTCH_STORED_CHANGES", "20"))
PAYLOADS_BYTES = (1_000_000, 300_000_000)  # the second is more than what is stored after each run
WAIT_FOR_GO = "import os, time\nwhile not os.path.exists('/workspace/go'): time.sleep(0.05)\nos.remove('/workspace/go'); print('whole')"
ANOTHER_BUILD = re.compile("another build.*get_run.*cancel_run")


class Work:
    """A client that counts in its session all the time, with a server of the build that is the newest."""

    def __init__(self, state, session, builds):
        self.state, self.session, self.builds = state, session, builds
        self.answered, self.unknown, self.refused, self.problems = 0, 0, 0, []
        self.over, self.client = threading.Event(), None
        self.thread = threading.Thread(target=self.go)
        self.thread.start()

    def go(self):
        try:
            while not self.over.is_set():
                self.client = Client(self.state, binary=self.builds[0]).__enter__()
                try:
                    while not self.over.is_set():
                        self.count()
                except (AssertionError, OSError):
                    if self.client.process.wait(60) != -9:
                        raise
                    self.unknown += 1
            self.client.close()
        except Exception as problem:  # a thread must not die in silence
            self.problems.append(problem)

    def count(self):
        try:
            # Long enough that a server often dies while it is on, and that there are not too many of them.
            run = self.client.run("import time; time.sleep(0.05); count += 1; count", session_id=self.session)
        except ToolError as refused:
            if not ANOTHER_BUILD.search(str(refused)):
                raise RuntimeError(str(refused)) from None
            self.refused += 1
            return
        if run["status"] != "completed":
            raise RuntimeError(str(run))
        self.answered += 1
        count = int(run["outputs"][0]["text"])
        if not self.answered <= count <= self.answered + self.unknown:
            raise RuntimeError(f"{count} after {self.answered} answers and {self.unknown} servers that were killed")

    def end(self):
        self.over.set()
        self.thread.join(120)
        assert not self.thread.is_alive() and not self.problems, self.problems


@pytest.fixture(scope="module")
def other(tmp_path_factory):
    return other_build.make(tmp_path_factory.mktemp("other"))


class Busy:
    """A session with a run in the background, which the other build does not touch."""

    def __init__(self, client, state):
        self.known = NumberedState(client, state, "busy", 1_000_000, ("python", "bash"))

    def begin(self, client):
        self.known.step(client)
        self.run_id = client.run(WAIT_FOR_GO, background=True, session_id=self.known.session)["run_id"]

    def end(self, client):
        """With a server of the other build."""
        assert client.call("get_run", run_id=self.run_id)["status"] == "running"
        with pytest.raises(ToolError, match=ANOTHER_BUILD.pattern):
            client.run("1", session_id=self.known.session)
        client.call("write_file", path="/workspace/go", content="", session_id=self.known.session)
        ended = client.until_ended(self.run_id)
        assert (ended["status"], ended["stdout"]) == ("completed", "whole\n"), ended
        check_all(self.known, client)


def check_all(known, client):
    numbers = known.check(client)
    assert set(numbers.values()) == {known.number}, (numbers, known.number)


def test_changed_many_times(state, other):
    builds = [hutch_binary(), other]
    with Client(state, binary=builds[0]) as client:
        quiet = [NumberedState(client, state, f"quiet{number}", size) for number, size in enumerate(PAYLOADS_BYTES)]
        busy = Busy(client, state)
        counting = client.call("create_session", name="counting")["session_id"]
        client.run("CREATE TABLE kept AS SELECT 42 AS n", "sql", session_id=quiet[0].session)
        client.run("count = 0", session_id=counting)
    work = Work(state, counting, builds)
    client, seconds = Client(state, binary=builds[0]).__enter__(), []
    try:
        until(lambda: work.answered or work.problems, what="the first answer")
        for change in range(CHANGES):
            for known in quiet:
                known.step(client)
            busy.begin(client)
            counted = work.answered
            began = time.monotonic()
            if change % 2:
                client.kill()
            client.close(also=(-9,))
            builds.reverse()
            work.client.kill()  # another server with the earlier build would have its boxes again
            client = Client(state, binary=builds[0]).__enter__()
            for known in quiet:
                check_all(known, client)
            seconds.append(time.monotonic() - began)
            table = client.run("SELECT n FROM kept", "sql", session_id=quiet[0].session)
            assert table["outputs"][-1]["json"]["rows"] == [[42]], table
            busy.end(client)
            until(lambda: work.answered > counted or work.problems, what="an answer of the new build")
            assert not work.problems, work.problems
    finally:
        work.end()
    print(f"{CHANGES} changes, {max(seconds):.1f} s at most until two sessions had all again; {work.answered} runs beside them, "
          f"{work.refused} refused as their box was the other build's")
    failed = rows(state, "SELECT session_id, record FROM runs WHERE status != 'completed'")
    lost = [one for one in failed if "another build" not in one[1]]  # the others were refused, as they are told above
    assert len(failed) - len(lost) == CHANGES + work.refused, failed
    # A server that was killed before its box had the run: nothing of that has begun.
    assert len(lost) <= work.unknown and {session for session, _ in lost} <= {counting}, lost
    assert all('"cause":"sandbox_lost"' in record and '"duration_ms":0' in record for _, record in lost), lost
    for session in [*(known.session for known in (*quiet, busy.known)), counting]:
        client.call("delete_session", session_id=session)
    client.close()
    check_database(state)
    until(lambda: not everything_left(state), what=f"cleaning up of {everything_left(state)}")
