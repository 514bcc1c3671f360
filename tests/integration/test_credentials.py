"""Credentials: the door adds them to requests for their host, and the code that makes these never sees one."""

import base64
import hashlib
import hmac
import json
import re
import subprocess
from pathlib import Path

import pytest

from hutch_client import Client, ToolError, hutch_binary
from origins import http_origin, port_of, tls_origin
from test_network import PROXY, refused

SECRET = "s3cr3t-" + "0123456789abcdef" * 2
PASSWORD = "pass-word-of-test"


def credential(state, *arguments, value=None, ok=True):
    done = subprocess.run([hutch_binary(), "--state-dir", state, "credential", *arguments], input=value, capture_output=True, text=True, timeout=60)
    assert (done.returncode == 0) == ok, done
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def world(module_state, tmp_path_factory):
    folder = tmp_path_factory.mktemp("credentials")
    with tls_origin(folder, "*.api.test") as api, http_origin() as web:
        port = port_of(api)
        names = ["token", "basic", "field", "query", "vault", "twice-a", "twice-b", "plain", "never", "signed", "key-alone"]
        config = folder / "config.toml"
        hosts = [f"{name}.api.test" for name in (*names, "twice", "other")] + ["web.test"]
        config.write_text(f"[network]\nallow = [\"other.api.test:{port}\", \"web.test:{port_of(web)}\"]\ncredentials = {json.dumps(names)}\n"
                          "[network.addresses]\n" + "".join(f'"{host}" = "127.0.0.1"\n' for host in hosts))
        set_one = lambda name, *more, value=SECRET, host=None: credential(  # noqa: E731
            module_state, "set", name, "--host", host or f"{name}.api.test:{port}", *more, value=value)
        set_one("token")
        set_one("basic", "--basic", value=f"user:{PASSWORD}\n")
        set_one("signed", "--sigv4", value=f"AKIDTEST:{SECRET}:{SECRET}-token")
        set_one("key-alone", "--sigv4", value=f"AKIDTEST:{SECRET}")
        set_one("field", "--header", "X-Api-Key")
        set_one("query", "--query", "key")
        set_one("vault", "--command", f"cat {folder}/vault", value=None)
        (folder / "vault").write_text(SECRET + "-1\n")
        set_one("twice-a", host=f"twice.api.test:{port}")
        set_one("twice-b", host=f"*.api.test:{port + 1 if port < 65535 else port - 1}")
        set_one("twice-b", host=f"twice.api.test:{port}")
        set_one("plain", host=f"web.test:{port_of(web)}")
        with Client(module_state, env={"HUTCH_CONFIG": str(config), "SSL_CERT_FILE": str(folder / "roots.pem")}) as client:
            client.port, client.api, client.web, client.folder = port, api, web, folder
            yield client


def asked(world, name, path="/", options=""):
    """Returns what the host got, and what the code did."""
    world.api.headers.clear()
    run = world.run(f"curl -sS {options} 'https://{name}.api.test:{world.port}{path}'", "bash")
    return world.api.headers[-1] if world.api.headers else None, run


def test_rules_for_requests_hold_with_a_credential_too(world):
    """A credential for a host that rules name opens nothing besides."""
    config = world.folder / "narrow.toml"
    config.write_text(f"[network]\nallow = [\"GET token.api.test:{world.port}/v1/*\"]\ncredentials = [\"token\", \"basic\"]\n"
                      "[network.addresses]\n\"token.api.test\" = \"127.0.0.1\"\n\"basic.api.test\" = \"127.0.0.1\"\n")
    world.api.headers.clear()
    with Client(world.state, env={"HUTCH_CONFIG": str(config), "SSL_CERT_FILE": str(world.folder / "roots.pem")}) as client:
        run = client.run(f"for request in '-X DELETE https://token.api.test:{world.port}/v1/a' https://token.api.test:{world.port}/v2 "
                         f"https://token.api.test:{world.port}/v1/a 'https://basic.api.test:{world.port}/any?access_token=mine'; do "
                         "curl -sS -o /dev/null -w '%{http_code} ' $request; done", "bash")
    assert run["stdout"] == "403 403 200 200 ", run
    assert [got["Authorization"][0].split()[0] for got in world.api.headers] == ["Bearer", "Basic"]
    audit = subprocess.run([hutch_binary(), "--state-dir", world.state, "audit", "--json"], capture_output=True, text=True, check=True).stdout
    paths = [row["path"] for row in map(json.loads, audit.splitlines()) if row["session_id"] == run["session_id"] and row["method"]]
    assert paths[-1] == "/any" and "mine" not in audit, "keys of the code's own are in addresses"


def signature_of(got, method, path, body):
    """As AWS would make it, from what the host got (the IAM User Guide, "Create a signed request")."""
    scope, names = re.match(r"AWS4-HMAC-SHA256 Credential=AKIDTEST/([^,]*), SignedHeaders=([^,]*), ", got["authorization"][0]).groups()
    fields = "".join(f"{name}:{' '.join(got[name][0].split())}\n" for name in names.split(";"))
    payload = got.get("x-amz-content-sha256", [hashlib.sha256(body).hexdigest()])[0]
    path, _, query = path.partition("?")
    request = "\n".join([method, path, query, fields, names, payload])
    key = f"AWS4{SECRET}".encode()
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    text = "\n".join(["AWS4-HMAC-SHA256", got["x-amz-date"][0], scope, hashlib.sha256(request.encode()).hexdigest()])
    return scope, hmac.new(key, text.encode(), "sha256").hexdigest()


@pytest.mark.parametrize("service", ["s3", "dynamodb"])
def test_a_request_is_signed_anew(world, service):
    body = b'{"TableName": "t"}'
    signing = f"--aws-sigv4 aws:amz:eu-west-1:{service} --user any:key --data-binary '{body.decode()}'"
    got, run = asked(world, "signed", "/a/b?x=1&y=%20", signing)
    got = {name.lower(): values for name, values in got.items()}
    scope, signature = signature_of(got, "POST", "/a/b?x=1&y=%20", body)
    assert scope.endswith(f"/eu-west-1/{service}/aws4_request") and got["authorization"][0].endswith(f"Signature={signature}"), (got, run)
    assert got["x-amz-security-token"] == [f"{SECRET}-token"]
    assert run["stdout"] == body.decode(), run
    _, run = asked(world, "signed", "/headers", signing.partition("--data")[0])
    assert "AKIDTEST" in run["stdout"] and SECRET not in run["stdout"] and "Signature=****" in run["stdout"], run


def test_what_cannot_be_signed_is_not_sent(world):
    got, run = asked(world, "signed", "/")
    assert got is None and "so that region and service are known" in run["stdout"], run
    signing = "--aws-sigv4 aws:amz:eu-west-1:sqs --user any:key"
    got, run = asked(world, "signed", "/", f"{signing} -H 'x-amz-content-sha256: STREAMING-AWS4-HMAC-SHA256-PAYLOAD'")
    assert got is None and "as a whole" in run["stdout"], run
    world.run("head -c 9000000 /dev/zero > long", "bash")
    got, run = asked(world, "signed", "/", f"{signing} -T long -H Expect:")
    assert got is None and "longer than 8 MiB" in str(run), run
    assert world.run("echo $AWS_ACCESS_KEY_ID", "bash")["stdout"] == "added-by-hutch\n"


def test_a_bearer_token(world):
    got, run = asked(world, "token", "/a", "-H 'Authorization: Bearer mine'")
    assert got["Authorization"] == [f"Bearer {SECRET}"], run
    assert run["stdout"] == f"GET /a token.api.test:{world.port}\n" and SECRET not in json.dumps(run)


def test_by_the_proxy_and_again_on_one_connection(world):
    got, run = asked(world, "token", "/a", f"-x {PROXY} https://token.api.test:{world.port}/b")
    assert [headers["Authorization"] for headers in world.api.headers] == [[f"Bearer {SECRET}"]] * 2, run


def test_other_places(world):
    got, run = asked(world, "basic", "/", "-u somebody:else")
    assert got["Authorization"] == ["Basic " + base64.b64encode(f"user:{PASSWORD}".encode()).decode()], run
    got, run = asked(world, "field", "/", "-H 'X-Api-Key: mine' -H 'x-api-key: again'")
    assert got["X-Api-Key"] == [SECRET], run
    got, run = asked(world, "query", "/path?key=mine&a=b&key=again")
    assert got[":path"] == [f"/path?a=b&key={SECRET}"], run
    assert SECRET not in run["stdout"] and "*" * len(SECRET) in run["stdout"]


@pytest.mark.parametrize("path", ["/headers", "/headers-slowly", "/location", "/reason"])
def test_an_answer_that_repeats_it_is_redacted(world, path):
    for name in ("token", "basic", "field", "query"):
        got, run = asked(world, name, path, "-i")
        text = run["stdout"]
        assert "****" in text and SECRET not in text and PASSWORD not in text, run
        assert base64.b64encode(f"user:{PASSWORD}".encode()).decode() not in text


def test_a_name_that_repeats_it_is_redacted(world):
    got, run = asked(world, "token", "/field", "-i")
    assert "****" in run["stdout"] and SECRET not in run["stdout"], run


def test_an_answer_that_nobody_could_look_through_is_refused(world):
    got, run = asked(world, "token", "/compressed", "--compressed -i")
    assert got and " 502 " in run["stdout"] and "compressed" in run["stdout"] and SECRET not in run["stdout"], run
    signing = "--compressed --aws-sigv4 aws:amz:eu-west-1:s3 --user x:y"
    _, run = asked(world, "signed", "/compressed", f"-i {signing}")
    assert " 502 " in run["stdout"], "with a token, which goes out"
    _, run = asked(world, "key-alone", "/compressed", signing)
    assert "Signature=" in run["stdout"] and SECRET not in run["stdout"], run


def test_an_answer_is_not_had_in_pieces(world):
    """No piece would be the value."""
    got, run = asked(world, "token", "/headers", "-H 'Range: bytes=0-9' -H 'If-Range: x'")
    assert got and "Range" not in got and "If-Range" not in got, run


def test_only_its_own_host_gets_it(world):
    got, run = asked(world, "other", "/", "-H 'Authorization: Bearer mine'")
    assert got["Authorization"] == ["Bearer mine"], run
    world.api.headers.clear()
    run = world.run(f"curl -sSL 'https://token.api.test:{world.port}/to?https://other.api.test:{world.port}/there'", "bash")
    assert [headers.get("Authorization") for headers in world.api.headers] == [[f"Bearer {SECRET}"], None], run


@pytest.mark.slow
def test_a_command_is_asked_each_time_and_a_change_needs_no_new_session(world):
    got, run = asked(world, "vault")
    assert got["Authorization"] == [f"Bearer {SECRET}-1"], run
    (world.folder / "vault").write_text(SECRET + "-2\n")
    for _ in range(100):
        got, run = asked(world, "vault")
        if got["Authorization"] == [f"Bearer {SECRET}-2"]:
            break
        world.run("import time; time.sleep(0.2)", "python")
    assert got["Authorization"] == [f"Bearer {SECRET}-2"]
    (world.folder / "vault").unlink()
    for _ in range(100):
        got, run = asked(world, "vault")
        if got is None:
            break
        world.run("import time; time.sleep(0.2)", "python")
    assert "cannot be had: its command failed" in run["stdout"], run


def test_where_it_is_not_added_nothing_goes_out(world):
    got, run = asked(world, "twice")
    assert got is None and "two credentials for this host" in run["stdout"], run
    run = world.run(f"curl -sS http://web.test:{port_of(world.web)}/", "bash")
    assert "within TLS only" in run["stdout"] and "within TLS only" in str(refused(run)), run
    got, run = asked(world, "token", "/", "-X TRACE")
    assert got is None and "TRACE" in run["stdout"], run
    credential(world.state, "set", "plain", "--host", f"web.test:{port_of(world.web)}", "--allow-plain", value=SECRET)
    with Client(world.state, env={"HUTCH_CONFIG": str(world.folder / "config.toml")}) as other:
        run = other.run(f"curl -sS http://web.test:{port_of(world.web)}/plain", "bash")
        assert run["stdout"].startswith("GET /plain") and world.web.headers[-1]["Authorization"] == [f"Bearer {SECRET}"], run


def test_sessions_name_credentials_of_those_that_they_may_use(world):
    session = world.call("create_session", network={"credentials": ["token"]})
    assert session["network"] == {"allow": [f"token.api.test:{world.port}"], "credentials": ["token"]}
    run = world.run(f"curl -sS https://token.api.test:{world.port}/x; getent hosts other.api.test", "bash", session_id=session["session_id"])
    assert run["stdout"] == f"GET /x token.api.test:{world.port}\n", run
    with pytest.raises(ToolError, match="hidden is none that sessions may use here.*--credential hidden"):
        world.call("create_session", network={"credentials": ["hidden"]})


def found_by_the_shell(world, session):
    """Files and processes of the box that hold the value; the pattern itself is only in grep's."""
    run = world.run(f"""printf %s {SECRET[:20]} > /tmp/pattern; printf %s {SECRET[20:]} >> /tmp/pattern
grep -rlaFf /tmp/pattern /workspace /home/user /run/hutch /etc /dev/shm /var 2>/dev/null
for p in /proc/[0-9]*; do
  [ "$p" = /proc/$$ ] && continue
  while read -r range rights rest; do
    case $rights in r*) ;; *) continue ;; esac
    case $rest in *vvar* | *vsyscall*) continue ;; esac
    from=$((16#${{range%-*}})); to=$((16#${{range#*-}})); [ $((to - from)) -gt 67108864 ] && continue
    dd if=$p/mem bs=4096 skip=$((from / 4096)) count=$(((to - from) / 4096)) 2>/dev/null
  done < $p/maps | grep -caFf /tmp/pattern | grep -qv '^0$' && echo found in $p $(tr '\\0' ' ' < $p/cmdline)
done
rm /tmp/pattern; echo looked""", "bash", session_id=session, timeout_seconds=120)
    *found, last = run["stdout"].splitlines()
    assert last == "looked", run
    return [line for line in found if "grep" not in line]


def test_the_value_is_nowhere_in_the_box(world):
    """In no file, variable, process or packet that reaches it, while it is in use."""
    session = world.call("create_session", network={"credentials": ["token"]})["session_id"]
    run = world.run(f"""import glob, os, socket, ssl, subprocess, urllib.request
address = 'https://token.api.test:{world.port}/headers'
said = urllib.request.urlopen(address).read()
context = ssl.create_default_context()
raw = context.wrap_socket(socket.create_connection(('token.api.test', {world.port}), 20), server_hostname='token.api.test')
raw.sendall(b'GET /headers HTTP/1.1\\r\\nHost: token.api.test:{world.port}\\r\\nConnection: close\\r\\n\\r\\n')
packets = b''
while part := raw.recv(65536): packets += part
start, end = {SECRET[:20]!r}.encode(), {SECRET[20:]!r}.encode()
found, looked = [], 0
def look(name, data):
    global looked
    looked += len(data)
    at = data.find(start)
    while at >= 0 and not data.startswith(end, at + len(start)): at = data.find(start, at + 1)
    if at >= 0: found.append(name)
look('answer', said); look('packets', packets)
for path in glob.glob('/proc/[0-9]*/environ') + glob.glob('/proc/[0-9]*/cmdline'):
    try: look(path, open(path, 'rb').read())
    except OSError: pass
print(b'****' in said and b'****' in packets, found, looked > 1000)
del said, packets, part
""", "python", session_id=session)
    assert run["stdout"] == "True [] True\n", run
    assert found_by_the_shell(world, session) == []
    # And it would be found:
    other = world.call("create_session", network={"credentials": ["token"]})["session_id"]
    world.run(f"held = {SECRET[:20]!r}; held += {SECRET[20:]!r}", "python", session_id=other)
    assert any("python" in line for line in found_by_the_shell(world, other))


def test_it_is_sealed_where_it_is_kept(world):
    for file in Path(world.state).glob("hutch.db*"):
        assert SECRET.encode() not in file.read_bytes()
    assert (Path(world.state) / "credentials.key").stat().st_mode & 0o777 == 0o600
    assert "token" in credential(world.state, "ls") and SECRET not in credential(world.state, "ls", "--json")


@pytest.mark.slow
def test_one_that_is_removed_is_used_no_more(world):
    credential(world.state, "set", "never", "--host", f"never.api.test:{world.port}", value=SECRET)
    session = world.call("create_session", network={"credentials": ["never"]})["session_id"]
    run = lambda: world.run(f"curl -sS https://never.api.test:{world.port}/x", "bash", session_id=session)  # noqa: E731
    assert run()["stdout"].startswith("GET /x")
    assert "removed never" in credential(world.state, "rm", "never")
    for _ in range(100):
        if "GET /x" not in (last := run())["stdout"]:
            break
        world.run("import time; time.sleep(0.2)", "python")
    assert "GET /x" not in last["stdout"], last


@pytest.mark.parametrize("arguments,value,says", [
    (["set", "a b", "--host", "a.test"], SECRET, "letters, digits"), (["set", "a", "--host", "1.2.3.4"], SECRET, "is an address"),
    (["set", "a", "--host", "GET a.test/x"], SECRET, "without methods"), (["set", "a", "--host", "a.test", "--header", "Host"], SECRET, "frames"),
    (["set", "a", "--host", "a.test"], "short", "8 to"), (["set", "a", "--host", "a.test"], "with a\x07bell.....", "no header can have"),
    (["set", "a", "--host", "a.test", "--basic"], "no-colon-here", "user:password"),
    (["set", "a", "--host", "a.test", "--basic", "--bearer"], SECRET, "Bearer"), (["rm", "nobody"], None, "no credential nobody"),
])
def test_what_is_no_credential(world, arguments, value, says):
    assert says.lower() in credential(world.state, *arguments, value=value, ok=False).lower()
