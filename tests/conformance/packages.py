"""The suite and its Node, installed from the lock file into a directory that outlives the run."""

import os
import pathlib
import shutil
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
LOCK = "package-lock.json"


class Missing(Exception):
    """They cannot be had here."""


class Packages:
    """Installed packages. The paths are of what is run."""

    def __init__(self, directory):
        self.directory = pathlib.Path(directory)
        if not self._is_installed():
            self._install()
        modules = self.directory / "node_modules"
        self.node = str(modules / "node/bin/node")
        self.coming = str(modules / "@modelcontextprotocol/conformance/dist/index.js")
        self.released = str(modules / "conformance-released/dist/index.js")

    def _is_installed(self):
        done = self.directory / "installed.json"
        return done.exists() and done.read_bytes() == (HERE / LOCK).read_bytes()

    def _install(self):
        npm = shutil.which("npm")
        if npm is None:
            raise Missing("npm is not installed")
        shutil.rmtree(self.directory, ignore_errors=True)
        self.directory.mkdir(parents=True)
        for name in ("package.json", LOCK):
            shutil.copy(HERE / name, self.directory / name)
        ran = subprocess.run([npm, "ci", "--no-audit", "--no-fund"], cwd=self.directory,
                             capture_output=True, text=True, timeout=600,
                             env={**os.environ, "npm_config_update_notifier": "false"})
        if ran.returncode != 0:
            raise Missing(f"npm ci has failed:\n{ran.stdout}{ran.stderr}")
        # Written last: an installation that was broken off is begun anew.
        shutil.copy(HERE / LOCK, self.directory / "installed.json")
