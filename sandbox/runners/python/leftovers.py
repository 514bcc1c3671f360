"""Tells what cells leave on the session's event loop, which stands still while no cell awaits. Each is told of once."""

import asyncio
import os
import socket
from weakref import WeakSet

_REMEDY = "run {them} with background: true, and await {them} there"


class Leftovers:
    def __init__(self):
        self._tasks = WeakSet()  # that have been told of
        self._servers = set()  # likewise; inodes of their sockets

    def note_of(self, loop):
        """Says what is new of that; empty where there is nothing."""
        if loop.is_closed():
            return ""
        # One that was cancelled comes to its end whenever the loop runs: nobody waits for that.
        tasks = [task for task in asyncio.all_tasks(loop) if not task.cancelling() and task not in self._tasks]
        self._tasks.update(tasks)
        listening = _listening(loop)
        servers = {place for inode, place in listening.items() if inode not in self._servers}
        self._servers = set(listening)
        if not tasks and not servers:
            return ""
        what = " and ".join(_counted(count, name) for count, name in ((len(tasks), "task"), (len(servers), "server")) if count)
        one = len(tasks) + len(servers) == 1
        remedy = _REMEDY.format(them="it" if one else "them") + (" (serve_forever() of a server)" if servers else "")
        return f"{what} of asyncio {'goes' if one else 'go'} on only while a cell awaits: {remedy}"


def _counted(count, name):
    return f"a {name}" if count == 1 else f"{count} {name}s"


def _listening(loop):
    """Sockets that the loop would accept connections of: inode -> port or path. A server of `localhost` has two of a port."""
    selector = getattr(loop, "_selector", None)  # loops of others may have none, and nothing else tells
    found = {}
    for key in list(selector.get_map().values()) if selector is not None else ():
        one = None
        try:
            one = socket.socket(fileno=key.fd)
            if one.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
                name = one.getsockname()
                found[os.fstat(key.fd).st_ino] = name[1] if isinstance(name, tuple) else name
        except OSError:  # no socket, or closed
            pass
        finally:
            if one is not None:
                one.detach()  # it is the loop's
    return found
