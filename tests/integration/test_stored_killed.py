"""kill -9 at random moments of autosave, of storing at a pause, of waking and of a change of build: the session has the state from
before or the one from after, and one owner.

HUTCH_STORED_KILLS (300) says how many, HUTCH_STORED_SEED which.
"""

import collections
import os
import random
import signal
import threading
import time

import pytest

import other_build
from boxes import boxes_of, everything_left, until
from database import check_database, rows
from hutch_client import Client, hutch_binary
from numbered_state import NumberedState, inside, owners_of

KILLS = int(os.environ.get("HUTCH_STORED_KILLS", "300"))
SEED = int(os.environ.get("HUTCH_STORED_SEED", time.time_ns() % 1_000_000))
SESSIONS = 3
SECONDS = 1000  # five minutes on two busy CPUs
VICTIMS = ["server", "box", "writer", "interpreter"]
WRITER = "hutch-snapshot"
PAYLOAD_BYTES = 20_000_000
CUT = (-signal.SIGKILL,)
# How long each takes where nothing is killed, about: kills are spread over that.
SPANS = {"autosave": 1.0, "pause": 2.0, "wake": 1.0, "build": 2.0}


class Trials:
    """One session, what is done to it, and a server of its own, which is of one of the builds."""

    def __init__(self, state, name, chance, builds):
        self.state, self.chance, self.builds = state, chance, builds
        self.killed, self.outcomes, self.now = collections.Counter(), collections.Counter(), None
        self.client = self.new_client()
        self.known = NumberedState(self.client, state, name, PAYLOAD_BYTES)
        self.rest()

    def new_client(self):
        return Client(self.state, binary=self.builds[0]).__enter__()

    def rest(self):
        """All that it knows is stored: what is there afterwards is this, or newer."""
        self.known.step(self.client)
        self.known.rest(self.client)

    def one(self):
        """Something happens to the session, and meanwhile one of its processes is killed."""
        phase, victim = self.now = self.chance.choice(list(SPANS)), self.chance.choice(VICTIMS)
        request = getattr(self, phase)()
        deadline = time.monotonic() + SPANS[phase]
        time.sleep(self.chance.uniform(0, SPANS[phase]) if victim != "writer" else 0)  # the moment of the kill is what is random
        was_killed = self.kill(victim, deadline)
        if was_killed:
            self.killed[phase, victim] += 1
        if self.client.process.poll() is not None or victim == "server" and was_killed:
            self.client.close(also=CUT)
            self.client = self.new_client()
        elif request:
            self.hear(request)
        numbers = self.known.check(self.client)
        if was_killed:
            new = sum(number == self.known.number for number in numbers.values())
            self.outcomes["new" if new == len(numbers) else "old" if new == 0 else "some of each"] += 1

    # Each begins something, and returns the request whose reply is still to come.

    def autosave(self):
        self.known.step(self.client)

    def pause(self):
        self.known.step(self.client)
        self.client.call("pause_session", session_id=self.known.session)

    def wake(self):
        self.rest()
        return self.known.start_look(self.client)

    def build(self):
        self.known.step(self.client)
        if self.chance.random() < 0.5:
            self.client.kill()
        self.client.close(also=CUT)
        self.builds.reverse()
        self.client = self.new_client()
        return self.known.start_look(self.client)

    def hear(self, request):
        result = self.client.reply(request)["result"]
        assert not result["isError"] or "internal error" not in result["content"][0]["text"], result

    def kill(self, victim, deadline):
        """Whether there was one; a writer is waited for."""
        while True:
            pids = self.pids_of(victim)
            if pids or victim != "writer" or time.monotonic() > deadline:
                break
            time.sleep(0.002)
        if not pids:
            return False
        if victim == "writer":
            time.sleep(self.chance.uniform(0, 0.1))
        self.known.note_least()
        return kill_one_of(pids, self.chance)

    def pids_of(self, victim):
        if victim == "server":
            return [self.client.process.pid]
        box = boxes_of(self.state).get(self.known.session)
        if victim == "box" or box is None:
            return [box] if box and victim == "box" else []
        return [pid for pid, name in inside(box).items() if (name == WRITER) == (victim == "writer")]

    def end(self):
        self.client.call("delete_session", session_id=self.known.session)
        self.client.close()


def kill_one_of(pids, chance):
    try:
        handle = os.pidfd_open(chance.choice(pids))
    except ProcessLookupError:
        return False
    try:
        signal.pidfd_send_signal(handle, signal.SIGKILL)
    except ProcessLookupError:
        return False
    finally:
        os.close(handle)
    return True


class OwnerWatch:
    """Looks all the time whether a session has two boxes."""

    def __init__(self, state):
        self.state, self.over, self.found, self.looks = state, threading.Event(), [], 0
        self.thread = threading.Thread(target=self.go)
        self.thread.start()

    def go(self):
        while not self.over.wait(0.02):
            self.looks += 1
            self.found += [(session, pids) for session, pids in owners_of(self.state).items() if len(pids) > 1]

    def end(self):
        self.over.set()
        self.thread.join()


@pytest.fixture(scope="module")
def other(tmp_path_factory):
    return other_build.make(tmp_path_factory.mktemp("other"))


def test_an_owner_is_seen_and_so_is_a_second_one(client, state):
    """The watch below can fail: a process that has the name and the log of a box counts as one."""
    session = client.run("1")["session_id"]
    (box,) = owners_of(state)[session]
    log = open(f"/proc/{box}/fd/2", "ab")
    pid = os.fork()
    if pid == 0:
        os.dup2(log.fileno(), 2)
        with open("/proc/self/comm", "w") as name:
            name.write("hutch-box")
        signal.pause()
        os._exit(0)
    try:
        until(lambda: sorted(owners_of(state)[session]) == sorted([box, pid]), what="the second being seen")
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        log.close()
    assert owners_of(state)[session] == [box]


def test_killed_at_random_moments(state, other):
    print("seed", SEED)
    builds = [hutch_binary(), other]
    trials = [Trials(state, f"kept{number}", random.Random(SEED + number), list(builds)) for number in range(SESSIONS)]
    problems, deadline = [], time.monotonic() + SECONDS
    watch = OwnerWatch(state)

    def killed():
        return sum(one.killed.total() for one in trials)

    def go(one):
        try:
            while killed() < KILLS and not problems:
                assert time.monotonic() < deadline, "it takes too long"
                one.one()
        except Exception as problem:  # a thread must not die in silence
            problems.append((one.known.session, one.now, one.client.errors[-5:], problem))

    threads = [threading.Thread(target=go, args=(one,)) for one in trials]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    watch.end()
    total = sum((one.killed for one in trials), collections.Counter())
    print(killed(), "kills", {" ".join(what): count for what, count in sorted(total.items())})
    print("the state after them:", dict(sum((one.outcomes for one in trials), collections.Counter())), watch.looks, "looks for owners")
    for *where, problem in problems:
        raise AssertionError(where) from problem
    assert not watch.found, watch.found
    assert watch.looks > KILLS
    assert rows(state, "SELECT count(*) FROM sessions WHERE status = 'error'") == [(0,)]
    for one in trials:
        one.end()
    check_database(state)
    until(lambda: not everything_left(state), what=f"cleaning up of {everything_left(state)}")
