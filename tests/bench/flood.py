"""One principal that asks for far more than its part: the other side of principals.py, as a process of its own.

    flood.py HOST PORT TOKEN KIND RATE SESSION...

Open loop: so many requests a second, whatever becomes of those before, at most OUTSTANDING of them unanswered. A first line
says when it floods: something was refused, or it has gone on for FLOODS_AFTER_SECONDS. At the end of its input it asks no
more, reads for up to DRAIN_SECONDS what the server has answered, since at nice 19 it reads late, and prints what it got,
how many were unanswered then, and the seconds of processor that it took while it asked.
"""

import asyncio
import collections
import json
import os
import sys
import threading
import time

OUTSTANDING = 1500
FLOODS_AFTER_SECONDS = 5
DRAIN_SECONDS = 20
REFUSALS = ("429", "503", "507")  # for want of room, not of rights
UPLOAD = b"x" * (4 << 20)
REVISION = "2026-07-28"


def call(tool, **arguments):
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call",
               "params": {"name": tool, "arguments": arguments,
                          "_meta": {"io.modelcontextprotocol/protocolVersion": REVISION,
                                    "io.modelcontextprotocol/clientCapabilities": {}}}}
    fields = {"MCP-Protocol-Version": REVISION, "Mcp-Method": "tools/call", "Mcp-Name": tool,
              "Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    return "POST", "/mcp", fields, json.dumps(message).encode()


def upload(session):
    head = b'--b\r\nContent-Disposition: form-data; name="file"; filename="f"\r\n\r\n'
    return ("POST", f"/sandboxes/{session}/files", {"Content-Type": "multipart/form-data; boundary=b"},
            head + UPLOAD + b"\r\n--b--\r\n")


KINDS = {
    "run_code": lambda session: call("run_code", code="1", session_id=session),
    "hogs": lambda session: call("run_code", code="while True: pass", session_id=session, background=True),
    "metrics": lambda session: ("GET", "/metrics", {}, b""),
    "uploads": upload,
    "lists": lambda session: call("list_sessions"),
}


def kind_of_answer(status, body):
    refused = b'"isError":true' in body and (b"try again" in body or b"at most" in body)
    return f"{status}, refused" if refused else str(status)


def refused(got):
    """How many of the answers were refusals."""
    return sum(count for answer, count in got.items() if "refused" in answer or answer in REFUSALS)


async def ask(host, port, tokens, request, got):
    method, path, fields, body = request
    token = tokens[path == "/metrics"]  # which has one of its own, for nothing else
    try:
        reader, writer = await asyncio.open_connection(host, port)
        lines = [f"{method} {path} HTTP/1.1", f"Host: {host}:{port}", f"Authorization: Bearer {token}",
                 "Connection: close", f"Content-Length: {len(body)}", *(f"{name}: {value}" for name, value in fields.items())]
        writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + body)
        answer = await reader.read()
        writer.close()
        status, _, rest = answer.partition(b"\r\n")
        got[kind_of_answer(status.split()[1].decode(), rest)] += 1
    except (OSError, IndexError) as failure:
        got[type(failure).__name__] += 1


async def flood(host, port, tokens, kinds, rate, sessions, stop):
    """Returns what it got, and how many requests were unanswered at the end."""
    got, waiting, count, begun, floods = collections.Counter(), set(), 0, time.monotonic(), False
    while not stop.is_set():
        due = int((time.monotonic() - begun) * rate)
        while count < due:
            count += 1
            if len(waiting) >= OUTSTANDING:
                got["not sent, too many unanswered"] += 1
                continue
            request = KINDS[kinds[count % len(kinds)]](sessions[count % len(sessions)])
            task = asyncio.create_task(ask(host, port, tokens, request, got))
            waiting.add(task)
            task.add_done_callback(waiting.discard)
        if not floods and (refused(got) or time.monotonic() - begun > FLOODS_AFTER_SECONDS):
            floods = True
            print("it floods", flush=True)
        await asyncio.sleep(0.01)
    times = os.times()
    if waiting:
        _, waiting = await asyncio.wait(waiting, timeout=DRAIN_SECONDS)
    unanswered = len(waiting)
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    return got, unanswered, times.user + times.system


def be_nice():
    """A processor's scheduler compares nice values within an autogroup alone, and the autogroups by one of their own
    (sched(7)): without a session of its own the flood would be in that of the client that is measured."""
    os.setsid()
    os.nice(19)
    if os.path.exists("/proc/self/autogroup"):
        with open("/proc/self/autogroup", "w") as weight:
            weight.write("19")


def main():
    be_nice()
    host, port, tokens, kinds, rate, *sessions = sys.argv[1:]
    stop = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), stop.set()), daemon=True).start()
    got, unanswered, seconds = asyncio.run(flood(host, int(port), tokens.split(","), kinds.split(","), float(rate), sessions, stop))
    print(json.dumps({"answers": got, "unanswered": unanswered, "processor_seconds": seconds}))


if __name__ == "__main__":
    main()
