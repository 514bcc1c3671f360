"""hutch through the official TypeScript SDK, in a process of its own: sdk_client.mjs."""

import json
import os
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
for place in ("support", "clients"):
    sys.path.insert(0, str(HERE.parent / place))


class SdkClient:
    name = "by the SDK"

    def __init__(self, binary, state, environment):
        import matrix  # the SDK is one of its clients

        matrix.install()
        shutil.copy(HERE / "sdk_client.mjs", matrix.INSTALLED)
        names = ("PATH", "HOME")
        self.process = subprocess.Popen(
            [matrix.node(), str(matrix.INSTALLED / "sdk_client.mjs"), binary, "stdio", "--state-dir", state],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env={**{name: os.environ[name] for name in names if name in os.environ}, **environment})

    def _ask(self, *question):
        self.process.stdin.write(json.dumps(question) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit("the SDK's client has ended")
        return json.loads(line)

    def first(self, code, language="python"):
        """Seconds of a new session and its first run."""
        return self._ask("first", code, language)

    def warm(self, code, language="python"):
        return self._ask("warm", code, language)

    def close(self):
        self.process.stdin.close()
        self.process.wait(120)


def through_the_sdk(binary, state, environment):
    try:
        return SdkClient(binary, state, environment)
    except (subprocess.SubprocessError, OSError) as failure:
        print(f"without the SDK: {failure}")
        return None
