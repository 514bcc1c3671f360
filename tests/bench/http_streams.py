"""Calls per second of the HTTP transport while it holds open streams, beside the official server.

    tests/bench/http_streams.py [--streams N] [--listens N] [--clients N] [--seconds N] [--code]
                                [--everything DIRECTORY] [--beast]

Both sides run in turns and do the same: sessions of 2025-11-25, a GET stream for each, and an echo
tool called by many clients. This side holds streams of subscriptions/listen of 2026-07-28 besides. DIRECTORY is one where `npm install
@modelcontextprotocol/server-everything` was run; without it only this side is measured. --code: then hutch serve runs
code for the clients, each in a session of its own. --beast: then a server of Boost.Beast alone, which looks at nothing and has no streams.
"""

import argparse
import json
import os
import pathlib
import re
import resource
import shutil
import socket
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
ROUNDS = 2
ECHO = {"name": "echo", "arguments": {"message": "hello"}}
CODE = {"name": "run_code", "arguments": {"code": "print('hello')"}}


def binary(name):
    built = os.environ.get("HUTCH_BUILD", str(ROOT / "build" / "dev"))
    return f"{built}/bin/{name}"


def start_ours():
    process = subprocess.Popen([binary("echo_server")], stdout=subprocess.PIPE, text=True)
    return process, int(re.search(r":(\d+)$", process.stdout.readline())[1])


def start_beast():
    process = subprocess.Popen([binary("beast_server")], stdout=subprocess.PIPE, text=True)
    return process, int(re.search(r":(\d+)$", process.stdout.readline())[1])


def start_hutch(state):
    process = subprocess.Popen([binary("hutch"), "serve", "--no-auth", "--listen", "127.0.0.1:0",
                                "--state-dir", state], stderr=subprocess.PIPE, text=True)
    return process, int(re.search(r":(\d+)/mcp", process.stderr.readline())[1])


def start_everything(directory):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    program = pathlib.Path(directory) / "node_modules/@modelcontextprotocol/server-everything/dist/index.js"
    process = subprocess.Popen([shutil.which("node"), program, "streamableHttp"],
                               env={**os.environ, "PORT": str(port)},
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 30
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return process, port
        except OSError:
            assert time.monotonic() < deadline and process.poll() is None, "it has not started"


def measure(start, options, listens, params=ECHO):
    process, port = start()
    try:
        ended = subprocess.run(
            [binary("http_load"), str(port), "/mcp", str(process.pid), str(options.streams),
             str(listens), str(options.clients), str(options.seconds), json.dumps(params)],
            stdout=subprocess.PIPE, text=True, check=True)
        return json.loads(ended.stdout)
    finally:
        process.terminate()
        process.wait(60)


def show(name, result):
    print(f"{name:<12} {result['streams']:>8} {result['listens']:>8} {result['streams_lost']:>5} "
          f"{result['kib_per_stream']:>11.1f} {result['kib_per_listen']:>11.1f} {result['requests_per_second']:>11.0f} "
          f"{result['p50_ms']:>8.2f} {result['p99_ms']:>8.2f} {result['failures']:>9}", flush=True)
    for failure in result["first_failures"]:
        print(f"    failed: {failure}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--streams", type=int, default=1000)
    parser.add_argument("--listens", type=int, default=1000)
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--everything", default="")
    parser.add_argument("--code", action="store_true")
    parser.add_argument("--beast", action="store_true")
    options = parser.parse_args()
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    print(f"{'server':<12} {'streams':>8} {'listens':>8} {'lost':>5} {'KiB/stream':>11} {'KiB/listen':>11} "
          f"{'requests/s':>11} "
          f"{'p50 ms':>8} {'p99 ms':>8} {'failures':>9}")
    ratios = []
    for _ in range(ROUNDS):
        if options.beast:
            show("beast", measure(start_beast, options, 0))
        ours = measure(start_ours, options, options.listens)
        show("hutch", ours)
        if options.everything:
            theirs = measure(lambda: start_everything(options.everything), options, 0)
            show("everything", theirs)
            ratios.append(ours["requests_per_second"] / theirs["requests_per_second"])
    if options.code:
        with tempfile.TemporaryDirectory(prefix="hutch-bench-") as state:
            show("hutch code", measure(lambda: start_hutch(state), options, options.listens, CODE))
    if ratios:
        print("ratio of requests/s:", ", ".join(f"{ratio:.1f}" for ratio in ratios))


if __name__ == "__main__":
    main()
