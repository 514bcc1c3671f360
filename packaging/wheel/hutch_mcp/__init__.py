"""Starts the program that this package carries: `uvx hutch-mcp stdio`."""

import glob
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
    # Packages of uvx may be gone tomorrow: clients are to start it by uvx again, which knows the index only.
    if "archive-v0" in here.split(os.sep):
        from_a_file = glob.glob(os.path.join(os.path.dirname(here), "hutch_mcp-*.dist-info", "direct_url.json"))
        os.environ.setdefault("HUTCH_LAUNCHER", "none" if from_a_file else "uvx hutch-mcp")
    os.execv(program, [program, *sys.argv[1:]])
