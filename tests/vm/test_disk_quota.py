"""A state directory on an ext4 with project quotas: the disk limit is the kernel's there."""

import os
import pathlib
import subprocess

import pytest

from hutch_client import Client

RELEASE = tuple(int(number) for number in os.uname().release.split(".")[:2])

pytestmark = [pytest.mark.skipif(os.geteuid() != 0, reason="only root can have a project quota"),
              pytest.mark.skipif(RELEASE < (5, 14), reason="this kernel has no quotactl_fd (Linux 5.14)")]


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    top = tmp_path_factory.mktemp("quota")
    image, mount = top / "image", top / "mount"
    mount.mkdir()
    with open(image, "wb") as file:
        file.truncate(300 << 20)
    subprocess.run(["mkfs.ext4", "-q", "-O", "quota,project", "-E", "quotatype=prjquota", image], check=True)
    subprocess.run(["mount", "-o", "loop,prjquota", image, mount], check=True)
    try:
        with Client(str(mount / "state")) as client:
            yield client
    finally:
        subprocess.run(["umount", "--lazy", mount], check=False)


@pytest.fixture
def session(server):
    made = server.call("create_session", limits={"disk_mb": 20, "files": 200})["session_id"]
    yield made
    server.call("delete_session", session_id=made)


def test_the_record_says_who_holds_the_disk(server, session):
    assert server.run("1", session_id=session)["status"] == "completed"
    told = {s["session_id"]: s for s in server.call("list_sessions")["sessions"]}[session]
    assert told["isolation"]["disk"] == "project quota"
    assert told["enforcement"]["disk_mb"] == told["enforcement"]["files"] == "hard"


@pytest.mark.parametrize("language,code", [
    ("python", "import os\nfor i in range(400):\n    with open(f'f{i}', 'wb') as f: f.write(os.urandom(1 << 20))"),
    ("python", "import os\nkept = []\nfor i in range(40):\n    kept.append(open('x', 'wb')); os.unlink('x')\n"
               "    kept[-1].write(os.urandom(1 << 20)); kept[-1].flush()"),
    ("python", "for i in range(1000): open(f'empty{i}', 'w').close()"),
    ("javascript", "for (let i = 0; i < 40; i++) require('fs').writeFileSync('f' + i, Buffer.alloc(1 << 20, 'x'))"),
    ("bash", "dd if=/dev/urandom of=big bs=1M count=40")])
def test_what_goes_beyond_is_refused_at_once(server, session, language, code):
    run = server.run(code, language, session_id=session)
    assert run["status"] == "failed" and run["error"]["cause"] == "disk", run
    used = sum(file.stat().st_blocks * 512
               for file in pathlib.Path(server.state, "sessions", session).rglob("*") if file.is_file())
    assert used <= 21 << 20
    # Deleted room can be used again.
    assert server.run("rm -rf /workspace/*; true", "bash", session_id=session)["status"] == "completed"
    server.run("kept = None", session_id=session)
    assert server.run("open('again', 'w').write('x'); 1", session_id=session)["status"] == "completed"


def test_one_session_does_not_count_to_another(server, session):
    other = server.call("create_session", limits={"disk_mb": 20})["session_id"]
    for each in (session, other):
        run = server.run("import os; open('f', 'wb').write(os.urandom(15 << 20))", session_id=each)
        assert run["status"] == "completed", run
    server.call("delete_session", session_id=other)
