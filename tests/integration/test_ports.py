"""Servers in sessions, reached from outside through the HTTP server."""

import base64
import hashlib
import json
import os
import re
import socket

import pytest
import requests
from e2b import Sandbox

from hutch_client import PATIENCE, ToolError
from http_server import HttpClient, Server, token

# Answers with what it was asked, streams slowly, takes bodies, and speaks enough of a WebSocket to echo.
APP = r"""
import base64, hashlib, http.server, json, socketserver, sys, time
class App(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    def do_GET(self):
        if self.headers.get('Upgrade') == 'websocket': return self.echo()
        if self.path == '/away': return self.answer(b'', 302, Location='/there', **{'Set-Cookie': 'theirs=1'})
        if self.path == '/odd':
            self.wfile.write(b'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\nhidden'); self.close_connection = True; return
        if self.path == '/hints': self.wfile.write(b'HTTP/1.1 103 Early Hints\r\nAlt-Svc: x\r\n\r\n')
        if self.path in ('/acts', '/hints'): return self.answer(b'acts', **json.loads(self.headers['X-Acts']))
        if self.path == '/none': self.wfile.write(b'SSH-2.0-x\r\n'); self.close_connection = True; return
        if self.path == '/slow':
            self.send_response(200); self.send_header('Transfer-Encoding', 'chunked'); self.end_headers()
            for i in range(3): self.wfile.write(b'2\r\n%d\n\r\n' % i); self.wfile.flush(); time.sleep(0.2)
            self.wfile.write(b'0\r\n\r\n'); return
        self.answer(json.dumps({'path': self.path, 'headers': dict(self.headers)}).encode())
    def do_POST(self):
        size = int(self.headers.get('Content-Length', 0)); body = b''
        while len(body) < size: body += self.rfile.read(min(65536, size - len(body)))
        self.answer(b'%d %s' % (len(body), hashlib.sha256(body).hexdigest().encode()))
    def answer(self, body, status=200, **headers):
        self.send_response(status); [self.send_header(*one) for one in headers.items()]
        self.send_header('Content-Length', str(len(body))); self.end_headers(); self.wfile.write(body)
    def echo(self):
        key = base64.b64encode(hashlib.sha1(self.headers['Sec-WebSocket-Key'].encode() + b'258EAFA5-E914-47DA-95CA-C5AB0DC85B11').digest()).decode()
        self.send_response(101); self.send_header('Upgrade', 'websocket'); self.send_header('Connection', 'Upgrade')
        self.send_header('Sec-WebSocket-Accept', key); self.end_headers(); self.close_connection = True
        while data := self.connection.recv(1000): self.connection.sendall(b'got ' + data)
    def log_message(self, *a): pass
class Many(socketserver.ThreadingMixIn, http.server.HTTPServer): daemon_threads = True
server = Many(('127.0.0.1', 3000), App)
print('listens', flush=True)
server.serve_forever()
"""


@pytest.fixture(scope="module")
def server(module_state):
    with Server(module_state, no_auth=False) as started:
        yield started


@pytest.fixture(scope="module")
def key(server, module_state):
    return token(module_state)


@pytest.fixture(scope="module")
def sandbox(server, key):
    url = "http://%s:%d" % server.address
    made = Sandbox.create(api_key=key, api_url=url, sandbox_url=url, template="host", timeout=3600)
    made.files.write("app.py", APP)
    app = made.commands.run("python3 app.py", background=True, timeout=0)
    assert next(iter(app))[0] == "listens\n"
    yield made
    made.kill()


@pytest.fixture(scope="module")
def link(server, sandbox, key):
    """As share_port gives it."""
    return client_of(server, key).call("share_port", session_id=sandbox.sandbox_id, port=3000)["url"]


def client_of(server, key):
    return HttpClient(server, headers={"Authorization": "Bearer " + key})


class Browser:
    """Asks at a host that is a name of this machine, as browsers do."""

    def __init__(self, server):
        self.server, self.session = server, requests.Session()
        self.session.trust_env = False

    def ask(self, method, url, **more):
        host = re.match("http://([^/]+)", url)[1]
        headers = {"Host": host, "Accept": "text/html,*/*", **more.pop("headers", {})}
        address = "http://%s:%d" % self.server.address
        return self.session.request(method, url.replace("http://" + host, address), headers=headers, allow_redirects=False, timeout=60 * PATIENCE, **more)


def host_of(link):
    return link.split("?")[0]


@pytest.fixture
def browser(server, link):
    one = Browser(server)
    first = one.ask("GET", link)
    assert first.status_code == 303 and first.headers["Location"] == "/"
    cookie = first.headers["Set-Cookie"]
    assert "HttpOnly" in cookie and "SameSite=Lax" in cookie and "Secure" not in cookie
    one.session.headers["Cookie"] = cookie.split(";")[0] + "; theirs=1"
    return one


def test_a_link_leads_a_browser_to_a_host_of_its_own(browser, link, sandbox):
    assert re.fullmatch(r"http://3000-%s\.localhost:\d+/\?hutch_access=\d+\.[0-9a-f]{64}" % sandbox.sandbox_id, link)
    seen = browser.ask("GET", host_of(link) + "a/b?c=d%20e&f").json()
    assert seen["path"] == "/a/b?c=d%20e&f"
    assert seen["headers"]["Host"] == seen["headers"]["X-Forwarded-Host"] and seen["headers"]["Cookie"] == "theirs=1", "and the key stays outside"
    assert "hutch_access" not in str(seen)


def test_what_a_server_needs_works(browser, link):
    url = host_of(link)
    body = os.urandom(3_000_000)
    assert browser.ask("POST", url, data=body).text == "3000000 " + hashlib.sha256(body).hexdigest()
    assert browser.ask("POST", url, data=b"x", headers={"Expect": "100-continue"}).text.startswith("1 ")
    assert browser.ask("GET", url + "slow").text == "0\n1\n2\n"
    away = browser.ask("GET", url + "away")
    assert away.headers["Location"] == "/there" and away.headers["Set-Cookie"] == "theirs=1" and away.headers["Connection"] == "close"
    assert browser.ask("GET", url + "x", headers={"Authorization": "Bearer theirs"}).json()["headers"]["Authorization"] == "Bearer theirs"


def websocket(server, host, cookie=""):
    """Past the handshake."""
    stream = socket.create_connection(server.address, timeout=60 * PATIENCE)
    stream.sendall(("GET /ws HTTP/1.1\r\nHost: %s\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                    "Sec-WebSocket-Key: %s\r\n%s\r\n" % (host, base64.b64encode(bytes(16)).decode(), cookie)).encode())
    return stream


def test_websockets(server, browser, link):
    host = re.match("http://([^/]+)", link)[1]
    with websocket(server, host, "Cookie: %s\r\n" % browser.session.headers["Cookie"]) as stream:
        came = b""
        while b"\r\n\r\n" not in came:
            came += stream.recv(1000)
        assert came.startswith(b"HTTP/1.1 101 ") and b"Connection: Upgrade" in came
        for word in (b"one", b"two"):
            stream.sendall(word)
            assert stream.recv(1000) == b"got " + word


def test_nobody_else_comes_in(server, browser, link, sandbox, key):
    other = Browser(server)
    url = host_of(link)
    assert other.ask("GET", url).status_code == 401
    assert other.ask("GET", link[:-1] + ("0" if link[-1] != "0" else "1")).status_code == 404
    assert other.ask("GET", link.replace("http://3000-", "http://3001-")).status_code == 404, "the link is to one port"
    assert other.ask("GET", re.sub(r"=\d+", "=9999999999", link)).status_code == 404
    assert other.ask("GET", link.replace(sandbox.sandbox_id, "session_none")).status_code == 404
    assert other.ask("GET", url, headers={"E2b-Traffic-Access-Token": "no"}).status_code == 404
    seen = other.ask("GET", url, headers={"E2b-Traffic-Access-Token": sandbox.traffic_access_token}).json()
    assert sandbox.traffic_access_token not in str(seen)
    # Pages of another origin, also of another session's server.
    assert browser.ask("POST", url, headers={"Origin": "http://3000-session_other.localhost:1"}).status_code == 403
    own = url.rstrip("/")
    assert browser.ask("POST", url, headers={"Origin": own}).status_code == 200
    with websocket(server, re.match("http://([^/]+)", link)[1]) as stream:
        assert stream.recv(1000).startswith(b"HTTP/1.1 401 ")


def said(answer):
    """All of an answer but what names the request."""
    fields = {name: value for name, value in answer.headers.items() if name.lower() not in ("x-request-id", "date")}
    return answer.status_code, fields, answer.content


def test_who_has_no_key_is_told_so_and_nothing_else(server, link, sandbox, key):
    """As much where a server listens as where none does, where there is no such session, and where a link is over."""
    other, url = Browser(server), host_of(link)
    none = sandbox.sandbox_id[:-3] + "zzz"
    places = [url, url + "stream?a=1", url.replace("3000-", "3001-"), url.replace(sandbox.sandbox_id, none), url.replace(sandbox.sandbox_id, none).replace("3000-", "3001-")]
    without = said(other.ask("GET", url))
    assert without[0] == 401 and without[1]["WWW-Authenticate"]
    for words in (b"hutch_access=", b"E2b-Traffic-Access-Token", b"/ports/SESSION/PORT/"):
        assert words in without[2], without
    # A token of hutch is no key there: it would come to the code. Nor is an empty one.
    for headers in ({}, {"Authorization": "Bearer " + key}, {"X-API-Key": key}, {"E2b-Traffic-Access-Token": ""}):
        assert {repr(said(other.ask("GET", place, headers=headers))) for place in places} == {repr(without)}, headers
    assert said(other.ask("GET", url + "?hutch_access=")) == without
    # Nor does a wrong one tell what there is.
    for headers in ({"E2b-Traffic-Access-Token": "0" * 64}, {"Cookie": "hutch_access=9999999999." + "0" * 64}):
        wrong = {repr(said(other.ask("GET", place, headers=headers))) for place in places}
        assert len(wrong) == 1 and "404" in wrong.pop(), headers
    assert len({repr(said(other.ask("GET", place.partition("?")[0] + "?hutch_access=9999999999." + "0" * 64))) for place in places}) == 1
    below = {repr(said(requests.get("http://%s:%d/ports/%s" % (*server.address, place), timeout=60)))
             for place in (sandbox.sandbox_id + "/3000/", sandbox.sandbox_id + "/3001/", none + "/3000/", "session_none/1/")}
    assert len(below) == 1 and "401" in below.pop()


def test_a_token_of_hutch_never_comes_to_a_server(server, link, sandbox, key):
    """Who sends it along with a link, or with a traffic token, gets an answer, and the code that answers does not see it."""
    other, url = Browser(server), host_of(link)
    as_e2b = key.replace("hutch_", "e2b_")
    for headers in ({"Authorization": "Bearer " + key}, {"X-API-Key": key}, {"authorization": "bearer " + as_e2b}, {"x-api-key": as_e2b}):
        by_link = other.ask("GET", link, headers={"Accept": "*/*", **headers}).json()
        by_token = other.ask("GET", url, headers={"E2b-Traffic-Access-Token": sandbox.traffic_access_token, **headers}).json()
        assert key[-64:] not in str(by_link) and key[-64:] not in str(by_token), headers
    theirs = other.ask("GET", link, headers={"Accept": "*/*", "Authorization": "Bearer hutch_theirs", "X-API-Key": "e2b_x"}).json()["headers"]
    assert theirs["Authorization"] == "Bearer hutch_theirs" and theirs["X-API-Key"] == "e2b_x", "what is none is the server's"


def test_a_link_serves_programs_at_once(server, link):
    """A webhook follows no redirection, and keeps no cookie."""
    there = Browser(server)
    sent = there.ask("POST", link.replace("?", "hook?a=1&") + "&a=2", data=b"x", headers={"Accept": "*/*"})
    assert sent.status_code == 200 and sent.text.startswith("1 ")
    seen = there.ask("GET", link.replace("?", "hook?a=1&") + "&a=2", headers={"Accept": "*/*"}).json()
    assert seen["path"] == "/hook?a=1&a=2" and "hutch_access" not in str(seen)
    led = there.ask("GET", link.replace("?", "hook?a=1&") + "&a=2", headers={"Accept": "*/*", "Sec-Fetch-Mode": "navigate"})
    assert led.status_code == 303 and led.headers["Location"] == "/hook?a=1&a=2"


def test_one_visitor_leaves_room_for_others(server, browser, link, sandbox, key):
    host, cookie = re.match("http://([^/]+)", link)[1], "Cookie: %s\r\n" % browser.session.headers["Cookie"]
    streams, refused = [], 0
    for _ in range(70):
        streams.append(websocket(server, host, cookie))
        refused += streams[-1].recv(12) == b"HTTP/1.1 429"
    assert 0 < refused <= 10
    # Answers that nobody fetches hold no place of a connection.
    strangers = [socket.create_connection(server.address) for _ in range(300)]
    for stream in strangers:
        stream.sendall(b"GET /ports/nobody/1/ HTTP/1.1\r\nHost: localhost\r\nX-API-Key: %s\r\n\r\n" % key.encode())
    assert requests.get("http://%s:%d/ports/%s/3001/" % (*server.address, sandbox.sandbox_id), headers={"X-API-Key": key}, timeout=60).status_code == 404
    for stream in streams + strangers:
        stream.close()


def test_hutch_itself_is_not_there(server, browser, link, sandbox, key):
    """A page of a session is of another origin than hutch: nothing of its API answers at its host."""
    url = host_of(link)
    for path in ("mcp", "health", "sandboxes", "v2/sandboxes", "files?path=/etc/passwd", "contexts", "ports/%s/3000/" % sandbox.sandbox_id, "shared/x", "metrics"):
        assert browser.ask("GET", url + path).json()["path"] == "/" + path, path
    auth = {"Authorization": "Bearer " + key, "X-API-Key": key}
    for port in (3001, 49983, 49999):
        for path in ("mcp", "sandboxes", "v2/sandboxes", "ports/%s/3000/" % sandbox.sandbox_id):
            for headers in ({}, {"Authorization": auth["Authorization"]}, {"X-API-Key": key}):
                status = Browser(server).ask("GET", url.replace("3000-", "%d-" % port) + path, headers=headers).status_code
                assert status == (401 if port == 3001 else 404), (port, path)
    assert Browser(server).ask("GET", url.replace("3000-", "49983-") + "health", headers={"X-Access-Token": sandbox._envd_access_token}).status_code == 204


def test_pages_of_other_hosts_ask_nothing_with_its_cookie(browser, link, sandbox, key):
    url, cookie = host_of(link), browser.session.headers["Cookie"]
    ask = lambda site, **more: browser.ask(more.pop("method", "GET"), url, headers={"Sec-Fetch-Site": site, **{k.replace("_", "-"): v for k, v in more.items()}}).status_code
    page = {"Sec_Fetch_Mode": "navigate", "Sec_Fetch_Dest": "document"}
    other = requests.get("http://%s:%d/ports/%s/3000/" % (*browser.server.address, sandbox.sandbox_id), timeout=60,
                         headers={"X-API-Key": key, "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image"})
    assert other.status_code == 403
    assert ask("same-origin") == ask("none") == ask("same-site", **page) == 200
    assert ask("same-site") == ask("cross-site") == ask("same-site", method="POST", **page) == ask("same-site", Sec_Fetch_Mode="navigate", Sec_Fetch_Dest="iframe") == 401
    browser.session.headers["Cookie"] = "hutch_access=tossed; " + cookie
    assert browser.ask("GET", url + "x").status_code == 200, "a cookie of another host does not lock out"


ACTS = {"Clear-Site-Data": '"*"', "Strict-Transport-Security": "max-age=9; includeSubDomains", "Alt-Svc": 'h3=":1"', "Service-Worker-Allowed": "/",
        "NEL": "{}", "Report-To": "{}", "Reporting-Endpoints": 'a="/"', "Origin-Agent-Cluster": "?1", "Public-Key-Pins": "x", "X-Accel-Redirect": "/private/key"}
ACTS_FOR_ORIGIN = {"Access-Control-Allow-Origin": "*", "WWW-Authenticate": "Basic", "Accept-CH": "DPR", "Set-Login": "logged-in"}


@pytest.mark.parametrize("path", ["acts", "hints"])
def test_a_server_has_browsers_do_nothing_to_others(server, browser, link, sandbox, key, path):
    asked = {"X-Acts": json.dumps({**ACTS, **ACTS_FOR_ORIGIN, "X-Kept": "yes"})}
    at_host = browser.ask("GET", host_of(link) + path, headers=asked)
    below = requests.get("http://%s:%d/ports/%s/3000/%s" % (*server.address, sandbox.sandbox_id, path), headers={**asked, "X-API-Key": key}, timeout=60)
    for answer, gone in ((at_host, ACTS), (below, {**ACTS, **ACTS_FOR_ORIGIN})):
        assert answer.text == "acts" and answer.headers["X-Kept"] == "yes"
        assert not set(gone) & set(answer.headers), answer.headers
    assert set(ACTS_FOR_ORIGIN) <= set(at_host.headers), "a server of its own origin says what is to be there"


def test_browsers_that_say_nothing_of_where_they_ask_from(browser, link, sandbox, key):
    """Safari before 16.4 has no Sec-Fetch-Site: a page of another session's server would have it ask with the cookie."""
    url, own = host_of(link), host_of(link).rstrip("/")
    other = own.replace(sandbox.sandbox_id, "session-other")
    ask = lambda method="GET", **headers: browser.ask(method, url, headers=headers).status_code
    assert ask(Referer=other + "/page") == ask("POST", Referer=other + "/") == ask(Referer="https://example.org/") == ask("POST", Origin=own, Referer=other) == 401
    assert ask(Referer=own + ".example.org/") == ask(Referer=own.replace("//", "//x@")) == ask(Referer="about:blank") == 401
    assert ask("POST", Origin=other) == 403
    # Honest ones: a person who types the address, what its own pages do, and what follows a link.
    assert ask() == ask("POST") == ask(Referer=own + "/page?a") == ask(Referer=own) == ask("POST", Origin=own, Referer=url) == 200
    stranger = Browser(browser.server)
    assert stranger.ask("GET", url, headers={"E2b-Traffic-Access-Token": sandbox.traffic_access_token, "Referer": other}).status_code == 200
    assert stranger.ask("POST", link, headers={"Referer": other}, data=b"x").status_code == 200
    below = "http://%s:%d/ports/%s/3000/" % (*browser.server.address, sandbox.sandbox_id)
    assert requests.get(below, headers={"X-API-Key": key, "Referer": other}, timeout=60).status_code == 200


def test_a_refusal_is_heard_by_who_sends_much(server, sandbox, key):
    nowhere = requests.post("http://%s:%d/ports/%s/3999/" % (*server.address, sandbox.sandbox_id), data=os.urandom(5_000_000),
                            headers={"X-API-Key": key}, timeout=60 * PATIENCE)
    assert nowhere.status_code == 404 and "nothing listens" in nowhere.text


def test_servers_that_speak_something_else(browser, link):
    for path in ("odd", "none"):
        answer = browser.ask("GET", host_of(link) + path)
        assert answer.status_code == 502 and "hidden" not in answer.text, path


def test_below_a_path_with_a_token(server, sandbox, key):
    base = "http://%s:%d/ports/%s/3000" % (*server.address, sandbox.sandbox_id)
    auth = {"Authorization": "Bearer " + key, "Cookie": "a=b"}
    answer = requests.get(base + "/x/y?z=1", headers=auth, timeout=60)
    seen = answer.json()
    assert seen["path"] == "/x/y?z=1" and seen["headers"]["Host"] == "localhost:3000" and seen["headers"]["X-Forwarded-Prefix"] in base
    assert key not in str(seen) and "Cookie" not in seen["headers"]
    assert answer.headers["Content-Security-Policy"].startswith("sandbox")
    away = requests.get(base + "/away", headers=auth, timeout=60, allow_redirects=False)
    assert away.headers["Location"].endswith("/ports/%s/3000/there" % sandbox.sandbox_id) and "Set-Cookie" not in away.headers
    assert requests.get(base + "/x", timeout=60).status_code == 401
    for path, status in (("/ports/%s/3001/" % sandbox.sandbox_id, 404), ("/ports/session_none/3000/", 404), ("/ports/x", 404), ("/ports/x/70000/", 404)):
        assert requests.get("http://%s:%d" % server.address + path, headers=auth, timeout=60).status_code == status, path
    assert server.request("GET", "/%%70orts/%s/3000/" % sandbox.sandbox_id, headers=auth)[0] == 400


def test_many_at_once(server, browser, link):
    """Open ones hold nothing up, and beyond what is allowed they are refused in words."""
    host, cookie = re.match("http://([^/]+)", link)[1], "Cookie: %s\r\n" % browser.session.headers["Cookie"]
    streams = [websocket(server, host, cookie) for _ in range(60)]
    for stream in streams:
        assert stream.recv(12) == b"HTTP/1.1 101"
    assert browser.ask("GET", host_of(link) + "x").status_code == 200
    for stream in streams:
        stream.close()


def test_e2b_gives_the_host(sandbox, link):
    assert "http://%s/" % sandbox.get_host(3000) == host_of(link)


def test_nothing_listens(server, sandbox, key):
    with pytest.raises(ToolError, match="nothing listens on port 3999.*background: true"):
        client_of(server, key).call("share_port", session_id=sandbox.sandbox_id, port=3999)
    with pytest.raises(ToolError, match="49983 has another meaning"):
        client_of(server, key).call("share_port", session_id=sandbox.sandbox_id, port=49983)
