"""Questions about DataFrames alone, which a copy of Python answers: as the session's database would, and as they are now."""

import os
import subprocess
import time

import pytest

from runner_client import RUNNERS


@pytest.fixture(scope="module", params=[0])
def engine(request):
    return "DuckDB"


@pytest.fixture(scope="module")
def both(engine_start):
    python, sql = engine_start("python", extras=True), engine_start("sql", extras=True)
    assert python.run("import datetime, decimal, os, uuid, pandas as pd\ndf = pd.DataFrame({'a': [1, 2, 3], 'b': list('xyz')})").ok
    return python, sql


def rows(sql, query):
    ending = sql.run(query)
    assert ending.ok, ending.stderr
    return [output["json"]["rows"] for output in ending.outputs if "json" in output][-1]


def copies_of(python):
    """Processes with the interpreter's command and working directory, beside itself."""
    command = f"/proc/{python.process.pid}/cmdline"
    told = open(command, "rb").read()
    found = []
    for number in filter(str.isdecimal, os.listdir("/proc")):
        try:
            if int(number) != python.process.pid and open(f"/proc/{number}/cmdline", "rb").read() == told \
                    and os.readlink(f"/proc/{number}/cwd") == str(python.cwd):
                found.append(int(number))
        except OSError:
            pass
    return found


def wait_for_copies(python, count):
    deadline = time.monotonic() + 60
    while len(copies_of(python)) != count:
        assert time.monotonic() < deadline, copies_of(python)
        time.sleep(0.02)


def test_a_copy_stays_until_python_runs(both):
    python, sql = both
    assert rows(sql, "SELECT sum(a) FROM df") == [[6]]
    first = copies_of(python)
    assert len(first) == 1
    assert rows(sql, "SELECT max(b) FROM df") == [["z"]] and copies_of(python) == first
    assert python.run("df.loc[0, 'a'] = 100").ok
    wait_for_copies(python, 0)
    assert rows(sql, "SELECT sum(a) FROM df") == [[105]]
    assert python.run("df.loc[0, 'a'] = 1").ok


def test_values_and_types_are_those_of_the_other_way(both):
    python, sql = both
    assert python.run("kinds = pd.DataFrame({'i': [2 ** 60, 3], 'f': [0.1, None], 's': ['é', None], 't': pd.to_datetime(['2024-01-01 10:00', None]),"
                      "'d': [datetime.date(2024, 1, 2), None], 'm': [decimal.Decimal('1.50'), None], 'u': [uuid.UUID(int=7), None],"
                      "'l': [[1, 2], None], 'y': [b'ab', None], 'z': pd.to_datetime(['2024-01-01 10:00', None], utc=True)})").ok
    query = "SELECT *, sum(i) OVER () AS h, t - TIMESTAMP '2024-01-01' AS v, t::TIME AS o FROM kinds"
    ours = sql.run(query).main["json"]
    other = sql.run(f"BEGIN; {query}; COMMIT").outputs[0]["json"]  # in a transaction they come to the database
    assert ours["rows"] == other["rows"] and ours["columns"] == other["columns"]


@pytest.mark.parametrize("before, query, expected", [
    ("CREATE OR REPLACE TABLE t AS SELECT 2 AS a", "SELECT count(*) FROM df JOIN t USING (a)", [[1]]),
    ("CREATE OR REPLACE MACRO upper(x) AS 'mine'", "SELECT upper(b) FROM df LIMIT 1", [["mine"]]),
    ("DROP MACRO IF EXISTS upper", "SELECT upper(b) FROM df LIMIT 1", [["X"]]),
    ("SELECT 1", "SELECT count(*) FROM range(20000), df", [[60000]]),
    ("SELECT 1", "SELECT a FROM range(20000), df WHERE a = 2 OFFSET 19999", [[2]]),
    ("SELECT 1", "WITH df AS (SELECT 5 AS a) SELECT a FROM df", [[5]]),
])
def test_what_is_not_of_dataframes_alone(both, before, query, expected):
    _, sql = both
    assert sql.run(before).ok
    assert rows(sql, query) == expected


def test_settings_of_the_connection_hold(both):
    _, sql = both
    assert rows(sql, "SET default_null_order = 'nulls_first'; SELECT n FROM (SELECT a AS n FROM df UNION ALL SELECT NULL) ORDER BY n LIMIT 1") == [[None]]
    assert sql.run("RESET default_null_order").ok


def test_more_rows_than_a_copy_gives(start):
    python, sql = start("python", extras=True), start("sql", extras=True)
    python.run("import pandas as pd\nbig = pd.DataFrame({'a': range(25_000)})")
    assert sql.run("SELECT * FROM big").main["json"]["row_count"] == 25_000


def test_an_interrupted_question_ends_its_copy(start):
    python, sql = start("python", extras=True), start("sql", extras=True)
    assert python.run("import pandas as pd\ndf = pd.DataFrame({'a': range(100_000)})").ok
    assert rows(sql, "SELECT count(*) FROM df") == [[100_000]]
    sql.start("SELECT count(*) FROM df x, df y, df z WHERE x.a + y.a = z.a")
    sql.wait_until_idle()
    spilled = sql.home / "tmp" / f".hutch-duckdb-{copies_of(python)[0]}"
    spilled.mkdir()
    sql.interrupt()
    assert sql.finish().done["interrupted"]
    wait_for_copies(python, 0)
    assert not spilled.exists()
    assert rows(sql, "SELECT count(*) FROM df") == [[100_000]]


def test_python_runs_while_a_copy_is_busy(start):
    python, sql = start("python", extras=True), start("sql", extras=True)
    assert python.run("import pandas as pd\ndf = pd.DataFrame({'a': range(2_000)})").ok
    sql.start("SELECT sum(x.a % 7 * y.a % 11) > 0 FROM df x, df y, range(20)")
    wait_for_copies(python, 1)
    assert python.run("del df; 5").text == "5"
    assert sql.finish().main["json"]["rows"] == [[True]]
    assert not sql.run("SELECT * FROM df").ok


def test_a_copy_that_was_killed_is_made_anew(both):
    python, sql = both
    assert rows(sql, "SELECT sum(a) FROM df") == [[6]]
    for copy in copies_of(python):
        os.kill(copy, 9)
    assert rows(sql, "SELECT sum(a) FROM df") == [[6]]


def test_threads_of_python_make_no_copy_stay(start):
    python, sql = start("python", extras=True), start("sql", extras=True)
    assert python.run("import pandas as pd, threading\ndf = pd.DataFrame({'a': [1]})\nstop = threading.Event()\n"
                      "threading.Thread(target=stop.wait, daemon=True).start()").ok
    assert rows(sql, "SELECT a FROM df") == [[1]]
    wait_for_copies(python, 0)


def test_a_rare_object_of_a_long_column_keeps_its_value(both):
    python, sql = both
    assert python.run("long = pd.DataFrame({'d': [decimal.Decimal('1.5')] * 10_000, 'i': pd.Series([1] * 10_000, dtype=object)})\n"
                      "long.at[777, 'd'], long.at[777, 'i'] = decimal.Decimal('1.123456'), 1.5\n"
                      "text = pd.DataFrame({'s': pd.Series(['x'] * 5000 + [None], dtype=object)})").ok
    assert rows(sql, "SELECT CAST(sum(d) AS VARCHAR), sum(i) FROM long") == [["14999.623456", 10000.5]]
    assert rows(sql, "SELECT max(s), count(s) FROM text") == [["x", 5000]]
    assert "14999.623456" in python.run("import hutch\nhutch.sql('SELECT sum(d) AS s FROM long')").main["text"]


def test_names_that_differ_in_capitals_only(both):
    python, sql = both
    assert python.run("Df = pd.DataFrame({'a': [20]})").ok
    assert [rows(sql, f"SELECT sum(a) FROM {name}") for name in ("df", "Df", "df")] == [[[6]], [[20]], [[6]]]
    told = sql.run("SELECT * FROM df JOIN Df ON true")
    assert not told.ok and "the DataFrames Df and df have one name in SQL" in told.stderr
    assert python.run("del Df").ok


def test_moments_with_a_zone_are_answered_by_the_copy(start):
    python, sql = start("python", extras=True), start("sql", extras=True)
    assert python.run("import pandas as pd\nzoned = pd.DataFrame({'t': pd.to_datetime(['2024-05-01 12:00'], utc=True)})").ok
    first = rows(sql, "SELECT t FROM zoned")
    assert first[0][0].startswith("2024-05-01") and len(copies_of(python)) == 1
    assert rows(sql, "SELECT t FROM zoned") == first


def test_what_a_copy_has_spilled_goes_whatever_files_of_the_user_are_called(tmp_path):
    """Modules of these names are imported already, and are others."""
    code = ("import os, sys, types\n"
            "for name in ('shutil', 'tempfile', 'duckdb'): sys.modules[name] = types.ModuleType(name)\n"
            "runner = sys.modules['hutch_runner'] = types.ModuleType('hutch_runner'); runner.__path__ = sys.argv[1:]\n"
            "from hutch_runner import duckdb_start, frame_queries\n"
            "folder = duckdb_start.spill_directory(0); os.makedirs(os.path.join(folder, 'inner')); os.symlink('/', os.path.join(folder, 'link'))\n"
            "open(os.path.join(folder, 'inner', 'block'), 'w').close(); frame_queries._remove_spilled(0)\n"
            "print(os.path.dirname(folder), os.path.exists(folder))")
    done = subprocess.run(["/usr/bin/python3", "-c", code, str(RUNNERS / "interpreter"), str(RUNNERS / "database")],
                          env={"TMPDIR": str(tmp_path)}, capture_output=True, text=True)
    assert done.stdout == f"{tmp_path} False\n", done.stderr
