"""Runs such code beside hutch: bubblewrap, runc, gVisor, plain Python, a Jupyter kernel.

Those of one_shots() have one_shot(code): the seconds of a new process or container that runs `code`
to its end; plain processes and bubblewrap of other languages than Python, too. A kernel has first(code) and warm(code). What this machine lacks is left out, and a line
says so.
"""

import json
import os
import pathlib
import shutil
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
VENV = ROOT / "build" / "bench-venv"
PYTHON = "/usr/bin/python3"
SQLITE = "import sqlite3, sys; print(sqlite3.connect(':memory:').execute(sys.argv[1]).fetchall())"
PROGRAMS = {"python": [PYTHON, "-c"], "javascript": ["/usr/bin/node", "-e"], "bash": ["/bin/bash", "-c"],
            "sql": [PYTHON, "-c", SQLITE]}
LINKS = [(name, f"usr/{name}") for name in ("bin", "lib", "lib64", "sbin")
         if pathlib.Path(f"/{name}").is_symlink()]


def finish(command, **options):
    """Seconds until it has ended well."""
    started = time.monotonic()
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL, timeout=300, **options)
    return time.monotonic() - started


class Plain:
    name = "plain"

    def one_shot(self, code, language="python"):
        return finish([*PROGRAMS[language], code])


class Bubblewrap:
    name = "bwrap"
    program = "bwrap"

    def __init__(self, _folder):
        self.command = ["bwrap", "--unshare-all", "--die-with-parent", "--new-session", "--ro-bind", "/usr",
                        "/usr", "--ro-bind", "/etc", "/etc", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"]
        for name, target in LINKS:
            self.command += ["--symlink", target, f"/{name}"]

    def one_shot(self, code, language="python"):
        return finish([*self.command, *PROGRAMS[language], code])


class Containers:
    """Programs that take an OCI bundle."""

    def __init__(self, folder):
        self.bundle = pathlib.Path(folder) / self.program
        self.root = self.bundle / "rootfs"
        for name in ("usr", "etc", "proc", "dev", "sys", "tmp"):
            (self.root / name).mkdir(parents=True)
        for name, target in LINKS:
            (self.root / name).symlink_to(target)
        finish(["runc", "spec"], cwd=self.bundle)
        self.count = 0

    def one_shot(self, code):
        path = self.bundle / "config.json"
        spec = json.loads(path.read_text())
        spec["process"]["terminal"] = False
        spec["process"]["args"] = [PYTHON, "-c", code]
        if not any(mount["destination"] == "/usr" for mount in spec["mounts"]):
            spec["mounts"] += [{"destination": place, "type": "bind", "source": place, "options": ["bind", "ro"]}
                               for place in ("/usr", "/etc")]
            spec["mounts"].append({"destination": "/tmp", "type": "tmpfs", "source": "tmpfs"})
        path.write_text(json.dumps(spec))
        self.count += 1
        name = f"bench-{self.program}-{os.getpid()}-{self.count}"
        return finish([*self.command, "run", name], cwd=self.bundle)


class Runc(Containers):
    name = "runc"
    program = "runc"
    command = ("runc",)


class Runsc(Containers):
    name = "gVisor"
    program = "runsc"
    command = ("runsc", "--platform=ptrace", "--network=none")


class Jupyter:
    """A kernel in a Python of its own, asked by a process beside it: jupyter_kernel.py says how."""

    name = "Jupyter"

    def __init__(self):
        if not (VENV / "bin/python").exists():
            finish([PYTHON, "-m", "venv", "--system-site-packages", str(VENV)])
            finish([str(VENV / "bin/pip"), "install", "--quiet", "ipykernel", "jupyter_client"])
        script = pathlib.Path(__file__).with_name("jupyter_kernel.py")
        self.process = subprocess.Popen([str(VENV / "bin/python"), str(script)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.warm("1+1", 1)

    def _ask(self, what, code, times):
        self.process.stdin.write(json.dumps([what, code, times]) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise OSError("the kernel's client has ended")
        return json.loads(line)

    def first(self, code):
        """Seconds from the start of a kernel to its first answer."""
        return self._ask("first", code, 1)[0]

    def warm(self, code, times):
        return self._ask("warm", code, times)

    def close(self):
        self.process.stdin.close()
        self.process.wait(60)


def one_shots(folder):
    """Returns those of this machine that run code once."""
    found = [Plain()]
    for kind in (Bubblewrap, Runc, Runsc):
        needed = {kind.program, "runc"} if issubclass(kind, Containers) else {kind.program}
        missing = sorted(program for program in needed if not shutil.which(program))
        if missing:
            print(f"without {kind.name}: no {', '.join(missing)} here (packaging/install-packages.sh bench)")
            continue
        try:
            one = kind(folder)
            one.one_shot("print(1)")
            found.append(one)
        except (subprocess.SubprocessError, OSError) as failure:
            print(f"without {kind.name}: it does not run here ({failure})")
    return found


def jupyter():
    try:
        return Jupyter()
    except (subprocess.SubprocessError, OSError, ValueError) as failure:
        print(f"without Jupyter: {failure}")
        return None
