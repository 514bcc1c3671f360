"""Every system call of the set-up path fails in turn: a named error, nothing left, and the next start works.

strace lists the calls of one good start of each program, and then makes each of them fail in a start
of its own. What the loader and libc do before main() is left out: there is no code of ours that could
say anything about it, and the server says that the program died.
"""

import contextlib
import errno
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import time

import pytest

from boxes import children_of
from conftest import needs
from database import rows
from hutch_client import ToolError
from trial import Trial, descriptors_of

# A call is likely to fail with these; for the others EIO.
ERRNO = {"openat": "EMFILE", "open": "EMFILE", "pipe2": "EMFILE", "socket": "EMFILE", "socketpair": "EMFILE",
         "dup": "EMFILE", "dup2": "EMFILE", "fcntl": "EMFILE", "memfd_create": "EMFILE",
         "epoll_create1": "EMFILE", "accept4": "EMFILE", "eventfd2": "EMFILE", "signalfd4": "EMFILE",
         "clone3": "EAGAIN", "clone": "EAGAIN", "vfork": "EAGAIN", "mmap": "ENOMEM", "brk": "ENOMEM",
         "munmap": "ENOMEM", "mprotect": "ENOMEM", "epoll_ctl": "ENOMEM", "mkdir": "ENOSPC",
         "mkdirat": "ENOSPC", "write": "ENOSPC", "mount": "EPERM", "umount2": "EPERM", "pivot_root": "EPERM",
         "open_tree": "EPERM", "move_mount": "EPERM", "mount_setattr": "EPERM", "prctl": "EPERM",
         "setresuid": "EAGAIN", "seccomp": "EPERM", "capset": "EPERM", "sethostname": "EPERM",
         "connect": "EACCES", "flock": "EIO", "sendmsg": "ENOBUFS", "sendto": "ENOBUFS"}

# Calls that cannot fail, or do not come back.
NEVER_FAIL = {"exit", "exit_group", "getpid", "getppid", "gettid", "getuid", "geteuid", "getgid", "getegid",
              "umask", "getrandom", "rt_sigreturn", "restart_syscall", "clock_gettime", "execve"}


def call_in(line):
    """(pid, name, the whole text) of a line of strace -f -o, or None."""
    match = re.match(r"(\d+) +(?:<\.\.\. )?(\w+)(?:\(| resumed>)(.*)", line)
    if not match or "resumed>" in line or line.rstrip().endswith("+++"):
        return None
    return int(match[1]), match[2], match[3]


class Calls:
    """The calls of one process, in order, each with its number among those of its name."""

    def __init__(self, lines, pid):
        self.all = []
        counts = {}
        for line in lines:
            call = call_in(line)
            if not call or call[0] != pid:
                continue
            counts[call[1]] = counts.get(call[1], 0) + 1
            self.all.append((call[1], counts[call[1]], call[2]))
        self.counts = counts

    def between(self, first, last):
        """From the first call that `first` holds of to the last one that `last` holds of, both included."""
        begin = next(i for i, call in enumerate(self.all) if first(call))
        end = max(i for i, call in enumerate(self.all) if last(call))
        return [call for call in self.all[begin:end + 1] if call[0] not in NEVER_FAIL]


def failure_of(name):
    return ERRNO.get(name, "EIO")


def words_of(name):
    return os.strerror(getattr(errno, failure_of(name)))


@pytest.fixture(scope="module")
def trial(tmp_path_factory):
    needs(shutil.which("strace"), "strace")
    made = Trial(tmp_path_factory.mktemp("trial"))
    with made.client() as client:
        made.server = client
        # Once without anything, so that what the server opens only once is open.
        client.call("delete_session", session_id=client.call("create_session")["session_id"])
        made.until_nothing_is_left(client.process.pid, [])
        made.descriptors = descriptors_of(client.process.pid)
        yield made


def count_sessions(trial):
    return rows(trial.state, "SELECT count(*) FROM sessions")[0][0]


def newest_session(trial):
    return rows(trial.state, "SELECT id, status, error FROM sessions ORDER BY rowid DESC LIMIT 1")[0]


def start_with(trial, helper, options):
    """Creates a session whose helper runs under strace; (id, None) or (id, what the tool said)."""
    trial.trace(helper, options)
    try:
        return trial.server.call("create_session")["session_id"], None
    except ToolError as refused:
        return newest_session(trial)[0], str(refused)
    finally:
        trial.trace(helper, None)


def check_afterwards(trial, session, said):
    """Whatever happened: nothing but the row and the directory is there, and the session can still be used."""
    server = trial.server
    assert server.alive
    if said is not None:
        trial.until_nothing_is_left(server.process.pid, [session])
        status, error = newest_session(trial)[1:]
        if "this machine is at one of its limits" in said:
            # A refusal that leaves no session to count.
            assert (status, error) == ("destroyed", None) and "try again in" in said, (status, error, said)
        else:
            assert status == "error" and error and error in said, (status, error, said)
            assert server.call("resume_session", session_id=session)["status"] == "ready"
    if said is None or status == "error":
        server.call("delete_session", session_id=session)
    trial.until_nothing_is_left(server.process.pid, [session])
    assert not os.path.exists(f"{trial.state}/sessions/{session}")


def problems_of(trial, helper, cases, judge):
    """Runs all cases and collects what is wrong, so that one run shows everything."""
    problems = []
    for case in cases:
        name, number, text, options = case
        session, said = start_with(trial, helper, options)
        wrong = judge(name, text, said)
        if wrong:
            problems.append(f"{name} #{number} ({text[:100]}): {wrong}")
        try:
            check_afterwards(trial, session, said)
        except (AssertionError, ToolError) as failed:
            problems.append(f"{name} #{number} ({text[:100]}): afterwards {failed}")
            if not trial.server.alive:
                break
    return problems


def is_start_of_init(call):
    return call[0] == "fcntl" and call[2].startswith("4, F_SETFD")


def good_start(trial, helper, options):
    """The lines that strace writes for a start that succeeds."""
    trial.trace(helper, options)
    session = trial.server.call("create_session")["session_id"]
    trial.server.call("delete_session", session_id=session)
    trial.until_nothing_is_left(trial.server.process.pid, [session])
    lines = trial.log_of(helper).read_text().splitlines()
    trial.trace(helper, None)
    return lines


def halves_of_init(trial):
    """The calls of the outside half from main() on, and of the inside half until it says ready."""
    lines = good_start(trial, "hutch-init", "-f")
    pids = list(dict.fromkeys(int(line.split()[0]) for line in lines))
    assert len(pids) == 2, "the outside half and its clone"
    outside, inside = (Calls(lines, pid) for pid in pids)
    # A look for what is not there yet fails in every start, and has its answer in what follows.
    of_inside = [case for case in inside.between(lambda call: True, lambda call: call[0] == "sendmsg") if "= -1 ENOENT" not in case[2]]
    return outside, outside.between(is_start_of_init, lambda call: call[0] == "write"), inside, of_inside


# A start that meets a limit of the host is tried again. Calls of init meet no disk that could be full: theirs is the most
# of namespaces or mounts.
TRIED_AGAIN = {"EAGAIN", "ENOMEM", "EMFILE", "ENFILE", "ENOBUFS"}


# They set time slices, which are no wall.
TOLERATED_IN_INIT = {"sched_getattr", "sched_setattr"}


def judge_init(name, text, said):
    if said is None:
        return None if name in TOLERATED_IN_INIT else "the session started all the same"
    named = re.search(r"start the box: (\S.*): " + re.escape(words_of(name)), said)
    return None if named and "init has ended" not in said else said


def test_each_call_of_hutch_init(trial):
    outside, of_outside, inside, of_inside = halves_of_init(trial)
    assert len(of_outside) > 10 and len(of_inside) > 200
    # strace counts for each process on its own. Without -f only the outside half is there; with it a
    # number that the outside half does not reach is one of the inside half.
    cases = [(name, number, text, f"-e inject={name}:error={failure_of(name)}:when={number}")
             for name, number, text in of_outside]
    cases += [(name, number, text, f"-f -e inject={name}:error={failure_of(name)}:when={number}")
              for name, number, text in of_inside if number > outside.counts.get(name, 0)]
    problems = problems_of(trial, "hutch-init", cases, judge_init)
    assert not problems, "\n".join(problems)


def start_and_attach(trial, name, number, last_write, held_up_ms):
    """As start_with(), but strace takes hold of the inside half while the outside half is held up."""
    trial.trace("hutch-init",
                f"-e trace=clone3,write -e inject=write:delay_enter={held_up_ms * 1000}:when={last_write}")
    log, deadline = trial.log_of("hutch-init"), time.monotonic() + 10
    log_inside = log.with_name(f"{log.name}.inside")
    log_inside.unlink(missing_ok=True)
    request = trial.server.start_tool("create_session")
    tracer = None
    try:
        while not (found := re.search(r"clone3\(.*\) = (\d+)\n", log.read_text() if log.exists() else "")):
            assert time.monotonic() < deadline, "no clone"
            time.sleep(0.002)
        tracer = subprocess.Popen(
            ["strace", "-qq", "-o", str(log_inside), "-p", found[1],
             "-e", f"inject={name}:error={failure_of(name)}:when={number}"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        result = trial.server.reply(request)["result"]
        # Else strace came too late, and nothing was made to fail.
        injected = log_inside.exists() and "(INJECTED)" in log_inside.read_text()
    finally:
        trial.trace("hutch-init", None)
        if tracer:
            try:
                tracer.wait(2)  # ends with the process that it traces
            except subprocess.TimeoutExpired:
                tracer.send_signal(signal.SIGINT)
                tracer.wait(10)
    session = newest_session(trial)[0]
    return session, result["content"][0]["text"] if result["isError"] else None, injected


def test_each_call_that_both_halves_of_hutch_init_make(trial):
    outside, _, inside, of_inside = halves_of_init(trial)
    cases = [case for case in of_inside if case[1] <= outside.counts.get(case[0], 0)]
    assert cases
    problems = []
    for name, number, text in cases:
        for held_up_ms in (400, 400, 1000, 3000, 6000):
            session, said, injected = start_and_attach(trial, name, number, outside.counts["write"], held_up_ms)
            # strace holds the first init alone: the next try is left in peace.
            is_tried_again = failure_of(name) in TRIED_AGAIN | {"ENOSPC"}
            wrong = None if injected and said is None and is_tried_again else judge_init(name, text, said)
            check_afterwards(trial, session, said)
            if injected:
                break
        else:
            wrong = "strace never came in time"
        if wrong:
            problems.append(f"{name} #{number} ({text[:100]}): {wrong}")
    assert not problems, "\n".join(problems)


# Calls of hutch-box whose failure does not keep a session from starting, and why that is right.
TOLERATED_IN_BOX = [
    (r".*", r'.*(/sys/fs/cgroup/|/proc/self/mountinfo|/proc/self/cgroup|/proc/\d+/mountinfo|/proc/\d+/cgroup)',
     "without a cgroup the limits fall back to rlimits and the watch, and the session's record says so"),
    (r"sched_[gs]etattr", r".*", "hutch-box then has the kernel's time slices, and answers later beside programs that never rest"),
    (r"sysinfo|sched_getaffinity", r".*", "code is then shown the session's limits, also where the machine has less"),
    (r"openat|read", r".*/proc/cpuinfo", "code is then shown all of the machine's processors"),
    (r"quotactl_fd", r".*", "without a quota the disk is watched, and the session's record says so"),
    (r"fcntl", r".*/workspace>, F_DUPFD", "the same: this is the quota's own descriptor"),
    (r"openat", r'.*"(dev/shm|run/hutch/state)"', "what lies there without being mapped is then not counted"),
    (r"readlink|newfstatat|openat", r'.*"/(etc|usr)\b', "an entry of /etc that cannot be read is not in the box"),
    (r"access", r'"/usr/(local/)?s?bin/', "a program that cannot be looked for is told of as one that is not here"),
    (r"openat|read", r".*/proc/sys/net/(ipv4/(tcp|udp)_[rw]?mem|core/[rw]mem_max)", "the part of memory that the kernel usually gives to sockets then bounds them"),
    (r"openat2", r'.*"proc/meminfo"', "code is then shown what the machine has as it was at the start"),
    (r"fstatfs|chmod|openat", r'.*/proc/(self/fd|meminfo)', "the same"),
    (r"newfstatat", r'.*/state/sessions"', "the box removes its cgroup itself, whatever it is called"),
    (r"unlinkat", r'(-1|.*/state>), "(rests|\w+\.new)"', "what is left of a snapshot that was cut off is written over by the next"),
    (r"newfstatat|faccessat2|openat", r'(-1|.*/state>), "(python|javascript|full|bash\.[01])"',
     "nothing is stored of a new session; what cannot be looked for is as not there, and is told at waking"),
    (r"openat", r'.*"state"', "a look whether a server has made it since: it is looked for again with each snapshot"),
    (r"close", r".*", "Linux frees the descriptor even when close() fails"),
    (r"brk|mmap|munmap|mprotect|madvise", r".*", "malloc() finds memory elsewhere"),
    (r"rt_sigprocmask|rt_sigaction|prlimit64", r".*", "libc does not look at the result"),
    (r"wait4", r".*", "a wait for a child of one's own cannot fail; the box is up by then"),
    (r"flock|poll", r".*EINTR", "tried again"),
]
# After these nobody is left to say which step it was: no memory, and what libc ends the process for.
DIES = [(r"brk|mmap|munmap|mprotect|madvise", r".*"), (r"futex", r".*")]


def judge_box(name, text, said):
    if said is None:
        tolerated = any(re.fullmatch(n, name) and re.match(t, text) for n, t, _ in TOLERATED_IN_BOX)
        return None if tolerated else "the session started all the same"
    if any(re.fullmatch(n, name) and re.match(t, text) for n, t in DIES) and re.search("hutch-box (died|was ended)", said):
        return None
    return None if re.search(r"\S+.*: " + re.escape(words_of(name)), said) else said


def test_each_call_of_hutch_box(trial):
    lines = ["1 " + line for line in good_start(trial, "hutch-box", "-y")]
    calls = Calls(lines, 1)
    cases = [(name, number, text, f"-e inject={name}:error={failure_of(name)}:when={number}")
             for name, number, text in calls.between(
                 lambda call: call[0] == "rt_sigaction" and "SIGPIPE" in call[2],
                 lambda call: call[0] == "write" and call[2].startswith("4<pipe:"))]
    assert len(cases) > 100
    problems = problems_of(trial, "hutch-box", cases, judge_box)
    assert not problems, "\n".join(problems)


# Calls of the server whose failure does not keep a session from being made, and why that is right.
TOLERATED_IN_SERVER = [
    (r"readlink", r'.*/environments/', "a session without its environment says so: its template is host"),
    (r".*", r'.*(/sys/fs/cgroup|/proc/self/mountinfo|/proc/self/cgroup|/proc/\d+/mountinfo|/proc/\d+/cgroup)',
     "there is nothing to sweep for a new session; its box makes the cgroups anew and sweeps them first"),
    (r"brk|mmap|munmap|mprotect|madvise", r".*", "malloc() finds memory elsewhere"),
    (r"openat|read", r'.*/proc/sys/vm/overcommit_memory', "malloc() only asks whether to give memory back"),
    (r"rt_sigprocmask|prlimit64", r".*", "libc does not look at the result"),
    (r"openat|flock", r'.*/lock\b', "a look at whether somebody owns the session: who starts a box takes the lock"),
    (r"newfstatat", r'.*/state/sessions(/\w+/workspace)?"', "only tells whether cgroups of a dead box are this session's: it has none"),
    (r"newfstatat|getdents64", r'\d+<[^>]*/sessions/\w+>, (""|0x)', "a look for what a box before this one has left"),
    (r"unlink", r'.*/state/full"', "its principal has its share of the disk: nothing is there to take back"),
    (r"mkdir|lchown", r'.*/home/\.local', "npm makes its prefix when it installs; npx says that it is not there"),
    (r"lseek", r'.*/box\.log', "an earlier start's words are then taken for this one's, where it fails"),
    (r"unlink", r'.*\.sock', "the box removes a stale socket itself before it binds"),
    (r"ioctl", r".*FS_IOC_FSGE", "looks for a quota to lift; what is there stays counted"),
    (r"pidfd_open", r".*", "only lets a box be ended that does not get ready"),
    (r"openat|socket|setsockopt|getsockopt|connect|sendto|poll|recvfrom", r".*",
     "a look for a box that is not there yet, or at one that is: it is asked again"),
]
# A page that cannot be read is the same to it as one that makes no sense.
FROM_SQLITE = ("disk I/O error", "database is locked", "locking protocol", "database or disk is full",
               "database disk image is malformed")


# How often these are called is not the same each time: which pages are in memory is not.
DEPENDS = {"brk", "mmap", "munmap", "mprotect", "madvise", "poll", "pread64", "pwrite64"}


def judge_server(name, text, said):
    if said is None:
        tolerated = failure_of(name) in TRIED_AGAIN or any(
            re.fullmatch(n, name) and re.match(t, text) for n, t, _ in TOLERATED_IN_SERVER)
        return None if tolerated else "the session was made all the same"
    if "hutch.db" in text and any(words in said for words in FROM_SQLITE):
        return None
    return None if re.search(r"\S+.*: " + re.escape(words_of(name)), said) else said


def keep_wal_short(trial):
    """So that the write-ahead log, of 4 MB, is never written back in the middle of what is counted."""
    if os.path.getsize(f"{trial.state}/hutch.db-wal") < 2 << 20:
        return
    with contextlib.closing(sqlite3.connect(f"{trial.state}/hutch.db", timeout=30)) as database:
        busy, _, _ = database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        assert busy == 0
    # The server reads everything anew once.
    trial.server.call("delete_session", session_id=trial.server.call("create_session")["session_id"])


def sessions_under_strace(trial, threads, *options, count=1):
    """Makes sessions at once while these threads are traced; (the tool's results, what strace wrote)."""
    log = trial.directory / "server.log"
    named = [argument for thread in threads for argument in ("-p", str(thread))]
    tracer = subprocess.Popen(["strace", "-o", str(log), *options, *named], stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    for _ in threads:
        assert "attached" in tracer.stderr.readline()
    try:
        requests = [trial.server.start_tool("create_session") for _ in range(count)]
        return [trial.server.reply(request)["result"] for request in requests], log
    finally:
        tracer.send_signal(signal.SIGINT)
        tracer.communicate(timeout=10)


def threads_of(server):
    return {int(entry) for entry in os.listdir(f"/proc/{server.process.pid}/task")}


def look_at_threads(trial):
    """The threads that run no tools, and the calls that one makes that does, when it makes a session."""
    for count in (12, 1):  # many at once wake all that run tools, and start all there will be
        keep_wal_short(trial)
        threads = threads_of(trial.server)
        results, log = sessions_under_strace(trial, threads, "-y", count=count)
        for result in results:
            trial.server.call("delete_session", session_id=result["structuredContent"]["session_id"])
        lines = log.read_text().splitlines()
        made = {int(line.split()[0]) for line in lines if "mkdir(" in line}
        if count > 1:
            others = threads - made
    return others, Calls(lines, made.pop())


def test_each_call_of_the_server(trial):
    others, calls = look_at_threads(trial)
    # Left out are two that strace skips and the kernel never does: a close() that fails closes all the
    # same, and a lock of SQLite that is given back (fcntl) is free.
    cases = [call for call in calls.all if call[0] not in NEVER_FAIL | {"futex", "close", "fcntl"}]
    assert any(name == "clone3" for name, _, _ in cases) and len(cases) > 80
    problems = []
    for name, number, text in cases:
        keep_wal_short(trial)  # which makes a session of its own
        before = count_sessions(trial)
        (result,), log = sessions_under_strace(trial, threads_of(trial.server) - others, "-e",
                                               f"inject={name}:error={failure_of(name)}:when={number}")
        said = result["content"][0]["text"] if result["isError"] else None
        wrong = judge_server(name, text, said)
        if "(INJECTED)" not in log.read_text():
            wrong = None if name in DEPENDS else "not made to fail"
        try:
            if count_sessions(trial) > before:
                check_afterwards(trial, newest_session(trial)[0], said)
            else:
                assert said is not None
                trial.until_nothing_is_left(trial.server.process.pid, [])
        except (AssertionError, ToolError) as failed:
            problems.append(f"{name} #{number} ({text[:120]}): afterwards {failed}")
        if wrong:
            problems.append(f"{name} #{number} ({text[:120]}): {wrong}")
        if not trial.server.alive:
            break
    assert not problems, "\n".join(problems)


def test_the_server_has_as_many_descriptors_as_before(trial):
    assert descriptors_of(trial.server.process.pid) == trial.descriptors
