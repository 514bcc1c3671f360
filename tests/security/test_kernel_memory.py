"""Memory of the kernel that is charged to nobody: sessions that are greedy for it leave the others starting.

What a box is refused because of it is tried one by one in probes/resources.py; here the sum of many sessions is.
"""

import pathlib
import re

import pytest

from hutch_client import Client

GREEDY = pathlib.Path(__file__).parent / "greedy"
FILTERS = (GREEDY / "kernel_filters.py").read_text()
DEFAULT_SESSIONS, TRIES = 6, 8


def most_processes(client):
    """As many as create_session allows on this host: it says so where it is asked for more."""
    refused = client.result("create_session", limits={"processes": 10**9})
    assert refused["isError"], refused
    return int(re.search(r"processes must be a whole number from \d+ to (\d+)", refused["content"][0]["text"])[1])


@pytest.mark.parametrize("name,said", [("kernel_filters.py", "filters 0\n"), ("futex_hashes.py", "hashes 0\n")],
                         ids=["filters", "hashes"])
def test_a_session_gets_none_of_it(state, name, said):
    with Client(state) as client:
        run = client.run((GREEDY / name).read_text(), background=True, timeout_seconds=60)
        assert client.until_output(run["run_id"], "\n") == said
        client.call("cancel_run", run_id=run["run_id"])


@pytest.mark.slow
def test_the_room_for_programs_in_the_kernel_is_taken_by_nobody(state):
    """Six default sessions, or one with many processes, took all of it: no other box could have its filter then."""
    with Client(state) as client:
        wanted = [None] * DEFAULT_SESSIONS + [{"processes": most_processes(client)}]
        greedy = [client.call("create_session", **({"limits": limits} if limits else {}))["session_id"]
                  for limits in wanted]
        runs = [client.run(FILTERS, session_id=session, background=True, timeout_seconds=300) for session in greedy]
        for run in runs:
            shown = client.call("get_run", run_id=run["run_id"], wait_seconds=0)
            offset = 0
            while "filters" not in shown["stdout"]:
                assert shown["status"] == "running", shown
                shown = client.call("get_run", run_id=run["run_id"], wait_seconds=50, stdout_offset=offset)
            assert shown["stdout"] == "filters 0\n", shown
        for _ in range(TRIES):
            other = client.call("create_session")["session_id"]
            assert client.run("6 * 7", session_id=other)["status"] == "completed"
            client.call("delete_session", session_id=other)
        for session in greedy:
            client.call("delete_session", session_id=session)
