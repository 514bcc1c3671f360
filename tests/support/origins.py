"""Hosts of a test's own network: servers on this machine's loopback under names that a configuration gives an address."""

import contextlib
import http.server
import socketserver
import threading


class _Echo(http.server.BaseHTTPRequestHandler):
    """Says what it was asked, and sends back what it was sent."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self._answer(f"{self.command} {self.path} {self.headers['Host']}\n".encode())

    do_HEAD = do_GET

    def do_POST(self):
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
    server.asked = []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


def http_origin():
    return _serving(http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Echo))


def plain_origin():
    return _serving(socketserver.ThreadingTCPServer(("127.0.0.1", 0), _Plain))


def port_of(server):
    return server.server_address[1]
