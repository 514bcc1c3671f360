"""Uploads in pieces, as tus 1.0 has them: cut off and gone on with, over restarts of the server."""

import base64
import copy
import hashlib
import json
import os
import socket
import time
from pathlib import Path

import pytest

from boxes import until
from http_server import HttpClient, Server, token

MIB = 1 << 20
CONTENT = os.urandom(3_000_000)


class Client:
    def __init__(self, server, key):
        self.server, self.key = server, key
        self.sandbox = json.loads(self("POST", "/sandboxes", {"Content-Type": "application/json"}, b'{"templateID": "base", "timeout": 3600}')[2])["sandboxID"]

    def __call__(self, method, path, headers=None, body=None):
        return self.server.request(method, path, body, {"Authorization": "Bearer " + self.key, "Tus-Resumable": "1.0.0", **(headers or {})})

    def begin(self, length, path="up/loaded.bin", **headers):
        metadata = "filename %s,path %s" % (base64.b64encode(b"x").decode(), base64.b64encode(path.encode()).decode())
        return self("POST", "/sandboxes/%s/uploads" % self.sandbox, {"Upload-Length": str(length), "Upload-Metadata": metadata, **headers})

    def piece(self, url, offset, body, **headers):
        return self("PATCH", url, {"Content-Type": "application/offset+octet-stream", "Upload-Offset": str(offset), **headers}, body)

    def offset(self, url):
        status, headers, _ = self("HEAD", url)
        assert status == 200 and headers["Tus-Resumable"] == "1.0.0" and headers["Cache-Control"] == "no-store"
        return int(headers["Upload-Offset"])

    def digest(self, path):
        return hashlib.sha256(self("GET", "/sandboxes/%s/files?path=%s" % (self.sandbox, path))[2]).hexdigest()


@pytest.fixture(scope="module")
def server(module_state):
    with Server(module_state, no_auth=False) as started:
        yield started


@pytest.fixture(scope="module")
def client(server, module_state):
    return Client(server, token(module_state))


def test_in_pieces(client):
    status, headers, _ = client.begin(len(CONTENT), path="up/ü loaded.bin")
    url = headers["Location"]
    assert status == 201 and url.startswith("/sandboxes/%s/uploads/upload_" % client.sandbox) and client.offset(url) == 0
    for at in range(0, len(CONTENT), 700_000):
        status, headers, _ = client.piece(url, at, CONTENT[at:at + 700_000])
        assert status == 204 and headers["Upload-Offset"] == str(min(at + 700_000, len(CONTENT)))
    assert client("HEAD", url)[0] == 404, "it is over"
    assert client.digest("up/%C3%BC%20loaded.bin") == hashlib.sha256(CONTENT).hexdigest()
    assert client.begin(0, path="nothing")[0] == 201 and client.digest("nothing") == hashlib.sha256(b"").hexdigest()


def test_what_was_cut_off_goes_on(state):
    key, url = token(state), None
    with Server(state, no_auth=False) as server:
        client = Client(server, key)
        url = client.begin(len(CONTENT))[1]["Location"]
        assert client.piece(url, 0, CONTENT[:1_000_000])[0] == 204
        # A piece of which half comes leaves what was there.
        raw = socket.create_connection(server.address)
        raw.sendall(("PATCH %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Type: application/offset+octet-stream\r\n"
                     "Upload-Offset: 1000000\r\nContent-Length: 2000000\r\n\r\n" % (url, key)).encode() + CONTENT[1_000_000:1_500_000])
        raw.close()
        assert client.offset(url) == 1_000_000
        server.process.kill()
    with Server(state, no_auth=False) as server:
        client.server = server
        assert client.offset(url) == 1_000_000
        assert client.piece(url, 1_000_000, CONTENT[1_000_000:])[0] == 204
        assert client.digest("up/loaded.bin") == hashlib.sha256(CONTENT).hexdigest()


def test_what_is_wrong(client, server, module_state):
    path = "/sandboxes/%s/uploads" % client.sandbox
    for headers, status in (({}, 400), ({"Upload-Length": "x"}, 400), ({"Upload-Length": "-1"}, 400), ({"Upload-Length": str(2**60)}, 413), ({"Upload-Length": "5"}, 400),
                            ({"Upload-Length": "5", "Upload-Metadata": "path !"}, 400)):
        assert client("POST", path, headers)[0] == status, headers
    url = client.begin(10)[1]["Location"]
    assert client.piece(url, 1, b"x")[0] == 409 and client.piece(url, 0, b"x" * 11)[0] == 400 and client.piece(url, "x", b"x")[0] == 409
    assert client("PATCH", url, {"Upload-Offset": "0"}, b"x")[0] == 415
    assert client.offset(url) == 0
    other = Client(server, token(module_state, "--principal", "other"))
    assert other("HEAD", url)[0] == 404 and other.piece(url, 0, b"x")[0] == 404 and other("DELETE", url)[0] == 404
    assert client("HEAD", url.replace(client.sandbox, other.sandbox))[0] == 404
    for none in ("upload_none", "..%2f..%2fhutch.db", "upload_000000000000"):
        assert client("HEAD", path + "/" + none)[0] == 404, none
    assert client("DELETE", url)[0] == 204 and client("HEAD", url)[0] == 404
    made = []
    while (begun := client.begin(1))[0] == 201:
        made.append(begun[1]["Location"])
    assert begun[0] == 429 and len(made) == 8
    for url in made:
        assert client("DELETE", url)[0] == 204
    for _ in range(10):  # one that nobody knows of takes no place
        assert client.begin(0, path="/etc/x")[0] == 400
    outside = client.begin(1, path="/etc/x")[1]["Location"]
    assert client.piece(outside, 0, b"x")[0] >= 400 and client.offset(outside) == 1, "what could not be put there is kept"
    client("DELETE", outside)


def room_for(client, disk_mb):
    """In a session of its own."""
    mcp = HttpClient(client.server, headers={"Authorization": "Bearer " + client.key})
    other = copy.copy(client)
    made = mcp.call("create_session", limits={"disk_mb": disk_mb})
    other.sandbox = made["session_id"]
    return other, made["enforcement"]["disk_mb"] == "watched"


def test_what_is_unfinished_counts(client):
    limited, _ = room_for(client, disk_mb=100)
    made = [limited.begin(40 * MIB, path=name) for name in ("a", "b", "c")]
    assert [one[0] for one in made] == [201, 201, 507], "as much as they are to have, though nothing of it is there yet"
    assert b"unfinished uploads take 80 of its 100 MB (limits.disk_mb)" in made[2][2]
    assert limited.begin(20 * MIB, path="d")[0] == 201 and limited.begin(1, path="e")[0] == 507
    assert limited("DELETE", made[0][1]["Location"])[0] == 204
    assert limited.begin(40 * MIB, path="c")[0] == 201, "and what is over does not count"
    assert limited.begin(101 * MIB, path="f")[0] == 413


def test_files_and_unfinished_uploads_count_together(client):
    limited, is_watched = room_for(client, disk_mb=20)
    url = limited.begin(8 * MIB)[1]["Location"]
    assert limited("POST", "/sandboxes/%s/files?path=there" % limited.sandbox, {"Content-Type": "application/octet-stream"}, bytes(9 * MIB))[0] == 201
    if not is_watched:
        pytest.skip("a quota holds this disk, and answers for itself when the upload is whole")
    refused = limited.begin(8 * MIB, path="b")
    assert refused[0] == 507 and b"of its 20 MB (limits.disk_mb)" in refused[2]
    assert limited.piece(url, 0, bytes(8 * MIB))[0] == 204, "what was promised has its room"


def begun_run(limited, code):
    mcp = HttpClient(limited.server, headers={"Authorization": "Bearer " + limited.key})
    run = mcp.call("run_code", code=code, language="bash", session_id=limited.sandbox, background=True, timeout_seconds=100)
    return lambda seconds=0: mcp.call("get_run", run_id=run["run_id"], wait_seconds=seconds)


def test_code_has_the_room_that_no_upload_is_promised(client):
    """Though nothing of it is there yet: files and unfinished uploads together are never more than the limit."""
    limited, is_watched = room_for(client, disk_mb=40)
    if not is_watched:
        pytest.skip("a quota holds this disk, and knows no uploads")
    url = limited.begin(20 * MIB)[1]["Location"]
    # All of it before the first look, right behind a write of somebody else.
    ended = begun_run(limited, "head -c 30M /dev/zero > big; sleep 90")(50)
    assert ended["status"] == "failed" and ended["error"]["cause"] == "disk", ended
    assert limited("DELETE", url)[0] == 204
    look = begun_run(limited, "rm -f big; head -c 30M /dev/zero > big; sleep 90")
    until(lambda: limited.begin(20 * MIB)[0] == 507, what="the file is counted")
    assert look()["status"] == "running", "alone it fits"


def test_an_upload_counts_once_while_it_is_put_in_place(client):
    limited, _ = room_for(client, disk_mb=20)
    look = begun_run(limited, "sleep 90")
    url = limited.begin(12 * MIB)[1]["Location"]
    assert limited.piece(url, 0, bytes(12 * MIB))[0] == 204, "file and upload would be 24 MB"
    assert look()["status"] == "running"


def test_one_that_was_being_put_in_place_goes_on(client, module_state):
    """When its server is killed then, the description has the name that says so."""
    limited, _ = room_for(client, disk_mb=100)
    url = limited.begin(60 * MIB)[1]["Location"]
    kept = Path(module_state, "sessions", limited.sandbox, "uploads", url.rsplit("/", 1)[1])
    kept.with_suffix(".json").rename(kept.with_suffix(".placing"))
    assert limited.begin(60 * MIB)[0] == 507, "it has its room all the same"
    assert limited.offset(url) == 0 and kept.with_suffix(".json").exists()
    assert limited("DELETE", url)[0] == 204 and list(kept.parent.iterdir()) == []


def test_what_was_left_goes_with_the_sweep(state):
    with Server(state, no_auth=False) as server:
        client = Client(server, token(state))
        left, recent = (client.begin(10)[1]["Location"].rsplit("/", 1)[1] for _ in range(2))
    kept = next(Path(state).glob("sessions/*/uploads"))
    days_ago = time.time() - 2 * 86_400
    for name in (left, left + ".json"):
        os.utime(kept / name, (days_ago, days_ago))
    with Server(state, "--log-level", "info", no_auth=False) as server:
        until(lambda: {path.name for path in kept.iterdir()} == {recent, recent + ".json"}, what="only the recent one is kept")
        told = f"deleted {left}: no piece of it has come for a day"
        until(lambda: any(told in line for line in server.errors), what="a line that says so")
        assert not any(recent in line for line in server.errors)
