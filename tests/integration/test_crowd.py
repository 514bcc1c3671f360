"""Many sessions of many principals, asked for by many clients at once: each is made, or refused for want of capacity."""

import collections
import concurrent.futures
import json
import pathlib

from database import rows
from http_server import Server, token

SESSIONS, PRINCIPALS, CLIENTS = 1500, 50, 500
PATIENCE_SECONDS = 600
NO_CAPACITY = "refused for want of capacity"


def make(server, secret):
    """How it ended: made, refused for want of capacity, or what was said that is neither, as that there are too many calls."""
    status, fields, body = server.request(
        "POST", "/sandboxes", json.dumps({"templateID": "base", "timeout": 3600}),
        {"Authorization": f"Bearer {secret}", "Content-Type": "application/json"}, timeout=PATIENCE_SECONDS)
    if status == 201:
        return "made"
    said = body.decode(errors="replace")
    if status == 503 and fields["Retry-After"] and "this machine is at one of its limits" in said:
        return NO_CAPACITY
    return f"{status}: {said[:200]}"


def test_none_fails_but_for_want_of_capacity(state):
    """None is left in the state `error`, and nothing of what was refused is left at all."""
    with Server(state, no_auth=False) as server:
        secrets = [token(state, "--principal", f"p{number}") for number in range(PRINCIPALS)]
        wanted = [secrets[number % PRINCIPALS] for number in range(SESSIONS)]
        with concurrent.futures.ThreadPoolExecutor(CLIENTS) as clients:
            ended = collections.Counter(clients.map(lambda secret: make(server, secret), wanted))
        left = collections.Counter(status for (status,) in rows(state, "SELECT status FROM sessions WHERE principal_id != 'spare'"))
        directories = len(list(pathlib.Path(state, "sessions").iterdir()))
        print(dict(ended), dict(left), directories)
    assert set(ended) <= {"made", NO_CAPACITY}, ended
    assert ended["made"] > PRINCIPALS, "so many at least have room on any host"
    assert left["error"] == 0, left
    assert directories <= ended["made"], (directories, ended)
