"""A TLS proxy in front of a server, as an operator's would be: bytes both ways, by a certificate for some names."""

import contextlib
import socket
import ssl
import threading

from origins import make_certificate


def _copy(source, target):
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)


class TlsProxy:
    """At 127.0.0.1 and `port`; bound before its server is started, which has to know the port. Use as a context manager."""

    def __init__(self, folder, *names):
        self.certificate, key = make_certificate(folder, *names)
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(self.certificate, key)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.address = None  # of the server behind it

    def __enter__(self):
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *exception):
        self._listener.close()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=self._serve, args=(self._listener.accept()[0],), daemon=True).start()

    def _serve(self, accepted):
        with accepted, contextlib.suppress(OSError), self._context.wrap_socket(accepted, server_side=True) as client, \
                socket.create_connection(self.address) as server:
            back = threading.Thread(target=_copy, args=(server, client), daemon=True)
            back.start()
            _copy(client, server)
            back.join()
