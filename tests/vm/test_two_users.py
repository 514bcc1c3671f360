"""Two ordinary users run hutch on one machine, each in a delegated scope of the own manager."""

import os
import pathlib
import pwd
import shutil
import stat
import tempfile

import pytest

from hutch_client import Client, hutch_binary
from test_cgroup2 import cgroup_of, cgroups_of, number, until

USERS = ("hutch-one", "hutch-two")


class OtherUser(Client):
    """A server that runs as `user`, with a state directory of that user."""

    def __init__(self, user):
        entry = pwd.getpwnam(user)
        self.home = tempfile.mkdtemp(prefix="hutch-test-", dir="/tmp")
        os.chown(self.home, entry.pw_uid, entry.pw_gid)
        script = pathlib.Path(self.home, "hutch")
        script.write_text(
            f"#!/bin/sh\nexec runuser -u {user} -- env XDG_RUNTIME_DIR=/run/user/{entry.pw_uid} "
            f"systemd-run --user --scope --quiet -p Delegate=yes {hutch_binary()} \"$@\"\n")
        script.chmod(stat.S_IRWXU)
        before = hutch_binary()
        os.environ["HUTCH_BINARY"] = str(script)
        try:
            super().__init__(f"{self.home}/state")
        finally:
            os.environ["HUTCH_BINARY"] = before

    def __exit__(self, *exception):
        super().__exit__(*exception)
        shutil.rmtree(self.home, ignore_errors=True)


@pytest.fixture
def both():
    with OtherUser(USERS[0]) as one, OtherUser(USERS[1]) as two:
        yield one, two


def test_users_do_not_disturb_each_other(both):
    one, two = both
    lasting = one.run("import time\nkept = 1")["session_id"]
    run = one.run("import time\nwhile True:\n    print('up', flush=True)\n    time.sleep(0.2)",
                  background=True, session_id=lasting)
    one.until_output(run["run_id"], "up")
    small = two.call("create_session", limits={"memory_mb": 128})["session_id"]
    for user, session in ((USERS[0], lasting), (USERS[1], small)):
        cgroup = cgroup_of(session)
        assert f"user@{pwd.getpwnam(user).pw_uid}.service" in str(cgroup)
        # Alone in its scope, hutch uses that: what limits the scope limits the sessions.
        assert cgroup.parent.name == "hutch-sessions" and cgroup.parent.parent.suffix == ".scope"
        assert number(cgroup / "memory.oom.group") == 0

    ended = two.run("data = bytearray()\nwhile True: data += b'x' * (8 << 20)", session_id=small,
                    timeout_seconds=120)
    assert ended["error"]["cause"] == "oom", ended
    assert number(cgroup_of(lasting) / "memory.events", "oom_kill") == 0
    two.call("pause_session", session_id=small)
    assert number(cgroup_of(lasting) / "cgroup.freeze") == 0
    assert one.value("kept") == "1"

    assert [s["session_id"] for s in two.call("list_sessions")["sessions"]] == [small]
    two.call("delete_session", session_id=small)
    assert one.call("get_run", run_id=run["run_id"])["status"] == "running"
    assert cgroups_of(lasting)
    one.call("delete_session", session_id=lasting)
    until(lambda: not cgroups_of(lasting), what="the end of the cgroup")
