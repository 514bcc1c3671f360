"""Sets up what stands on the host for probes to find, and the boxes they run in.

A Stage makes one thing of each kind that a box must not reach: a file, sockets, a process, a
terminal, shared memory, a key. Its facts tell the probes where these are, so that a probe fails to
reach them because of a wall and not because it does not know where to look.
"""

import contextlib
import ctypes
import json
import os
import pathlib
import pty
import random
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from conftest import end_boxes  # noqa: E402
from hutch_client import Client, hutch_binary  # noqa: E402
from native import MARKER_TEXT  # noqa: E402
from probes import base  # noqa: E402
import zygote  # noqa: E402

SECRET = "hutch-secret-5f2b"
BOX_PIDS_MAX = 5_000  # all probes of a box take fewer
AS_ROOT = os.geteuid() == 0


def has_cgroups():
    """Whether they hold the limits here, as a session says; tests/vm/test_cgroup2.py holds that this is true."""
    with tempfile.TemporaryDirectory(prefix="hutch-stage-", dir="/tmp") as state, \
            Client(state, env={"HUTCH_ZYGOTE": "0"}) as client:
        session = client.call("create_session")
        client.call("delete_session", session_id=session["session_id"])
    return all(session["isolation"][limit].startswith("cgroup v") for limit in ("memory", "processes", "cpus"))


PLACE = base.Place(as_root=AS_ROOT, has_cgroups=has_cgroups())
IPC_CREAT, IPC_RMID = 0o1000, 0
# Without a cgroup memory is what each process says it has, and forked ones say it of the same pages:
# less room for it would end the interpreter before the limit of processes is reached.
LIMITS = {"memory_mb": 256 if PLACE.has_cgroups else 1024, "processes": 48, "open_files": 256, "disk_mb": 512}
if not PLACE.has_cgroups:
    LIMITS["cpus"] = 1  # without a cgroup by affinity, which a probe can see
BATCH_SECONDS = 60
PATHS = ("python", "background", "bash", "javascript")
FACTS, RESULTS = "/workspace/facts.json", "/workspace/results-{}.jsonl"


class Stage:
    """The host's side. Everything is taken down by close()."""

    def __init__(self):
        self._ends = contextlib.ExitStack()
        self.directory = tempfile.mkdtemp(prefix="hutch-stage-", dir="/tmp")
        self._ends.callback(shutil.rmtree, self.directory, ignore_errors=True)
        os.chmod(self.directory, 0o755)
        self.state = self.directory + "/state"
        os.mkdir(self.state, 0o700)
        self._ends.callback(end_boxes, self.state)
        self._uid = os.geteuid()
        self._name = os.path.basename(self.directory)  # nobody else's
        self.facts = {**PLACE._asdict(), "secret": SECRET, "state": self.state, "limits": LIMITS,
                      "host_uid": 0 if AS_ROOT else self._uid,
                      "forked_on_host_mounts": zygote.IS_TESTED and not AS_ROOT}
        self._make_files()
        self._make_sockets()
        self._make_objects_of_the_kernel()
        self.facts["namespaces"] = {kind: os.readlink(f"/proc/self/ns/{kind}")
                                    for kind in ("net", "ipc", "uts", "cgroup", "pid", "mnt", "user")}
        self.facts["cgroup_paths"] = sorted({line.strip().split(":", 2)[2]
                                             for line in open("/proc/self/cgroup")})
        self.facts["interfaces"] = [name for _, name in socket.if_nameindex()]
        self.facts["host_msgqueue"] = resource.getrlimit(resource.RLIMIT_MSGQUEUE)[1]

        if AS_ROOT:
            # A group of power that the server is in, and its boxes must not be.
            self._ends.callback(os.setgroups, os.getgroups())
            os.setgroups([*os.getgroups(), 4_200_001])

    def close(self):
        self._ends.close()

    def _make_files(self):
        marker = pathlib.Path(self.directory, "marker")
        marker.write_text("a file of the host")
        marker.chmod(0o644)
        open_directory = pathlib.Path(self.directory, "open")
        open_directory.mkdir()
        open_directory.chmod(0o777)
        shm_file = self._name
        pathlib.Path("/dev/shm", shm_file).touch()
        self._ends.callback(os.unlink, "/dev/shm/" + shm_file)
        ours, theirs = pty.openpty()
        self._ends.callback(os.close, ours)
        self._ends.callback(os.close, theirs)
        table = pathlib.Path(self.directory, "marker.csv")
        table.write_text(f"a,b\n{MARKER_TEXT},1\n")
        table.chmod(0o644)
        self.facts.update(marker=str(marker), marker_table=str(table), shm_file=shm_file,
                          open_directory=str(open_directory), terminal=os.ttyname(theirs))

    def _make_sockets(self):
        def listen(family, address):
            server = self._ends.enter_context(socket.socket(family))
            server.bind(address)
            server.listen(64)
            return server

        path, name = self.directory + "/socket", self._name
        listen(socket.AF_UNIX, path)
        os.chmod(path, 0o777)
        listen(socket.AF_UNIX, "\0" + name)
        tcp = listen(socket.AF_INET, ("127.0.0.1", 0))
        udp = self._ends.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        udp.bind(("127.0.0.1", 0))

        def echo():
            while True:
                data, sender = udp.recvfrom(64)
                if not data:
                    return
                udp.sendto(data, sender)

        thread = threading.Thread(target=echo, daemon=True)
        thread.start()

        def stop():
            udp.sendto(b"", udp.getsockname())
            thread.join(5)

        self._ends.callback(stop)
        self.facts.update(socket_path=path, abstract_name=name, tcp_port=tcp.getsockname()[1],
                          udp_port=udp.getsockname()[1])

    def _make_objects_of_the_kernel(self):
        def call(number, *arguments):
            result, error = base.syscall(number, *arguments)
            assert result != -1, f"the host refuses call {number}: {os.strerror(error)}"
            return result

        key = random.randrange(0x10000000, 0x7fffffff)
        shm = call(29, key, 4096, IPC_CREAT | 0o666)
        self._ends.callback(call, 31, shm, IPC_RMID, 0)
        queue = call(68, key, IPC_CREAT | 0o666)
        self._ends.callback(call, 71, queue, IPC_RMID, 0)
        semaphores = call(64, key, 1, IPC_CREAT | 0o666)
        self._ends.callback(call, 66, semaphores, 0, IPC_RMID, 0)
        name = self._name
        attributes = (ctypes.c_long * 8)(0, 1, 16)
        posix = call(240, ctypes.c_char_p(name.encode()), os.O_CREAT | os.O_RDWR, 0o666,
                     ctypes.byref(attributes))
        os.fchmod(posix, 0o666)
        self._ends.callback(call, 241, ctypes.c_char_p(name.encode()))
        self._ends.callback(os.close, posix)
        # The server inherits this session keyring, as it would one of the person who starts it.
        call(250, 1, 0)
        call(248, ctypes.c_char_p(b"user"), ctypes.c_char_p(name.encode()), ctypes.c_char_p(b"x"), 1, -3)
        self.facts.update(shm_key=key, queue=name, key=name)

    def victim(self, uid):
        """A process of the host that has the box's own id, so that no check of ids protects it."""
        token = f"victim-{self._name}-{uid}"
        pass_small_numbers()
        ids = {"user": uid, "group": uid, "extra_groups": []} if AS_ROOT else {}
        process = subprocess.Popen([token, "900"], executable=shutil.which("sleep"), cwd="/",
                                   env={**os.environ, "VICTIM": token}, **ids)
        self._ends.callback(self._end, process)
        return process.pid, token

    @staticmethod
    def _end(process):
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
        process.wait(10)


def pass_small_numbers():
    """The number of the next process is none that a box may have come to itself: there it would be one of its own. Threads
    have numbers of the same row, and thousands of them take a moment."""
    number = 0
    while number < BOX_PIDS_MAX:
        thread = threading.Thread(target=int)
        thread.start()
        thread.join()
        number = thread.native_id


@pytest.fixture(scope="module")
def stage():
    made = Stage()
    yield made
    made.close()


class Box:
    """A session with the probes in its workspace."""

    def __init__(self, stage, client, limits=None):
        self.client = client
        self.stage = stage
        made = client.call("create_session", limits=limits or LIMITS)
        self.session, self.origin = made["session_id"], made["isolation"]["python"]
        for file in sorted((HERE / "probes").glob("*.py")):
            self.write(f"probes/{file.name}", file.read_text())
        uid = os.stat(f"{stage.state}/sessions/{self.session}/workspace").st_uid
        pid, token = stage.victim(uid)
        self.facts = {**stage.facts, "victim": pid, "victim_token": token}
        self.write("facts.json", json.dumps(self.facts))

    def write(self, path, content):
        self.client.call("write_file", path=path, content=content, session_id=self.session)

    def run(self, code, language="python", **arguments):
        return self.client.run(code, language, session_id=self.session, **arguments)

    def read(self, path):
        text, offset = "", 0
        while offset is not None:
            piece = self.client.call("read_file", path=path, session_id=self.session, offset=offset)
            text, offset = text + piece["content"], piece.get("next_offset")
        return text

    def probe(self, path, names):
        """{name: (verdict, text)} of probes that run on one interpreter path; BROKEN without any."""
        # Last: hutch ends a run of which something was killed for memory.
        names = sorted(names, key=lambda name: name == "take_much_memory")
        results = RESULTS.format(path)
        program = ["/workspace/probes/batch.py", FACTS, results, *names]
        in_python = ("import sys\nsys.path.insert(0, '/workspace')\nfrom probes import batch\n"
                     f"batch.main({FACTS!r}, {results!r}, {list(names)!r})")
        if path == "python":
            run = self.run(in_python, timeout_seconds=BATCH_SECONDS, background=False)
        elif path == "background":
            run = self.run(in_python, timeout_seconds=BATCH_SECONDS, background=True)
        elif path == "bash":
            run = self.run("python3 " + " ".join(program), "bash", timeout_seconds=BATCH_SECONDS)
        else:
            run = self.run("const probed = require('child_process').spawnSync('python3', "
                           f"{json.dumps(program)}, {{encoding: 'utf8'}}); "
                           "if (probed.status !== 0) throw new Error(probed.stderr)",
                           "javascript", timeout_seconds=BATCH_SECONDS)
        if run["status"] in ("queued", "running"):
            run = self.client.until_ended(run["run_id"], 2 * BATCH_SECONDS)
        found = dict.fromkeys(names, ("BROKEN", f"not reached: {run}"))
        if run["status"] == "completed" or run.get("error", {}).get("cause") == "oom":
            for line in map(json.loads, self.read(results).splitlines()):
                found[line["probe"]] = line["verdict"], line["text"]
        # The run may be ended before what was killed for memory is told of.
        if "not reached" in found.get("take_much_memory", ("", ""))[1] and run.get("error"):
            found["take_much_memory"] = "CONTAINED", "the run ended with it"
        return found

    def run_native(self, probe):
        return self.run(probe.code(self.facts), probe.language, timeout_seconds=60)

    def delete(self):
        self.client.call("delete_session", session_id=self.session)


def server(stage, weak=False, popen=None, zygote=None):
    """A server on the stage; the weak one's boxes lack the layers that `without` names."""
    binary = pathlib.Path(hutch_binary())
    if weak:
        binary = binary.parent.parent / "weak" / "bin" / binary.name
    env = {"API_TOKEN": SECRET, "AWS_SECRET_ACCESS_KEY": SECRET}
    if weak:
        env["HUTCH_ZYGOTE"] = "0"  # its boxes are made by the weak init
    elif zygote is not None:
        env["HUTCH_ZYGOTE"] = str(int(zygote))
    return Client(stage.state, env=env, binary=str(binary), popen=popen)


def switch_off(stage, layers, landlock=False):
    """Landlock stands behind most other layers, so it goes with them unless it is what is tested."""
    words = set(layers) | ({"landlock"} if layers and not landlock else set())
    pathlib.Path(stage.state, "without").write_text("".join(layer + "\n" for layer in sorted(words)))
