"""Sessions that may reach some hosts: those and no others, with and without a proxy, and what is told of it."""

import json
import os
import signal
import subprocess
import time

import pytest

from boxes import until
from hutch_client import Client, ToolError, hutch_binary
from origins import http_origin, plain_origin, port_of

PROXY = "http://127.0.0.1:3128"


@pytest.fixture(scope="module")
def world(module_state, tmp_path_factory):
    """A client whose sessions may reach two servers of this machine, and names that no server has."""
    with http_origin() as web, plain_origin() as plain:
        config = tmp_path_factory.mktemp("network") / "config.toml"
        config.write_text(f"""
[network]
allow = ["web.test:{port_of(web)}", "plain.test:{port_of(plain)}", "secure.test", "*.many.test", "localhost",
         "api.mixpanel.com:{port_of(web)}"]
[network.addresses]
"api.mixpanel.com" = "127.0.0.1"
"web.test" = "127.0.0.1"
"plain.test" = "127.0.0.1"
"secure.test" = "127.0.0.1"
"other.test" = "127.0.0.1"
""")
        with Client(module_state, env={"HUTCH_CONFIG": str(config)}) as client:
            client.web, client.plain = f"web.test:{port_of(web)}", f"plain.test:{port_of(plain)}"
            client.asked = web.asked
            yield client


def door_of(state):
    """Processes of hutch-egress that belong to the state directory."""
    found = []
    for pid in filter(str.isdecimal, os.listdir("/proc")):
        try:
            command = open(f"/proc/{pid}/cmdline").read().split("\0")
        except OSError:
            continue
        if command[0].endswith("/hutch-egress") and command[1] == f"{state}/egress":
            found.append(int(pid))
    return found


def port_of_host(host):
    return host.partition(":")[2]


def refused(run):
    return {entry.get("host", ""): entry["reason"] for entry in run.get("network", {}).get("refused", [])}


def test_an_allowed_host_is_reached_by_its_name(world):
    run = world.run(f"curl -sS http://{world.web}/a http://{world.web}/b", "bash")
    assert run["stdout"] == f"GET /a {world.web}\nGET /b {world.web}\n", run
    assert run["network"]["allowed"] == [world.web] and "refused" not in run["network"]
    # A run has what the door has counted when it is over; a connection that ends with it counts in the next one.
    runs = [run, *(world.run("sleep 0.1", "bash") for _ in range(20) if run["network"]["bytes"] == 0)]
    assert sum(one.get("network", {}).get("bytes", 0) for one in runs) > 100, runs


def test_bytes_of_a_connection_that_ends_between_runs_are_told_by_the_next(world):
    session = world.call("create_session")["session_id"]
    host, port = world.web.split(":")
    first = world.run(f"""
import socket, threading
connection = socket.create_connection(({host!r}, {port}))
connection.sendall(b"GET /later HTTP/1.1\\r\\nHost: {world.web}\\r\\n\\r\\n")
connection.recv(9000)
threading.Timer(0.3, connection.close).start()""", session_id=session)
    assert first["network"]["bytes"] == 0, first

    def is_over():
        said = subprocess.run([hutch_binary(), "--state-dir", world.state, "audit", "--json"], capture_output=True, text=True, check=True).stdout
        return any(row["session_id"] == session and row["received_bytes"] > 0 for row in map(json.loads, said.splitlines()))

    until(is_over)
    assert world.run("1", session_id=session)["network"]["bytes"] > 100
    assert "network" not in world.run("1", session_id=session), "told once"


def test_and_by_the_proxy(world):
    run = world.run(f"curl -sS -x {PROXY} http://{world.web}/a http://{world.web}/b; curl -sS -p -x {PROXY} http://{world.web}/c", "bash")
    assert run["stdout"] == "".join(f"GET /{path} {world.web}\n" for path in "abc"), run


def test_other_names_do_not_exist_and_the_result_says_so(world):
    run = world.run("import socket\nfor name in ('other.test', 'evil.example', 'many.test'):\n"
                    "    try: print(socket.getaddrinfo(name, 443))\n    except OSError as e: print(e)", "python")
    assert run["stdout"].count("Name or service not known") == 3, run
    assert set(refused(run)) == {"other.test", "evil.example", "many.test"}
    assert "--allow evil.example when it starts" in refused(run)["evil.example"]
    text = world.result("run_code", code="curl -sS http://evil.example", language="bash")["content"][0]["text"]
    assert "network: evil.example refused: not allowed" in text
    text = world.result("run_code", code="for host in evil.example many.test; do curl -sS http://$host; done", language="bash")["content"][0]["text"]
    assert text.count("refused:") == 1 and "network: evil.example, many.test refused: not allowed" in text and "--allow HOST" in text, text


@pytest.mark.parametrize("asks", [
    "urllib.request.urlopen('http://evil.example/')", "socket.create_connection(('evil.example', 443))",
    "asyncio.run(asyncio.open_connection('evil.example', 443))", "subprocess.run(['curl', '-sS', 'http://evil.example/'], check=True, stderr=-3)"])
def test_a_refusal_that_the_code_catches_is_told_with_a_run_that_went_well(world, asks):
    result = world.result("run_code", code=f"import asyncio, socket, subprocess, urllib.request\ntry: {asks}\nexcept Exception: print('no')")
    run = result["structuredContent"]
    assert run["status"] == "completed" and run["stdout"] == "no\n" and set(refused(run)) == {"evil.example"}, run
    assert "network: evil.example refused: not allowed" in result["content"][0]["text"]


def test_what_a_run_asked_of_the_network_beside_others_is_told_as_during_it(world):
    """Which of them asked nobody knows: an answer says so."""
    session = world.call("create_session")["session_id"]
    alone = world.run(f"curl -sS http://{world.web}/; curl -sS http://evil.example/", "bash", session_id=session)
    assert alone["network"]["allowed"] == [world.web] and "during this run" not in alone.get("note", ""), alone
    other = world.run("until [ -e go ]; do sleep 0.02; done; curl -sS http://theirs.example/; touch asked; sleep 60", "bash", session_id=session, background=True)["run_id"]
    beside = world.run(f"touch go; curl -sS http://{world.web}/; curl -sS http://evil.example/; until [ -e asked ]; do sleep 0.02; done", "bash", session_id=session)
    assert beside["network"]["allowed"] == [world.web] and set(refused(beside)) == {"evil.example", "theirs.example"}, beside
    assert "others ran meanwhile: files changed and the network was used during this run, maybe by them" in beside["note"], beside
    ended = world.call("cancel_run", run_id=other)
    assert "during this run" in ended["note"] and set(refused(ended)) == {"evil.example", "theirs.example"}, ended


def test_addresses_that_are_denied_are_not_reached_whatever_name_leads_there(world):
    wished = {"allow": [world.web, world.plain]}
    open_one = world.call("create_session", network=wished)["session_id"]
    closed = world.call("create_session", network={**wished, "deny_addresses": ["10.0.0.0/8", "127.0.0.0/30"]})["session_id"]
    for session, reached in ((open_one, True), (closed, False)):
        run = world.run(f"curl -sS http://{world.web}/denied", "bash", session_id=session)
        assert ("GET /denied" in run["stdout"]) is reached, run
    assert any("127.0.0.1, which this session denies" in why for why in refused(run).values()), run
    for wrong, says in (([1], "an address is a string"), (["web.test"], "no IP address"), ("10.0.0.0/8", "array of strings")):
        with pytest.raises(ToolError, match=says):
            world.call("create_session", network={**wished, "deny_addresses": wrong})
    with pytest.raises(ToolError, match="goes with network.allow"):
        world.call("create_session", network={"deny_addresses": ["10.0.0.0/8"]})


def test_what_libraries_report_of_themselves_is_left_out_but_of_the_audit(world):
    hosts = ["telemetry.nextjs.org", "us.i.posthog.com", "static.scarf.sh"]
    run = world.run(f"for host in {' '.join(hosts)} evil.example; do curl -sS https://$host; done", "bash")
    assert set(refused(run)) == {"evil.example"}, run
    said = subprocess.run([hutch_binary(), "--state-dir", world.state, "audit", "--json"], capture_output=True, text=True, check=True).stdout
    assert {row["host"] for row in map(json.loads, said.splitlines())} >= {*hosts, "evil.example"}


def test_names_of_addresses_are_left_out_but_of_the_audit(world):
    """Programs ask for them by the way, of addresses that are the door's own."""
    code = ("import socket\nfor address in ('198.19.100.185', '198.19.100.186', '2001:db8::1'):\n"
            "    try: print(socket.gethostbyaddr(address))\n    except OSError as e: print(e)")
    result = world.result("run_code", code=code)
    run = result["structuredContent"]
    assert run["stdout"].count("Unknown host") == 3 and "network" not in run, run
    assert "refused" not in json.dumps(result), result
    said = subprocess.run([hutch_binary(), "--state-dir", world.state, "audit", "--json"], capture_output=True, text=True, check=True).stdout
    asked = [row["host"] for row in map(json.loads, said.splitlines()) if row["verdict"] == "refused"]
    assert {"185.100.19.198.in-addr.arpa", "186.100.19.198.in-addr.arpa"} <= set(asked) and any(host.endswith(".ip6.arpa") for host in asked), asked


@pytest.mark.parametrize("how", ["", f"-p -x {PROXY}", f"-x {PROXY}"])
def test_what_libraries_report_where_it_is_allowed_is_left_out_too(world, how):
    session = world.call("create_session")["session_id"]
    reported = f"api.mixpanel.com:{port_of_host(world.web)}"
    result = world.result("run_code", code=f"curl -sS {how} http://{reported}/track", language="bash", session_id=session)
    run = result["structuredContent"]
    assert "GET" in run["stdout"] and "/track" in run["stdout"] and "network" not in run, run
    assert "network:" not in result["content"][0]["text"], result
    assert "network" not in world.run("sleep 1.2", "bash", session_id=session), "nor later"
    both = world.run(f"curl -sS {how} http://{reported}/ http://{world.web}/", "bash", session_id=session)
    assert both["network"]["allowed"] == [world.web], both
    said = subprocess.run([hutch_binary(), "--state-dir", world.state, "audit", "--json"], capture_output=True, text=True, check=True).stdout
    seen = [row for row in map(json.loads, said.splitlines()) if row["host"] == "api.mixpanel.com" and row["session_id"] == session]
    assert len(seen) >= 2 and all(row["received_bytes"] > 0 for row in seen), said


def test_a_name_has_an_address_that_nobody_else_has(world):
    run = world.run("getent ahosts a.many.test b.many.test; getent ahostsv6 a.many.test; cat /etc/resolv.conf", "bash")
    given = {line.split()[0] for line in run["stdout"].splitlines() if "STREAM" in line}
    assert len(given) == 2 and all(address.startswith(("198.18.", "198.19.")) for address in given)
    assert "nameserver 127.0.0.1" in run["stdout"]
    assert refused(run) == {}


def test_the_proxy_says_why_not(world):
    port = world.web.partition(":")[2]
    run = world.run(f"curl -sS -x {PROXY} http://other.test:{port}/; curl -sSv -p -x {PROXY} https://evil.example/ 2>&1", "bash")
    assert f"other.test:{port} is not allowed by this session's network policy" in run["stdout"]
    assert "403 evil.example:443 is not allowed by this session's network policy" in run["stdout"]
    assert set(refused(run)) == {f"other.test:{port}", "evil.example:443"}


def test_addresses_are_unreachable_at_once(world):
    run = world.run("import socket\nfor a in ('1.1.1.1', '169.254.169.254', '10.0.0.1', '198.51.100.1'):\n"
                    "    try: socket.create_connection((a, 443), 20)\n    except OSError as e: print(e)\n"
                    "try: socket.create_connection(('2606:4700::1111', 443), 20)\nexcept OSError as e: print(e)", "python")
    assert run["stdout"].count("unreachable") == 5, run


@pytest.mark.parametrize("how", ["", f"-x {PROXY}"])
@pytest.mark.parametrize("body", ["--data-binary @-", "-H 'Transfer-Encoding: chunked' --data-binary @-"])
def test_bodies_of_any_size_go_both_ways(world, how, body):
    run = world.run(f"head -c 5000000 /dev/urandom > sent; for path in / /chunked /until-the-end; do "
                    f"curl -sS {how} {body} http://{world.web}$path < sent | cmp - sent && echo same; done", "bash")
    assert run["stdout"] == "same\n" * 3, run


def test_each_request_of_a_proxy_is_for_a_host_that_is_allowed(world):
    port = world.web.partition(":")[2]
    run = world.run(f"""import socket
def ask(text):
    with socket.create_connection(("127.0.0.1", 3128), 20) as s:
        s.sendall(text.encode())
        answer = b""
        while part := s.recv(65536):
            answer += part
    return answer.decode().split("\\r\\n")[0]
allowed = "GET http://{world.web}/first HTTP/1.1\\r\\nHost: {world.web}\\r\\n\\r\\n"
for text in (allowed + "GET http://other.test:{port}/second HTTP/1.1\\r\\nHost: other.test\\r\\n\\r\\n",
             "GET http://{world.web}/smuggled HTTP/1.1\\r\\nHost: {world.web}\\r\\nContent-Length: 4\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n0\\r\\n\\r\\n",
             "GET http://user@{world.web}/user HTTP/1.1\\r\\nHost: {world.web}\\r\\n\\r\\n",
             "GET https://{world.web}/s HTTP/1.1\\r\\nHost: {world.web}\\r\\n\\r\\n",
             "GET /origin HTTP/1.1\\r\\nHost: {world.web}\\r\\n\\r\\n",
             "CONNECT {world.web}@evil.example:443 HTTP/1.1\\r\\n\\r\\n",
             "CONNECT 127.0.0.1:{port} HTTP/1.1\\r\\n\\r\\n",
             "CONNECT localhost:{port} HTTP/1.1\\r\\n\\r\\n",
             "CONNECT web.test:22 HTTP/1.1\\r\\n\\r\\n",
             "CONNECT web.test HTTP/1.1\\r\\n\\r\\n",
             "\\x16\\x03\\x01 nonsense\\r\\n\\r\\n"):
    print(ask(text)[:12])""", "python")
    assert run["stdout"].split("\n")[:-1] == ["HTTP/1.1 200", "HTTP/1.1 400", "HTTP/1.1 403", "HTTP/1.1 403", "HTTP/1.1 403",
                                              "HTTP/1.1 403", "HTTP/1.1 403", "HTTP/1.1 403", "HTTP/1.1 403", "HTTP/1.1 403",
                                              "HTTP/1.1 400"], run
    assert not any(path in line for line in world.asked for path in ("second", "smuggled", "user", "origin"))


def test_a_name_that_stands_for_this_machine_is_not_reached(world):
    run = world.run(f"curl -sS -x {PROXY} http://localhost/; curl -sSf -m 20 http://127.0.0.1/", "bash")
    assert "no public address" in run["stdout"] or "finds no address" in run["stdout"], run
    assert run["exit_code"] != 0


def test_what_speaks_first_and_is_no_http(world):
    run = world.run(f"exec 3<>/dev/tcp/{world.plain.replace(':', '/')}; read -u 3 a; echo again >&3; read -u 3 b; echo $a $b", "bash")
    assert run["stdout"] == "hello again\n", run


@pytest.mark.parametrize("says,why", [
    ("ssl.create_default_context().wrap_socket(s, server_hostname='evil.example')", "asks this host for another one: evil.example"),
    ("unchecked.wrap_socket(s)", "does not say whom it wants to talk to (no SNI)"),
    ("s.sendall(b'GET / HTTP/1.1\\r\\nHost: secure.test\\r\\n\\r\\n'), s.recv(10)", "is no TLS"),
    ("s.close()", "has ended the connection"),
])
def test_tls_is_for_the_host_it_was_let_through_to(world, says, why):
    run = world.run("import socket, ssl\nunchecked = ssl.create_default_context()\nunchecked.check_hostname = False\n"
                    f"s = socket.create_connection(('secure.test', 443), 20)\ntry:\n    {says}\nexcept OSError as e:\n    print(e)\n"
                    "import time\ntime.sleep(0.2)", "python")
    assert why in refused(run).get("secure.test:443", ""), run


def test_a_session_has_what_it_asks_for_of_what_is_allowed(world):
    session = world.call("create_session", network={"allow": [world.web]})
    assert session["network"] == {"allow": [world.web]}
    run = world.run(f"curl -sS http://{world.web}/; getent hosts plain.test", "bash", session_id=session["session_id"])
    assert run["stdout"] == f"GET / {world.web}\n" and set(refused(run)) == {"plain.test"}
    blocked = world.call("create_session", network={"block_outbound": True})
    assert "network" not in blocked
    run = world.run(f"curl -sS http://{world.web}/; wc -c < /etc/resolv.conf; cat /proc/net/tcp | wc -l", "bash",
                    session_id=blocked["session_id"])
    assert run["stdout"] == "0\n1\n" and "no network but its own loopback" in run["note"]
    with pytest.raises(ToolError) as told:
        world.call("create_session", network={"allow": ["evil.example"]})
    assert "evil.example is not allowed here" in str(told.value) and '--allow evil.example' in str(told.value)


def test_without_rules_there_is_no_door(state):
    with Client(state) as client:
        assert client.value("1") == "1"
        assert door_of(state) == []


def test_a_door_that_was_killed_is_made_anew(world):
    first = door_of(world.state)
    assert len(first) == 1
    world.run("n = 0", "python")
    os.kill(first[0], signal.SIGKILL)
    run = world.run(f"curl -sS --retry 3 --retry-all-errors http://{world.web}/; curl -sS http://evil.example", "bash")
    assert f"GET / {world.web}" in run["stdout"] and "evil.example" in refused(run)
    deadline = time.monotonic() + 60
    while len(door_of(world.state)) != 1:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert door_of(world.state) != first


def test_the_door_has_no_rights_and_no_file_of_a_session(world):
    world.run("1", "python")
    (pid,) = door_of(world.state)
    status = dict(line.split(":\t", 1) for line in open(f"/proc/{pid}/status").read().splitlines() if ":\t" in line)
    assert status["CapEff"].strip("0") == status["CapPrm"].strip("0") == "" and status["NoNewPrivs"] == "1"
    assert (status["Seccomp"], status["Seccomp_filters"]) == ("2", "3")
    if os.geteuid() == 0:
        assert status["Uid"].split()[0] != "0" and status["Groups"].strip() == ""
        opened = [os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")]
        assert not any("/sessions/" in path or path.endswith("hutch.db") for path in opened), opened
    else:  # nobody of the same id may look at what it has open
        with pytest.raises(PermissionError):
            os.listdir(f"/proc/{pid}/fd")
