"""Starts the program that this package carries: `uvx hutch-mcp stdio`."""

import os
import sys


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    program = os.path.join(here, "tree", "bin", "hutch")
    # Installers that link or copy without the mode.
    for name in ("hutch", "hutch-box", "hutch-egress", "hutch-init"):
        path = os.path.join(here, "tree", "bin", name)
        if not os.access(path, os.X_OK):
            os.chmod(path, 0o755)
    # What uvx has fetched may be gone tomorrow: clients are to start it by uvx again.
    if f"{os.sep}uv{os.sep}" in here and "tools" not in here.split(os.sep):
        os.environ.setdefault("HUTCH_LAUNCHER", "uvx hutch-mcp")
    os.execv(program, [program, *sys.argv[1:]])
