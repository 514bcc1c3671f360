"""A folder of a session as one zip file: by share_file, and over HTTP."""

import io
import os
import stat
import zipfile

import pytest

from hutch_client import ToolError
from http_server import HttpClient, Server

MAKE = r"""
import os
os.makedirs('project/src/deep', exist_ok=True); os.makedirs('project/empty', exist_ok=True)
open('project/read me ü.txt', 'w').write('hello')
open('project/src/run.sh', 'w').write('#!/bin/sh\n'); os.chmod('project/src/run.sh', 0o755)
open('project/src/deep/data', 'wb').write(bytes(range(256)) * 4000)
os.symlink('/etc/passwd', 'project/link'); os.symlink('/proc/1/root', 'project/out'); os.mkfifo('project/pipe')
open(b'project/\xff', 'w').write('no name'); open('project/a\\b', 'w').close()
os.makedirs('many', exist_ok=True)
for i in range(10_001): open(f'many/{i}', 'w').close()
os.makedirs('none', exist_ok=True)
"""
NAMES = ["project/empty/", "project/read me ü.txt", "project/src/", "project/src/deep/", "project/src/deep/data", "project/src/run.sh"]


@pytest.fixture(scope="module")
def server(module_state):
    with Server(module_state) as started:
        yield started


@pytest.fixture(scope="module")
def client(server):
    one = HttpClient(server)
    one.session = one.call("create_session", name="zipped")["session_id"]
    assert one.call("run_code", language="python", code=MAKE, session_id="zipped")["status"] == "completed"
    return one


def check(content):
    packed = zipfile.ZipFile(io.BytesIO(content))
    assert sorted(packed.namelist()) == NAMES and packed.testzip() is None
    assert packed.read("project/read me ü.txt") == b"hello" and packed.read("project/src/deep/data") == bytes(range(256)) * 4000
    modes = {one.filename: one.external_attr >> 16 for one in packed.infolist()}
    assert stat.S_IMODE(modes["project/src/run.sh"]) == 0o755 and stat.S_ISDIR(modes["project/empty/"])
    assert packed.getinfo("project/src/run.sh").date_time[0] >= 2026


@pytest.mark.slow
def test_a_folder_is_shared_as_a_zip_file(server, client):
    shared = client.call("share_file", path="project", session_id="zipped")
    assert shared["filename"] == "project.zip" and shared["mime_type"] == "application/zip"
    assert shared["note"].startswith("5 entries are not in it: links") and shared["note"].endswith(" and 2 more)"), shared["note"]
    check(server.request("GET", "/" + shared["url"].split("/", 3)[3])[2])
    assert client.call("share_file", path="/workspace/project/", session_id="zipped", filename="mine.zip")["filename"] == "mine.zip"
    empty = client.call("share_file", path="none", session_id="zipped")
    assert zipfile.ZipFile(io.BytesIO(server.request("GET", "/" + empty["url"].split("/", 3)[3])[2])).namelist() == []


def test_over_http(server, client, module_state):
    path = "/sandboxes/zipped/archive"
    status, headers, content = server.request("GET", path + "?path=/workspace/project")
    assert status == 200 and headers["Content-Type"] == "application/zip" and 'filename="project.zip"' in headers["Content-Disposition"]
    assert headers["X-Hutch-Note"].startswith("5 entries")
    check(content)
    assert server.request("GET", path + "?path=project", headers={"Range": "bytes=0-3"})[2] == b"PK\x03\x04"
    for wrong, status in (("none/at/all", 404), ("project/src/run.sh", 400), ("many", 429)):
        assert server.request("GET", path + "?path=" + wrong)[0] == status, wrong
    assert server.request("GET", path + "?path=/proc/1/root/etc")[0] in (400, 404), "not there, or not to be read"
    assert not [name for name in os.listdir(module_state) if "zip" in name], "what was made has no name, and goes with its answer"


@pytest.mark.slow
def test_more_than_can_be_shared(client):
    client.call("run_code", code="import os\nos.makedirs('random'); open('random/r', 'wb').write(os.urandom(102 << 20))", session_id="zipped")
    with pytest.raises(ToolError, match="more than 100 MiB"):
        client.call("share_file", path="random", session_id="zipped")


def test_too_many_files(client):
    with pytest.raises(ToolError, match="more than 10000 entries"):
        client.call("share_file", path="many", session_id="zipped")
