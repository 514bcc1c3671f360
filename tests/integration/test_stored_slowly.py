"""A disk that is slow makes what stores a session's state take longer, and loses nothing."""

import pathlib
import shutil
import signal
import subprocess

import pytest

import other_build
from boxes import boxes_of, until
from conftest import needs
from hutch_client import Client, ToolError
from numbered_state import NumberedState

PAYLOAD_BYTES = 30_000_000  # more than is stored unasked here, so that all of it is to be stored when the box makes way
# Writes of a quarter of a megabyte take so long: two minutes in all, and a server waits for half a minute. Nothing here takes that
# long, as the disk is quick again once the waiting was seen.
DELAY_US = 1_000_000


@pytest.fixture(scope="module")
def other(tmp_path_factory):
    return other_build.make(tmp_path_factory.mktemp("other"))


@pytest.fixture
def config(tmp_path):
    path = tmp_path / "config.toml"
    path.write_text("[session]\nautosave_mb = 1\n")
    return str(path)


def bytes_stored(state, session):
    return sum(file.stat().st_size for file in pathlib.Path(state, "sessions", session, "state").glob("python*"))


def is_taken(client, known):
    """Until all is stored a run may be refused."""
    try:
        return client.run("1", session_id=known.session)["status"] == "completed"
    except ToolError as refused:
        assert "internal error" not in str(refused), refused
        return False


def test_a_box_that_makes_way_on_a_slow_disk_loses_nothing(state, other, config):
    needs(shutil.which("strace"), "strace")
    with Client(state, "--config", config, binary=other) as client:
        known = NumberedState(client, state, "kept", PAYLOAD_BYTES)
        known.step(client)
        assert bytes_stored(state, known.session) < PAYLOAD_BYTES, "it was stored unasked"
        tracer = subprocess.Popen(["strace", "-f", "-o", "/dev/null", "-p", str(boxes_of(state)[known.session]), "-e", "trace=write",
                                   "-e", f"inject=write:delay_enter={DELAY_US}"],
                                  stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        assert "attached" in tracer.stderr.readline()
    with Client(state, "--config", config) as client:
        assert not is_taken(client, known), "the disk was not slow"
        with pytest.raises(ToolError):  # it is neither frozen now, nor kept from its end
            client.call("pause_session", session_id=known.session)
        tracer.send_signal(signal.SIGINT)  # the box goes on without it
        tracer.communicate(timeout=60)
        until(lambda: is_taken(client, known), what="the other build making way")
        numbers = known.check(client)
        assert set(numbers.values()) == {known.number}, (numbers, known.number)
        client.call("delete_session", session_id=known.session)
