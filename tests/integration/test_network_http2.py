"""HTTP/2 on both sides, for clients that speak nothing else: rules, credentials and bounds as for HTTP/1.1."""

import json

import pytest

from hutch_client import Client
from origins import http2_origin, port_of, tls_origin
from test_audit import entries
from test_credentials import credential
from test_network import refused

SECRET = "s3cr3t-of-http2-0123456789"
# Each answer as {status, headers, body, trailers, interim, error}; several share a connection.
ASK = r"""
const http2 = require('http2');
globalThis.connect = (host) => {
  const session = http2.connect('https://' + host);
  session.on('error', () => {});
  return session;
};
globalThis.ask = (session, path, { body, method, headers = {}, trailers } = {}) => new Promise((done) => {
  const answer = { body: '', size: 0 };
  const stream = session.request({ ':path': path, ':method': method ?? (body === undefined ? 'GET' : 'POST'), ...headers },
                                 { endStream: body === undefined, waitForTrailers: trailers !== undefined });
  stream.on('headers', (h) => { answer.interim = h[':status']; });
  stream.on('response', (h) => { answer.status = h[':status']; answer.headers = { ...h }; });
  stream.on('trailers', (t) => { answer.trailers = { ...t }; });
  stream.on('data', (d) => { answer.size += d.length; if (answer.body.length < 4096) answer.body += d; });
  stream.on('wantTrailers', () => stream.sendTrailers(trailers));
  stream.on('error', (e) => { answer.error = e.code + ' ' + e.message; });
  stream.on('close', () => done(answer));
  if (body !== undefined) stream.end(body);
});
globalThis.once = async (host, path, options) => {
  const session = connect(host);
  const answer = await ask(session, path, options);
  session.close();
  return answer;
};
"""


@pytest.fixture(scope="module")
def world(module_state, tmp_path_factory):
    folder, old = tmp_path_factory.mktemp("http2"), tmp_path_factory.mktemp("http1")
    with http2_origin(folder, "*.api.test") as port, tls_origin(old, "old.test") as one:
        roots = folder / "all.pem"
        roots.write_text((folder / "roots.pem").read_text() + (old / "roots.pem").read_text())
        hosts = ["inside", "token", "signed"]
        config = folder / "config.toml"
        config.write_text(f'[network]\nallow = ["GET,POST inside.api.test:{port}/v1/*", "inside.api.test:{port}/echo", '
                          f'"old.test:{port_of(one)}/x"]\ncredentials = ["token", "signed"]\n[network.addresses]\n"old.test" = "127.0.0.1"\n'
                          + "".join(f'"{name}.api.test" = "127.0.0.1"\n' for name in hosts))
        credential(module_state, "set", "token", "--host", f"token.api.test:{port}", value=SECRET)
        credential(module_state, "set", "signed", "--host", f"signed.api.test:{port}", "--sigv4", value=f"AKID:{SECRET}")
        with Client(module_state, env={"HUTCH_CONFIG": str(config), "SSL_CERT_FILE": str(roots)}) as client:
            client.at = lambda name: f"{name}.api.test:{port}"
            client.old = f"old.test:{port_of(one)}"
            assert client.run(ASK, "javascript")["status"] == "completed"
            yield client


def answers_of(world, code):
    run = world.run(f"console.log(JSON.stringify(await (async () => {{ {code} }})()))", "javascript", timeout_seconds=60)
    assert run["status"] == "completed", run
    # From an offset on, since of much the middle is left out.
    return json.loads(world.call("get_run", run_id=run["run_id"], stdout_offset=0)["stdout"]), run


def test_requests_that_are_allowed_and_others(world):
    host = world.at("inside")
    (first, second, third), run = answers_of(world, f"""
      const session = connect('{host}');
      const all = await Promise.all([ask(session, '/v1/a?b=c', {{headers: {{'x-a': '1', 'x-http-method-override': 'DELETE', 'X-Original-URL': '/v2/a'}}}}), ask(session, '/v2/a'),
                                     ask(session, '/v1/b', {{method: 'DELETE'}})]);
      session.close(); return all;""")
    assert first["status"] == 200 and json.loads(first["body"])[":path"] == "/v1/a?b=c" and json.loads(first["body"])["x-a"] == "1", first
    assert json.loads(first["body"])[":authority"] == host
    assert not {"x-http-method-override", "x-original-url"} & set(json.loads(first["body"])), first
    assert second["status"] == 403 and "GET /v2/a of this host is not allowed" in second["body"], second
    assert third["status"] == 403 and "DELETE" in third["body"], third
    assert run["network"]["allowed"] == [host] and "is not allowed" in refused(run)[host], run


def test_another_authority_and_what_is_no_request(world):
    host = world.at("inside")
    (other, connect), _ = answers_of(world, f"""
      return [await once('{host}', '/v1/a', {{headers: {{':authority': 'token.api.test'}}}}),
              await new Promise((done) => {{
                const session = connect('{host}');
                const stream = session.request({{':method': 'CONNECT', ':authority': '{host}'}});
                stream.on('response', (h) => {{ session.destroy(); done(h[':status']); }});
                stream.on('error', (e) => done(e.code)); }})];""")
    assert other["status"] == 403 and "another one" in other["body"], other
    assert connect == 400


def test_bodies_go_both_ways_with_their_trailers(world):
    (echo, empty), run = answers_of(world, f"""
      const size = 8 << 20;
      return [await once('{world.at("inside")}', '/echo', {{body: Buffer.alloc(size, 'y'), trailers: {{'x-checksum': 'abc'}}}}),
              await once('{world.at("inside")}', '/echo', {{body: ''}})];""")
    trailers = json.dumps({"x-checksum": "abc"}, separators=(",", ":"))
    assert echo["size"] == (8 << 20) + len(trailers) and echo["trailers"]["x-bytes"] == str(8 << 20), (echo["size"], echo.get("error"))
    assert empty["status"] == 200 and empty["size"] == 0 and empty["trailers"]["x-bytes"] == "0", empty
    assert run["network"]["bytes"] > 16 << 20


def test_a_credential_is_added_and_comes_back_in_nothing(world):
    host = world.at("token")
    (plain, said, small), _ = answers_of(world, f"""
      const say = {{headers: {{'x-say': 'a', authorization: 'Bearer mine', 'accept-encoding': 'gzip', range: 'bytes=0-9'}}}};
      return [await once('{host}', '/x', say), await once('{host}', '/echo', {{body: 'x', headers: {{'x-say': 'b'}}}}),
              await once('{host}', '/y')];""")
    assert plain["status"] == 200 and plain["headers"]["x-authorization"] == "Bearer " + "*" * len(SECRET), plain
    got = json.loads(plain["body"])
    assert got["authorization"] == "Bearer " + "*" * len(SECRET) and got["accept-encoding"] == "identity" and "range" not in got
    assert said["trailers"]["x-said"] == "b" and small["status"] == 200


def test_what_cannot_be_done_over_http2_is_said(world):
    (signed, old), run = answers_of(world, f"return [await once('{world.at('signed')}', '/x'), await once('{world.old}', '/x')];")
    assert signed["status"] == 403 and "HTTP/1.1 only" in signed["body"], signed
    assert old["status"] == 502 and "HTTP/2" in old["body"], old
    # These hosts speak HTTP/1.1, too, which both clients and hosts may have besides.
    assert world.run(f"curl -sS -o /dev/null -w '%{{http_code}}' https://{world.old}/x", "bash")["stdout"] == "200"


def test_grpc_is_told_in_its_own_words(world):
    (answer,), _ = answers_of(world, f"""
      return [await once('{world.at("inside")}', '/other.Service/Call', {{body: 'x', headers: {{'content-type': 'application/grpc+proto', te: 'trailers'}}}})];""")
    assert answer["status"] == 200 and answer["headers"]["grpc-status"] == "7" and "not%20allowed" in answer["headers"]["grpc-message"], answer


def test_events_come_as_they_are_sent_and_the_host_ends_in_its_own_way(world):
    host = world.at("token")
    (events, interim, only, reset, gone, after, big), _ = answers_of(world, f"""
      const session = connect('{host}');
      const events = await new Promise((done) => {{
        let text = '';
        const stream = session.request({{':path': '/events'}});
        stream.on('data', async (d) => {{ text += d; if (text === 'data: 0\\n\\n') await ask(session, '/next'); }});
        stream.on('end', () => done(text)); }});
      const rest = [await ask(session, '/interim'), await ask(session, '/trailers-only'), await ask(session, '/reset'), await ask(session, '/gone')];
      return [events, ...rest, await once('{host}', '/again'), await once('{host}', '/big')];""")
    assert events == "data: 0\n\ndata: 1\n\n"
    assert interim["interim"] == 103 and interim["body"] == "after", interim
    assert only["status"] == 200 and only["headers"]["grpc-status"] == "5", only
    assert "ENHANCE_YOUR_CALM" in reset["error"], reset
    assert gone["status"] == 502 and "ended without an answer" in gone["body"], gone
    assert after["status"] == 200 and big["size"] == 8 << 20, (after, big)


def test_many_at_once_and_some_taken_back(world):
    (statuses, after), _ = answers_of(world, f"""
      const session = connect('{world.at("token")}');
      const some = [];
      for (let i = 0; i < 300; i++) {{
        if (i % 3) {{ some.push(ask(session, '/n' + i)); continue; }}
        const stream = session.request({{':path': '/big?262144'}});
        stream.on('error', () => {{}});
        stream.once(i % 2 ? 'data' : 'ready', () => stream.close(http2.constants.NGHTTP2_CANCEL));
      }}
      const all = await Promise.all(some);
      return [all.map((a) => a.error ?? a.status), await ask(session, '/after')];""")
    assert statuses == [200] * 200 and after["status"] == 200


def test_answers_that_are_taken_back_leave_room_for_others(world):
    """More of them than a connection's window has, each as large as its stream's: they had all come."""
    (begun, after), _ = answers_of(world, f"""
      const session = http2.connect('https://{world.at("token")}', {{settings: {{initialWindowSize: 1000}}}});
      session.on('error', () => {{}});
      let begun = 0;
      for (let i = 0; i < 16; i++) await new Promise((done) => {{
        const stream = session.request({{':path': '/big?100000'}});
        stream.on('error', () => {{}});
        stream.on('response', async () => {{ begun++; await ask(session, '/x'); stream.close(http2.constants.NGHTTP2_CANCEL); done(); }});
      }});
      session.destroy();
      return [begun, await once('{world.at("token")}', '/big?1000000')];""")
    assert begun == 16 and after["size"] == 1_000_000, (begun, after)


def test_what_nobody_can_look_through_is_not_passed_on_with_a_credential(world):
    (secret, early), _ = answers_of(world, f"""
      return [await once('{world.at("token")}', '/encoded'),
              await once('{world.at("token")}', '/early', {{body: Buffer.alloc(1 << 20)}})];""")
    assert secret["status"] == 502 and "compressed" in secret["body"], secret
    assert early["status"] == 413 and early["body"] == "too large", early


def test_a_flood_of_requests_ends_its_own_connection(world):
    """Who reads nothing and takes back what it asks has no memory of the door for it."""
    run = world.run(f"""
import socket, ssl, struct
host, port = '{world.at("token")}'.split(':')
context = ssl.create_default_context(); context.set_alpn_protocols(['h2'])
s = context.wrap_socket(socket.create_connection((host, int(port)), 60), server_hostname=host)
s.sendall(b'PRI * HTTP/2.0\\r\\n\\r\\nSM\\r\\n\\r\\n' + struct.pack('>IBBI', 0, 4, 0, 0)[1:])
block = b'\\x82\\x87\\x84\\x01' + bytes([len(host)]) + host.encode()
sent = 0
try:
    for number in range(200_000):
        s.sendall(struct.pack('>IBBI', len(block), 1, 5, 2 * number + 1)[1:] + block)
        sent += 1
except OSError: pass
print(sent < 200_000)
""", "python", timeout_seconds=60)
    assert run["stdout"] == "True\n", run
    (after,), _ = answers_of(world, f"return [await once('{world.at('token')}', '/after')];")
    assert after["status"] == 200, after


def test_the_audit_has_each_request(world, module_state):
    world.run(f"await once('{world.at('token')}', '/echo?key=mine', {{method: 'PATCH', body: 'four'}})", "javascript")
    world.state = module_state
    row = next(row for row in entries(world) if row.get("method") == "PATCH")
    assert row["path"] == "/echo" and row["status"] == 200 and row["credential"] == "token", row
    assert 4 < row["sent_bytes"] < 300 and 4 < row["received_bytes"] < 200, row
