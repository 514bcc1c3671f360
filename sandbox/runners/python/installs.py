"""What is being installed: code that misses it is told to wait for that, and not to install it."""

import os

_MANAGERS = {"pip", "pip3", "uv"}
_ACTIONS = {"install", "add", "sync"}
_PROCESSES_MAX = 1000
_SHOWN_MAX = 200

_of_runs = {}  # what is installed, by run: those that were queued or on when this one began


def begin(message):
    of_runs = message.get("installs")
    _of_runs.clear()
    for run, packages in of_runs.items() if isinstance(of_runs, dict) else ():
        if str(packages).startswith("pip "):
            _of_runs[run] = str(packages).removeprefix("pip ")


def what_to_wait_for():
    """A clause; empty when nothing is being installed."""
    told = [f"{run} installs {packages}: get_run tells when it has ended" for run, packages in _of_runs.items()]
    try:
        told = told or [f"`{command}` is on" for command in _commands()]
    except Exception:  # no file can be opened any more, or user code has something else in the place of open()
        pass
    return "; ".join(told[:3])


def _commands():
    processes = [name for name in os.listdir("/proc") if name.isdigit()]
    for process in processes[:_PROCESSES_MAX]:
        try:
            with open(f"/proc/{process}/cmdline", encoding="utf-8", errors="replace") as file:
                words = file.read(4096).rstrip("\0").split("\0")
        except OSError:  # it has ended
            continue
        names = [os.path.basename(word) for word in words]
        at = next((at for at, name in enumerate(names[:4]) if name in _MANAGERS), None)
        if at is not None and _ACTIONS & set(names[at + 1:at + 3]):
            yield " ".join([names[at], *words[at + 1:]])[:_SHOWN_MAX]
