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
from http_server import HttpClient, Server
from hutch_client import MODERN, PATIENCE, hutch_binary

PACKAGING = pathlib.Path(__file__).parents[2] / "packaging"
PLACES = {"/usr/bin/hutch": pathlib.Path(hutch_binary()), "/etc/systemd/system/hutch.service": PACKAGING / "systemd/hutch.service",
          "/etc/systemd/user/hutch.service": PACKAGING / "systemd/user/hutch.service"}
CONFIG = pathlib.Path("/etc/hutch/config.toml")  # the other tests', too: at once, and it changes nothing
CGROUPS = pathlib.Path("/sys/fs/cgroup")
RESTARTS = 20


def say(*words):
    done = subprocess.run(words, capture_output=True, text=True, timeout=60 * PATIENCE)
    assert done.returncode == 0, done
    return done.stdout.strip()


def words_of_user(name, *words):
    entry = pwd.getpwnam(name)
    return ["runuser", "-u", name, "--", "env", "-C", entry.pw_dir, f"HOME={entry.pw_dir}", f"XDG_RUNTIME_DIR=/run/user/{entry.pw_uid}", *words]


def of_user(name, *words):
    return say(*words_of_user(name, *words))


class Service(Server):
    """That which systemd has started."""

    def __init__(self):
        self.address = ("127.0.0.1", 8931)

    def client(self, token):
        return HttpClient(self, MODERN, {"Authorization": f"Bearer {token}"})


def is_ready():
    try:
        with urllib.request.urlopen("http://127.0.0.1:8931/readyz", timeout=10 * PATIENCE) as answer:
            return answer.status == 200
    except OSError:
        return False


def run(client, session, code, language="python"):
    ran = client.call("run_code", session_id=session, code=code, language=language)
    while ran["status"] in ("queued", "running"):  # handed over, as an emulated machine takes long to import pandas
        ran = client.call("get_run", run_id=ran["run_id"], wait_seconds=50)
    assert ran["status"] == "completed", json.dumps(ran)
    return ran["stdout"]


# A session knows this, by language: code that makes it, code that changes all of it in its place, and a look.
KNOWN = {
    "python": ("""
import pandas as pd
frame = pd.DataFrame({"n": range(1000), "text": [f"line {n}" for n in range(1000)]})
seen = []; alias = seen; kept = {"seen": seen, "frame": frame}
def rows(): return len(frame)
def counter():
    count = 0
    def step():
        nonlocal count
        count += 1
        return count
    return step
step = counter()
import collections, dataclasses, datetime, decimal, enum, functools, io, itertools, pathlib, re
import numpy as np
class Color(enum.Enum): RED = 1
@dataclasses.dataclass
class Row: number: int
@functools.lru_cache
def twice(number): return 2 * number
row = Row(0); last = collections.deque(maxlen=2); count = itertools.count(); array = np.zeros(1000); text = io.StringIO('abcdef')
table = frame.assign(kind=frame['text'].astype('category'), when=pd.Timestamp('2026-01-02', tz='UTC'), some=pd.array([None] * 1000, 'Int64'))
others = {'color': Color.RED, 'amount': decimal.Decimal('1.10'), 'when': datetime.datetime(2026, 1, 2, tzinfo=datetime.timezone.utc), 'rows': [row, row],
          'pattern': re.compile('a+'), 'binary': functools.partial(int, base=2), 'path': pathlib.Path('a'), 'scale': lambda number: number * step_of, 'row': row}
step_of = 10
""", "seen.append(len(seen)); frame.loc[len(frame)] = [len(seen), 'more']; kept['count'] = step(); big = bytes(b'x') * 20_000_000\n"
               "row.number += 1; last.append(row.number); array += 1; step_of += 1; next(count)",
               "print(len(seen), seen == list(range(len(seen))), kept['count'], rows() - 1000, frame['n'].iloc[-1], frame['text'].iloc[999], "
               "alias is seen is kept['seen'], kept['frame'] is frame, len(big))\n"
               "print(last[-1], row.number, count, int(array.sum()), others['scale'](1), others['rows'][0] is others['row'] is row, others['color'] is Color.RED, "
               "others['amount'], others['when'].tzname(), others['pattern'].match('aab').end(), others['binary']('101'), others['path'] / 'b', twice(4), text.getvalue(), "
               "table['kind'].dtype, table['when'].dt.tz, table['some'].isna().sum(), table['kind'].iloc[-1])"),
    "javascript": ("let number = 0; const list = [], view = { list }, next = () => { list.push(++number); };", "next()",
                   "console.log(number, list.length, list.at(-1), view.list === list)"),
    "bash": ("number=0; list=(first); next() { number=$((number + 1)); list+=(more); }; cd /tmp", "next", "echo $number ${#list[@]} $PWD"),
}


def said_after(changes):
    return {"python": f"{changes} True {changes} {changes} {changes} line 999 True True 20000000\n"
                      f"{changes} {changes} count({changes}) {1000 * changes} {10 + changes} True True 1.10 UTC 2 5 a/b 8 abcdef "
                      "category UTC 1000 line 999\n",
            "javascript": f"{changes} {changes} {changes} true\n", "bash": f"{changes} {changes + 1} /tmp\n"}


def make_known(client, session):
    for language, (first, _, _) in KNOWN.items():
        run(client, session, first, language)


def restarted(client, session, changes, *restart):
    """All languages learn something, and the service is told to start anew: they know it, and all from before."""
    for language, (_, more, _) in KNOWN.items():
        run(client, session, more, language)
    say(*restart)
    until(is_ready)
    assert {language: run(client, session, look, language) for language, (_, _, look) in KNOWN.items()} == said_after(changes)


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
    client = Service().client(say("runuser", "-u", "hutch", "--", "hutch", "--state-dir", "/var/lib/hutch", "token", "create").split()[-1])
    session = client.call("create_session", name="kept")["session_id"]
    assert run(client, session, "open('kept', 'w').write('kept'); print(6 * 7)") == "42\n"
    around = CGROUPS / "system.slice/hutch.service"
    assert [path for path, _, _ in os.walk(around) if "/hutch-session" in path], "no limits of its own"
    # It comes back by itself, to the files that were there.
    os.kill(int(say("systemctl", "show", "-p", "MainPID", "--value", "hutch")), signal.SIGKILL)
    until(lambda: say("systemctl", "show", "-p", "NRestarts", "--value", "hutch") != "0" and is_ready())
    assert run(client, session, "print(open('kept').read())") == "kept\n"
    # It stores what its sessions know before their processes end with it, however short before that it was learnt.
    make_known(client, session)
    for number in range(RESTARTS):
        restarted(client, session, number + 1, "systemctl", "restart", "hutch")
    say("systemctl", "stop", "hutch")
    assert not around.exists() and not is_ready()
    assert say("systemctl", "show", "-p", "Result", "--value", "hutch") == "success"


def test_a_service_of_a_user():
    of_user("hutch-one", "systemctl", "--user", "start", "hutch")
    until(is_ready)
    client = Service().client(of_user("hutch-one", "hutch", "token", "create").split()[-1])
    session = client.call("create_session", name="kept")["session_id"]
    make_known(client, session)
    restarted(client, session, 1, *words_of_user("hutch-one", "systemctl", "--user", "restart", "hutch"))
    uid = pwd.getpwnam("hutch-one").pw_uid
    around = CGROUPS / f"user.slice/user-{uid}.slice/user@{uid}.service/app.slice/hutch.service"
    assert [path for path, _, _ in os.walk(around) if "/hutch-session" in path], "no limits of its own"
    of_user("hutch-one", "systemctl", "--user", "stop", "hutch")
    assert not around.exists() and not is_ready()
