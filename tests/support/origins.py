"""Hosts of a test's own network: servers on this machine's loopback under names that a configuration gives an address."""

import base64
import contextlib
import gzip
import hashlib
import http.server
import re
import socket
import socketserver
import ssl
import subprocess
import threading
import urllib.parse
from pathlib import Path


# Answers of a host that breaks the rules of HTTP, or knows them better than most, by path.
_ODD = {
    "/two-codings": b"Transfer-Encoding: identity\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n",
    "/two-lengths": b"Content-Length: 1\r\nContent-Length: 2\r\n\r\nab",
    "/long-extension": b"Transfer-Encoding: chunked\r\n\r\n1;" + b"x" * 200_000 + b"\r\na\r\n0\r\n\r\n",
    "/long-trailer": b"Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\na: " + b"x" * 200_000 + b"\r\n\r\n",
    "/long-head": b"a: " + b"x" * 200_000 + b"\r\n\r\n",
}


class _Echo(http.server.BaseHTTPRequestHandler):
    """Says what it was asked, and sends back what it was sent."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self._note()
        if self.path in self.server.files:
            return self._send_file(*self.server.files[self.path])
        if self.path in _ODD:
            self.close_connection = True
            return self._write(b"HTTP/1.1 200 OK\r\n" + _ODD[self.path])
        if self.path == "/nothing":
            return self._write(b"HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n")
        if self.path == "/until-you-go":
            self.server.asked.append("began")
            self.close_connection = True
            self.server.asked.append("gone" if self.connection.recv(1) == b"" else "more")
            return
        if self.path.startswith("/headers"):
            return self._repeat()
        if self.path == "/compressed":
            return self._repeat_compressed()
        if self.path.startswith("/with?"):
            return self._answer_with(dict(urllib.parse.parse_qsl(self.path.partition("?")[2])))
        if self.path == "/ws":
            return self._repeat_frames()
        if self.path == "/events":
            return self._send_events()
        if self.path.startswith(("/reason", "/field")):
            said = "-".join(self.headers.values()) + self.path
            status, name = (said, "X-Said") if self.path.startswith("/reason") else ("OK", re.sub(r"[^\w-]", "-", said))
            return self._write(f"HTTP/1.1 200 {status}\r\n{name}: 1\r\nContent-Length: 0\r\n\r\n".encode())
        if self.path.startswith("/location"):
            said = "".join(f"{name}={value}&" for name, value in self.headers.items())
            return self._write(f"HTTP/1.1 200 OK\r\nX-Said: {said} {self.path}\r\nContent-Length: 0\r\n\r\n".encode())
        if self.path.startswith("/to?"):
            return self._write(f"HTTP/1.1 302 Found\r\nLocation: {self.path[4:]}\r\nContent-Length: 0\r\n\r\n".encode())
        if self.path == "/next":
            self.server.next_event.release()
        self._answer(f"{self.command} {self.path} {self.headers['Host']}\n".encode())

    def _repeat_frames(self):
        accept = base64.b64encode(hashlib.sha1((self.headers["Sec-WebSocket-Key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest())
        self._write(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: " + accept + b"\r\n\r\n")
        self.close_connection = True
        while part := self.connection.recv(1 << 16):
            self._write(part)

    def _send_events(self):
        """The next one is sent when somebody asks for /next: who waits for the whole waits for ever."""
        self._write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
        for number in range(3):
            self._write(b"9\r\ndata: %d\n\n\r\n" % number)
            self.server.next_event.acquire(timeout=60)
        self._write(b"0\r\n\r\n")

    def _note(self):
        self.server.headers.append({":path": [self.path], **{name: self.headers.get_all(name) for name in self.headers}})

    def _send_file(self, content, login=None):
        if login and self.headers["Authorization"] != login:
            self.send_response(401)
            self.send_header("Content-Length", "0")
            return self.end_headers()
        self.send_response(200)
        self.send_header("Content-Type", "text/html" if content.startswith(b"<") else "application/octet-stream")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self._write(content)

    def _answer_with(self, fields):
        """A body that tells answers apart, of as many bytes as `size` says, and with the fields that are named."""
        missing = 10 if fields.pop("short", None) else 0
        size = int(fields.pop("size", 0))
        changed = self.headers["If-None-Match"] != fields.get("ETag", "")
        self.server.asked.append("fetched" if changed else "unchanged")
        body = (f"{len(self.server.asked)} {self.headers['X-Forwarded-Host']}".ljust(size)).encode() if changed else b""
        self.close_connection = missing > 0
        self.send_response(200 if changed else 304)
        for name, value in {**fields, "Content-Length": str(len(body) + missing)}.items():
            self.send_header(name, value)
        self.end_headers()
        self._write(body)

    def _repeat_compressed(self):
        """Answers with what it was told, compressed whether the client can read that or not."""
        said = gzip.compress(str(self.headers).encode())
        self._write(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(said) + said)

    def _repeat(self):
        """Answers with what it was told, in one piece or byte by byte."""
        said = f"{self.path}\n{self.headers}".encode()
        self._write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        size = 1 if "slowly" in self.path else len(said)
        for at in range(0, len(said), size):
            self._write(b"%x\r\n%s\r\n" % (len(said[at:at + size]), said[at:at + size]))
        self._write(b"0\r\n\r\n")

    def _write(self, answer):
        try:
            self.wfile.write(answer)
        except OSError:
            pass  # it was told enough

    do_HEAD = do_GET

    def do_POST(self):
        self._note()
        self._answer(self._body())

    def _body(self):
        if "chunked" not in self.headers.get("Transfer-Encoding", ""):
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        body = b""
        while size := int(self.rfile.readline(), 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def _answer(self, body):
        self.server.asked.append(f"{self.command} {self.path} {self.headers['Host']}")
        self.send_response(200)
        if self.path == "/last":
            self.close_connection = True  # which it does not say
        if self.path == "/until-the-end":
            self.close_connection = True
        elif self.path == "/chunked":
            self.send_header("Transfer-Encoding", "chunked")
            body = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in (body[:5], body[5:]) if part) + b"0\r\n\r\n"
        else:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *arguments):
        pass


class _Plain(socketserver.StreamRequestHandler):
    """Speaks first, then repeats a line."""

    def handle(self):
        self.wfile.write(b"hello\n")
        self.wfile.write(self.rfile.readline())


@contextlib.contextmanager
def _serving(server):
    server.daemon_threads = True
    server.handle_error = lambda *_: None  # clients that go are no news
    server.asked = []
    server.next_event = threading.Semaphore(0)
    server.files = {}  # path to content, and the Authorization that it wants, if any
    server.headers = []  # for each request: name to values, and its path
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server
    finally:
        stop(server)


def stop(server):
    """It can be stopped again."""
    server.shutdown()
    server.server_close()


def http_origin():
    return _serving(http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Echo))


def plain_origin():
    return _serving(socketserver.ThreadingTCPServer(("127.0.0.1", 0), _Plain))


def make_certificate(folder, *names):
    """Whoever takes folder/"roots.pem" for roots trusts it."""
    certificate, key = folder / "roots.pem", folder / "key.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                    "-subj", f"/CN={names[0]}", "-addext", "basicConstraints=critical,CA:FALSE", "-addext", "subjectAltName=" + ",".join("DNS:" + name for name in names), "-keyout", key, "-out", certificate],
                   check=True, capture_output=True)
    return certificate, key


@contextlib.contextmanager
def http2_origin(folder, host):
    """Its port."""
    certificate, key = make_certificate(folder, host)
    with subprocess.Popen(["node", Path(__file__).with_name("http2_origin.js"), key, certificate], stdout=subprocess.PIPE, text=True) as server:
        try:
            yield int(server.stdout.readline())
        finally:
            server.kill()


@contextlib.contextmanager
def tls_origin(folder, host):
    """HTTP within TLS, with a certificate that whoever takes folder/"roots.pem" for roots trusts."""
    certificate, key = make_certificate(folder, host)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Echo)
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    server.certificate = certificate.read_text()
    with _serving(server):
        yield server


class _Proxy(socketserver.StreamRequestHandler):
    """A proxy for CONNECT alone, to servers of this machine: every name is here."""

    def handle(self):
        ask, *fields = iter(lambda: self.rfile.readline().decode("latin-1").strip(), "")
        method, host, _version = ask.split(" ")
        given = dict(field.split(": ", 1) for field in fields)
        self.server.asked.append(f"{method} {host}")
        login = base64.b64encode(self.server.login.encode()).decode()
        if self.server.login and given.get("Proxy-Authorization") != f"Basic {login}":
            return self.wfile.write(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
        name, _, port = host.rpartition(":")
        if name in self.server.refused:
            return self.wfile.write(b"HTTP/1.1 403 Not In This House\r\nContent-Length: 5\r\n\r\nnever")
        with socket.create_connection(("127.0.0.1", int(port))) as upstream:
            self.wfile.write(b"HTTP/1.1 200 Connection established\r\nVia: 1.1 here\r\n\r\n")
            back = threading.Thread(target=self._carry, args=(upstream, self.connection))
            back.start()
            self._carry(self.connection, upstream)
            back.join()

    @staticmethod
    def _carry(source, target):
        with contextlib.suppress(OSError):
            while part := source.recv(1 << 16):
                target.sendall(part)
            target.shutdown(socket.SHUT_WR)


@contextlib.contextmanager
def network_proxy(login="", refused=()):
    server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), _Proxy)
    server.daemon_threads = True
    server.login, server.refused = login, refused
    with _serving(server):
        yield server


def port_of(server):
    return server.server_address[1]
