"""pip in few words, for install_packages: while it works for longer one line, written over again and again; at the end what is there now.

    python3 pip.py ARGUMENT...      arguments of `pip install`

A bash of the session's starts it. Packages go where Python's cells look, whatever virtual environment or folder for pip that
bash has at the time.
"""

import importlib.metadata
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

LOG = "/tmp/install_packages.log"
LINES_OF_FAILURE = 12
CAUSES_MAX = 8  # among them
WARNINGS_MAX = 5  # after an install that went well
LINE_CHARACTERS = 400
NAMED_MAX = 12
NEWEST_EVERY_SECONDS = 0.2
QUIET_SECONDS = 5.0  # most installs are over by then, and of lines that were written over an answer has to say so
_PROGRESS = re.compile(r"Progress (\d+) of (\d+)")
_FILE = re.compile(r"\s*Downloading (\S+)")
_STEP = re.compile(r"\s*(Collecting|Building|Preparing|Installing|Downloading|Getting|Cloning|Processing|Obtaining|Attempting)\b.*")
_BEGUN = re.compile(r"Installing collected packages: (.+)")  # a build's own, which are gone with it, stand further in
_INSTALLED = re.compile(r"Successfully installed (.+)")
_WAS = re.compile(r"\s*Found existing installation: (\S+) (\S+)")
# It finds packages that were asked for, not those that they need.
_THERE = re.compile(r"Requirement already satisfied: ([\w.-]+).* in \S+(?: \(from -r .*\))? \(([^()]+)\)$")

# Where packages go, and whose Python and pip's options are meant: not for bash to say. Where they come from is.
_OF_SESSION = re.compile(
    r"PATH|HOME|XDG_.*|VIRTUAL_ENV.*|CONDA_.*|PYTHON.*|PIP_(?!((EXTRA_)?INDEX_URL|FIND_LINKS|NO_INDEX|TRUSTED_HOST|CERT|CLIENT_CERT|PROXY|CONFIG_FILE"
    r"|(BUILD_)?CONSTRAINT|NO_BINARY|ONLY_BINARY|PREFER_BINARY|PRE|NO_BUILD_ISOLATION|CONFIG_SETTINGS|KEYRING_PROVIDER|CACHE_DIR|NO_CACHE_DIR|DEFAULT_TIMEOUT|RETRIES)$).*")
# Lines by which compilers, build tools and Python name what is wrong, and those among them that say only that something is.
_CAUSE = re.compile(
    r"(^|[\s:])(ERROR|[Ee]rror|fatal error|Fatal error|CMake Error[^:]*)\s?:|^\s*[\w.]*(Error|Exception): |Unknown compiler|not found|not installed|cannot find"
    r"|undefined reference|No such file|No space left|Could not find", re.MULTILINE)
_NO_CAUSE = re.compile(r"subprocess-exited-with-error|CalledProcessError|This error originates|Failed (to build|building)|metadata-generation-failed"
                       r"|Encountered error while|\.\.\. ?(not found|no)$")


class Progress:
    def __init__(self):
        self.file = ""
        self.downloaded = 0  # bytes of files that are whole
        self.told_at = 0.0
        self.begun_at = time.monotonic()
        self.has_told = False

    def take(self, line):
        moved = _PROGRESS.search(line)
        if moved:
            done, of = int(moved[1]), int(moved[2])
            self.tell(f"{self.file}: {megabytes(done)} of {megabytes(of)}", done == of)
            self.downloaded += of if done == of else 0
        elif _STEP.match(line):
            named = _FILE.match(line)
            self.file = os.path.basename(named[1]) if named else self.file
            self.tell(line.strip()[:150], True)

    def tell(self, text, now):
        if time.monotonic() - self.begun_at < QUIET_SECONDS:
            return
        if now or time.monotonic() - self.told_at > NEWEST_EVERY_SECONDS:
            self.told_at = time.monotonic()
            self.has_told = True
            sys.stdout.write(f"\r{text}")
            sys.stdout.flush()

    def end(self):
        """Lets the next line stand where this did."""
        if self.has_told:
            sys.stdout.write("\r")


# pip is not to take a file of the user's for a module that it needs: `types.py` in the working directory.
_NOT_FROM_HERE = ["-P"] if sys.version_info >= (3, 11) else []


def main(arguments):
    begun = time.monotonic()
    progress = Progress()
    with tempfile.TemporaryDirectory() as folder, open(LOG, "w", errors="replace") as log:
        report = os.path.join(folder, "report.json")
        version = version_of_pip()
        process = subprocess.Popen(
            [sys.executable, *_NOT_FROM_HERE, "-m", "pip", "install", "--no-input", "--progress-bar", "raw" if version >= (24, 1) else "off",
             *(["--report", report] if version >= (22, 2) else []), *arguments],
            env=environment_of_session(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # pip has it, too, and says how it ends
        lines, was, there = [], {}, {}
        for line in process.stdout:
            log.write(line)
            progress.take(line)
            if not _PROGRESS.search(line):
                lines.append(line)
            if found := _WAS.match(line):
                was[plain(found[1])] = found[2]
            if found := _THERE.match(line):
                there.setdefault(found[1], found[2])
        status = process.wait()
        if status != 0:
            progress.end()
            sys.stdout.write(what_is_there(lines) + "\n")
            tell_failure(lines)
            return status if status > 0 else 128 - status
        progress.end()
        tell_end(read(report) or said_by(lines), was, there, progress.downloaded, time.monotonic() - begun)
        tell_warnings([line for line in lines if line.startswith(("ERROR:", "WARNING:")) or "incompatible" in line])
        return 0


def environment_of_session():
    """The one of this process, but what bash had at its start of that which is not for its state to say."""
    try:
        with open(f"/proc/{os.getppid()}/environ", "rb") as file:
            given = dict(os.fsdecode(entry).split("=", 1) for entry in file.read().split(b"\0") if b"=" in entry)
    except OSError:  # it has just ended
        return dict(os.environ)
    # Compilers of bash's PATH may be needed by builds, behind the programs of the session.
    path = {"PATH": ":".join(filter(None, (given.get("PATH"), os.environ.get("HUTCH_BASH_PATH"))))}
    return {**{name: value for name, value in os.environ.items() if not _OF_SESSION.fullmatch(name)},
            **{name: value for name, value in given.items() if _OF_SESSION.fullmatch(name)}, **path}


def tell_warnings(lines):
    lines = list(dict.fromkeys(lines))
    sys.stderr.writelines(shortened(line) for line in lines[:WARNINGS_MAX])
    if len(lines) > WARNINGS_MAX or any(len(line) > LINE_CHARACTERS for line in lines):
        sys.stderr.write(f"({len(lines)} warnings; the whole of what pip has said is in {LOG})\n")


def shortened(line):
    return line if len(line) <= LINE_CHARACTERS else f"{line[:LINE_CHARACTERS].rstrip()} ...\n"


def version_of_pip():
    try:
        return tuple(int(part) for part in importlib.metadata.version("pip").split(".")[:2])
    except (importlib.metadata.PackageNotFoundError, ValueError):
        return (0, 0)


def what_is_there(lines):
    """Packages that pip had done before one failed stay."""
    begun = next((found for line in lines if (found := _BEGUN.match(line))), None)
    if begun is None:
        return "pip has installed nothing"
    return f"pip failed while it was installing: some of these may be there now ({some(begun[1].split(', '))}); `pip list` tells which"


def tell_failure(lines):
    """Tells the end, where pip says what is wrong, and lines before it in which a package's own build says why."""
    kept = [line for line in lines if line.strip() and not _STEP.match(line)]
    more = len(kept) > LINES_OF_FAILURE or any(len(line) > LINE_CHARACTERS for line in kept)
    sys.stderr.writelines(shortened(line) for line in lines_of_failure(kept))
    if more:
        sys.stderr.write(f"(from what pip has said; the whole of it is in {LOG})\n")


def lines_of_failure(kept):
    if len(kept) <= LINES_OF_FAILURE:
        return kept
    causes = list(dict.fromkeys(line for line in kept if _CAUSE.search(line) and not _NO_CAUSE.search(line)))
    if all(line in kept[-LINES_OF_FAILURE:] for line in causes):
        return kept[-LINES_OF_FAILURE:]
    # The first failures come before those that follow from them.
    causes = causes[:CAUSES_MAX - 2] + causes[CAUSES_MAX - 2:][-2:]
    end = [line for line in kept[CAUSES_MAX - LINES_OF_FAILURE:] if line not in causes]
    return causes + end


def read(report):
    try:
        with open(report) as file:
            return json.load(file).get("install", [])
    except (OSError, ValueError):
        return []


def said_by(lines):
    """Returns as much from the lines of a pip that writes no report."""
    said = [found[1].split() for line in lines if (found := _INSTALLED.match(line))]
    return [{"metadata": dict(zip(("name", "version"), one.rpartition("-")[::2])), "requested": True} for one in sum(said, [])]


def tell_end(installed, was, there, downloaded, seconds):
    asked, needed = [], []
    for one in installed:
        name, version = one["metadata"]["name"], one["metadata"]["version"]
        before = was.get(plain(name))
        (asked if one.get("requested") else needed).append(f"{name} {version}" + (f" (was {before})" if before else ""))
    if asked or needed:
        size = f", {megabytes(downloaded)}" if downloaded else ""
        print(f"Installed {some(asked or needed)} in {seconds:.0f} s{size}")
    if asked and needed:
        print(f"With {some(needed)}, which they need")
    if not installed and there:
        print("Already there: " + some([f"{name} {version}" for name, version in there.items()]))
    elif not installed:
        print("There was nothing to install")


def some(names):
    more = len(names) - NAMED_MAX
    return ", ".join(names[:NAMED_MAX]) + (f" and {more} more" if more > 0 else "")


def plain(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def megabytes(count):
    return f"{count / 1e6:.1f} MB"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
