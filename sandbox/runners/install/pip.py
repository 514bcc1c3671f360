"""pip in few words, for install_packages: while it works one line, written over again and again; at the end what is there now.

    python3 pip.py ARGUMENT...      arguments of `pip install`
"""

import importlib.metadata
import json
import os
import re
import subprocess
import sys
import tempfile
import time

LOG = "/tmp/install_packages.log"
LINES_OF_FAILURE = 12
NAMED_MAX = 12
NEWEST_EVERY_SECONDS = 0.2
_PROGRESS = re.compile(r"Progress (\d+) of (\d+)")
_FILE = re.compile(r"\s*Downloading (\S+)")
_STEP = re.compile(r"\s*(Collecting|Building|Preparing|Installing|Downloading|Getting|Cloning|Processing|Obtaining|Attempting)\b.*")
_WAS = re.compile(r"\s*Found existing installation: (\S+) (\S+)")
# Of what was asked for, not of what that needs.
_THERE = re.compile(r"Requirement already satisfied: ([\w.-]+).* in \S+(?: \(from -r .*\))? \(([^()]+)\)$")


class Progress:
    def __init__(self):
        self.file = ""
        self.downloaded = 0  # of files that are whole
        self.told_at = 0.0

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
        if now or time.monotonic() - self.told_at > NEWEST_EVERY_SECONDS:
            self.told_at = time.monotonic()
            sys.stdout.write(f"\r{text}")
            sys.stdout.flush()


def main(arguments):
    begun = time.monotonic()
    progress = Progress()
    sys.stdout.write("\rpip begins")
    sys.stdout.flush()
    with tempfile.TemporaryDirectory() as folder, open(LOG, "w", errors="replace") as log:
        report = os.path.join(folder, "report.json")
        process = subprocess.Popen(
            [sys.executable, "-m", "pip", "install", "--no-input", "--progress-bar", "raw" if knows_raw_progress() else "off",
             "--report", report, *arguments],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
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
        sys.stdout.write("\r")
        if status != 0:
            tell_failure(lines)
            return status
        tell_end(read(report), was, there, progress.downloaded, time.monotonic() - begun)
        for line in lines:
            if line.startswith(("ERROR:", "WARNING:")) or "incompatible" in line:
                sys.stderr.write(line)
        return 0


def knows_raw_progress():
    try:
        return tuple(int(part) for part in importlib.metadata.version("pip").split(".")[:2]) >= (24, 1)
    except (importlib.metadata.PackageNotFoundError, ValueError):
        return False


def tell_failure(lines):
    """pip says at the end what is wrong; what a package's own build says before is in the log."""
    kept = [line for line in lines if line.strip() and not _STEP.match(line)]
    more = len(kept) > LINES_OF_FAILURE
    sys.stderr.writelines(kept[-LINES_OF_FAILURE:])
    if more:
        sys.stderr.write(f"(the end of what pip has said; the whole of it is in {LOG})\n")


def read(report):
    try:
        with open(report) as file:
            return json.load(file).get("install", [])
    except (OSError, ValueError):
        return []


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
    if not installed:
        print("Already there: " + some([f"{name} {version}" for name, version in there.items()]))


def some(names):
    more = len(names) - NAMED_MAX
    return ", ".join(names[:NAMED_MAX]) + (f" and {more} more" if more > 0 else "")


def plain(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def megabytes(count):
    return f"{count / 1e6:.1f} MB"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
