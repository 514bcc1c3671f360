"""Rules for requests: the door looks into TLS with an authority of its own, and only where it has to."""

import os
import re
import stat
import subprocess
from pathlib import Path

import pytest

from hutch_client import Client, hutch_binary
from origins import http_origin, port_of, tls_origin
from test_network import PROXY, refused


@pytest.fixture(scope="module")
def world(module_state, tmp_path_factory):
    folder = tmp_path_factory.mktemp("inside")
    with tls_origin(folder, "api.test") as api, http_origin() as web:
        config = folder / "config.toml"
        config.write_text(f"""
[network]
allow = ["GET,HEAD api.test:{port_of(api)}/v1/*", "POST api.test:{port_of(api)}/v1/items", "GET web.test:{port_of(web)}/public/*",
         "strict.test:{port_of(api)}/only", "secure.test:{port_of(api)}"]
[network.addresses]
"api.test" = "127.0.0.1"
"web.test" = "127.0.0.1"
"strict.test" = "127.0.0.1"
"secure.test" = "127.0.0.1"
""")
        with Client(module_state, env={"HUTCH_CONFIG": str(config), "SSL_CERT_FILE": str(folder / "roots.pem")}) as client:
            client.api, client.web = f"api.test:{port_of(api)}", f"web.test:{port_of(web)}"
            client.port, client.asked, client.headers = port_of(api), api.asked, {"api": api.headers, "web": web.headers}
            yield client


@pytest.mark.parametrize("how", ["", f"-x {PROXY}"])
def test_requests_that_are_allowed_and_others(world, how):
    world.asked.clear()
    run = world.run(f"""curl -sS {how} https://{world.api}/v1/a https://{world.api}/v1/b?c=d
curl -sS {how} -d body https://{world.api}/v1/items
for other in "-d body https://{world.api}/v1/other" "-X DELETE https://{world.api}/v1/a" https://{world.api}/v2/a \\
             "--path-as-is https://{world.api}/v1/../v2" https://{world.api}/v1/%2e%2e/v2 https://{world.api}/v1//a; do
  curl -sS {how} -o answer -w '%{{http_code}}\\n' $other; tail -n1 answer; done""", "bash")
    lines = run["stdout"].splitlines()
    assert lines[:3] == [f"GET /v1/a {world.api}", f"GET /v1/b?c=d {world.api}", "body403"], run
    assert run["stdout"].count("403\n") == 6 and "DELETE /v1/a of this host is not allowed" in run["stdout"], run
    assert world.asked == [f"GET /v1/a {world.api}", f"GET /v1/b?c=d {world.api}", f"POST /v1/items {world.api}"]
    assert run["network"]["allowed"] == [world.api] and "is not allowed" in refused(run)[world.api]


OVERRIDES = ("X-HTTP-Method-Override: DELETE", "X-HTTP-Method: DELETE", "x-method_override: DELETE", "X-Original-URL: /v2/admin",
             "X-Rewrite-URL: /v2/admin")


def test_no_request_asks_for_another_than_its_line(world):
    for headers in world.headers.values():
        headers.clear()
    fields = " ".join(f"-H '{field}'" for field in (*OVERRIDES, "X-Mine: 1"))
    run = world.run(f"curl -sS {fields} -d body https://{world.api}/v1/items; curl -sS {fields} http://{world.web}/public/a\n"
                    f"curl -sSk {fields} https://secure.test:{world.port}/x", "bash")
    assert run["status"] == "completed", run
    *limited, free = *world.headers["web"], *world.headers["api"]
    assert len(limited) == 2
    for one in limited:
        assert one["X-Mine"] == ["1"] and not any(re.match("(?i)x-(http|method|original|rewrite)", name) for name in one), one
    # Where nothing limits requests, nobody looks.
    assert free["X-Original-URL"] == ["/v2/admin"] and len([name for name in free if name.lower().startswith("x-")]) == 6, free


def test_a_narrower_rule_that_is_left_ends_what_a_wider_one_has_let_through(world):
    """Nobody would look at the next request of a connection that was opened under a wider rule."""
    session = world.call("create_session")["session_id"]
    allow = [hutch_binary(), "--state-dir", world.state, "sessions", "allow", session]
    subprocess.run([*allow, world.api, world.web], check=True, capture_output=True)
    opened = world.run(f"""
import ssl, socket, urllib.request
def ask(connection, request):
    try:
        connection.sendall((request + ' HTTP/1.1\\r\\nHost: {world.api}\\r\\nContent-Length: 0\\r\\n\\r\\n').encode())
        return connection.recv(4096).split(b'\\r\\n')[0]
    except OSError as gone:
        return b''
tls = ssl.create_default_context()
tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE
secure = tls.wrap_socket(socket.create_connection(('api.test', {world.port}), 20), server_hostname='api.test')
print(ask(secure, 'POST /v2/admin'))""", session_id=session)
    assert "200" in opened["stdout"], opened
    subprocess.run([*allow, "--take-back", world.api, world.web], check=True, capture_output=True)
    world.asked.clear()
    assert world.run("print(ask(secure, 'POST /v2/admin'))", session_id=session)["stdout"] == "b''\n"
    assert world.asked == []
    assert "403" in world.run(f"curl -sS -X POST -o /dev/null -w '%{{http_code}}' https://{world.api}/v2/admin", "bash", session_id=session)["stdout"]
    assert world.run(f"curl -sS https://{world.api}/v1/a", "bash", session_id=session)["stdout"].startswith("GET /v1/a")


def test_of_plain_http_too(world):
    run = world.run(f"for how in '' '-x {PROXY}' '-p -x {PROXY}'; do for path in public/a private; do "
                    f"curl -sS -o answer -w '%{{http_code}} ' $how http://{world.web}/$path; done; done", "bash")
    assert run["stdout"] == "200 403 " * 3, run


@pytest.mark.parametrize("program,code", [
    ("python", "import urllib.request; print(urllib.request.urlopen('https://{0}/v1/x').read().decode(), end='')"),
    ("javascript", "console.log((await (await fetch('https://{0}/v1/x')).text()).trim())"),
    ("javascript", "await new Promise((r) => require('https').get('https://{0}/v1/x', (m) => m.on('data', (d) => console.log(String(d).trim())).on('end', r)))"),
    ("bash", "git -c http.proxy= ls-remote https://{0}/v1/x 2>&1 | grep -c 'not valid\\|not found' ; curl -sS https://{0}/v1/x"),
])
def test_programs_trust_the_door(world, program, code):
    run = world.run(code.format(world.api), program)
    assert f"GET /v1/x {world.api}" in run["stdout"], run


def test_where_nothing_limits_requests_nobody_looks_inside(world):
    script = "import ssl, socket\ns = ssl.create_default_context()\ns.check_hostname = False\ns.verify_mode = ssl.CERT_NONE\n" \
             "c = s.wrap_socket(socket.create_connection(('{}', " + str(world.port) + "), 20), server_hostname='{}')\n" \
             "import hashlib; print(hashlib.sha256(c.getpeercert(True)).hexdigest())"
    seen = {name: world.run(script.format(name, name), "python")["stdout"] for name in ("secure.test", "api.test")}
    assert len(seen["secure.test"]) == len(seen["api.test"]) == 65 and seen["secure.test"] != seen["api.test"]


def test_a_host_that_cannot_prove_who_it_is_gets_nothing(world):
    world.asked.clear()
    run = world.run(f"curl -sS https://strict.test:{world.port}/only", "bash")
    assert "no TLS with the host" in run["stdout"] and world.asked == [], run
    assert "verify failed" in refused(run)[f"strict.test:{world.port}"]


def test_a_client_that_asks_for_another_host(world):
    run = world.run("import ssl, socket\ns = ssl.create_default_context()\n"
                    f"c = s.wrap_socket(socket.create_connection(('api.test', {world.port}), 20), server_hostname='api.test')\n"
                    "c.sendall(b'GET /v1/a HTTP/1.1\\r\\nHost: web.test\\r\\n\\r\\n'); print(c.recv(1000).decode())\n"
                    f"try: s.wrap_socket(socket.create_connection(('api.test', {world.port}), 20), server_hostname='web.test')\n"
                    "except OSError as e: print(type(e).__name__)", "python")
    assert "403 the client asks this host for another one: web.test" in run["stdout"], run
    assert "asks this host for another one" in refused(run)[world.api]


def test_large_bodies_go_both_ways(world):
    run = world.run(f"head -c 5000000 /dev/urandom > sent; curl -sS --data-binary @sent https://{world.api}/v1/items | cmp - sent && echo same", "bash")
    assert run["stdout"] == "same\n", run


def test_the_authority_stays_outside(world):
    key = Path(world.state) / "egress/authority.pem"
    assert stat.S_IMODE(os.stat(key).st_mode) == 0o600
    secret = key.read_text().splitlines()[1]
    run = world.run(f"grep -c BEGIN $SSL_CERT_FILE; cmp $SSL_CERT_FILE /etc/ssl/certs/ca-certificates.crt && echo same; grep -rl 'PRIVATE KEY' /run/hutch /etc 2>/dev/null", "bash")
    assert run["stdout"] == "2\nsame\n", run
    run = world.run(f"import subprocess; print(subprocess.run(['grep', '-rlF', '{secret[:10]}' + '{secret[10:]}', '/run', '/etc', '/proc/self/environ'], "
                    "capture_output=True, text=True).stdout)", "python")
    assert run["stdout"] == "\n"
