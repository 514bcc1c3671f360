"""Attacks that are about more than one thing a box must not do: on the server, on records, on init.

The probes of single layers are in probes/, and run by test_containment.py.
"""

import os
import time

import pytest

from conftest import end_boxes
from hutch_client import Client

SECRET = "hutch-secret-5f2b"


@pytest.fixture(scope="module")
def box(tmp_path_factory):
    state = str(tmp_path_factory.mktemp("state"))
    with Client(state, env={"API_TOKEN": SECRET, "AWS_SECRET_ACCESS_KEY": SECRET}) as client:
        yield client
    end_boxes(state)


def probe(box, code, language="python"):
    run = box.run(code, language, timeout_seconds=30)
    assert run["status"] == "completed", run["stderr"]
    return run["stdout"]


def test_no_network_but_loopback(box):
    out = probe(box, "import os, socket\nprint(socket.if_nameindex())\n"
                     "for target in (('1.1.1.1', 53), ('10.0.0.1', 80), ('169.254.169.254', 80)):\n"
                     "    s = socket.socket(); s.settimeout(2)\n"
                     "    try:\n        s.connect(target); print('CONNECTED', target)\n"
                     "    except OSError as e:\n        print('refused', e.errno)")
    assert out.splitlines()[0] == "[(1, 'lo')]"
    assert "CONNECTED" not in out and out.count("refused") == 3


# Calls that the kernel refuses, with the same answer, to all but the host's root, or does not have any
# more: no counter-check could tell who refused. The others are in probes/calls.py. Numbers of x86-64.
REFUSED_CALLS = {
    "mount": (165, 0, 0, 0, 0, 0), "pivot_root": (155, 0, 0), "move_mount": (429, 0, 0, 0, 0, 0),
    "kexec_load": (246, 0, 0, 0, 0), "acct": (163, 0), "syslog": (103, 3, 0, 0), "vhangup": (153,),
    "lookup_dcookie": (212, 0, 0, 0), "nfsservctl": (180, 0, 0, 0), "uselib": (134, 0),
    "finit_module": (313, -1, 0, 0), "delete_module": (176, 0, 0), "swapoff": (168, 0),
}
EPERM, ENOSYS = 1, 38


@pytest.mark.parametrize("name", REFUSED_CALLS)
def test_system_calls_are_refused(box, name):
    arguments = ", ".join(f"ctypes.c_long({a})" for a in REFUSED_CALLS[name])
    out = probe(box, "import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\n"
                     f"r = libc.syscall({arguments})\nprint(r, ctypes.get_errno())")
    result, error = map(int, out.split())
    assert result == -1 and error in (EPERM, ENOSYS), out


def test_setuid_programs_gain_nothing(box):
    out = probe(box, "for p in /usr/bin/su /usr/bin/passwd /usr/bin/sudo; do [ -u $p ] && echo $p; done; "
                     "su -c id 2>&1; true", "bash")
    assert "uid=0" not in out


def test_hard_limits_cannot_be_raised(box):
    out = probe(box, "import resource\nfor r in (resource.RLIMIT_NOFILE, resource.RLIMIT_NPROC, resource.RLIMIT_FSIZE):\n"
                     "    soft, hard = resource.getrlimit(r)\n"
                     "    try:\n        resource.setrlimit(r, (soft, hard + 1)); print('RAISED')\n"
                     "    except (ValueError, OSError):\n        print('refused')")
    assert out == "refused\n" * 3


def test_sessions_cannot_touch_each_other(box):
    other = box.call("create_session")["session_id"]
    box.run("open('/workspace/private', 'w').write('x')\nimport time", session_id=other)
    server = box.run("import socket, time\ns = socket.create_server(('127.0.0.1', 5599))\nprint('up', flush=True)\n"
                     "time.sleep(30)", session_id=other, background=True)
    box.until_output(server["run_id"], "up")
    out = probe(box, "import os, socket\nprint(os.path.exists('/workspace/private'))\n"
                     "try:\n    socket.create_connection(('127.0.0.1', 5599), 1); print('CONNECTED')\n"
                     "except OSError:\n    print('refused')\nprint(len([p for p in os.listdir('/proc') if p.isdigit()]) < 12)")
    assert out == "False\nrefused\nTrue\n"
    box.call("delete_session", session_id=other)


@pytest.mark.skipif(os.geteuid() != 0, reason="an ordinary user has one id for all sessions")
def test_as_root_each_session_has_its_own_id(box):
    a, b = (box.call("create_session")["session_id"] for _ in range(2))
    owners = [os.stat(f"{box.state}/sessions/{s}/workspace").st_uid for s in (a, b)]
    assert owners[0] != owners[1] and min(owners) >= 1_900_000_000
    for s in (a, b):
        box.call("delete_session", session_id=s)


def test_the_session_directory_is_closed_to_others(box):
    assert oct(os.stat(f"{box.state}/sessions").st_mode)[-3:] == "700"
    assert oct(os.stat(f"{box.state}/hutch.db").st_mode)[-3:] == "600"


def test_run_records_of_the_host_cannot_be_changed(box):
    run = box.run("print('truth')")
    out = probe(box, f"import os\np = '/runs/{run['run_id']}/stdout'\nprint(open(p).read())\n"
                     "for f in (lambda: open(p, 'a'), lambda: os.remove(p), lambda: os.chmod(p, 0o777)):\n"
                     "    try:\n        f(); print('CHANGED')\n    except OSError:\n        print('refused')")
    assert out == "truth\n\n" + "refused\n" * 3


def test_code_cannot_wedge_init(box):
    """Stopping the child of a spawn before it became a program must not stop everything."""
    session = box.call("create_session")["session_id"]
    loop = box.run("import os, signal, time\nprint('up', flush=True)\nend = time.time() + 8\n"
                   "while time.time() < end:\n    try: os.kill(-1, signal.SIGSTOP)\n    except OSError: pass",
                   session_id=session, background=True)
    box.until_output(loop["run_id"], "up")
    for _ in range(5):
        box.run("true", "bash", session_id=session, timeout_seconds=5)
    box.until_ended(loop["run_id"])  # by the box or by itself: until then it may hit the next run
    assert box.run("echo alive", "bash", session_id=session)["stdout"] == "alive\n"
    box.call("delete_session", session_id=session)
    assert box.call("get_run", run_id=loop["run_id"])["status"] not in ("queued", "running")


def test_a_working_directory_without_rights_is_entered_all_the_same(box):
    session = box.call("create_session")["session_id"]
    assert box.run("chmod 0 /workspace", "bash", session_id=session)["status"] == "completed"
    for language, code in (("bash", "echo 42"), ("python", "print(42)"), ("javascript", "console.log(42)")):
        assert box.run(code, language, session_id=session)["stdout"] == "42\n"
    box.call("delete_session", session_id=session)
