"""OpenSSH in a box, whose policy refuses seccomp filters: its sandboxed child has to do without one, and logins work.

A box has one user id, so sshd runs as the user whom it lets in, without PAM and without a user for separated privileges.
"""

import base64
import glob
import pathlib
import shutil
import subprocess

import pytest

from conftest import needs

SBIN = "/usr/sbin:/usr/local/sbin"
SETTINGS = """Port 2222
ListenAddress 127.0.0.1
HostKey /workspace/ssh/host
AuthorizedKeysFile /workspace/ssh/user.pub
PidFile none
UsePAM no
StrictModes no
LogLevel DEBUG3
Subsystem sftp internal-sftp
"""
BEGIN = """set -e
mkdir ssh; for key in host user other; do ssh-keygen -q -t ed25519 -N '' -f ssh/$key; done
cat > ssh/config <<'END'
{settings}END
cat > ssh/client <<'END'
Host box
HostName 127.0.0.1
Port 2222
User user
BatchMode yes
StrictHostKeyChecking no
UserKnownHostsFile /dev/null
LogLevel ERROR
END
{sshd} -D -f ssh/config -E /workspace/ssh/log & server=$!
until grep -qs 'Server listening' ssh/log; do kill -0 $server; sleep 0.1; done
"""


def unpacked(directory):
    """sshd and the library that comes with it, out of Debian's or Ubuntu's package: nothing is installed, and no server starts."""
    needs(shutil.which("apt-get") and shutil.which("dpkg-deb"), "sshd, or an apt-get that fetches it,")
    fetched = subprocess.run(["apt-get", "download", "openssh-server", "libwrap0"], cwd=directory, capture_output=True, text=True)
    needs(fetched.returncode == 0, f"sshd, or a package of it to fetch ({fetched.stderr.strip()[-200:]}),")
    for package in glob.glob(f"{directory}/*.deb"):
        subprocess.run(["dpkg-deb", "-x", package, f"{directory}/root"], check=True)
    return [f"{directory}/root/usr/sbin/sshd", *glob.glob(f"{directory}/root/usr/lib/*/libwrap.so.0")]


@pytest.fixture(scope="module")
def command(shared, tmp_path_factory):
    """Returns what starts sshd in the box."""
    needs(shutil.which("ssh") and shutil.which("ssh-keygen"), "OpenSSH's client")
    installed = shutil.which("sshd", path=SBIN)
    if installed:
        return installed
    for file in map(pathlib.Path, unpacked(tmp_path_factory.mktemp("sshd"))):
        shared.call("write_file", path=file.name, content=base64.b64encode(file.read_bytes()).decode(), encoding="base64")
    assert shared.run("chmod +x sshd", "bash")["status"] == "completed"
    return "env LD_LIBRARY_PATH=/workspace /workspace/sshd"


@pytest.fixture(scope="module")
def box(shared, command):
    """A session in which sshd listens."""
    begun = shared.run(BEGIN.format(settings=SETTINGS, sshd=command), "bash")
    assert begun["status"] == "completed", (begun, shared.run("cat ssh/log", "bash"))
    return shared


def said(box, code):
    run = box.run(code, "bash")
    assert run["status"] == "completed", (run, box.run("tail -n 30 ssh/log", "bash"))
    return run["stdout"]


def test_a_login_by_key(box):
    assert said(box, "ssh -F ssh/client -i ssh/user box 'echo in as $(id -un); exit 3' || echo $?") == "in as user\n3\n"
    refused = box.run("ssh -F ssh/client -i ssh/other box true", "bash")
    assert refused["exit_code"] == 255 and "Permission denied (publickey" in refused["stderr"], refused


def test_the_child_before_the_login_does_without_its_filter(box):
    """The policy answers as a kernel without filters does, which sshd takes: so it does not give up."""
    said(box, "ssh -F ssh/client -i ssh/user box true")
    log = said(box, "grep -a ssh_sandbox_child ssh/log | tail -n 2")
    assert "attaching seccomp filter program" in log and "prctl(PR_SET_SECCOMP): Invalid argument" in log, log


def test_files_a_terminal_and_an_agent(box):
    assert said(box, "head -c 100000 /dev/urandom > sent; scp -qF ssh/client -i ssh/user sent box:/workspace/come && cmp sent come && echo same") == "same\n"
    assert said(box, "ssh -ttF ssh/client -i ssh/user box tty").startswith("/dev/pts/")
    agent = "export SSH_AUTH_SOCK=$PWD/agent; ssh-agent -Da agent > /dev/null & agent=$!; until [ -S agent ]; do kill -0 $agent; sleep 0.1; done"
    keys = said(box, f"{agent}; ssh-add -q ssh/user && ssh -AF ssh/client box ssh-add -l; kill $agent")
    assert "(ED25519)" in keys, keys
