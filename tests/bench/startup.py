"""How long the self-contained programs take to start, beside those that were built here.

    tests/bench/startup.py [--rounds N]

Both are called in turns, the self-contained ones from a copy in which `hutch setup` was called: `hutch version`, and `hutch stdio` from its start to the answer of `initialize`, and to that of a first run.
Needs build/release and build/packages/tree (packaging/build.sh tarball).
"""

import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILT, TREE = ROOT / "build/release", ROOT / "build/packages/tree"
HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
TITLES = {"version": "hutch version", "initialize": "hutch stdio, to the answer of initialize", "run": "and to that of a first run_code"}


def ask(process, number, method, params):
    process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}) + "\n")
    process.stdin.flush()
    while json.loads(process.stdout.readline()).get("id") != number:
        pass


def measure(program, environment, state):
    """Milliseconds, by what was done."""
    took = {}
    began = time.perf_counter()
    subprocess.run([program, "version"], check=True, stdout=subprocess.DEVNULL, env=environment)
    took["version"] = time.perf_counter() - began
    began = time.perf_counter()
    with subprocess.Popen([program, "stdio", "--state-dir", state], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment) as process:
        ask(process, 1, "initialize", HELLO)
        took["initialize"] = time.perf_counter() - began
        ask(process, 2, "tools/call", {"name": "run_code", "arguments": {"code": "print(6 * 7)"}})
        took["run"] = time.perf_counter() - began
        process.stdin.close()
    return {what: 1000 * seconds for what, seconds in took.items()}


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    options.add_argument("--rounds", type=int, default=40)
    rounds = options.parse_args().rounds
    for program in (BUILT / "bin/hutch", TREE / "bin/hutch"):
        if not program.exists():
            sys.exit(f"there is no {program}")
    taken = {what: {side: [] for side in ("built", "self-contained")} for what in TITLES}
    with tempfile.TemporaryDirectory() as home:
        shutil.copytree(TREE, f"{home}/tree")
        sides = {"built": str(BUILT / "bin/hutch"), "self-contained": f"{home}/tree/bin/hutch"}
        environment = {"PATH": os.environ["PATH"], "HOME": home, "HUTCH_ZYGOTE": "0", "HUTCH_SPARE_SESSIONS": "0"}
        os.mkdir(f"{home}/.cursor")
        subprocess.run([sides["self-contained"], "setup", "--yes"], check=True, stdout=subprocess.DEVNULL, env=environment)
        for number in range(rounds + 2):  # the first two are not counted
            for side in sorted(sides, reverse=number % 2 == 0):
                for what, ms in measure(sides[side], environment, f"{home}/{side}").items():
                    taken[what][side] += [ms] if number > 1 else []
    for what, title in TITLES.items():
        print(f"\n{title}")
        built = statistics.median(taken[what]["built"])
        for side, all_of_it in taken[what].items():
            median = statistics.median(all_of_it)
            print(f"    {side:<16} median {median:8.2f} ms   p90 {sorted(all_of_it)[int(0.9 * len(all_of_it))]:8.2f}   {median / built:.2f} of the built one")


if __name__ == "__main__":
    main()
