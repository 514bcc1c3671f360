"""What sessions that are greedy for the kernel's memory, all at once, do to another one: its warm calls and its start.

    tests/bench/kernel_memory.py [--calls N] [--pause-ms N]

Six default sessions, and one with the most processes, run the programs of tests/security/greedy again and again: filters,
page tables, netlink, UDP, TCP, shared memory, threads, descriptors. Calls alone and those beside them alternate in blocks.
"""

import argparse
import pathlib
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from hutch_client import Client  # noqa: E402
from neighbours import BLOCKS, measure, percentile  # noqa: E402

GREEDY = pathlib.Path(__file__).resolve().parents[1] / "security/greedy"
NAMES = ["kernel_filters.py", "memory_page_tables.py", "memory_netlink.py", "memory_udp.py", "memory_tcp_of_host.py",
         "memory_memfd.py", "thread_bomb.py", "descriptors.py"]
DEFAULT_SESSIONS, MOST_PROCESSES = 6, 2100
FOR_EVER = "while :; do for i in %s; do timeout 5 python3 $i >/dev/null 2>&1; done; done"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=400, help="on each side")
    parser.add_argument("--pause-ms", type=float, default=10)
    options = parser.parse_args()
    alone, beside, starts, ended = [], [], ([], []), 0
    with tempfile.TemporaryDirectory() as state, Client(state) as client:
        session = client.call("create_session")["session_id"]
        client.run("x = 1", session_id=session)

        def start_another(into):
            began = time.monotonic()
            another = client.call("create_session")["session_id"]
            assert client.run("6 * 7", session_id=another)["status"] == "completed"
            into.append((time.monotonic() - began) * 1000)
            client.call("delete_session", session_id=another)

        wanted = [None] * DEFAULT_SESSIONS + [{"processes": MOST_PROCESSES}]
        greedy = [client.call("create_session", **({"limits": limits} if limits else {}))["session_id"] for limits in wanted]
        for one in greedy:
            for name in NAMES:
                client.call("write_file", path=name, content=(GREEDY / name).read_text(), session_id=one)
        for _ in range(BLOCKS):
            measure(client, session, options.calls // BLOCKS, options.pause_ms / 1000, alone)
            start_another(starts[0])
            runs = [client.run(FOR_EVER % " ".join(NAMES[at:] + NAMES[:at]), "bash", session_id=one, background=True,
                               timeout_seconds=600) for at, one in enumerate(greedy)]
            measure(client, session, options.calls // BLOCKS, options.pause_ms / 1000, beside)
            start_another(starts[1])
            for run in runs:
                ended += client.call("get_run", run_id=run["run_id"], wait_seconds=0)["status"] != "running"
                client.call("cancel_run", run_id=run["run_id"])
                client.until_ended(run["run_id"])
    for name, times in (("alone", alone), ("beside", beside)):
        print(f"{name:8} p50 {percentile(times, .5):8.2f} ms   p99 {percentile(times, .99):8.2f} ms")
    print(f"ratio        {percentile(beside, .5) / percentile(alone, .5):8.2f}          {percentile(beside, .99) / percentile(alone, .99):8.2f}")
    print("a session's start and first run, ms:", *(" ".join(f"{one:.0f}" for one in times) for times in starts), sep="  ")
    print(f"{ended} of {BLOCKS * len(greedy)} greedy runs had ended by a limit of theirs")


if __name__ == "__main__":
    main()
