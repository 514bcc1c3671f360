"""Measures what sessions that are greedy for the kernel's memory, all at once, do to another principal: its warm calls and its start.

    tests/bench/kernel_memory.py [--calls N] [--pause-ms N] [--greedy N] [--processes N]

Six default sessions of one principal, and one with the most processes that create_session allows here, run the programs of
tests/security/greedy again and again: filters, page tables, netlink, UDP, TCP, shared memory, mappings, hashes for futexes,
threads, descriptors. Another principal's calls alone and
those beside them alternate in blocks, over HTTP.

The aims: that principal's new session starts and answers, each of its calls is answered, and where a cgroup shares out the
processors the 99th percentile beside the greedy sessions is at most four times that of alone. The status is 1 when one is
missed.
"""

import argparse
import pathlib
import re
import shutil
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
sys.path.insert(0, str(HERE))

from aims import Aims  # noqa: E402
from http_server import Server, token  # noqa: E402
from principals import BLOCKS, END_TIMES, Caller, measure, percentile  # noqa: E402

GREEDY = HERE.parent / "security/greedy"
NAMES = ["kernel_filters.py", "memory_page_tables.py", "memory_netlink.py", "memory_udp.py", "memory_tcp_of_host.py",
         "memory_memfd.py", "memory_behind_mappings.py", "futex_hashes.py", "thread_bomb.py", "descriptors.py"]
FOR_EVER = "while :; do for i in %s; do timeout 5 python3 $i >/dev/null 2>&1; done; done"


def told(answer):
    assert not answer.get("isError"), answer
    return answer["structuredContent"]


def most_processes(caller):
    """It says so where it is asked for more."""
    refused = caller("create_session", limits={"processes": 10**9})
    assert refused.get("isError"), refused
    return int(re.search(r"processes must be a whole number from \d+ to (\d+)", refused["content"][0]["text"])[1])


class Greedy:
    """The sessions of one principal that take what they get."""

    def __init__(self, caller, options):
        self.caller, self.runs = caller, []
        wanted = [{}] * options.greedy + [{"limits": {"processes": options.processes or most_processes(caller)}}]
        self.sessions = [told(caller("create_session", **one))["session_id"] for one in wanted]
        for session in self.sessions:
            for name in NAMES:
                told(caller("write_file", path=name, content=(GREEDY / name).read_text(), session_id=session))

    def begin(self):
        self.runs = [told(self.caller("run_code", code=FOR_EVER % " ".join(NAMES[at % len(NAMES):] + NAMES[:at % len(NAMES)]),
                                      language="bash", session_id=session, background=True, timeout_seconds=600))["run_id"]
                     for at, session in enumerate(self.sessions)]

    def end(self):
        """How many had ended before."""
        ended = 0
        for run in self.runs:
            ended += told(self.caller("get_run", run_id=run, wait_seconds=0))["status"] != "running"
            self.caller("cancel_run", run_id=run)
            while told(self.caller("get_run", run_id=run, wait_seconds=10))["status"] == "running":
                pass
        return ended


def start_another(caller, into, failures):
    began = time.monotonic()
    made = caller("create_session")
    session = made.get("structuredContent", {}).get("session_id")
    answer = caller("run_code", code="6 * 7", session_id=session) if session else made
    if answer.get("isError") or answer["structuredContent"]["status"] != "completed":
        failures.append(answer)
    into.append((time.monotonic() - began) * 1000)
    if session:
        caller("delete_session", session_id=session)


def report(alone, beside, starts, ended, runs):
    for name, times in (("alone", alone), ("beside", beside)):
        print(f"{name:8} p50 {percentile(times, .5):8.2f} ms   p99 {percentile(times, .99):8.2f} ms")
    print(f"ratio        {percentile(beside, .5) / percentile(alone, .5):8.2f}          {percentile(beside, .99) / percentile(alone, .99):8.2f}")
    print("a session's start and first run, ms:", *(" ".join(f"{one:.0f}" for one in times) for times in starts), sep="  ")
    print(f"{ended} of {runs} greedy runs had ended by a limit of theirs")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=400, help="on each side")
    parser.add_argument("--pause-ms", type=float, default=10)
    parser.add_argument("--greedy", type=int, default=6, help="default sessions")
    parser.add_argument("--processes", type=int, help="of the one session that has many; as many as there may be, unless given")
    options = parser.parse_args()
    alone, beside, starts, ended, failed_calls, failed_starts = [], [], ([], []), 0, [], []
    state, aims = tempfile.mkdtemp(prefix="hutch-kernel-memory-"), Aims()
    with Server(state, no_auth=False) as server:
        quiet = Caller(server, token(state, "--principal", "quiet"))
        greedy = Greedy(Caller(server, token(state, "--principal", "greedy")), options)
        made = told(quiet("create_session"))
        told(quiet("run_code", code="x = 1", session_id=made["session_id"]))
        for _ in range(BLOCKS):
            for times, begins in ((alone, False), (beside, True)):
                if begins:
                    greedy.begin()
                measure(quiet, made["session_id"], options.calls // BLOCKS, options.pause_ms / 1000, times, failed_calls)
                start_another(quiet, starts[begins], failed_starts)
            ended += greedy.end()
    shutil.rmtree(state, ignore_errors=True)
    report(alone, beside, starts, ended, BLOCKS * len(greedy.sessions))
    aims.that(not failed_starts, f"{len(failed_starts)} new sessions did not start, the first with {failed_starts[:1]}")
    aims.that(not failed_calls, f"{len(failed_calls)} calls failed, the first with {failed_calls[:1]}")
    if made["isolation"]["cpus"].startswith("cgroup"):
        aims.at_most("the ratio of the 99th percentiles", percentile(beside, .99) / percentile(alone, .99), END_TIMES)
    aims.end()


if __name__ == "__main__":
    main()
