"""Tests what an answer says of SQL beside the other languages of its session."""

import pytest

import environments
from boxes import until
from conftest import needs
from hutch_client import Client


@pytest.fixture(scope="module")
def pair(module_state):
    """A session with DuckDB, and with a DataFrame in Python."""
    needs(environments.python().exists(), environments.MISSING)
    with Client(module_state, env={"HUTCH_ENVIRONMENTS_DIR": str(environments.directory())}) as client:
        client.run("SELECT 1", "sql")  # its start is not to take from the time of a run
        assert client.run("import pandas as pd\nframe = pd.DataFrame({'a': [1, 2]})")["status"] == "completed"
        yield client


def test_a_run_whose_time_ends_while_python_is_busy_says_so(pair):
    request = pair.start("tools/call", {"name": "run_code", "arguments": {"code": "import time\nend = time.monotonic() + 60\nwhile time.monotonic() < end: pass"}})
    until(lambda: pair.call("get_run")["runs"][0]["status"] == "running", what="its start")
    busy = pair.call("get_run")["runs"][0]["run_id"]
    run = pair.run("SELECT sum(a) FROM frame", "sql", timeout_seconds=2)
    pair.call("cancel_run", run_id=busy)
    pair.reply(request)
    assert run["status"] == "timed_out" and "it waited for DataFrames: Python is busy with " + busy in run.get("note", ""), run


def test_an_open_transaction_is_told_of(pair):
    run = pair.run("BEGIN; CREATE TABLE tx AS SELECT 1 AS a", "sql")
    assert "a transaction is still open: COMMIT or ROLLBACK it; until then other languages " in run["note"], run
    assert "note" not in pair.run("ROLLBACK", "sql")


def test_months_are_months_in_all_languages(pair):
    made = pair.run("SELECT INTERVAL '14 months' AS a, 'x' AS b", "sql")
    assert made["outputs"][0]["json"]["rows"] == [["1 year 2 months", "x"]]
    assert "1 year 2 months" in pair.value("(await hutch.sql(\"SELECT INTERVAL '14 months' AS a\"))[0].a", language="javascript")
    assert "1 year 2 months" in pair.value("hutch.sql(\"SELECT INTERVAL '14 months' AS a\").a[0]")
