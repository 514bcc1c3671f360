"""The clients of the tests look at how a server ends. Their servers here are shell scripts."""

import signal
import time

import pytest

from http_server import Server
from hutch_client import Client

END_OF_INPUT = "cat >/dev/null; "
SERVES = 'trap "{0}" TERM; echo "hutch: serving MCP on http://127.0.0.1:1/mcp" >&2; while :; do sleep 0.05; done'


@pytest.fixture
def script(tmp_path):
    def make(text):
        (tmp_path / "hutch").write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / "hutch").chmod(0o755)
        return str(tmp_path / "hutch")
    return make


def stdio(binary):
    return Client("unused", revision="2026-07-28", binary=binary)


def until_ended(process):
    deadline = time.monotonic() + 30
    while process.poll() is None:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_good_end(script):
    with stdio(script(END_OF_INPUT + "exit 0")) as client:
        pass
    assert client.close() == 0, "a second time, too"
    with Server("unused", binary=script(SERVES.format("exit 0"))) as server:
        pass
    assert server.stop() == 0


@pytest.mark.parametrize("end", ["exit 1", "exit 66", "kill -SEGV $$", "kill -KILL $$", "kill -TERM $$"])
def test_a_bad_end_fails_the_test(script, end):
    with pytest.raises(AssertionError, match="ended with .*\nlast words"):
        with stdio(script(f"{END_OF_INPUT} echo last words >&2; {end}")):
            pass
    if "TERM" not in end:
        with pytest.raises(AssertionError, match="ended with .*\n(.*\n)*last words"):
            with Server("unused", binary=script(SERVES.format(f"echo last words >&2; {end}"))):
                pass


def test_what_failed_before_is_not_lost(script):
    with pytest.raises(AssertionError, match="ended with 3") as failed:
        with stdio(script(END_OF_INPUT + "exit 3")):
            raise ValueError("the test's own")
    assert isinstance(failed.value.__context__, ValueError)


def test_no_end_fails_the_test(script):
    client = stdio(script("trap '' TERM; while :; do sleep 0.05; done"))
    with pytest.raises(AssertionError, match="did not end"):
        client.close(timeout=0.3)
    assert not client.alive


def test_an_end_of_its_own_fails_the_test(script):
    client = stdio(script("exit 0"))
    until_ended(client.process)
    with pytest.raises(AssertionError, match="nobody told it"):
        client.close()
    with pytest.raises(AssertionError, match="nobody told it"):
        with Server("unused", binary=script(SERVES.format("") .replace("while", "exit 0; while"))) as server:
            until_ended(server.process)


def test_the_tests_own_kill_is_an_end(script):
    with stdio(script(END_OF_INPUT)) as client:
        client.kill()
    with stdio(script(END_OF_INPUT)) as client:
        client.process.send_signal(signal.SIGABRT)
        until_ended(client.process)
    with Server("unused", binary=script(SERVES.format("exit 0"))) as server:
        server.process.kill()
    assert server.process.returncode == -signal.SIGKILL
    with pytest.raises(AssertionError, match="ended with -15"):  # that one it should have handled
        with stdio(script(END_OF_INPUT)) as client:
            client.process.terminate()
            until_ended(client.process)
