"""The units of the package under systemd itself: hutch as a service of the machine, and as one of a user."""

import json
import os
import pathlib
import pwd
import re
import shutil
import signal
import subprocess
import urllib.request

import pytest

from boxes import until
from hutch_client import PATIENCE, hutch_binary

PACKAGING = pathlib.Path(__file__).parents[2] / "packaging"
PLACES = {"/usr/bin/hutch": pathlib.Path(hutch_binary()), "/etc/systemd/system/hutch.service": PACKAGING / "systemd/hutch.service",
          "/etc/systemd/user/hutch.service": PACKAGING / "systemd/user/hutch.service"}
CONFIG = pathlib.Path("/etc/hutch/config.toml")  # of the other tests, too: at once, and it changes nothing
CGROUPS = pathlib.Path("/sys/fs/cgroup")
RESTARTS = 20


def say(*words):
    done = subprocess.run(words, capture_output=True, text=True, timeout=60 * PATIENCE)
    assert done.returncode == 0, done
    return done.stdout.strip()


def of_user(name, *words):
    entry = pwd.getpwnam(name)
    return say("runuser", "-u", name, "--", "env", "-C", entry.pw_dir, f"HOME={entry.pw_dir}", f"XDG_RUNTIME_DIR=/run/user/{entry.pw_uid}", *words)


def api(token, path, body=None):
    request = urllib.request.Request(f"http://127.0.0.1:8931{path}", data=None if body is None else json.dumps(body).encode(),
                                     headers={"Authorization": f"Bearer {token}", "Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60 * PATIENCE) as answer:
        return json.loads(answer.read() or "{}")


def is_ready():
    try:
        with urllib.request.urlopen("http://127.0.0.1:8931/readyz", timeout=10 * PATIENCE) as answer:
            return answer.status == 200
    except OSError:
        return False


def run(token, sandbox, code):
    ran = api(token, f"/api/sandbox/{sandbox}/run", {"code": code})
    assert ran["status"] == "completed", ran
    return ran["stdout"]


@pytest.fixture(scope="module", autouse=True)
def installed():
    """As the package puts it where it belongs."""
    CONFIG.parent.mkdir()
    CONFIG.with_suffix(".new").write_text(re.sub(r"^(?=[a-z_]+ *=)", "# ", (PACKAGING / "config.toml").read_text(), flags=re.M))
    CONFIG.with_suffix(".new").rename(CONFIG)
    for place, source in PLACES.items():
        os.symlink(source, place) if place.startswith("/usr") else shutil.copy(source, place)
    say("systemd-sysusers", str(PACKAGING / "systemd/sysusers.conf"))
    say("systemctl", "daemon-reload")
    of_user("hutch-one", "systemctl", "--user", "daemon-reload")
    yield
    for place in [*PLACES, CONFIG]:
        os.unlink(place)


def test_a_service_of_the_machine():
    say("systemctl", "start", "hutch")
    until(is_ready)
    token = say("runuser", "-u", "hutch", "--", "hutch", "--state-dir", "/var/lib/hutch", "token", "create").split()[-1]
    sandbox = api(token, "/api/sandbox/create", {})["sandbox_id"]
    assert run(token, sandbox, "open('kept', 'w').write('kept'); print(6 * 7)") == "42\n"
    around = CGROUPS / "system.slice/hutch.service"
    assert [path for path, _, _ in os.walk(around) if "/hutch-session" in path], "no limits of its own"
    # It comes back by itself, to the files that were there.
    os.kill(int(say("systemctl", "show", "-p", "MainPID", "--value", "hutch")), signal.SIGKILL)
    until(lambda: say("systemctl", "show", "-p", "NRestarts", "--value", "hutch") != "0" and is_ready())
    assert run(token, sandbox, "print(open('kept').read())") == "kept\n"
    # It stores what its sessions know before their processes end with it, however short before that it was learnt.
    assert run(token, sandbox, "seen = []; alias = seen") == ""
    for number in range(RESTARTS):
        assert run(token, sandbox, f"seen.append({number}); big = bytes(b'x') * 20_000_000") == ""
        say("systemctl", "restart", "hutch")
        until(is_ready)
        assert run(token, sandbox, "print(seen == list(range(len(seen))), len(seen), alias is seen, len(big))") == f"True {number + 1} True 20000000\n"
    say("systemctl", "stop", "hutch")
    assert not around.exists() and not is_ready()
    assert say("systemctl", "show", "-p", "Result", "--value", "hutch") == "success"


def test_a_service_of_a_user():
    of_user("hutch-one", "systemctl", "--user", "start", "hutch")
    until(is_ready)
    token = of_user("hutch-one", "hutch", "token", "create").split()[-1]
    sandbox = api(token, "/api/sandbox/create", {})["sandbox_id"]
    assert run(token, sandbox, "kept = [6 * 7]; print(kept)") == "[42]\n"
    of_user("hutch-one", "systemctl", "--user", "restart", "hutch")
    until(is_ready)
    assert run(token, sandbox, "print(kept)") == "[42]\n"
    uid = pwd.getpwnam("hutch-one").pw_uid
    around = CGROUPS / f"user.slice/user-{uid}.slice/user@{uid}.service/app.slice/hutch.service"
    assert [path for path, _, _ in os.walk(around) if "/hutch-session" in path], "no limits of its own"
    of_user("hutch-one", "systemctl", "--user", "stop", "hutch")
    assert not around.exists() and not is_ready()
