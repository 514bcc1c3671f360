"""Tests what the kernel of a distribution has, and the kernels of containers often have not."""

import os
import pathlib
import shutil
import subprocess
import tempfile

import pytest

CORE_PATTERN = pathlib.Path("/proc/sys/kernel/core_pattern")


@pytest.fixture
def piped_cores():
    """The pids in whose crash the kernel started the host's program for cores."""
    if os.geteuid() != 0:
        pytest.skip("only root says where cores go")
    directory = pathlib.Path(tempfile.mkdtemp(dir="/tmp"))  # a core_pattern has 127 bytes; nothing in /run is executed
    told, program = directory / "told", directory / "take"
    told.write_text("")
    program.write_text(f"#!/bin/sh\necho $1 >> {told}\n")
    program.chmod(0o755)
    before = CORE_PATTERN.read_text()
    CORE_PATTERN.write_text(f"|{program} %P")
    yield lambda: told.read_text().split()
    CORE_PATTERN.write_text(before)
    shutil.rmtree(directory)


def test_a_crash_in_a_box_starts_no_program_of_the_host(shared, piped_cores):
    code = ("import os, resource, signal\n"
            "try: resource.setrlimit(resource.RLIMIT_CORE, (0, 1))\n"
            "except (OSError, ValueError): pass\n"
            "child = os.fork()\n"
            "if child == 0: os.kill(os.getpid(), signal.SIGSEGV)\n"
            "print(os.WTERMSIG(os.waitpid(child, 0)[1]))")
    assert shared.run(code)["stdout"] == "11\n"
    # A core is longer than a pipe holds: the crash is not over before the program is.
    crashed = subprocess.Popen(["sh", "-c", "kill -SEGV $$"])
    crashed.wait()
    assert piped_cores() == [str(crashed.pid)]


@pytest.mark.parametrize("path", ["/proc/sysrq-trigger", "/proc/kcore", "/proc/kallsyms", "/proc/keys",
                                  "/proc/kmsg", "/proc/kpagecount", "/proc/timer_list", "/proc/zoneinfo"])
def test_what_proc_tells_of_the_machine_is_the_null_device(shared, path):
    assert pathlib.Path(path).exists()
    out = shared.run(f"import os, stat\ns = os.stat({path!r})\n"
                     "print(stat.S_ISCHR(s.st_mode), os.major(s.st_rdev), os.minor(s.st_rdev))\n"
                     f"print(open({path!r}, 'rb').read(10))")
    assert out["stdout"] == "True 1 3\nb''\n", out


@pytest.mark.parametrize("path", ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sysvipc"])
def test_what_proc_lists_of_the_machine_is_empty(shared, path):
    assert any(pathlib.Path(path).iterdir())
    assert shared.value(f"import os; os.listdir({path!r})") == "[]"
