"""A TLS proxy in front of a server, as an operator's would be: bytes both ways, by a certificate for some names."""

import asyncio
import contextlib
import socket
import ssl
import threading

from origins import make_certificate


async def _copy(source, target):
    while data := await source.read(65536):
        target.write(data)
        await target.drain()


class TlsProxy:
    """At 127.0.0.1 and `port`; bound before its server is started, which has to know the port. Use as a context manager."""

    def __init__(self, folder, *names):
        self.certificate, key = make_certificate(folder, *names)
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(self.certificate, key)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.address = None  # the server's behind it

    def __enter__(self):
        self._loop = asyncio.new_event_loop()
        asyncio.run_coroutine_threadsafe(asyncio.start_server(self._serve, sock=self._listener, ssl=self._context), self._loop)
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *exception):
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._listener.close()

    async def _serve(self, requests, client):
        answers, server = await asyncio.open_connection(*self.address)
        asked = asyncio.ensure_future(self._ask(requests, server))
        try:
            await _copy(answers, client)
            client.close()  # with TLS's own word that this is the end
        except OSError:  # the server broke it off: so does this, without that word
            client.transport.abort()
        asked.cancel()
        server.close()

    @staticmethod
    async def _ask(requests, server):
        with contextlib.suppress(OSError):
            await _copy(requests, server)
            server.write_eof()
