"""Escapes from other sandboxes, each tried on this one. The number or the name is in the test's name."""

import errno
import fcntl
import hashlib
import os
import pathlib
import pty
import select
import signal
import termios
import time
import tty

import pytest

import posture
from channel import CHANNEL
from hutch_client import PATIENCE, ToolError, hutch_binary
from probes import all_probes
from probes.base import applies
from stage import PLACE, Box, server, stage  # noqa: F401 (the fixture)

RACE_SECONDS = 4
ENOUGH_SECONDS = 60 * PATIENCE  # for a race in which the other side has a busy processor

# libc and the numbers of calls, for code in the box.
RAW = """
import ctypes, os, socket, struct
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
def call(number, *arguments):
    ctypes.set_errno(0)
    words = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    result = libc.syscall(ctypes.c_long(number), *words)
    return result if result != -1 else -ctypes.get_errno()
"""
@pytest.fixture(scope="module")
def client(stage):
    with server(stage) as started:
        yield started


@pytest.fixture
def box(stage, client):
    made = Box(stage, client)
    yield made
    made.delete()


def pid_namespace(box):
    return box.run("import os; print(os.readlink('/proc/self/ns/pid'))")["stdout"].strip()


def init_of(box):
    """Host pid of the box's init."""
    runner = next(pid for pid in posture.processes_of(pid_namespace(box))
                  if "runner.py" in posture.read(pid, "cmdline"))
    return int(posture.status(runner)["PPid"])


def until(condition, what, seconds=60):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not in time: {what}"
        time.sleep(0.01)


def printed(box, code, language="python", **arguments):
    run = box.run(code, language, **arguments)
    assert run["status"] == "completed", run
    return run["stdout"].split()


def verify_all_probes(box):
    names = [name for name, entry in all_probes().items() if applies(entry, PLACE)]
    found = box.probe("bash", names)
    assert {name: text for name, (verdict, text) in found.items() if verdict != "CONTAINED"} == {}


def test_cve_2024_21626_leaked_directory_descriptor(stage):
    """runc let a descriptor of the host reach the container, whose working directory then led out."""
    leaked = os.open("/", os.O_RDONLY | os.O_DIRECTORY)
    os.set_inheritable(leaked, True)
    with server(stage, popen={"pass_fds": [leaked]}) as client:
        assert os.readlink(f"/proc/{client.process.pid}/fd/{leaked}") == "/", "the server has it"
        box = Box(stage, client)
        led = printed(box, "for number in $(seq 3 63); do for one in /proc/self/fd/$number /proc/1/fd/$number; do\n"
                           "  cd $one 2>/dev/null && echo $one; cd /workspace; done; done", "bash")
        for place in ["/proc/self/fd/3", *led]:
            box.run(f"cd {place}; true", "bash")
            where = printed(box, f"pwd; test -e .{stage.facts['marker']} && echo ESCAPED; cd /workspace", "bash")
            assert where == ["/workspace"], (place, where)
        found = box.probe("python", ["open_through_a_leaked_directory", "step_out_through_a_descriptor",
                                     "walk_through_the_links_of_proc", "what_a_program_inherits"])
        assert {verdict for verdict, _ in found.values()} == {"CONTAINED"}, found
        box.delete()
    os.close(leaked)


def test_cve_2024_21626_a_working_directory_that_was_deleted(box, stage):
    """A kept working directory that leads nowhere is not an anchor to climb from."""
    box.run("mkdir -p gone/deep && cd gone/deep && rm -r /workspace/gone", "bash")
    out = printed(box, f"cat ../../../../..{stage.facts['marker']} 2>/dev/null && echo ESCAPED; pwd", "bash")
    assert "ESCAPED" not in out and out[-1].startswith("/workspace")


def digests():
    programs = [pathlib.Path(hutch_binary()).parent / name for name in ("hutch", "hutch-box", "hutch-init")]
    programs += [pathlib.Path(path).resolve() for path in ("/usr/bin/python3", "/usr/bin/node", "/bin/bash")]
    return {path: hashlib.sha256(path.read_bytes()).hexdigest() for path in programs if path.exists()}


def test_cve_2019_5736_overwriting_the_running_program(box):
    """runc's own binary was overwritten through /proc/self/exe of a process that joined."""
    before = digests()
    box.run("import os\nopen('/workspace/script', 'w').write('#!/proc/self/exe\\n')\n"
            "os.chmod('/workspace/script', 0o755)")
    code = """
import glob, os, subprocess, time
opened = []
def overwrite(path):
    for flags in (os.O_WRONLY, os.O_RDWR, os.O_WRONLY | os.O_APPEND):
        try: opened.append((path, os.open(path, flags)))
        except OSError: pass
end = time.monotonic() + 1.5
while time.monotonic() < end:
    child = subprocess.Popen(['/workspace/script'], stderr=subprocess.DEVNULL)
    for path in ['/proc/self/exe', '/proc/1/exe', *glob.glob('/proc/[0-9]*/exe')]:
        overwrite(path)
        try: held = os.open(path, os.O_PATH)
        except OSError: continue
        overwrite(f'/proc/self/fd/{held}')
        os.close(held)
    child.wait()
print(len(opened), opened[:3])
"""
    assert printed(box, code)[0] == "0"
    assert digests() == before


@pytest.mark.parametrize("planted", [
    pytest.param({"dev": "/", "dev/null": None}, id="cve_2026_41579_dev_is_a_link"),
    pytest.param({"proc": "/", "sys": "/", "etc": "/"}, id="cve_2026_47766_proc_is_a_link"),
    pytest.param({"null": "/proc/sys/kernel/core_pattern", "console": "/etc/shadow"},
                 id="cve_2025_31133_the_source_of_masks_is_a_link"),
    pytest.param({"old": "/", "oldroot": "/", "newroot": "/", "run": "/proc/1/root"},
                 id="cve_2026_87766_a_parent_is_a_link")])
def test_links_where_the_next_box_is_put_together(stage, box, planted):
    """Everything hostile code can leave behind is there before the next box of the session is made."""
    code = "import os\n" + "".join(
        f"for top in ('/workspace', '/home/user', '/tmp'):\n    try: os.symlink({target!r}, top + '/{name}')\n"
        "    except OSError: pass\n" for name, target in planted.items() if target)
    box.run(code)
    init = init_of(box)
    hutch_box = posture.box_of(stage.state, box.session)
    os.kill(init, signal.SIGKILL)
    until(lambda: not os.path.exists(f"/proc/{hutch_box}/root"), "the box has noticed")
    verify_all_probes(box)
    mounted = [point for point, *_ in posture.mounts(init_child(box))]
    assert len(mounted) == len(set(mounted)), "nothing is mounted twice"


def init_child(box):
    return next(pid for pid in posture.processes_of(pid_namespace(box))
                if "runner.py" in posture.read(pid, "cmdline"))


def test_cve_2025_31133_masked_path_races(box):
    """The null device behind the masks cannot be exchanged while a box lives, by any call."""
    code = RAW + """
import time
won = []
end = time.monotonic() + 2
def tries():
    yield 'unlink', lambda: os.unlink('/dev/null')
    yield 'rename', lambda: os.rename('/dev/null', '/dev/null2')
    yield 'replace', lambda: os.rename('/workspace/fake', '/dev/null')
    yield 'chmod', lambda: os.chmod('/dev/null', 0o600)
    yield 'truncate', lambda: os.truncate('/proc/kallsyms', 1)
    yield 'link', lambda: os.link('/workspace/fake', '/dev/null2')
    yield 'exchange', lambda: call(316, -100, b'/workspace/fake', -100, b'/dev/null', 2) == 0 or 1 / 0
    yield 'mount', lambda: call(165, b'/workspace/fake', b'/dev/null', 0, 4096, 0) == 0 or 1 / 0
    yield 'umount', lambda: call(166, b'/proc/kallsyms', 2) == 0 or 1 / 0
while time.monotonic() < end:
    open('/workspace/fake', 'w').close()
    for name, attempt in tries():
        try: attempt(); won.append(name)
        except (OSError, ZeroDivisionError): pass
print(won, len(open('/proc/kallsyms').read()))
"""
    assert printed(box, code) == ["[]", "0"]


def test_symlink_races_against_the_file_tools(stage, box):
    """A directory that is a link half of the time: docker cp, kubelet's subPath, MCP file servers."""
    secret = pathlib.Path(stage.facts["open_directory"], "value")
    secret.write_text("SECRET-OF-THE-HOST")
    secret.chmod(0o644)
    targets = [stage.facts["open_directory"], "/proc/1/root" + stage.facts["open_directory"],
               "../" * 30 + stage.facts["open_directory"].lstrip("/"), "/proc/self/cwd"]
    code = RAW + f"""
import itertools, time
os.makedirs('swap', exist_ok=True); open('swap/value', 'w').write('inside')
for at, target in enumerate({targets!r}):
    os.symlink(target, f'link{{at}}')
print('up', flush=True)
end = time.monotonic() + {2 * ENOUGH_SECONDS}
for at in itertools.cycle(range({len(targets)})):
    for _ in range(2): call(316, -100, b'swap', -100, b'link%d' % at, 2)
    if time.monotonic() > end: break
"""
    adversary = box.run(code, background=True)
    box.client.until_output(adversary["run_id"], "up")
    seen, rounds, begin = set(), 0, time.monotonic()
    both = {("read_file", "answered"), ("read_file", "refused")}
    while (took := time.monotonic() - begin) < RACE_SECONDS or rounds <= 20 or not both <= seen:
        assert took < ENOUGH_SECONDS, (rounds, seen)
        rounds += 1
        for tool, arguments in (("read_file", {"path": "swap/value"}),
                                ("write_file", {"path": f"swap/written{rounds % 4}", "content": "x"}),
                                ("list_files", {"path": "swap"}),
                                ("share_file", {"path": "swap/value"})):
            try:
                answer = box.client.call(tool, session_id=box.session, **arguments)
            except ToolError as error:
                seen.add((tool, "refused"))
                assert "SECRET" not in str(error)
                continue
            seen.add((tool, "answered"))
            if tool == "share_file":
                content = pathlib.Path(answer["host_path"]).read_text()
                assert content == "inside", content
            assert "SECRET" not in str(answer) and stage.facts["marker"] not in str(answer), answer
    assert box.client.call("cancel_run", run_id=adversary["run_id"])["status"] == "cancelled", "it raced to the end"
    assert sorted(os.listdir(stage.facts["open_directory"])) == ["value"], "nothing was written outside"
    secret.unlink()


@pytest.mark.parametrize("path", [
    "/proc/self/environ", "/proc/self/root/etc/shadow", "/proc/1/root/etc/passwd", "/proc/1/environ",
    "/proc/self/fd/0", "/proc/self/cwd", "/proc/thread-self/root", "/../../../../etc/shadow",
    "/workspace/../../etc/shadow", "/dev/zero", "/dev/random"])
def test_magic_links_and_devices_through_the_file_tools(box, path):
    """/proc/self is the server's where the server opens it; a device never ends."""
    with pytest.raises(ToolError):
        box.client.call("read_file", path=path, session_id=box.session)


def test_special_files_do_not_hold_up_the_file_tools(box):
    """A FIFO or socket that is opened without care stops the server for ever."""
    box.run("import os, socket\nos.mkfifo('fifo'); os.symlink('fifo', 'to_fifo'); os.symlink('loop', 'loop')\n"
            "s = socket.socket(socket.AF_UNIX); s.bind('/workspace/socket')")
    for path in ("fifo", "to_fifo", "loop", "socket"):
        for tool in ("read_file", "share_file"):
            with pytest.raises(ToolError):
                box.client.call(tool, path=path, session_id=box.session)
        if path != "loop":
            continue
        with pytest.raises(ToolError):
            box.client.call("write_file", path=path, content="x", mode="append", session_id=box.session)
    entries = box.client.call("list_files", session_id=box.session)["entries"]
    assert {"/workspace/fifo", "/workspace/loop", "/workspace/socket"} <= {e["path"] for e in entries}


def test_cve_2022_0492_cgroup_release_agent(box):
    """A cgroup file system of one's own names a program that the host's kernel starts as root."""
    code = RAW + """
os.makedirs('/workspace/cg', exist_ok=True)
mounted = [kind for kind, data in ((b'cgroup', b'memory'), (b'cgroup', b'none,name=x'), (b'cgroup', b'rdma'),
                                   (b'cgroup2', b''))
           if call(165, b'none', b'/workspace/cg', kind, 0, data) == 0]
seen = [line for line in open('/proc/self/mountinfo')
        if ' - cgroup' in line or os.path.exists(line.split()[4] + '/release_agent')]
print(len(mounted), len(seen), call(430, b'cgroup', 0), call(272, 0x02000000))
"""
    assert printed(box, code) == ["0", "0", str(-errno.EPERM), str(-errno.EPERM)]


def test_core_pattern(box):
    """A core_pattern that is a pipe starts a program of the host, wherever the crash is."""
    before = pathlib.Path("/proc/sys/kernel/core_pattern").read_text()
    code = """
import os, resource, signal
for path in ('/proc/sys/kernel/core_pattern', '/proc/self/root/proc/sys/kernel/core_pattern'):
    try: os.close(os.open(path, os.O_WRONLY)); print('ESCAPED')
    except OSError: pass
resource.setrlimit(resource.RLIMIT_CORE, (0, 1))  # is told that it was done: where it is a pipe it would escape
os.chdir('/workspace')
child = os.fork()
if child == 0: os.kill(os.getpid(), signal.SIGSEGV)
_, status = os.waitpid(child, 0)
print(os.WCOREDUMP(status), *resource.getrlimit(resource.RLIMIT_CORE),
      [name for name in os.listdir('/workspace') if name.startswith('core')])
"""
    assert printed(box, code) == ["False", "1", "1", "[]"]
    assert pathlib.Path("/proc/sys/kernel/core_pattern").read_text() == before


def test_cve_2019_10063_tiocsti(stage):
    """Characters pushed into the terminal from which the server was started; with high bits as well."""
    outer, inner = pty.openpty()
    tty.setraw(inner)

    def own_terminal():
        os.setsid()
        fcntl.ioctl(inner, termios.TIOCSCTTY, 0)

    with server(stage, popen={"preexec_fn": own_terminal, "pass_fds": [inner]}) as client:
        box = Box(stage, client)
        code = RAW + """
answers = set()
targets = [int(n) for n in os.listdir('/proc/self/fd')]
for path in ('/dev/tty', '/dev/console', '/proc/self/fd/0', '/proc/1/fd/0'):
    try: targets.append(os.open(path, os.O_RDWR | os.O_NOCTTY))
    except OSError: pass
for fd in targets:
    for request in (0x5412, 0x1_0000_5412, 0x8000_0000_0000_5412 - (1 << 64), 0x541c, 0x1_0000_541c):
        answers.add(call(16, fd, request, b'x'))
print(*answers)
"""
        assert printed(box, code) == [str(-errno.EPERM)]
        box.delete()
    assert select.select([inner], [], [], 0)[0] == [], "something was typed"
    os.close(outer)
    os.close(inner)


def test_cve_2020_15257_abstract_sockets(stage, box, client):
    """containerd's own abstract socket was in reach of containers in the host's network namespace."""
    other = Box(stage, client)
    up = other.run("import socket, time\nserver = socket.socket(socket.AF_UNIX)\nserver.bind('\\0hutch-between')\n"
                   "server.listen()\nprint('up', flush=True)\ntime.sleep(600)", background=True)
    client.until_output(up["run_id"], "up")
    code = f"""
import socket
for name in ('\\0hutch-between', '\\0{stage.facts["abstract_name"]}'):
    try: socket.socket(socket.AF_UNIX).connect(name); print('ESCAPED')
    except OSError as error: print(error.errno)
"""
    assert printed(box, code) == [str(errno.ECONNREFUSED)] * 2
    other.delete()


def test_scm_rights_have_no_way_to_hutch_box(box):
    """Descriptors that hutch-box is sent may take long to close there: sockets that linger."""
    code = RAW + CHANNEL + """
for fd in (reads, writes):
    try: socket.socket(fileno=os.dup(fd))
    except OSError as error: print(error.errno == 88)  # ENOTSOCK
def connected(fd):
    try: return socket.socket(fileno=os.dup(fd)).getpeername() is not None
    except OSError: return False  # no socket, or the one that listens for the other languages
print([fd for fd in range(1024) if os.path.exists(f'/proc/self/fd/{fd}') and connected(fd)])
"""
    assert printed(box, code) == ["True", "True", "[]"]
