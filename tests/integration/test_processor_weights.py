"""Processor time by weight: each principal has a part, its busy sessions divide it."""

import glob
import os

import pytest

from http_server import HttpClient, Server
from hutch_client import LEGACY
from test_http_auth import bearer, token
from test_sessions import until


def cgroup_of(session_id):
    """The directory with the weight of its processors, or nothing where nobody holds one."""
    for name in ("cpu.shares", "cpu.weight"):
        for found in glob.glob(f"/sys/fs/cgroup/**/hutch-{session_id}*/{name}", recursive=True):
            return os.path.dirname(found), found
    return None


def weight_of(session_id):
    with open(cgroup_of(session_id)[1]) as file:
        return int(file.read())


def test_a_principals_part_is_divided_among_its_busy_sessions(state):
    with Server(state, no_auth=False) as server:
        alice = HttpClient(server, LEGACY, bearer(token(state, "--principal", "alice")))
        bob = HttpClient(server, LEGACY, bearer(token(state, "--principal", "bob")))
        made = {}
        runs = {}
        for client, names in ((alice, ("a1", "a2")), (bob, ("b1",))):
            for name in names:
                made[name] = client.call("create_session", name=name)["session_id"]
        if cgroup_of(made["b1"]) is None:
            pytest.skip("this host gives the sessions of this user no weight for processors")
        alone = weight_of(made["b1"])
        places = {name: os.stat(cgroup_of(made[name])[0]).st_ino for name in made}
        for client, names in ((alice, ("a1", "a2")), (bob, ("b1",))):
            for name in names:
                runs[name] = client.call("run_code", code="sleep 300", language="bash", background=True,
                                         session_id=name)["run_id"]
        until(lambda: weight_of(made["a1"]) == weight_of(made["a2"]) == alone // 2, what="half of a part each")
        assert weight_of(made["b1"]) == alone
        # One alone has all of the part again; what waits in the other has no more than its share.
        alice.call("cancel_run", run_id=runs["a2"])
        until(lambda: weight_of(made["a1"]) == alone, what="the whole part")
        assert weight_of(made["a2"]) == alone // 2 and weight_of(made["b1"]) == alone
        assert places == {name: os.stat(cgroup_of(made[name])[0]).st_ino for name in made}, "no cgroup was made anew"
