"""A hutch that a test has started, and how it ended: one that failed while it was told to stop fails the test."""

import os
import signal
import subprocess

# On a slow machine (an emulated one) everything that waits for hutch waits this many times longer.
PATIENCE = float(os.environ.get("HUTCH_TEST_PATIENCE", "1"))
# Upon these hutch ends by itself, with a status of its own.
HANDLED = {signal.SIGTERM, signal.SIGINT}


class ServerProcess(subprocess.Popen):
    """Knows what the test did to it. A test that kills it does so by send_signal(), or says so to end()."""

    def __init__(self, command, **options):
        self.sent = set()
        self._told = False  # to end
        super().__init__(command, **options)

    def send_signal(self, number):
        self.sent.add(number)
        super().send_signal(number)

    def end(self, stop, timeout, errors, also=()):
        """Has `stop` end it, if it lives, and waits. A status that is neither 0, nor the signal that the test
        sent, nor one of `also`, and no end at all, fail the test, and so does an end before it was told to.
        `errors()` is what it has said on its standard error."""
        alone = self.poll() is not None and not self.sent and not self._told
        self._told = True
        stop()
        try:
            self.wait(timeout * PATIENCE)
        except subprocess.TimeoutExpired:
            self.kill()
            self.wait()
            raise AssertionError(f"the server did not end in {timeout * PATIENCE:g} seconds:\n{errors()}") from None
        allowed = {0, *also, *(-number for number in self.sent - HANDLED)}
        assert self.returncode in allowed, f"the server ended with {self.returncode}:\n{errors()}"
        assert not alone or self.returncode in also, f"the server ended though nobody told it to:\n{errors()}"
        return self.returncode
