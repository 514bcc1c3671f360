"""Real clients against the real hutch: every one over every transport and era that it has."""

import base64
import pathlib
import re
import shutil
import struct

import pytest

from conftest import needs
from http_server import Server
from hutch_client import hutch_binary
from matrix import CANCELLING, CASES, HERE, Bridge, install

TOOLS = ["run_code", "get_run", "cancel_run", "read_file", "write_file", "edit_file", "list_files", "share_file",
         "share_port", "install_packages", "create_session", "list_sessions", "pause_session", "resume_session",
         "delete_session"]
PLOT = "import matplotlib.pyplot as plt; plt.plot([1, 3, 2]); plt.title('n'); plt.show()"

COUNTING = """
import time
while True:
    print("on", flush=True)
    time.sleep(0.05)
"""
FIGURES = """
import matplotlib.pyplot as plt, numpy
word = "kept"
for seed in range(4):
    plt.figure(figsize=(6, 6), dpi=75).figimage(numpy.random.default_rng(seed).random((450, 450, 3)))
    plt.show()
"""


@pytest.fixture(scope="module", autouse=True)
def installed():
    needs(shutil.which("npm"), "npm")
    install()


@pytest.fixture(scope="module")
def served(module_state):
    with Server(module_state) as server:
        yield server


@pytest.fixture
def target(request, state):
    """Where the client finds hutch."""
    client, transport, era = request.param
    described = {"transport": transport, "era": era}
    if transport != "stdio":
        host, port = request.getfixturevalue("served").address
        path = {"http": "mcp", "sse": "sse"}[transport]
        return client, {**described, "url": f"http://{host}:{port}/{path}"}
    arguments = ["stdio", "--state-dir", state, "--log-level", "error"]
    if client == "inspector":  # a process per question: only a named session outlives it
        arguments += ["--session", "inspected"]
    return client, {**described, "command": hutch_binary(), "args": arguments}


def session_in(answer):
    return {"session_id": re.search(r"\bsession_\w{12}\b", answer["text"])[0]}


def size_of(image):
    """Width and height; of nothing but a whole PNG."""
    data = base64.b64decode(image["data"], validate=True)
    assert image["type"] == "image/png" and data.startswith(b"\x89PNG\r\n\x1a\n")
    assert data.endswith(b"IEND\xaeB`\x82")
    return struct.unpack(">II", data[16:24])


def servers_of(state):
    """The `hutch stdio` processes on a state directory."""
    found = []
    for entry in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            words = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
        except OSError:
            continue
        if "stdio" in words and state in words and words[0] == hutch_binary():
            found.append(int(entry.name))
    return found


@pytest.mark.parametrize("target", CASES, ids=["-".join(case) for case in CASES], indirect=True)
def test_an_agents_first_minute(target, state):
    client, where = target
    with Bridge(client, where) as bridge:
        if bridge.revision:
            assert bridge.revision == ("2025-11-25" if where["era"] == "legacy" else "2026-07-28")
        assert bridge.tools() == TOOLS

        session = {}
        if client == "inspector" and where["transport"] != "stdio" and where["era"] == "legacy":
            # Each question is a connection of its own, and what a connection has made by itself
            # ends with it.
            session = session_in(bridge.call("create_session"))
        first = bridge.call("run_code", code="word = 'fox'\nprint('set')", **session)
        assert not first["failed"] and "set" in first["text"], first
        if where["transport"] == "http" and where["era"] != "legacy":
            # Nothing connects two calls but the id that the first line of the result names.
            session = session_in({"text": first["text"].splitlines()[0]})
        second = bridge.call("run_code", code="word[::-1]", **session)
        assert not second["failed"] and "'xof'" in second["text"], second

        plot = bridge.call("run_code", code=PLOT, **session)
        assert not plot["failed"], plot
        width, height = size_of(plot["images"][0])
        assert len(plot["images"]) == 1 and width > 100 and height > 100

        wrong = bridge.call("run_code", code="1", sesion_id="x", **session)
        assert wrong["failed"] is not False and 'unknown argument "sesion_id"' in wrong["text"], wrong
        absent = bridge.call("read_file", path="absent.txt", **session)
        assert absent["failed"] is not False and "no such file" in absent["text"], absent
        assert "'xof'" in bridge.call("run_code", code="word[::-1]", **session)["text"]
    assert servers_of(state) == []


@pytest.mark.parametrize("target", CANCELLING, ids=["-".join(case) for case in CANCELLING],
                         indirect=True)
def test_a_call_that_is_given_up_ends_its_run(target):
    client, where = target
    with Bridge(client, where) as bridge:
        session = session_in(bridge.call("create_session"))
        bridge.call("run_code", code="word = 'kept'", **session)
        told = bridge.give_up("run_code", code=COUNTING, timeout_seconds=600, **session)
        run_id = re.search(r"\brun_\w{12}\b", told)[0]
        ended = bridge.call("get_run", run_id=run_id, wait_seconds=40)
        assert ended["text"].startswith("cancelled"), ended
        assert "'kept'" in bridge.call("run_code", code="word", **session)["text"]


def test_many_figures_are_no_end_of_a_connection(served):
    """This client gives up a stream with an event of more than 1 MiB, and all that hung on it."""
    host, port = served.address
    where = {"transport": "sse", "era": "legacy", "url": f"http://{host}:{port}/sse"}
    with Bridge("python_mcp", where) as bridge:
        drawn = bridge.call("run_code", code=FIGURES)
        assert not drawn["failed"] and drawn["images"], drawn
        for image in drawn["images"]:
            size_of(image)
        assert "'kept'" in bridge.call("run_code", code="word")["text"]


def test_the_lock_file_names_no_registry():
    assert "resolved" not in (HERE / "package-lock.json").read_text()
