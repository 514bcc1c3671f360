"""Many stored sessions beside live ones, woken at random: each knows what it knew, and nothing fails.

HUTCH_STORED_SESSIONS (1000), HUTCH_STORED_LIVE (100, fewer where memory is short) and HUTCH_STORED_MINUTES (10) say how many and
how long; beside that it takes some six minutes on two cores. Prints throughput and latencies.
"""

import concurrent.futures
import os
import random
import statistics
import threading
import time

from boxes import boxes_of, everything_left, until
from database import check_database, rows
from hutch_client import Client
from test_soak import SESSION_MB, available_mb, resident_mb

STORED = int(os.environ.get("HUTCH_STORED_SESSIONS", "1000"))
LIVE = max(4, min(int(os.environ.get("HUTCH_STORED_LIVE", "100")), available_mb() // 3 // SESSION_MB))
SECONDS = 60 * float(os.environ.get("HUTCH_STORED_MINUTES", "10"))
SEED = int(os.environ.get("HUTCH_STORED_SEED", time.time_ns() % 1_000_000))
WAKERS = 4  # at once
# Live sessions stay so though nobody uses them for a while.
CONFIG = f"[session]\nidle_seconds = 3600\nmax_sessions = {LIVE + STORED}\nkept_sessions_max = {LIVE + STORED + 10}\n"
LANGUAGES = ("python", "bash", "javascript", "bash")
MAKE = {"python": "number = NUMBER; kept = {'list': [number] * 100}; add = lambda: kept['list'][-1] + 1",
        "javascript": "let number = NUMBER; const kept = { list: Array(100).fill(number) }; function add() { return kept.list.at(-1) + 1; } 5",
        "bash": "number=NUMBER; list=(a $number); add() { echo $((list[1] + 1)); }"}
# Each use finds what the one before has left, and leaves the next number.
USE = {"python": "print(number, kept['list'][0], add())\nnumber += 1; kept['list'] = [number] * 100",
       "javascript": "console.log(number, kept.list[0], add()); number += 1; kept.list = Array(100).fill(number); 5",
       "bash": "echo $number ${list[1]} $(add); number=$((number + 1)); list=(a $number)"}


class One:
    def __init__(self, client, number):
        self.client, self.language, self.number = client, LANGUAGES[number % len(LANGUAGES)], number
        self.session = client.call("create_session")["session_id"]
        run = client.run(MAKE[self.language].replace("NUMBER", str(number)), self.language, session_id=self.session)
        assert run["status"] == "completed", run

    def use(self):
        """Milliseconds that it took, and the note."""
        began = time.perf_counter()
        run = self.client.run(USE[self.language], self.language, session_id=self.session)
        took = (time.perf_counter() - began) * 1000
        assert run["stdout"] == f"{self.number} {self.number} {self.number + 1}\n", (self.number, run)
        self.number += 1
        return took, run.get("note", "")

    def rest(self):
        self.client.call("pause_session", session_id=self.session)
        return self


def told(what, numbers):
    ranks = statistics.quantiles(numbers, n=100, method="inclusive") if len(numbers) > 1 else numbers * 99
    print(f"{what}: {len(numbers)} in {SECONDS:.0f} s, {len(numbers) / SECONDS:.1f} a second, ms p50 {ranks[49]:.0f}, p99 {ranks[98]:.0f}, "
          f"most {max(numbers):.0f}")


class Load:
    """Threads do this until the time is over; the first failure of one ends all."""

    def __init__(self):
        self.end = time.monotonic() + SECONDS
        self.problems, self.lock = [], threading.Lock()
        self.milliseconds = {}

    def goes_on(self):
        return time.monotonic() < self.end and not self.problems

    def note(self, what, took):
        with self.lock:
            self.milliseconds.setdefault(what, []).append(took)

    def wake(self, mine, chance):
        while self.goes_on():
            one = chance.choice(mine)
            was_stored = one.session not in boxes_of(one.client.state)
            took, note = one.use()
            assert "lost" not in note and "not kept" not in note, note
            if was_stored:
                self.note(f"woken, {one.language}", took)
            else:
                self.note("used while it was being stored", took)
            one.rest()

    def use(self, live, chance):
        while self.goes_on():
            one = chance.choice(live)
            took, note = one.use()
            assert not note, note
            self.note(f"live, {one.language}", took)

    def run(self, what, *arguments):
        try:
            what(*arguments)
        except Exception as problem:  # a thread must not die in silence
            self.problems.append(problem)


def test_many_stored_beside_live_ones(state, tmp_path):
    print("seed", SEED)
    (tmp_path / "config.toml").write_text(CONFIG)
    with Client(state, "--config", str(tmp_path / "config.toml")) as client, concurrent.futures.ThreadPoolExecutor(8) as pool:
        began = time.monotonic()
        live = list(pool.map(lambda number: One(client, number), range(LIVE)))
        stored = list(pool.map(lambda number: One(client, number).rest(), range(STORED)))
        is_live = {one.session for one in live}
        until(lambda: set(boxes_of(state)) == is_live, what="all others being stored")
        print(f"{STORED} stored and {LIVE} live made in {time.monotonic() - began:.0f} s; server {resident_mb(client.process.pid):.0f} MB")
        load = Load()
        parts = [(load.wake, stored[number::WAKERS], random.Random(SEED + number)) for number in range(WAKERS)]
        parts.append((load.use, live, random.Random(SEED - 1)))
        threads = [threading.Thread(target=load.run, args=part) for part in parts]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for what, numbers in sorted(load.milliseconds.items()):
            told(what, numbers)
        print(f"server {resident_mb(client.process.pid):.0f} MB")
        if load.problems:
            raise load.problems[0]
        assert sum(what.startswith("woken") for what in load.milliseconds) == len(set(LANGUAGES))
        until(lambda: set(boxes_of(state)) == is_live, what="all others being stored again")
        assert rows(state, "SELECT count(*) FROM sessions WHERE status = 'error'") == [(0,)]
        list(pool.map(lambda one: client.call("delete_session", session_id=one.session), live + stored))
    check_database(state)
    until(lambda: not everything_left(state), what=f"cleaning up of {everything_left(state)}")
