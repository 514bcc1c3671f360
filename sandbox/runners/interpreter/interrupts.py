"""SIGINT: it ends the run it was meant for, and nothing else.

The host sends SIGINT after the frame of the run it means. So a signal that comes while no run is
going on is for a run only if that run's frame has arrived already; otherwise it came too late for
the run before, and is dropped. A late signal that this process gets to see only when the next run's
frame is there too looks the same: that frame says `after_interrupt`, and forget() drops it.
"""

import _signal as signal  # the module proper costs a millisecond of enums
from _thread import get_ident
from contextlib import contextmanager


class Interrupts:
    """Call everything but shield() from the main thread, where Python runs signal handlers."""

    def __init__(self, channel):
        self._channel = channel
        self._main = get_ident()
        self._armed = False  # inside guard(): the handler may raise
        self._starting = False  # a run has been received and is not armed yet
        self._shields = 0  # inside shield(): raising would tear something
        self._pending = False
        self.instead = None  # a function (frame) -> bool: True when it has dealt with the signal
        self.install()

    def install(self):
        """Takes SIGINT (back): user code may have installed a handler of its own."""
        signal.signal(signal.SIGINT, self._handle)

    def _handle(self, _number, frame):
        if self._armed and not self._shields:
            if self.instead is None or not self.instead(frame):
                raise KeyboardInterrupt
        elif self._armed or self._starting or self._channel.readable():
            self._pending = True

    def run_is_starting(self):
        self._starting = True

    def forget(self):
        """Drops what came before the frame that was just received: the kernel had it by then."""
        self._pending = False

    def run_is_over(self):
        """Call before the host is told: what comes from then on is not for this run."""
        self._starting = self._pending = False

    def guard(self, action):
        """Calls `action`, in which SIGINT raises KeyboardInterrupt; outside of it never does."""
        try:
            self._armed = True
            self._starting = False
            self._raise_pending()
            return action()
        finally:
            self._armed = False

    @contextmanager
    def shield(self):
        """Holds KeyboardInterrupt back until the block has ended (half a frame is no frame)."""
        if get_ident() != self._main:
            yield  # it never comes here, and what is held back for the main thread is not to be raised here
            return
        self._shields += 1
        try:
            yield
        finally:
            self._shields -= 1
        if self._armed and not self._shields:
            self._raise_pending()

    def _raise_pending(self):
        if self._pending:
            self._pending = False
            raise KeyboardInterrupt
