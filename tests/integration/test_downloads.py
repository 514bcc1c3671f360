"""Tests that answers of hosts of packages are kept outside for all sessions: by the rules of HTTP, and of nobody's making."""

import json
import subprocess
from pathlib import Path
from urllib.parse import urlencode

import pytest

from hutch_client import Client, hutch_binary
from origins import port_of, stop, tls_origin


@pytest.fixture(scope="module")
def world(module_state, tmp_path_factory):
    folder = tmp_path_factory.mktemp("index")
    (folder / "other").mkdir()
    with tls_origin(folder, "pypi.org") as index, tls_origin(folder / "other", "registry.npmjs.org") as other:
        roots = folder / "all.pem"
        roots.write_text((folder / "roots.pem").read_text() + (folder / "other/roots.pem").read_text())
        config = folder / "config.toml"
        config.write_text(f"""
[network]
allow = ["pypi.org:{port_of(index)}", "registry.npmjs.org:{port_of(other)}"]
downloads_mb = 1
[network.addresses]
"pypi.org" = "127.0.0.1"
"registry.npmjs.org" = "127.0.0.1"
""")
        with Client(module_state, env={"HUTCH_CONFIG": str(config), "SSL_CERT_FILE": str(roots)}) as client:
            client.asked, client.index = index.asked, f"https://pypi.org:{port_of(index)}"
            client.other, client.goes = f"https://registry.npmjs.org:{port_of(other)}", lambda: stop(other)
            client.asked.clear()
            yield client


@pytest.fixture(autouse=True)
def nothing_asked(world):
    world.asked.clear()


def fetch(client, name, options="", session=None, base=None, **fields):
    """The body, of a session of its own."""
    if session is None:
        session = client.call("create_session")["session_id"]
    run = client.run(f"curl -sS {options} '{base or client.index}/with?{urlencode({'name': name, **fields})}'", "bash", session_id=session)
    assert run["status"] == "completed", run
    return run["stdout"]


def test_what_is_fresh_is_not_asked_for_again(world):
    first = fetch(world, "fresh", **{"Cache-Control": "public, max-age=60", "X-Kept": "yes"})
    again = fetch(world, "fresh", "-D head", **{"Cache-Control": "public, max-age=60", "X-Kept": "yes"})
    assert first == again and world.asked == ["fetched"]


def test_the_head_is_as_it_was_with_its_age(world):
    fields = {"Cache-Control": "max-age=60", "X-Kept": "yes"}
    fetch(world, "head", **fields)
    said = fetch(world, "head", "-i", **fields).lower()
    assert "x-kept: yes" in said and "age: " in said and "content-length: " in said and world.asked == ["fetched"]


@pytest.mark.parametrize("fields", [
    {"Cache-Control": "no-store"}, {"Cache-Control": "private, max-age=60"}, {"Cache-Control": "max-age=60", "Set-Cookie": "a=b"},
    {"Cache-Control": "max-age=60", "Vary": "*"}, {"Cache-Control": "max-age=60", "Age": "70"}, {"Cache-Control": "s-maxage=0, max-age=60"},
    {},
])
def test_what_is_asked_for_each_time(world, fields):
    assert fetch(world, "never", **fields) != fetch(world, "never", **fields)
    assert world.asked == ["fetched"] * 2


@pytest.mark.parametrize("options", [
    "-r 0-3", "-H 'If-None-Match: x'", "-H 'Cookie: a=b'", "-H 'Authorization: Bearer x'", "-X POST", "-H 'Cache-Control: no-store'",
])
def test_requests_of_one_client_alone(world, options):
    fields = {"Cache-Control": "max-age=60", "alone": options}
    fetch(world, "alone", options, **fields)
    asked = len(world.asked)
    assert fetch(world, "alone", "-w ' %{http_code}'", **fields).endswith(" 200")
    assert len(world.asked) == asked + 1, "nothing was kept of the first"


def test_an_answer_is_of_nothing_that_one_session_says_of_itself(world):
    assert fetch(world, "poison", "-H 'X-Forwarded-Host: evil.test'", **{"Cache-Control": "max-age=60"}) == "1 None"
    assert fetch(world, "poison", **{"Cache-Control": "max-age=60"}) == "1 None"


def test_what_is_stale_is_asked_about(world):
    fields = {"Cache-Control": "max-age=0", "ETag": '"one"'}
    assert fetch(world, "stale", **fields) == fetch(world, "stale", **fields)
    assert world.asked == ["fetched", "unchanged"]
    fetch(world, "wanted", **{"Cache-Control": "max-age=60", "ETag": '"one"'})
    fetch(world, "wanted", "-H 'Cache-Control: max-age=0'", **{"Cache-Control": "max-age=60", "ETag": '"one"'})
    assert world.asked[2:] == ["fetched", "unchanged"]


def test_what_did_not_come_whole_is_not_kept(world):
    session = world.call("create_session")["session_id"]
    run = world.run(f"curl -sS '{world.index}/with?short=1&Cache-Control=max-age%3D60'", "bash", session_id=session)
    assert run["status"] == "failed", run
    world.run(f"curl -sS '{world.index}/with?short=1&Cache-Control=max-age%3D60'", "bash", session_id=session)
    assert world.asked == ["fetched"] * 2


def test_there_is_not_more_of_it_than_the_operator_says(world):
    for number in range(8):
        fetch(world, f"large{number}", size=200_000, **{"Cache-Control": "max-age=60"})
    kept = Path(world.state) / "egress/downloads"
    assert 200_000 < sum(file.stat().st_size for file in kept.iterdir()) <= 1 << 20
    fetch(world, "large7", size=200_000, **{"Cache-Control": "max-age=60"})
    assert world.asked == ["fetched"] * 8, "those that came last are there"


def test_the_audit_says_what_was_kept(world):
    for _ in range(2):
        run = world.run(f"curl -sS '{world.index}/with?{urlencode({'name': 'audit', 'Cache-Control': 'max-age=60'})}'", "bash")
    said = subprocess.run([hutch_binary(), "--state-dir", world.state, "audit", "--json"], capture_output=True, text=True, check=True).stdout
    last = [row for row in map(json.loads, said.splitlines()) if row["session_id"] == run["session_id"] and row.get("path") == "/with"]
    assert [line.get("from_cache", False) for line in last] == [False, True]
    assert last[1]["status"] == 200 and last[1]["received_bytes"] > 0 and last[1]["sent_bytes"] == 0


def test_no_box_sees_where_it_lies(world):
    run = world.run(f"ls {world.state}/egress; mount | grep -c egress", "bash")
    assert run["stdout"] == "0\n" and "No such file" in run["stderr"], run


@pytest.mark.slow
def test_a_host_that_is_gone(world):
    fields = {"base": world.other, "Cache-Control": "max-age=0"}
    kept = fetch(world, "gone", **fields)
    fetch(world, "strict", base=world.other, **{"Cache-Control": "max-age=0, must-revalidate"})
    world.goes()
    assert fetch(world, "gone", **fields) == kept
    assert "Connection refused" in fetch(world, "strict", base=world.other, **{"Cache-Control": "max-age=0, must-revalidate"})
