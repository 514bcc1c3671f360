"""How much a principal that floods the server slows another one's warm run.

    tests/bench/principals.py [--calls N] [--pause-ms N] [--sessions N] [--only KIND]

The calls alone and those beside the flood alternate in blocks, so that whatever else the machine does meets both. The
flooders (flood.py) run at nice 19, as does their autogroup, and do not wait for answers; the processor time that they
took is told, as it is not the server's.

The aims: each of the measured calls is answered; the flooder is refused what it has no part in, so no more of its requests
than may be at work or wait are ever unanswered; and beside the flood the median is at most twice and the 99th percentile at
most four times that of alone. The last two hold where a cgroup shares out the processors, and are not asked elsewhere. The
status is 1 when one is missed.
"""

import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
sys.path.insert(0, str(HERE))

from aims import Aims  # noqa: E402
from flood import KINDS, refused  # noqa: E402
from http_server import Server, modern, token  # noqa: E402

BLOCKS = 4
MEDIAN_TIMES, END_TIMES = 2, 4
MAY_BE_AT_WORK_OR_WAIT = 8 * os.cpu_count() + 1000  # calls of one principal
# So many requests a second; uploads are 4 MB each.
RATES = {"run_code": 500, "hogs": 20, "metrics": 500, "uploads": 40, "lists": 500}


class Caller:
    """One kept connection that calls tools."""

    def __init__(self, server, secret):
        self.connection = server.connection(timeout=120)
        self.secret = secret

    def __call__(self, tool, **arguments):
        message, fields = modern(1, "tools/call", {"name": tool, "arguments": arguments})
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
                   "Authorization": f"Bearer {self.secret}", **fields}
        self.connection.request("POST", "/mcp", json.dumps(message), headers)
        answer = self.connection.getresponse().read()
        if not answer.startswith(b"{"):
            answer = answer.rpartition(b"data:")[2].strip()
        return json.loads(answer)["result"]


def percentile(values, share):
    return sorted(values)[int(share * (len(values) - 1))]


def measure(quiet, session, calls, pause, into, failures):
    for _ in range(calls):
        started = time.monotonic()
        answer = quiet("run_code", code="x + 1", session_id=session)
        into.append((time.monotonic() - started) * 1000)
        failures += [answer] if answer.get("isError") else []
        time.sleep(pause)


def answered(loud, tool, **arguments):
    """Asks again for as long as calls of the flood that is over wait before this one."""
    while (answer := loud(tool, **arguments)).get("isError") and "try again" in answer["content"][0]["text"]:
        pass
    return answer


def end_runs(server, secret):
    """Ends those of one session after the other, and of several sessions at a time."""
    def end_in(session):
        caller = Caller(server, secret)
        for run in session.get("active_runs", []):
            answered(caller, "cancel_run", run_id=run["run_id"])

    listed = answered(Caller(server, secret), "list_sessions")["structuredContent"]["sessions"]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        list(pool.map(end_in, listed))


def block_beside(server, secrets, kinds, floods, measured):
    """Returns what the flooder told at its end; `measured` was called once it was flooding."""
    flood = subprocess.Popen(
        [sys.executable, str(HERE / "flood.py"), *map(str, server.address), ",".join(secrets), ",".join(kinds),
         str(sum(RATES[one] for one in kinds)), *floods], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert flood.stdout.readline() == "it floods\n"
    measured()
    return json.loads(flood.communicate()[0])


def judge(aims, kind, ratios, failures, flooded, has_shares):
    """`ratios` are of the medians and of the 99th percentiles; `flooded` is what the floods told."""
    got, unanswered = flooded
    aims.that(not failures, f"beside {kind}, {len(failures)} of the measured calls failed, the first with {failures[:1]}")
    aims.that(refused(got) or unanswered <= MAY_BE_AT_WORK_OR_WAIT,
              f"the flood of {kind} was refused nothing, and {unanswered} of its requests waited")
    if has_shares:
        aims.at_most(f"beside {kind}, the median's ratio", ratios[0], MEDIAN_TIMES)
        aims.at_most(f"beside {kind}, the 99th percentile's ratio", ratios[1], END_TIMES)


def compare(options, server, kind, quiet, session, floods, secrets):
    """Measures one kind and prints its row: the two ratios, the failures, and what the flood got."""
    kinds = list(KINDS) if kind == "all" else [kind]
    alone, beside, failures, got, unanswered, seconds = [], [], [], collections.Counter(), 0, 0.0

    def calls(into):
        quiet.connection.close()  # the server has closed one that was not used for long
        measure(quiet, session, options.calls // BLOCKS, options.pause_ms / 1000, into, failures)

    for _ in range(BLOCKS):
        calls(alone)
        told = block_beside(server, secrets, kinds, floods, lambda: calls(beside))
        got.update(told["answers"])
        unanswered, seconds = max(unanswered, told["unanswered"]), seconds + told["processor_seconds"]
        end_runs(server, secrets[0])
    ratios = [percentile(beside, share) / percentile(alone, share) for share in (.5, .99)]
    print(f"{kind:<10} {percentile(alone, .5):>9.2f} {percentile(alone, .99):>7.2f} {percentile(beside, .5):>11.2f} "
          f"{percentile(beside, .99):>8.2f}      {ratios[0]:.2f} {ratios[1]:.2f}  {dict(got)}, {unanswered} waited; "
          f"{seconds:.1f} s of processor; {len(failures)} failed", flush=True)
    return ratios, failures, (got, unanswered)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=400, help="for each kind, on each side")
    parser.add_argument("--pause-ms", type=float, default=10)
    parser.add_argument("--sessions", type=int, default=60)
    parser.add_argument("--only", choices=[*KINDS, "all"], action="append")
    options = parser.parse_args()
    state, aims = tempfile.mkdtemp(prefix="hutch-principals-"), Aims()
    with Server(state, no_auth=False) as server:
        secrets = {name: token(state, "--principal", name) for name in ("quiet", "loud")}
        quiet, loud = (Caller(server, secrets[name]) for name in ("quiet", "loud"))
        loud_secrets = (secrets["loud"], token(state, "--principal", "loud", "--scope", "metrics"))
        made = quiet("create_session")["structuredContent"]
        has_shares = made["isolation"]["cpus"].startswith("cgroup")
        quiet("run_code", code="x = 1", session_id=made["session_id"])
        floods = [loud("create_session")["structuredContent"]["session_id"] for _ in range(options.sessions)]
        print(f"{'beside':<10} {'alone p50':>9} {'p99':>7} {'beside p50':>11} {'p99':>8}  ms   ratios  what the flood got")
        for kind in options.only or [*KINDS, "all"]:
            measured = compare(options, server, kind, quiet, made["session_id"], floods, loud_secrets)
            judge(aims, kind, *measured, has_shares)
    shutil.rmtree(state, ignore_errors=True)
    aims.end()


if __name__ == "__main__":
    main()
