"""Links to shared files: what whoever has one gets, and nobody else."""

import hashlib
import subprocess
import threading
import time
import urllib.parse

import pytest

from hutch_client import PATIENCE, Client, hutch_binary
from http_server import HttpClient, Server


@pytest.fixture(scope="module")
def server(module_state):
    with Server(module_state) as started:
        yield started


@pytest.fixture(scope="module")
def client(server):
    return HttpClient(server)


def shared(client, name, content, **options):
    client.call("write_file", path=name, content=content)
    answer = client.call("share_file", path=name, **options)
    return answer, urllib.parse.urlparse(answer["url"]).path


def test_the_file_is_behind_its_url(server, client):
    text = "a,b\n1,ü\n"
    result = None
    client.call("write_file", path="täble 1.csv", content=text)
    result = client.result("share_file", path="täble 1.csv")
    answer = result["structuredContent"]
    assert answer["url"] == "http://%s:%d/shared/%s/t%%C3%%A4ble%%201.csv" % (*server.address, answer["id"])
    assert answer["page_url"] == answer["url"].rpartition("/")[0]
    assert result["content"][1]["type"] == "resource_link" and result["content"][1]["uri"] == answer["url"]
    assert answer["url"] in result["content"][0]["text"] and answer["page_url"] in result["content"][0]["text"]
    path = urllib.parse.urlparse(answer["url"]).path
    status, fields, body = server.request("GET", path)
    assert status == 200 and body == text.encode()
    assert fields["Content-Disposition"] == "attachment; filename=\"t__ble 1.csv\"; filename*=UTF-8''t%C3%A4ble%201.csv"
    assert fields["Content-Type"] == "text/csv; charset=utf-8" and fields["ETag"] == f'"{hashlib.sha256(body).hexdigest()}"'
    assert fields["X-Content-Type-Options"] == "nosniff" and fields["Content-Security-Policy"] == "sandbox; default-src 'none'"
    assert fields["Referrer-Policy"] == "no-referrer" and "private" in fields["Cache-Control"]


def test_parts_and_validators(server, client):
    _, path = shared(client, "ten.txt", "0123456789")
    ask = lambda method="GET", **headers: server.request(method, path, headers={name.replace("_", "-"): value for name, value in headers.items()})  # noqa: E731
    tag = ask()[1]["ETag"]
    for wanted, status, body, told in [
            ("bytes=0-3", 206, b"0123", "bytes 0-3/10"), ("bytes=7-", 206, b"789", "bytes 7-9/10"), ("bytes=-2", 206, b"89", "bytes 8-9/10"),
            ("bytes=8-99", 206, b"89", "bytes 8-9/10"), ("bytes=-99", 206, b"0123456789", "bytes 0-9/10"),
            ("bytes=9-9", 206, b"9", "bytes 9-9/10"), ("bytes=10-", 416, b"", "bytes */10"), ("bytes=-0", 416, b"", "bytes */10"),
            ("bytes=99999999999999999999-", 416, b"", "bytes */10"),
            # These need not be heard, and are not.
            ("bytes=3-1", 200, b"0123456789", None), ("bytes=a-", 200, b"0123456789", None), ("bytes=1-2,4-5", 200, b"0123456789", None),
            ("lines=1-2", 200, b"0123456789", None), ("bytes=", 200, b"0123456789", None), ("bytes=--1", 200, b"0123456789", None)]:
        got = ask(Range=wanted)
        assert (got[0], got[2], got[1]["Content-Range"]) == (status, body, told), wanted
    assert ask(Range="bytes=0-3", If_Range=tag)[0] == 206 and ask(Range="bytes=0-3", If_Range='"other"')[0] == 200
    for matching in (tag, "*", f'"other", {tag}', f"W/{tag}"):
        status, fields, body = ask(If_None_Match=matching)
        assert (status, fields["ETag"], body) == (304, tag, b""), matching
    assert ask(If_None_Match='"other"')[0] == 200
    status, fields, body = ask("HEAD")
    assert (status, fields["Content-Length"], body) == (200, "10", b"") and fields["Accept-Ranges"] == "bytes"
    assert ask("POST")[0] == 405 and ask("POST")[1]["Allow"] == "GET, HEAD"


def test_an_empty_file(server, client):
    _, path = shared(client, "empty", "")
    status, fields, body = server.request("GET", path)
    assert (status, fields["Content-Length"], body) == (200, "0", b"")
    assert server.request("GET", path, headers={"Range": "bytes=0-"})[0] == 416


@pytest.mark.parametrize("name, told", [
    ('a"b\\c.txt', "filename=\"a_b_c.txt\"; filename*=UTF-8''a%22b_c.txt"), ("100%.txt", "filename=\"100_.txt\"; filename*=UTF-8''100%25.txt"),
    ("日本.png", "filename=\"______.png\"; filename*=UTF-8''%E6%97%A5%E6%9C%AC.png"), ("a;b='c'.txt", "filename=\"a;b='c'.txt\"")])
def test_names(server, client, name, told):
    client.call("write_file", path="plain", content="x")
    answer = client.call("share_file", path="plain", filename=name)
    status, fields, _ = server.request("GET", urllib.parse.urlparse(answer["url"]).path)
    assert status == 200 and fields["Content-Disposition"] == f"attachment; {told}", fields["Content-Disposition"]


def test_links_that_are_none(server, client):
    answer, path = shared(client, "one.txt", "1")
    ident = answer["id"]
    for wrong in (f"/shared/{ident}x/one.txt", f"/shared/{ident}/two.txt", "/shared/share_0/one.txt", f"/shared/{ident}/..%2fone.txt",
                  f"/shared/{ident}/%00", "/shared/..%2f..%2fetc/passwd", f"/shared/{ident.upper()}/one.txt"):
        status, fields, body = server.request("GET", wrong)
        assert status == 404 and b"/" not in body.replace(b"/mcp", b""), (wrong, body)
    assert server.request("GET", f"/shared/{ident}x?part=about")[0] == 404
    # A name that leads elsewhere is no name for this server.
    assert server.request("GET", path, headers={"Host": "evil.test"})[0] == 403


def test_a_link_ends(server, client, module_state):
    answer, path = shared(client, "short.txt", "x", expires_in_seconds=1)
    deadline = time.monotonic() + 10 * PATIENCE
    while (status := server.request("GET", path)[0]) == 200 and time.monotonic() < deadline:
        time.sleep(0.1)
    assert status == 404
    answer, path = shared(client, "back.txt", "x")
    remove = [hutch_binary(), "--state-dir", module_state, "share", "rm", answer["id"]]
    assert server.request("GET", path)[0] == 200
    assert subprocess.run(remove, capture_output=True, text=True, timeout=60).stdout == f"taken back: {answer['id']}\n"
    assert server.request("GET", path)[0] == 404
    again = subprocess.run(remove, capture_output=True, text=True, timeout=60)
    assert again.returncode == 1 and "taken back" in again.stderr, again


def test_what_may_be_looked_at(server, client):
    """A page out of a sandbox is of no origin of ours; what has no reason to run runs nothing."""
    for name, content, policy in [("p.html", "<!doctype html><script>1</script>", "sandbox allow-scripts; "), ("p.txt", "x", "sandbox; default-src 'none'"),
                                  ("p.svg", '<svg xmlns="http://www.w3.org/2000/svg"/>', "sandbox; ")]:
        _, path = shared(client, name, content)
        status, fields, body = server.request("GET", path + "?view")
        assert status == 200 and fields["Content-Disposition"].startswith("inline") and body == content.encode()
        assert fields["Content-Security-Policy"].startswith(policy) and "connect-src" not in fields["Content-Security-Policy"], fields["Content-Security-Policy"]


def test_html_is_no_page_of_this_server(server, client):
    answer, path = shared(client, "own.html", "<p>")
    for headers, status in [({}, 200), ({"Sec-Fetch-Dest": "iframe"}, 200), ({"Sec-Fetch-Dest": "document"}, 303)]:
        got = server.request("GET", path + "?view", headers=headers)
        assert got[0] == status, headers
    assert urllib.parse.urljoin(answer["url"] + "?view", got[1]["Location"]) == answer["page_url"]
    assert server.request("GET", path, headers={"Sec-Fetch-Dest": "document"})[0] == 200, "an attachment"


def test_whose_it_is_takes_it_back(state):
    with Server(state, no_auth=False) as server:
        make = lambda name: subprocess.run([hutch_binary(), "--state-dir", state, "token", "create", "--principal", name],  # noqa: E731
                                           capture_output=True, text=True, timeout=60, check=True).stdout.split()[-1]
        alice, bob = ({"Authorization": f"Bearer {make(name)}"} for name in ("alice", "bob"))
        client = HttpClient(server, headers=alice)
        first, path = shared(client, "a", "x")
        page = urllib.parse.urlparse(first["page_url"]).path
        assert server.request("DELETE", page, headers=bob)[0] == 404 and server.request("DELETE", page)[0] == 401
        assert server.request("GET", path)[0] == 200
        assert server.request("DELETE", page, headers=alice)[0] == 204 and server.request("GET", path)[0] == 404
        second, path = shared(client, "b", "x")
        taken = subprocess.run([hutch_binary(), "--state-dir", state, "share", "rm", second["id"]], capture_output=True, text=True, timeout=60)
        assert taken.returncode == 0 and server.request("GET", path)[0] == 404, "the operator's command is for all"


def test_where_no_link_leads_none_is_told(state, tmp_path):
    with Server(state, listen=f"unix:{tmp_path}/socket") as server:
        client = HttpClient(server)
        client.call("write_file", path="a", content="x")
        assert "url" not in client.call("share_file", path="a")
    with Server(state, "--public-url", "https://hutch.example.org/box/") as server:
        client = HttpClient(server)
        client.call("write_file", path="a", content="x")
        url = client.call("share_file", path="a")["url"]
        assert url.startswith("https://hutch.example.org/box/shared/share_")
        assert server.request("GET", url.partition("/box")[2], headers={"Host": "hutch.example.org"})[0] == 200
    with Client(state, env={"HUTCH_PUBLIC_URL": "https://here.test"}) as client:
        client.call("write_file", path="a", content="x")
        answer = client.call("share_file", path="a")
        assert answer["url"] == f"https://here.test/shared/{answer['id']}/a" and answer["host_path"]


@pytest.mark.parametrize("wrong", ["hutch.example.org", "ftp://x", "https://", "https://a b", "https://a/?x", 'https://a"'])
def test_no_address_for_links(state, wrong):
    done = subprocess.run([hutch_binary(), "--state-dir", state, "serve", "--public-url", wrong], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and "public_url" in done.stderr, done


def test_downloads_at_once_take_no_memory(server, client):
    client.call("run_code", code="open('ten', 'wb').write(bytes(range(250)) * 40_000)")
    answer = client.call("share_file", path="ten")
    path = urllib.parse.urlparse(answer["url"]).path
    server.request("GET", path)
    before = server.memory_kib()
    sockets = []
    for _ in range(500):
        raw = server.socket()
        raw.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
        sockets.append(raw)
    begun = [raw.recv(100) for raw in sockets]
    assert all(head.startswith(b"HTTP/1.1 200 ") for head in begun)
    assert server.memory_kib() - before < 100_000 * PATIENCE, "5 GB wait for their readers"
    digests = []

    def read(raw, digest):
        data = b""
        while piece := raw.recv(1 << 20):
            data += piece
        digest.append(hashlib.sha256(data.partition(b"\r\n\r\n")[2]).hexdigest())
    threads = [threading.Thread(target=read, args=(raw, digests)) for raw in sockets[:20]]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60 * PATIENCE)
    assert digests == [answer["sha256"]] * 20
    for raw in sockets:
        raw.close()
