"""[e2b] public_ports: what E2B's users reach at get_host() without a token, and what stays closed."""

import contextlib
import socket

import pytest
import requests
from e2b import Sandbox

import boxes
from hutch_client import PATIENCE
from http_server import Server, token

APP = "cd $(mktemp -d); echo here >index.html; exec python3 -m http.server 3000 --bind 127.0.0.1"


@pytest.fixture(scope="module")
def server(module_state, tmp_path_factory):
    config = tmp_path_factory.mktemp("configuration") / "config.toml"
    config.write_text("[e2b]\npublic_ports = true\n")
    with Server(module_state, "--config", str(config), no_auth=False) as started:
        yield started


@pytest.fixture(scope="module")
def options(server, module_state):
    url = "http://%s:%d" % server.address
    return {"api_key": token(module_state), "api_url": url, "sandbox_url": url, "request_timeout": 60 * PATIENCE}


@pytest.fixture
def make(options):
    made = []

    def make_one(serve=True, **wishes):
        sandbox = Sandbox.create(timeout=900, **wishes, **options)
        made.append(sandbox)
        if serve:
            sandbox.commands.run(APP, background=True)
            sandbox.commands.run("until (exec 3<>/dev/tcp/127.0.0.1/3000) 2>/dev/null; do sleep 0.05; done", timeout=60 * PATIENCE)
        return sandbox

    yield make_one
    for sandbox in made:
        sandbox.kill()


def asked(server, sandbox_id, **headers):
    host = "3000-%s.localhost" % sandbox_id
    return requests.get("http://%s:%d/" % server.address, headers={"Host": host, **headers}, timeout=60 * PATIENCE)


def test_anybody_reaches_a_port(server, make):
    sandbox = make()
    assert asked(server, sandbox.sandbox_id).text == "here\n"
    assert "E2b-Traffic-Access-Token" not in str(asked(server, sandbox.sandbox_id).headers)


def test_who_has_no_right_cannot_tell_what_there_is(server, make):
    closed = make(network={"allow_public_traffic": False})
    assert asked(server, closed.sandbox_id, **{"E2b-Traffic-Access-Token": closed.traffic_access_token}).text == "here\n"
    ended = make(serve=False)
    ended.kill()
    unknown = ended.sandbox_id[:-3] + "000"
    for sandbox_id in (closed.sandbox_id, ended.sandbox_id, unknown):
        answer = asked(server, sandbox_id)
        assert answer.status_code == 403, sandbox_id
        assert answer.json() == {"sandboxId": sandbox_id, "code": 403, "message": answer.json()["message"]}
    its_own = asked(server, ended.sandbox_id, **{"E2b-Traffic-Access-Token": ended.traffic_access_token})
    assert its_own.status_code == 502 and its_own.json() == {"sandboxId": ended.sandbox_id, "code": 502, "message": "The sandbox was not found"}


HOLDS = ("import socket, time\nservers = [socket.create_server(('127.0.0.1', port), backlog=100) for port in (3001, 3002)]\n"
         "print('listens', flush=True)\ntime.sleep(600)\n")


def test_visitors_take_no_room_of_those_who_have_a_right(server, make):
    sandbox = make()
    sandbox.files.write("holds.py", HOLDS)
    sandbox.commands.run("python3 holds.py", background=True)
    sandbox.commands.run("until (exec 3<>/dev/tcp/127.0.0.1/3002) 2>/dev/null; do sleep 0.05; done", timeout=60 * PATIENCE)
    with contextlib.ExitStack() as visitors:
        def no_more_come_in():
            for port in (3001, 3002):
                stream = visitors.enter_context(socket.create_connection(server.address))
                stream.sendall(b"GET / HTTP/1.1\r\nHost: %d-%s.localhost\r\n\r\n" % (port, sandbox.sandbox_id.encode()))
            return asked(server, sandbox.sandbox_id).status_code == 429
        boxes.until(no_more_come_in, what="128 visitors of one principal's ports")
        with_right = asked(server, sandbox.sandbox_id, **{"E2b-Traffic-Access-Token": sandbox.traffic_access_token})
        assert (with_right.status_code, with_right.text) == (200, "here\n")


def test_servers_find_the_host_that_was_asked_for(server, make):
    sandbox = make(serve=False, network={"mask_request_host": "localhost:${PORT}"})
    app = ("import http.server\nclass App(http.server.BaseHTTPRequestHandler):\n    def do_GET(self):\n        self.send_response(200); self.end_headers()\n"
           "        self.wfile.write(self.headers['Host'].encode())\nhttp.server.HTTPServer(('127.0.0.1', 3000), App).serve_forever()\n")
    sandbox.files.write("app.py", app)
    sandbox.commands.run("python3 app.py", background=True)
    sandbox.commands.run("until (exec 3<>/dev/tcp/127.0.0.1/3000) 2>/dev/null; do sleep 0.05; done", timeout=60 * PATIENCE)
    assert asked(server, sandbox.sandbox_id).text == "localhost:3000"


def test_sessions_of_other_doors_stay_closed(server, options):
    made = requests.post("http://%s:%d/sandboxes" % server.address, json={}, headers={"X-API-Key": options["api_key"]}, timeout=60 * PATIENCE).json()
    assert asked(server, made["sandboxID"]).status_code == 403
    Sandbox.kill(made["sandboxID"], **options)


def test_a_paused_one_is_woken_where_that_was_asked_for(server, make):
    asleep = make()
    asleep.pause()
    answer = asked(server, asleep.sandbox_id)
    assert answer.status_code == 502 and not asleep.is_running(), answer.text
    woken = make(lifecycle={"on_timeout": "pause", "auto_resume": True})
    woken.pause()
    assert asked(server, woken.sandbox_id).text == "here\n" and woken.is_running()
