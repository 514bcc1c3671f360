"""Who may come in over HTTP, and what each one sees."""

import json
import subprocess
import time

import pytest

from authorization_server import RESOURCE, AuthorizationServer
from http_server import HttpClient, Server, modern
from hutch_client import LEGACY, MODERN, PATIENCE, hutch_binary

METADATA = "/.well-known/oauth-protected-resource"


def command(state, *arguments):
    return subprocess.run([hutch_binary(), *arguments, "--state-dir", state], check=True,
                          capture_output=True, text=True, timeout=60).stdout


def token(state, *arguments):
    return command(state, "token", "create", *arguments).splitlines()[-1]


def bearer(secret):
    return {"Authorization": f"Bearer {secret}"}


def status(server, headers=None, path="/mcp"):
    message, fields = modern(1, "server/discover")
    return server.post(message, {**fields, **(headers or {})}, path)


@pytest.fixture
def server(state):
    with Server(state, no_auth=False) as one:
        yield one


@pytest.fixture
def oauth(tmp_path):
    with AuthorizationServer(tmp_path) as one:
        yield one


@pytest.fixture
def oauth_server(state, oauth):
    with Server(state, "--config", oauth.configuration(), no_auth=False) as one:
        yield one


@pytest.mark.parametrize("method, path", [
    ("POST", "/mcp"), ("GET", "/mcp"), ("DELETE", "/mcp"), ("GET", "/sse"),
    ("POST", "/messages?sessionId=x"), ("GET", "/metrics")])
def test_every_door_asks(server, method, path):
    code, fields, body = server.request(method, path)
    assert code == 401 and fields["WWW-Authenticate"] == 'Bearer realm="hutch"'
    assert "hutch token create" in json.loads(body)["error"]["message"]


def test_without_any_token_the_start_says_how_to_make_one(state, server):
    token(state)
    with Server(state, no_auth=False) as other:
        assert status(other)[0] == 401
        assert not any("no token exists" in line for line in other.errors)
    assert any("no token exists" in line for line in server.errors)


def test_wrong_tokens(state, server):
    secret = token(state)
    assert status(server, bearer(secret))[0] == 200
    for wrong in ("hutch_" + "0" * 96, secret[:-1] + "g", secret.upper(), "x", secret + "=",
                  "eyJhbGciOiJub25lIn0.e30."):
        code, fields, _ = status(server, bearer(wrong))
        assert code == 401 and 'error="invalid_token"' in fields["WWW-Authenticate"], wrong
    for malformed in ("Bearer", "Bearer ", "Bearer a b", "Bearer a,b", "Bearer " + "x" * 17000):
        assert status(server, {"Authorization": malformed})[0] in (400, 431), malformed
    assert status(server, {"Authorization": "Basic dTpw"})[0] == 401
    assert status(server, {"Authorization": secret})[0] == 401


def test_a_token_in_the_query_is_no_token(state, server):
    secret = token(state)
    for name in ("access_token", "token", "Authorization"):
        assert status(server, path=f"/mcp?{name}={secret}")[0] == 401


def test_auth_comes_before_the_message(server):
    for body in (b"garbage", b"", b"[]", b"{"):
        assert server.post(body)[0] == 401


@pytest.mark.parametrize("revision", [LEGACY, MODERN])
def test_a_revoked_token_is_refused_at_once(state, server, revision):
    secret = token(state, "--name", "short")
    client = HttpClient(server, revision, bearer(secret))
    assert client.call("list_sessions")["sessions"] == []
    command(state, "token", "revoke", "short")
    message, fields = client.envelope("tools/list")
    assert server.post(message, fields)[0] == 401


def test_the_use_of_a_token_is_listed(state, server):
    assert status(server, bearer(token(state)))[0] == 200
    assert json.loads(command(state, "token", "ls", "--json"))[0]["last_used_at"]


def test_the_users_own_token_sees_the_users_own_sessions(state, server):
    client = HttpClient(server, LEGACY, bearer(token(state)))
    made = client.call("create_session", name="mine")["session_id"]
    assert [s["session_id"] for s in json.loads(command(state, "sessions", "ls", "--json"))] == [made]


@pytest.mark.parametrize("revision", [LEGACY, MODERN])
def test_what_is_anothers_does_not_exist(state, server, revision):
    alice = HttpClient(server, revision, bearer(token(state, "--principal", "alice")))
    bob = HttpClient(server, revision, bearer(token(state, "--principal", "bob")))
    session = alice.call("create_session", name="work")["session_id"]
    run = alice.call("run_code", code="1", session_id=session)["run_id"]
    unknown_session, unknown_run = "session_" + "0" * 32, "run_" + "0" * 32
    for tool, theirs, never in [
            ("run_code", {"code": "1", "session_id": session}, {"code": "1", "session_id": unknown_session}),
            ("run_code", {"code": "1", "session_id": "work"}, {"code": "1", "session_id": "x"}),
            ("get_run", {"run_id": run}, {"run_id": unknown_run}),
            ("cancel_run", {"run_id": run}, {"run_id": unknown_run}),
            ("read_file", {"path": "f", "session_id": session}, {"path": "f", "session_id": unknown_session}),
            ("delete_session", {"session_id": session}, {"session_id": unknown_session})]:
        refused = bob.result(tool, **theirs)
        assert refused["isError"] and refused == bob.result(tool, **never), tool
    assert bob.call("list_sessions")["sessions"] == []
    assert alice.call("get_run", run_id=run)["status"] == "completed"
    alice.call("delete_session", session_id=session)


def test_a_connection_is_its_principals(state, server):
    alice = HttpClient(server, LEGACY, bearer(token(state, "--principal", "alice")))
    bob = bearer(token(state, "--principal", "bob"))
    message, fields = alice.envelope("tools/list")
    assert server.post(message, fields)[0] == 200
    stolen, _, body = server.post(message, {**fields, **bob})
    unknown = server.post(message, {**fields, **bob, "Mcp-Session-Id": "0" * 32})
    assert stolen == unknown[0] == 404 and body == unknown[2]
    assert server.request("DELETE", "/mcp", headers={**fields, **bob})[0] == 404
    assert server.post(message, fields)[0] == 200, "alice's goes on"


def test_a_token_for_reading(state, server):
    writer = HttpClient(server, LEGACY, bearer(token(state)))
    session = writer.call("create_session", name="work")["session_id"]
    writer.call("write_file", path="f", content="text", session_id=session)
    reader = HttpClient(server, LEGACY, bearer(token(state, "--scope", "read")))
    assert reader.call("read_file", path="f", session_id=session)["content"] == "text"
    for revision in (LEGACY, MODERN):
        reader = HttpClient(server, revision, bearer(token(state, "--scope", "read")))
        for tool, arguments in (("run_code", {"code": "1", "session_id": session}),
                                ("write_file", {"path": "g", "content": "", "session_id": session}),
                                ("delete_session", {"session_id": session})):
            refused(server, reader, tool, arguments)
    # A session that was begun by a token which may do more lends it nothing.
    for tool, arguments, status_code in (("delete_session", {"session_id": session}, 403), ("list_files", {}, 404)):
        message, fields = writer.envelope("tools/call", {"name": tool, "arguments": arguments})
        assert server.post(message, {**fields, **bearer(token(state, "--scope", "read"))})[0] == status_code
    assert reader.call("list_sessions")["sessions"][0]["status"] == "ready"


def test_metrics_take_a_token_of_their_own(state, server):
    ordinary, reading = bearer(token(state)), bearer(token(state, "--scope", "read"))
    for others in (ordinary, reading):
        code, fields, body = server.request("GET", "/metrics", headers=others)
        assert code == 403 and 'error="insufficient_scope"' in fields["WWW-Authenticate"]
        assert "hutch token create --scope metrics" in json.loads(body)["error"]["message"]
    HttpClient(server, LEGACY, ordinary).call("create_session")
    made = command(state, "token", "create", "--scope", "metrics", "--name", "prometheus")
    assert "for /metrics alone" in made
    own = bearer(made.splitlines()[-1])
    code, _, body = server.request("GET", "/metrics", headers=own)
    assert code == 200 and b'hutch_sessions{status="ready"} 1' in body
    for method, path in (("POST", "/mcp"), ("GET", "/mcp"), ("DELETE", "/mcp"), ("GET", "/sse"),
                         ("POST", "/messages?sessionId=x"), ("GET", "/v2/sandboxes"), ("POST", "/sandboxes"),
                         ("GET", "/ports/x/80/"), ("DELETE", "/shared/x")):
        code, fields, body = server.request(method, path, headers=own)
        assert code == 403 and 'error="insufficient_scope"' in fields["WWW-Authenticate"], (method, path)
        assert "for /metrics alone" in body.decode(), (method, path)
    assert "metrics" in next(line for line in command(state, "token", "ls").splitlines() if "prometheus" in line)
    more = subprocess.run([hutch_binary(), "token", "create", "--scope", "metrics", "--scope", "read",
                           "--state-dir", state], capture_output=True, text=True, timeout=60)
    assert more.returncode != 0 and "nothing else" in more.stderr


def test_an_access_token_for_metrics(state, oauth):
    configuration = oauth.configuration('metrics_scopes = ["hutch:metrics"]')
    with Server(state, "--config", configuration, no_auth=False) as server:
        code, fields, _ = server.request("GET", "/metrics", headers=bearer(oauth.token()))
        assert code == 403 and 'scope="hutch:metrics"' in fields["WWW-Authenticate"]
        # It needs nothing that other tokens need, and gives nothing of what they may.
        for scope in ("hutch:metrics", "mcp hutch:metrics"):
            own = bearer(oauth.token(scope=scope))
            assert server.request("GET", "/metrics", headers=own)[0] == 200
            assert status(server, own)[0] == 403
        assert status(server, bearer(oauth.token()))[0] == 200
        # Clients ask for all that is listed there.
        assert json.loads(server.request("GET", METADATA)[2])["scopes_supported"] == ["mcp"]


def refused(server, client, tool, arguments):
    message, fields = client.envelope("tools/call", {"name": tool, "arguments": arguments})
    code, fields, body = server.post(message, fields)
    assert code == 403 and "may only read" in json.loads(body)["error"]["message"]
    assert 'error="insufficient_scope"' in fields["WWW-Authenticate"]
    return fields["WWW-Authenticate"]


def test_an_access_token_for_reading(state, oauth):
    configuration = oauth.configuration('change_scopes = ["mcp", "mcp:change"]')
    with Server(state, "--config", configuration, no_auth=False) as server:
        metadata = json.loads(server.request("GET", METADATA)[2])
        assert metadata["scopes_supported"] == ["mcp", "mcp:change"]
        writer = HttpClient(server, MODERN, bearer(oauth.token(scope="mcp mcp:change")))
        session = writer.call("create_session", name="work")["session_id"]
        reader = HttpClient(server, MODERN, bearer(oauth.token(scope="read mcp")))
        assert [s["session_id"] for s in reader.call("list_sessions")["sessions"]] == [session]
        challenge = refused(server, reader, "delete_session", {"session_id": session})
        # All that the operation needs, so that one new token is enough.
        assert 'scope="mcp mcp:change"' in challenge and "resource_metadata=" in challenge
        assert status(server, bearer(oauth.token(scope="mcp:change")))[0] == 403
        writer.call("delete_session", session_id=session)


@pytest.mark.slow
def test_keys_are_rotated(state, oauth, oauth_server):
    old = oauth.token()
    assert status(oauth_server, bearer(old))[0] == 200
    oauth.rotate("new")
    new = oauth.token()
    # Unknown keys are asked for every half minute at most.
    deadline = time.monotonic() + 60 * PATIENCE
    while (code := status(oauth_server, bearer(new))[0]) != 200:
        assert code == 401 and time.monotonic() < deadline
        time.sleep(0.2)
    assert status(oauth_server, bearer(old))[0] == 401
    assert oauth.requests == 2


def test_the_metadata_is_for_everybody(oauth, oauth_server):
    for path in (METADATA, METADATA + "/mcp"):
        code, fields, body = oauth_server.request("GET", path)
        assert code == 200 and fields["Content-Type"] == "application/json"
        assert json.loads(body) == {"resource": RESOURCE, "resource_name": "hutch",
                                    "authorization_servers": [oauth.issuer],
                                    "bearer_methods_supported": ["header"],
                                    "scopes_supported": ["mcp"]}
    code, fields, _ = status(oauth_server)
    assert code == 401
    assert fields["WWW-Authenticate"] == (
        'Bearer realm="hutch", scope="mcp", '
        f'resource_metadata="https://hutch.example.com{METADATA}/mcp"')


def test_without_oauth_there_is_no_metadata(server):
    assert server.request("GET", METADATA)[0] == 404


@pytest.mark.parametrize("key", [0, 1])
def test_an_access_token_is_good_for_its_subject(oauth, oauth_server, key):
    client = HttpClient(oauth_server, LEGACY, bearer(oauth.token(key)))
    session = client.call("create_session", name="work")["session_id"]
    same = HttpClient(oauth_server, MODERN, bearer(oauth.token(1 - key, iat=1)))
    assert [s["session_id"] for s in same.call("list_sessions")["sessions"]] == [session]
    other = HttpClient(oauth_server, LEGACY, bearer(oauth.token(key, sub="bob")))
    assert other.call("list_sessions")["sessions"] == []
    assert oauth.requests == 1, "the keys are kept"
    client.call("delete_session", session_id=session)


def test_wrong_access_tokens(oauth, oauth_server):
    good = oauth.token()
    assert status(oauth_server, bearer(good))[0] == 200
    head, claims, signature = good.split(".")
    for wrong in (oauth.token(aud="https://other.example.com/mcp"), oauth.token(aud=None),
                  oauth.token(iss="https://evil.example.com"), oauth.token(exp=1),
                  oauth.token(exp=None), oauth.token(nbf=4_000_000_000), oauth.token(sub=None),
                  oauth.token(header={"alg": "none"}), oauth.token(header={"alg": "HS256"}),
                  oauth.token(header={"kid": "ed"}), oauth.token(header={"kid": "unknown"}),
                  f"{head}.{claims}.", f"{head}.{claims}.{signature[::-1]}"):
        code, fields, _ = status(oauth_server, bearer(wrong))
        assert code == 401 and 'error="invalid_token"' in fields["WWW-Authenticate"], wrong
        assert "resource_metadata=" in fields["WWW-Authenticate"]


def test_a_missing_scope(oauth, oauth_server):
    code, fields, _ = status(oauth_server, bearer(oauth.token(scope="other")))
    assert code == 403
    assert 'error="insufficient_scope"' in fields["WWW-Authenticate"]
    assert 'scope="mcp"' in fields["WWW-Authenticate"]
    assert "resource_metadata=" in fields["WWW-Authenticate"]


def test_our_own_tokens_go_on_beside_them(state, oauth, oauth_server):
    assert status(oauth_server, bearer(token(state)))[0] == 200


def test_a_subject_named_like_a_principal_is_another(state, oauth, oauth_server):
    ours = HttpClient(oauth_server, LEGACY, bearer(token(state)))
    ours.call("create_session", name="work")
    theirs = HttpClient(oauth_server, LEGACY, bearer(oauth.token(sub="local")))
    assert theirs.call("list_sessions")["sessions"] == []


def test_keys_that_cannot_be_had_are_nobodys_fault(state, tmp_path):
    with AuthorizationServer(tmp_path) as oauth:
        configuration, secret = oauth.configuration(), oauth.token()
    with Server(state, "--config", configuration, no_auth=False) as server:
        code, fields, _ = status(server, bearer(secret))
        assert code == 503 and "WWW-Authenticate" not in fields
        assert status(server, bearer(token(state)))[0] == 200


@pytest.mark.parametrize("arguments, text, why", [
    (["--no-auth"], 'issuer = "https://i"\nresource = "https://r"\njwks_file = "k"', "exclude each other"),
    ([], 'issuer = "https://i"\nresource = "https://r"', "jwks_uri and jwks_file"),
    ([], 'issuer = "http://i"\nresource = "https://r"\njwks_file = "k"', "issuer must begin with https"),
    ([], 'resource = "https://r"\njwks_file = "k"', "issuer")])
def test_wrong_settings_end_the_start(state, tmp_path, arguments, text, why):
    configuration = tmp_path / "config.toml"
    configuration.write_text("[oauth]\n" + text + "\n")
    ended = subprocess.run([hutch_binary(), "serve", "--state-dir", state, "--listen", "127.0.0.1:0",
                            "--config", str(configuration), *arguments],
                           capture_output=True, text=True, timeout=60)
    assert ended.returncode == 1 and why in ended.stderr
