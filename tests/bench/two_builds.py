"""Another build of hutch beside this one: what each call takes, ten of them in a burst, and what they keep in memory.

    tests/bench/two_builds.py OTHER_HUTCH [--pairs N]

Both serve over HTTP; their calls alternate, and who is first, too. Medians in milliseconds, memory as proportional
set size (PSS) of a server of its own, and of its first session's processes after a run. Beside the ratio of the
medians stands the middle half of the ratios of the pairs: where that is wide, one call of this says little.

The aims: calls take at most 1.05 times as long as the other build's, bursts 1.10; the server and a session
take at most 1.03 times the memory. The status is 1 when one is missed.
"""

import argparse
import concurrent.futures
import contextlib
import json
import os
import pathlib
import statistics
import struct
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
sys.path.insert(0, str(HERE))

from aims import Aims  # noqa: E402
from boxes import boxes_of  # noqa: E402
from http_server import HttpClient, Server, modern  # noqa: E402

BURST = 10
TIMES, BURST_TIMES = 1.05, 1.10
MEMORY_TIMES = 1.03
MEMORY_PAIRS = 9  # How many threads have a heap of their own differs from one server to the next.


class Side:
    def __init__(self, server):
        self.server = server
        self.client = HttpClient(server)
        self.pid = server.process.pid
        self.session = self.client.call("create_session")["session_id"]
        self.run("x = 1")
        status, _, made = server.request("POST", "/v2/sandboxes", b'{"templateID": "host"}', {"Content-Type": "application/json"})
        assert status == 201, made
        sandbox = json.loads(made)
        self.access = {"E2b-Sandbox-Id": sandbox["sandboxID"], "X-Access-Token": sandbox["envdAccessToken"]}

    def run(self, code, language="python"):
        return self.client.call("run_code", code=code, language=language, session_id=self.session)

    def alone(self, tool, **arguments):
        """One call on a connection of its own, from any thread."""
        message, fields = modern(1, "tools/call", {"name": tool, "arguments": arguments})
        status, _, body = self.server.request("POST", "/mcp", json.dumps(message), {
            "Content-Type": "application/json", "Accept": "application/json, text/event-stream", **fields})
        assert status == 200, (status, body)

    def e2b(self, path, body, content_type="application/json"):
        status, _, answer = self.server.request("POST", path, body, {**self.access, "Content-Type": content_type})
        assert status == 200 and b"error" not in answer, (status, answer)


def command(side):
    message = json.dumps({"process": {"cmd": "/bin/bash", "args": ["-l", "-c", "true"]}}).encode()
    side.e2b("/process.Process/Start", b"\0" + struct.pack(">I", len(message)) + message, "application/connect+json")


def processes_of(state, session):
    """Pids of its hutch-box and of all in its box, whoever their parents are: a zygote's copies have others. The mounts in
    there are known by the session's name."""
    found, ours = [], os.readlink("/proc/self/ns/mnt")
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has ended
            if os.readlink(folder / "ns/mnt") != ours and session in (folder / "mountinfo").read_text():
                found.append(int(folder.name))
    return [boxes_of(state)[session], *found]


def pss_kb(pids):
    total = 0
    for pid in pids:
        try:
            lines = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        except OSError:
            continue
        total += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return total


def first_print(side):
    session = side.client.call("create_session")["session_id"]
    side.client.call("run_code", code="print(1)", session_id=session)
    side.client.call("delete_session", session_id=session)


def create_and_delete(side):
    side.client.call("delete_session", session_id=side.client.call("create_session")["session_id"])


def burst(side):
    with concurrent.futures.ThreadPoolExecutor(BURST) as threads:
        list(threads.map(lambda _: side.alone("read_file", path="a", session_id=side.session), range(BURST)))


def burst_of_creations(side):
    made = []
    with concurrent.futures.ThreadPoolExecutor(BURST) as threads:
        list(threads.map(lambda i: side.alone("create_session", name=f"b{i}"), range(BURST)))
    for session in side.client.call("list_sessions")["sessions"]:
        if (session.get("name") or "").startswith("b"):
            made.append(session["session_id"])
    for session in made:
        side.client.call("delete_session", session_id=session)


CALLS = {
    "run_code python": lambda side: side.run("x + 1"),
    "run_code bash": lambda side: side.run("true", "bash"),
    "write_file": lambda side: side.client.call("write_file", path="a", content="text", session_id=side.session),
    "read_file": lambda side: side.client.call("read_file", path="a", session_id=side.session),
    "E2B's /execute": lambda side: side.e2b("/execute", b'{"code": "1 + 1"}'),
    "a command of E2B": command,
    "list_files": lambda side: side.client.call("list_files", session_id=side.session),
    "list_sessions": lambda side: side.client.call("list_sessions"),
    "create and delete": create_and_delete,
    "create, print and delete": first_print,
    "burst of 10 read_file": burst,
    "burst of 10 create_session": burst_of_creations,
}


def take_turns(sides, name, pairs):
    """Milliseconds of each call of both sides."""
    taken = ([], [])
    for i in range(pairs):
        for at in ((0, 1) if i % 2 else (1, 0)):
            began = time.perf_counter()
            CALLS[name](sides[at])
            taken[at].append((time.perf_counter() - began) * 1000)
    return taken


def compare_calls(aims, sides, options):
    print(f"{'':28}{'other':>9}{'this':>9}{'ratio':>8}   middle half of the pairs")
    for name in options.only or CALLS:
        is_burst = "burst" in name
        taken = take_turns(sides, name, max(10, options.pairs // 10) if is_burst else options.pairs)
        other_ms, this_ms = map(statistics.median, taken)
        low, _, high = statistics.quantiles([this / other for other, this in zip(*taken)], n=4)
        print(f"{name:28}{other_ms:9.2f}{this_ms:9.2f}{this_ms / other_ms:8.2f}   {low:.2f} to {high:.2f}", flush=True)
        aims.at_most(f"the ratio of {name}", this_ms / other_ms, BURST_TIMES if is_burst else TIMES)


def memory_of(binary):
    """PSS in kB of a server of its own, and of its first session."""
    with tempfile.TemporaryDirectory() as state, Server(state, binary=binary) as server:
        side = Side(server)
        return pss_kb([side.pid]), pss_kb(processes_of(state, side.session))


def compare_memory(aims, binaries):
    taken = [[memory_of(binary) for binary in binaries] for _ in range(MEMORY_PAIRS)]
    for at, name in enumerate(("server, PSS in kB", "a session, PSS in kB")):
        other_kb, this_kb = (statistics.median(pair[side][at] for pair in taken) for side in (0, 1))
        low, _, high = statistics.quantiles([pair[1][at] / pair[0][at] for pair in taken], n=4)
        print(f"{name:28}{other_kb:9.0f}{this_kb:9.0f}{this_kb / other_kb:8.2f}   {low:.2f} to {high:.2f}")
        aims.at_most(f"the ratio of {name}", this_kb / other_kb, MEMORY_TIMES)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("other")
    parser.add_argument("--pairs", type=int, default=200)
    parser.add_argument("--only", action="append", choices=CALLS)
    options = parser.parse_args()
    aims = Aims()
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as two:
        with Server(one, binary=options.other) as other, Server(two) as this:
            compare_calls(aims, [Side(other), Side(this)], options)
    if not options.only:
        compare_memory(aims, (options.other, None))
    aims.end()


if __name__ == "__main__":
    main()
