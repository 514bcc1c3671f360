"""A limit that was met is named: the one that it was, whatever words its program has for it. And limits that programs set
for themselves are theirs to set."""

import pytest

from conftest import needs
from hutch_client import Client

C_WRITER = r"""
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
int main(int count, char **arguments) {
  static char block[1 << 20];
  if (count > 1) signal(SIGXFSZ, SIG_IGN);
  int file = open("big", O_CREAT | O_WRONLY, 0600);
  for (int i = 0; i < 40; ++i)
    if (write(file, block, sizeof block) < 0) { fprintf(stderr, "big: %s\n", strerror(errno)); return 1; }
}
"""
BROKEN = r"""
#include <stdlib.h>
int main(void) { char *volatile block = malloc(10); free(block); return block[3]; }
"""
PYTHON = "with open('big', 'wb') as file:\n for i in range(40): file.write(b'x' * (1 << 20))"
NODE = ("const fs = require('fs'); { const fd = fs.openSync('big', 'w'); try { for (let i = 0; i < 40; i++) "
        "fs.writeSync(fd, Buffer.alloc(1 << 20)) } finally { fs.closeSync(fd) } }")


@pytest.fixture(scope="module")
def small(module_state):
    """A session with little room."""
    with Client(module_state) as client:
        made = client.call("create_session", limits={"disk_mb": 20, "files": 300})
        yield lambda code, language="bash": client.run(code, language, session_id=made["session_id"])


@pytest.fixture(autouse=True)
def empty(small):
    small("cd /workspace && rm -rf ./*")


def compiled(small, source, *flags):
    needs(small("gcc --version")["status"] == "completed", "gcc")
    made = small(f"cat >one.c <<'END'\n{source}\nEND\ngcc {' '.join(flags)} one.c -o one")
    assert made["status"] == "completed", made


@pytest.mark.parametrize("language,code,status", [
    ("bash", "dd if=/dev/zero of=big bs=1M count=40; echo went on", "completed"),
    ("bash", "head -c 40M /dev/zero >big", "failed"), ("bash", "yes >big; exit 0", "completed"),
    ("bash", "exec yes >big", "failed"), ("bash", f"python3 -c \"{PYTHON}\"; true", "completed"),
    ("bash", f"python3 -c \"{PYTHON}\" 2>&1 | cat; exit 3", "failed"), ("python", PYTHON, "failed"),
    ("python", "import subprocess; subprocess.run('exec yes >big', shell=True, check=True)", "failed"),
    ("javascript", NODE, "failed"), ("bash", f"node -e \"{NODE}\"; true", "completed")])
def test_a_file_that_grows_too_large_names_the_limit(small, language, code, status):
    needs("node" not in code or small("node --version")["status"] == "completed", "node")
    run = small(code, language)
    assert run["status"] == status and "may take 20 MB together" in run.get("note", ""), run
    assert "limits.disk_mb" in run["note"] and "limits.files" not in run["note"], run


@pytest.mark.parametrize("how", ["./one; true", "./one", "./one deaf; true"])
def test_so_it_is_for_programs_of_c(small, how):
    compiled(small, C_WRITER)
    assert "limits.disk_mb" in small(how).get("note", "")


MANY = "import time\nfor i in range({files}):\n    open(f'f{{i}}', 'wb').write(b'x' * {size})\n    time.sleep({pause})\ntime.sleep(30)"


@pytest.mark.parametrize("files,size,pause,limit,other", [
    (400, 1, 0.001, "300 files (limits.files)", "disk_mb"), (10, 4 << 20, 0.05, "20 MB (limits.disk_mb)", "limits.files")])
def test_the_limit_of_the_disk_is_the_one_that_was_reached(small, files, size, pause, limit, other):
    run = small(MANY.format(files=files, size=size, pause=pause), "python")
    assert run["error"]["cause"] == "disk" and limit in run["error"]["message"], run
    told = run["error"]["message"] + run["note"]
    assert other not in told and "host" not in run["error"]["message"], run


@pytest.mark.parametrize("files", [350, 5000])
def test_a_run_may_make_room_after_one_that_went_too_far(small, files):
    """Also where nobody had seen yet how far, and where it takes a while."""
    small(f"for i in range({files}): open(f'f{{i}}', 'w').close()\n1", "python")
    slowly = "import os, time\nfor i, name in enumerate(sorted(os.listdir())):\n    os.remove(name)\n" \
             f"    if i % {files // 100} == 0: time.sleep(0.03)\nprint('made room')"
    run = small(slowly, "python")
    assert run["status"] == "completed" and run["stdout"] == "made room\n", run


@pytest.mark.parametrize("code", [
    "ulimit -c 0", "ulimit -S -c 0", "ulimit -c unlimited; ulimit -c 0", "prlimit --core=0 true", "eval $(ssh-agent) && kill $SSH_AGENT_PID",
    "python3 -c 'import resource; resource.setrlimit(resource.RLIMIT_CORE, (0, 0))'"])
def test_programs_may_say_that_they_want_no_core_files(small, code):
    program = code.split()[0].strip("(").replace("eval", "ssh-agent")
    needs(small(f"type {program}")["status"] == "completed", program)
    run = small(code)
    assert run["status"] == "completed" and "not implemented" not in run["stderr"], run
    assert small("ulimit -c; grep 'Max core' /proc/self/limits")["stdout"].split()[:1] == ["0"]


@pytest.mark.parametrize("sanitizer", ["address", "thread"])
def test_sanitizers_are_stopped_by_nothing_that_is_not_named(small, sanitizer):
    compiled(small, BROKEN, f"-fsanitize={sanitizer}")
    run = small("./one")
    assert "setrlimit() failed" not in run["stderr"], run
    assert "failed to allocate" not in run["stderr"] or "address space" in run["note"], run
