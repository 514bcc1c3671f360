"""Loads of many sessions for interpreters.py: bursts, a sustained rate, live ones, files."""

import json
import pathlib
import re
import statistics
import subprocess
import time

PYTHON = "/usr/bin/python3"
EIGHT_GIB_IN_MIB = 8192
# Prints the seconds for large writes, large reads, small files made, small files read and removed.
FILES = """
import os, sys, time
folder = sys.argv[1] if len(sys.argv) > 1 else "/workspace"
block, marks = b"x" * (1 << 20), [time.monotonic()]
with open(f"{folder}/large", "wb", buffering=0) as file:
    for _ in range(128): file.write(block)
marks.append(time.monotonic())
with open(f"{folder}/large", "rb", buffering=0) as file:
    while file.read(1 << 20): pass
marks.append(time.monotonic())
os.unlink(f"{folder}/large")
os.mkdir(f"{folder}/small")
begin = time.monotonic()
for i in range(2000):
    with open(f"{folder}/small/{i}", "w") as file: file.write("text")
made = time.monotonic()
for i in range(2000):
    with open(f"{folder}/small/{i}") as file: file.read()
    os.unlink(f"{folder}/small/{i}")
os.rmdir(f"{folder}/small")
print([marks[1] - marks[0], marks[2] - marks[1], made - begin, time.monotonic() - made])
"""
FILE_WORK = ("large_writes", "large_reads", "small_files_made", "small_files_read_and_removed")


class Chain:
    """One session's life, step by step, among many on one client: create, run, perhaps delete."""

    def __init__(self, client, code, delete):
        self.client = client
        self.code = code
        self.left = ["run", "delete"] if delete else ["run"]
        self.session = None
        self.failed = False
        self.started = time.monotonic()
        self.request = client.send_tool("create_session")

    def goes_on(self, result):
        """Takes the answer to the last request; whether there is another."""
        answer = result.get("structuredContent", {})
        self.failed |= result["isError"] or answer.get("status") == "failed"
        if result["isError"] or not self.left:
            return False
        self.session = self.session or answer["session_id"]
        if self.left.pop(0) == "run":
            self.request = self.client.send_tool("run_code", session_id=self.session, code=self.code)
        else:
            self.request = self.client.send_tool("delete_session", session_id=self.session)
        return True


def burst(client, how_many, code):
    """Seconds of each from the request for a session to the answer of its run; and how many failed."""
    chains = {}
    for _ in range(how_many):
        chain = Chain(client, code, delete=False)
        chains[chain.request] = chain
    taken, ended = [], []
    while chains:
        request, result = client.read()
        chain = chains.pop(request)
        if chain.goes_on(result):
            chains[chain.request] = chain
        else:
            taken.append(time.monotonic() - chain.started)
            ended.append(chain)
    delete_all(client, [chain.session for chain in ended if chain.session])
    return taken, sum(chain.failed for chain in ended)


def sustained(client, seconds, code, in_flight):
    """How many lives of a session ended within the time, and how many of them failed."""
    chains, done, failures = {}, 0, 0
    end = time.monotonic() + seconds
    for _ in range(in_flight):
        chain = Chain(client, code, delete=True)
        chains[chain.request] = chain
    while chains:
        request, result = client.read()
        chain = chains.pop(request)
        if not chain.goes_on(result):
            failures += chain.failed
            if time.monotonic() > end:
                continue
            done += 1
            chain = Chain(client, code, delete=True)
        chains[chain.request] = chain
    return done, failures


def delete_all(client, sessions):
    waiting = {client.send_tool("delete_session", session_id=session) for session in sessions}
    while waiting:
        waiting.discard(client.read()[0])


def live_sessions(client, how_many, code):
    """Starts them one by one, and gives what they take together once all are idle."""
    begin = proportional_mib(processes_of(client.process.pid, []))
    sessions = [client.new_session() for _ in range(how_many)]
    for session in sessions:
        client.run(session, code)
    taken = proportional_mib(processes_of(client.process.pid, sessions))
    server = proportional_mib([client.process.pid])
    delete_all(client, sessions)
    each = (taken - begin) / how_many
    return {"a_session": each, "all": taken, "server": server, "sessions": how_many,
            "fit_in_8_GiB": (EIGHT_GIB_IN_MIB - begin) // each}


def processes_of(server, sessions):
    """The server, what comes from it, and what is in a cgroup of one of its sessions."""
    parents, wanted = {}, set(sessions)
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            parents[int(folder.name)] = int(re.sub(r".*\) . ", "", (folder / "stat").read_text()).split()[0])
            if set(re.findall(r"session_\w+", (folder / "cgroup").read_text())) & wanted:
                parents[int(folder.name)] = server
        except (OSError, ValueError):
            pass  # ended meanwhile

    def belongs(pid):
        while pid > 1 and pid != server:
            pid = parents.get(pid, 0)
        return pid == server

    return [pid for pid in parents if belongs(pid)]


def proportional_mib(processes):
    total = 0
    for pid in processes:
        try:
            text = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text()
        except OSError:
            continue
        total += int(re.search(r"^Pss:\s+(\d+)", text, re.MULTILINE)[1])
    return total / 1024


def file_throughput(client, folder, rounds):
    """For each kind of work: the median of the seconds inside divided by those outside."""
    session = client.new_session()
    ratios = [[] for _ in FILE_WORK]
    for _ in range(rounds):
        inside = json.loads(client.run(session, FILES)["stdout"])
        outside = json.loads(subprocess.run([PYTHON, "-c", FILES, folder], capture_output=True, text=True,
                                            check=True).stdout)
        for kind, ours, theirs in zip(ratios, inside, outside):
            kind.append(ours / theirs)
    return dict(zip(FILE_WORK, map(statistics.median, ratios)))
