"""The servers under test."""

import re
import shutil
import signal
import subprocess
import tempfile
import threading


class Server:
    """A program that serves MCP on a free port. Use as a context manager."""

    def __init__(self, *command):
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        self.errors = []
        self.url = self._wait_for_url()
        threading.Thread(target=self.errors.extend, args=(self.process.stderr,),
                         daemon=True).start()

    def _wait_for_url(self):
        for line in self.process.stderr:
            self.errors.append(line)
            found = re.search(r"serving MCP on http://127\.0\.0\.1:(\d+)/mcp", line)
            if found:
                # The suite's test of Host wants this name.
                return f"http://localhost:{found[1]}/mcp"
        raise AssertionError(f"the server has not started: {''.join(self.errors)}")

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        ended = self.process.wait(60)
        if ended != 0 and exception[0] is None:
            raise AssertionError(f"the server has ended with {ended}: {''.join(self.errors)}")

    def problems(self):
        """Why it is not as well as a server should be after all this; empty when it is."""
        return [] if self.process.poll() is None else [f"it has ended: {self.process.returncode}"]


def fixtures(binary):
    return Server(binary, "--listen", "127.0.0.1:0")


class Hutch(Server):
    """`hutch serve` with a state directory of its own."""

    def __init__(self, binary):
        self.state = tempfile.mkdtemp(prefix="hutch-conformance-", dir="/tmp")
        super().__init__(binary, "serve", "--no-auth", "--listen", "127.0.0.1:0",
                         "--state-dir", self.state)

    def __exit__(self, *exception):
        super().__exit__(*exception)
        shutil.rmtree(self.state, ignore_errors=True)
