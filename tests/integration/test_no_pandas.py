"""A host without numpy, pandas and matplotlib: plain code, SQL over files, and clear words about the rest."""

import glob
import os

import pytest

from changed_host import changed_hutch, why_not
from conftest import end_boxes, needs
from hutch_client import Client

PACKAGES = ("numpy", "pandas", "matplotlib")


@pytest.fixture
def server(state, tmp_path):
    said = why_not()
    needs(not said, f"a mount namespace of our own ({said.strip()})")
    (tmp_path / "empty").mkdir()
    places = [place for place in ("/usr/lib/python3/dist-packages", *glob.glob("/usr/lib/python3.*/dist-packages"),
                                  *glob.glob("/usr/local/lib/python3.*/dist-packages")) if os.path.isdir(place)]
    binary = changed_hutch(tmp_path, *(f"mount --bind {tmp_path}/empty {place}" for place in places))
    with Client(state, binary=binary) as client:
        yield client
    end_boxes(state)


def test_what_needs_none_of_them_works(server):
    server.call("write_file", path="weather.csv", content="day,rain\n1,3.5\n2,0.5\n")
    run = server.run("import csv\nrows = list(csv.DictReader(open('weather.csv')))\nsum(float(r['rain']) for r in rows)")
    assert run["status"] == "completed" and run["outputs"][0]["text"] == "4.0", run
    for table in ("'weather.csv'", '"weather.csv"'):
        run = server.run(f"SELECT sum(rain) AS total FROM {table}", "sql")
        assert run["status"] == "completed" and "4.0" in run["outputs"][0]["text"], run
    assert server.value("1 + 1", language="javascript") == "2"


@pytest.mark.parametrize("code", ["import json.nothing", "raise ModuleNotFoundError('mine')",
                                  "raise ModuleNotFoundError('mine', name=7)", "raise ValueError('pandas')"])
def test_other_failures_get_no_advice(server, code):
    run = server.run(code)
    assert run["status"] == "failed" and "environments" not in run["stderr"], run


@pytest.mark.parametrize("package", PACKAGES)
def test_what_needs_one_of_them_says_how_to_get_it(server, package):
    run = server.run(f"import {package}", restart=True)  # an interpreter says it once
    assert run["status"] == "failed" and run["error"]["name"] == "ModuleNotFoundError", run
    assert f"(this Python has no {package}: on the machine that runs hutch `hutch environments build`" in run["stderr"]
    assert "traceback" not in run["error"], "once is enough"
    assert server.run("2 + 2")["outputs"][0]["text"] == "4", "the interpreter goes on"


def test_without_node_nobody_is_told_of_javascript(state, tmp_path):
    said = why_not()
    needs(not said, f"a mount namespace of our own ({said.strip()})")
    (tmp_path / "none").touch(0o644)
    binary = changed_hutch(tmp_path, f"mount --bind {tmp_path}/none /usr/bin/node")
    with Client(state, binary=binary) as client:
        tool = next(tool for tool in client.request("tools/list")["tools"] if tool["name"] == "run_code")
        assert tool["inputSchema"]["properties"]["language"]["enum"] == ["python", "sql", "bash"]
        assert "runs Python, SQL or bash;" in client.initialized["instructions"]
        assert client.run("SELECT 6 * 7", "sql")["status"] == "completed"
    end_boxes(state)
