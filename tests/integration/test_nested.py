"""hutch inside of another user namespace, as in a rootless container: root of one id, and of nothing else."""

import os
import shutil
import subprocess
import tempfile

import pytest

from conftest import needs
from hutch_client import hutch_binary

UNSHARE = ["unshare", "--user", "--map-root-user", "--mount", "--pid", "--fork", "--mount-proc"]


@pytest.fixture
def nested(tmp_path):
    """runs a shell command as root of a fresh user namespace, with hutch in $HUTCH."""
    probe = subprocess.run([*UNSHARE, "true"], capture_output=True, text=True)
    needs(probe.returncode == 0, f"nested user namespaces ({probe.stderr.strip()})")
    # Root of the namespace is nobody to the other users' files.
    state = tempfile.mkdtemp(prefix="hutch-nested-", dir="/tmp")

    def run(command):
        environment = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": state, "LANG": "C.UTF-8",
                       "HUTCH": hutch_binary(), "HUTCH_STATE_DIR": state + "/state"}
        return subprocess.run([*UNSHARE, "bash", "-c", command], capture_output=True, text=True, env=environment,
                              timeout=120)

    yield run
    shutil.rmtree(state, ignore_errors=True)


def test_a_box_starts_and_keeps_its_walls(nested):
    done = nested("echo 'import os; print(os.getuid(), os.listdir(\"/\").count(\"root\"))' | $HUTCH run -l python -")
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "1000 0"


def test_doctor_says_what_is_weaker_there(nested):
    done = nested("$HUTCH doctor")
    assert "a real box       good" in done.stdout, done.stdout


def test_a_covered_proc_is_a_clear_error(nested):
    """As container runtimes cover it: the kernel then refuses a /proc of the box's own."""
    done = nested("mount -t tmpfs none /proc/acpi 2>/dev/null || mount -t tmpfs none /proc/bus; $HUTCH doctor")
    assert "/proc " in done.stdout and "unmask" in done.stdout.lower(), done.stdout
    if os.geteuid() != 0:
        assert done.returncode != 0 and "is the /proc of this container masked?" in done.stdout, done.stdout
