"""Measures what sessions that are greedy for the kernel's memory, all at once, do to another principal: its warm calls and its start.

    tests/bench/kernel_memory.py [--calls N] [--pause-ms N] [--greedy N] [--processes N]

Six default sessions of one principal, and one with the most processes that create_session allows here, run the programs of
tests/security/greedy again and again: filters, page tables, netlink, UDP, TCP, shared memory, hashes for futexes, threads,
descriptors; and then, by itself, the one of many mappings. Another principal's calls alone and those beside them alternate
in blocks, over HTTP.

The aims: that principal's new session starts and answers, each of its calls is answered, and where a cgroup shares out the
processors the 99th percentile beside the greedy sessions is at most four times that of alone. That is told and not asked
beside mappings: a fork or an end of a process that has 60,000 of them keeps a processor for 0.1 s where the kernel does not
preempt itself (preempt=none), whatever the shares are. The status is 1 when an aim is missed.
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
         "memory_memfd.py", "futex_hashes.py", "thread_bomb.py", "descriptors.py"]
MAPPINGS = ["memory_behind_mappings.py"]
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
            for name in NAMES + MAPPINGS:
                told(caller("write_file", path=name, content=(GREEDY / name).read_text(), session_id=session))

    def begin(self, names):
        self.runs = [told(self.caller("run_code", code=FOR_EVER % " ".join(names[at % len(names):] + names[:at % len(names)]),
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


class Row:
    """The calls and starts of the one principal without and beside programs of the other."""

    def __init__(self, title, names):
        self.title, self.names = title, names
        self.alone, self.beside, self.starts, self.ended, self.runs = [], [], ([], []), 0, 0
        self.failed_calls, self.failed_starts = [], []

    def measure(self, quiet, session, greedy, options):
        for _ in range(BLOCKS):
            for times, begins in ((self.alone, False), (self.beside, True)):
                if begins:
                    greedy.begin(self.names)
                measure(quiet, session, options.calls // BLOCKS, options.pause_ms / 1000, times, self.failed_calls)
                start_another(quiet, self.starts[begins], self.failed_starts)
            self.ended += greedy.end()
            self.runs += len(greedy.runs)

    def ratio(self, share):
        return percentile(self.beside, share) / percentile(self.alone, share)

    def print(self):
        print(self.title)
        for name, times in (("alone", self.alone), ("beside", self.beside)):
            print(f"    {name:8} p50 {percentile(times, .5):8.2f} ms   p99 {percentile(times, .99):8.2f} ms")
        print(f"    ratio        {self.ratio(.5):8.2f}          {self.ratio(.99):8.2f}")
        print("    a session's start and first run, ms:", *(" ".join(f"{one:.0f}" for one in times) for times in self.starts), sep="  ")
        print(f"    {self.ended} of {self.runs} greedy runs had ended by a limit of theirs", flush=True)

    def judge(self, aims):
        starts, calls = self.failed_starts, self.failed_calls
        aims.that(not starts, f"beside {self.title}, {len(starts)} new sessions did not start, the first with {starts[:1]}")
        aims.that(not calls, f"beside {self.title}, {len(calls)} calls failed, the first with {calls[:1]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=400, help="on each side, of each of the two")
    parser.add_argument("--pause-ms", type=float, default=10)
    parser.add_argument("--greedy", type=int, default=6, help="default sessions")
    parser.add_argument("--processes", type=int, help="of the one session that has many; as many as there may be, unless given")
    options = parser.parse_args()
    state, aims = tempfile.mkdtemp(prefix="hutch-kernel-memory-"), Aims()
    memory, mappings = Row("memory", NAMES), Row("mappings", MAPPINGS)
    with Server(state, no_auth=False) as server:
        quiet = Caller(server, token(state, "--principal", "quiet"))
        greedy = Greedy(Caller(server, token(state, "--principal", "greedy")), options)
        made = told(quiet("create_session"))
        told(quiet("run_code", code="x = 1", session_id=made["session_id"]))
        for row in (memory, mappings):
            row.measure(quiet, made["session_id"], greedy, options)
            row.print()
            row.judge(aims)
    shutil.rmtree(state, ignore_errors=True)
    if made["isolation"]["cpus"].startswith("cgroup"):
        aims.at_most("the ratio of the 99th percentiles beside memory", memory.ratio(.99), END_TIMES)
    aims.end()


if __name__ == "__main__":
    main()
