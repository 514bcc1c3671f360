"""SQL with the DataFrames of Python, hutch.sql() in Python and JavaScript; on both engines."""

import re
import shutil
import time

import pytest

from runner_client import PROGRAMS, RUNNERS

FRAME = """import pandas as pd, datetime, decimal
df = pd.DataFrame({
    'f': [1.5, 2.0, None], 'n': pd.array([1, None, 3], dtype='Int64'), 'i': [1, 2, 3],
    'd': pd.to_datetime(['2020-01-01', None, '2020-01-03']), 's': ['x', None, 'é'], 'b': [True, False, True],
    'o': [1, 'x', [1, 2]], 'c': pd.Categorical(['u', 'v', 'u']), 'day': [datetime.date(2020, 1, 1)] * 3})
x = 5"""


@pytest.fixture(params=["SQLite", "DuckDB"], scope="module")
def engine(request):
    return request.param


@pytest.fixture
def begin(start, engine):
    return lambda language: start(language, extras=engine == "DuckDB" and language != "javascript")


@pytest.fixture
def sql(begin, engine):
    client = begin("sql")
    assert client.ready["version"].startswith(engine)
    return client


@pytest.fixture
def patient_sql(start, tmp_path):
    """SQLite that waits longer for a busy Python, where it does, than a query takes on any machine."""
    shutil.copytree(RUNNERS, tmp_path / "runners")
    frames = tmp_path / "runners/database/python_frames.py"
    text, changed = re.subn(r"IDLE_SECONDS = \d+", "IDLE_SECONDS = 45", frames.read_text())
    assert changed == 1
    frames.write_text(text)
    return start("sql", program=[PROGRAMS["sql"][0], str(tmp_path / "runners/sql/runner.py")])


@pytest.fixture
def python(begin):
    client = begin("python")
    assert client.run(FRAME).ok
    return client


@pytest.fixture(scope="module")
def pair(engine_start, engine):
    """Python, with the frames, and SQL, for tests that leave both as they are."""
    python, sql = (engine_start(language, extras=engine == "DuckDB") for language in ("python", "sql"))
    assert sql.ready["version"].startswith(engine)
    assert python.run(FRAME).ok
    return python, sql


def rows(ending):
    assert ending.ok, ending
    return ending.main["json"]["rows"]


def test_sql_sees_data_frames(pair, engine):
    _, sql = pair
    assert rows(sql.run("SELECT f, n, i, s, o, c FROM df ORDER BY i")) == [
        [1.5, 1, 1, "x", "1", "u"] if engine == "DuckDB" else [1.5, 1, 1, "x", 1, "u"],
        [2.0, None, 2, None, "x", "v"], [None, 3, 3, "é", "[1, 2]", "u"]]
    names = [c["name"] for c in sql.run("SELECT * FROM df").main["json"]["columns"]]
    assert names == ["f", "n", "i", "d", "s", "b", "o", "c", "day"]


def test_dates(pair, engine):
    python, sql = pair
    dates = [row[0] for row in rows(sql.run("SELECT d FROM df ORDER BY i"))]
    assert [d and d[:10] for d in dates] == ["2020-01-01", None, "2020-01-03"]
    year = "strftime('%Y', d)" if engine == "SQLite" else "year(d)::TEXT"
    assert rows(sql.run(f"SELECT {year} FROM df WHERE i = 3")) == [["2020"]]
    assert python.run("str(hutch.sql('SELECT d FROM df').dtypes['d'])[:10]").text == "'datetime64'"


def test_a_frame_is_seen_as_it_is_now(python, sql):
    assert rows(sql.run("SELECT count(*) FROM df")) == [[3]]
    python.run("df = df.head(1)")
    assert rows(sql.run("SELECT count(*) FROM df")) == [[1]]
    python.run("del df")
    assert not sql.run("SELECT count(*) FROM df").ok


@pytest.mark.parametrize("change", ["INSERT INTO df (i) VALUES (1)", "UPDATE df SET i = 2", "DELETE FROM df", "ALTER TABLE df ADD COLUMN more INT"])
def test_a_frame_that_is_to_be_changed_gets_a_hint(pair, engine, change):
    _, sql = pair
    message = sql.run(change).error["message"]
    if engine == "DuckDB" or not change.startswith("ALTER"):  # SQLite says something else of these
        assert "it is Python's DataFrame, which SQL can only read: CREATE TABLE t AS SELECT * FROM df makes" in message
    assert sql.run("CREATE VIEW v AS SELECT 1 a").ok
    assert "DataFrame" not in sql.run("DELETE FROM v").error["message"]
    assert sql.run("DROP VIEW v").ok


def test_a_view_over_a_frame_gets_a_hint(pair, engine):
    _, sql = pair
    sql.run("CREATE VIEW over_frame AS SELECT i FROM df")
    if engine == "SQLite":  # DuckDB makes no such view, or reads it
        message = sql.run("SELECT * FROM over_frame").error["message"]
        assert "see no DataFrames: CREATE TABLE t AS SELECT * FROM df makes a table" in message
        assert rows(sql.run("PRAGMA table_info(df)"))[0][1] == "f"


def test_a_table_goes_before_a_frame(python, sql):
    assert sql.run("CREATE TABLE df (a INT); INSERT INTO df VALUES (7)").ok
    assert rows(sql.run("SELECT * FROM df")) == [[7]]
    assert python.run("hutch.sql('SELECT * FROM df').a.tolist()").text == "[7]"


def test_tables_from_frames_stay(python, sql):
    assert sql.run("CREATE TABLE kept AS SELECT i FROM df").ok
    python.run("del df")
    assert rows(sql.run("SELECT sum(i) FROM kept")) == [[6]]
    assert python.run("hutch.sql('SELECT sum(i) s FROM kept').s.tolist()[0] == 6").text == "True"


@pytest.mark.parametrize("make, query, expected", [
    ("t = pd.Series([1, 2], name='v')", "SELECT v FROM t", [[1], [2]]),
    ("t = df.groupby('c').agg({'i': ['sum', 'max']})", "SELECT * FROM t ORDER BY 1", [["u", 4, 3], ["v", 2, 2]]),
    ("t = pd.DataFrame([[1, 2]], columns=['A', 'a'])", "SELECT * FROM t", [[1, 2]]),
    ("t = pd.DataFrame({'a': []})", "SELECT count(*) FROM t", [[0]]),
    ("t = pd.DataFrame({0: [1], 'x y': [2]})", 'SELECT "0", "x y" FROM t', [[1, 2]]),
    ("t = pd.DataFrame({'a': [2**62]})", "SELECT a = 4611686018427387904 FROM t", [[True]]),
    ("t = df.set_index('i')", "SELECT i FROM t WHERE s = 'é'", [[3]]),
])
def test_kinds_of_frames(pair, make, query, expected):
    python, sql = pair
    assert python.run(make).ok
    assert rows(sql.run(query)) == expected


def test_large_frames(pair):
    python, sql = pair
    assert python.run("import numpy as np\nbig = pd.DataFrame({'i': np.arange(200_000), 'f': 0.5})").ok
    assert rows(sql.run("SELECT count(*), max(i), sum(f) FROM big")) == [[200_000, 199_999, 100_000]]
    assert python.run("len(hutch.sql('SELECT * FROM big WHERE i >= 10'))").text == "199990"


def test_errors_say_what_python_has(pair):
    python, sql = pair
    message = sql.run("SELECT * FROM dff").error["message"]
    assert "dff" in message and "; and no DataFrame of that name in Python; those there are: " in message and re.search(r"there are: (?:.*, )?df\b", message)
    assert "DataFrame" not in sql.run("SELECT * FROM read_it('df.csv')").error["message"]
    assert "of type int" in sql.run("SELECT * FROM x").error["message"]
    assert not sql.run("INSERT INTO df (i) VALUES (1)").ok
    python.run("e = pd.DataFrame()")
    assert "DataFrame e cannot be a table" in sql.run("SELECT * FROM e").error["message"]


def test_a_name_that_differs_by_case_is_named(begin, sql):
    python = begin("python")
    assert python.run("import pandas as pd\n" + "\n".join(f"other{i} = pd.DataFrame({{'a': [1]}})" for i in range(30)) + "\nUmsatz = pd.DataFrame({'a': [1]})\nCount = 3").ok
    assert "; Python's DataFrame is called Umsatz: FROM Umsatz" in sql.run("SELECT * FROM umsatz").stderr
    assert "; Python's DataFrame is called Umsatz: FROM Umsatz" in python.run("hutch.sql('SELECT * FROM UMSATZ')").stderr
    assert "is called" not in python.run("hutch.sql('SELECT * FROM count')").stderr + sql.run("SELECT * FROM count").stderr
    assert sql.run("SELECT * FROM Umsatz").ok


def test_python_has_not_run(sql):
    assert "Python has not run" in sql.run("SELECT * FROM df").error["message"]


@pytest.mark.parametrize("engine", ["SQLite"], indirect=True, scope="module")  # DuckDB has an error for it
def test_columns_of_nothing_while_python_is_busy(python, patient_sql):
    python.start("import time\nprint('on')\ntime.sleep(600)")
    python.wait_for_stdout("on")
    began = time.monotonic()
    ending = patient_sql.run("PRAGMA table_info(nowhere)")
    python.interrupt()
    assert python.finish().done["interrupted"]
    assert rows(ending) == [] and time.monotonic() - began < 30


@pytest.mark.parametrize("engine", ["DuckDB"], indirect=True, scope="module")  # SQLite asks the same way
def test_python_is_busy(python, sql):
    python.start("import time\nprint('on')\nwhile True: time.sleep(0.05)")
    python.wait_for_stdout("on")
    assert "Python is busy with run_2" in sql.run("SELECT * FROM df").error["message"]
    python.interrupt()
    assert not python.finish().ok
    assert rows(sql.run("SELECT count(*) FROM df")) == [[3]]


def test_waiting_for_python_is_interrupted(python, sql):
    python.start("print('on')\nwhile True: pass")
    python.wait_for_stdout("on")
    sql.start("SELECT * FROM df")
    sql.wait_until_idle()
    sql.interrupt()
    assert sql.finish().done["interrupted"]
    python.interrupt()
    python.finish()


def test_python_that_was_killed(python, sql):
    python.process.kill()
    python.process.wait()
    assert "no such table" in sql.run("SELECT * FROM df").error["message"].lower() \
        or "does not exist" in sql.run("SELECT * FROM df").error["message"]


@pytest.mark.parametrize("hostile", [
    "import time\nclass F(pd.DataFrame):\n    def reset_index(self, *a, **k): raise RuntimeError('no')\nh = F({'a': [1]})",
    "import os\nclass F(pd.DataFrame):\n    def reset_index(self, *a, **k): os._exit(3)\nh = F({'a': [1]})",
])
def test_hostile_frames_fail_and_python_lives(python, sql, hostile):
    assert python.run(hostile).ok
    assert not sql.run("SELECT * FROM h").ok
    assert python.run("x").text == "5"
    assert rows(sql.run("SELECT count(*) FROM df")) == [[3]]


def test_python_answers_a_run_while_a_frame_is_written(python, sql):
    python.run("import time\nclass F(pd.DataFrame):\n    def reset_index(self, *a, **k):\n"
               "        time.sleep(600)\nslow = F({'a': [1]})")
    sql.start("SELECT * FROM slow")
    sql.wait_until_idle()
    assert python.run("x + 1").text == "6"
    sql.interrupt()
    assert sql.finish().done["interrupted"]


def test_hutch_sql_in_python(pair):
    python, sql = pair
    sql.run("CREATE TABLE made (a INT, b TEXT); INSERT INTO made VALUES (1, 'x'), (NULL, 'y')")
    assert python.run("r = hutch.sql('SELECT * FROM made ORDER BY b'); (type(r).__name__, list(r.columns), r.b.tolist())"
                      ).text == "('DataFrame', ['a', 'b'], ['x', 'y'])"
    assert python.run("hutch.sql('SELECT ? + 1 AS v', [41]).v.tolist()").text == "[42]"
    assert python.run("import hutch as h\nh.sql('INSERT INTO made VALUES (3, NULL)') is None").text == "True"
    assert rows(sql.run("SELECT sum(a) FROM made")) == [[4]]


@pytest.mark.parametrize("value, condition", [
    ("np.int64(2)", "i = 2"), ("np.bool_(True)", "b = true"), ("np.float32(1.5)", "f = 1.5"), ("np.str_('x')", "s = 'x'"),
    ("np.longdouble(2)", "f = 2"), ("np.array(3)", "i = 3"), ("df.i.max()", "i = 3"), ("pd.NA", "s = NULL"),
    ("pd.NaT", "d = NULL"), ("np.datetime64('NaT')", "d = NULL"),
])
def test_parameters_of_numpy_and_pandas(pair, value, condition):
    python, _ = pair
    python.run("import numpy as np\ndef found(*query): return hutch.sql(*query).i.tolist()")
    for mark, parameters in (("?", f"[{value}]"), ("$v", f"{{'v': {value}}}")):
        query = "SELECT i FROM df WHERE %s ORDER BY i"
        asked = query % f"{condition.split()[0]} = {mark}"
        assert python.run(f"found({asked!r}, {parameters}) == found({query % condition!r})").text == "True"
    assert python.run(f"found('SELECT ? IS NULL AS i', [{value}]) == [{'NULL' in condition}]").text == "True"


MOMENTS = """import numpy as np, datetime
days = pd.DataFrame({'i': [1, 2, 3], 'd': pd.to_datetime(['2020-01-01', '2020-01-02', '2020-01-03']),
                     'day': [datetime.date(2020, 1, day) for day in (1, 2, 3)]})
times = pd.DataFrame({'i': [1, 2, 3], 'd': days.d + pd.Timedelta('90min'), 'zone': days.d.dt.tz_localize('UTC')})
def found(condition, value, table='days'):
    return hutch.sql(f'SELECT i FROM {table} WHERE {condition} ORDER BY i', (value,)).i.tolist()"""


def test_dates_as_parameters(pair):
    python, _ = pair
    assert python.run(MOMENTS).ok
    for value in ("datetime.date(2020, 1, 2)", "datetime.datetime(2020, 1, 2)", "pd.Timestamp('2020-01-02')",
                  "np.datetime64('2020-01-02')", "days.d[1]", "days.d.to_numpy()[1]"):
        for column in ("d", "day"):
            code = f"[found(f'{column} {{sign}} ?', {value}) for sign in ('=', '>=', '<')]"
            assert python.run(code).text == "[[2], [2, 3], [1]]", (value, column)
        assert python.run(f"found('d < ?', {value}, 'times'), found('d > ?', {value}, 'times')").text == "([1], [2, 3])"
    for value in ("datetime.datetime(2020, 1, 2, 1, 30)", "times.d[1]", "np.datetime64('2020-01-02T01:30')"):
        assert python.run(f"found('d = ?', {value}, 'times'), found('d > ?', {value})").text == "([2], [3])"
    assert python.run("found('zone = ?', times.zone[1], 'times')").text == "[2]"


def test_durations_as_parameters(pair, engine):
    python, _ = pair
    expected = "2.5" if engine == "SQLite" else "Timedelta('0 days 00:00:02.500000')"
    for value in ("pd.Timedelta('2.5s')", "datetime.timedelta(seconds=2.5)", "pd.Timedelta('2.5s').to_timedelta64()"):
        assert python.run(f"import datetime\nhutch.sql('SELECT ? AS v', [{value}]).v[0]").text == expected
    python.run("t = pd.DataFrame({'v': pd.Series([pd.Timedelta('2.5s'), pd.NaT, 'x'], dtype=object)})")
    if engine == "SQLite":
        assert python.run("hutch.sql('SELECT * FROM t').v.tolist()").text == "[2.5, None, 'x']"


def test_parameters_without_a_form_in_sqlite_are_refused(pair, engine):
    python, _ = pair
    if engine == "SQLite":
        assert "not supported" in python.run("hutch.sql('SELECT i FROM df WHERE i IN (?)', [[1, 2]])").error["message"]


def test_hutch_sql_sees_the_callers_variables(pair):
    python, _ = pair
    assert python.run("def g():\n    inner_ = pd.DataFrame({'q': [7]})\n"
                      "    return hutch.sql('SELECT q, s FROM inner_, df WHERE i = 1').q.tolist()\ng()").text == "[7]"


def test_hutch_sql_reads_files(pair, engine):
    python, _ = pair
    (python.cwd / "d.csv").write_text("a,b\n1,x\n2,y\n")
    name = '"d.csv"' if engine == "SQLite" else "'d.csv'"
    assert python.run(f"hutch.sql('''SELECT sum(a) AS s FROM {name} ''').s.tolist()[0] == 3").text == "True"


def test_a_file_is_that_of_the_working_directory(python, engine):
    for folder, value in (("one", 1), ("other", 2)):
        (python.cwd / folder).mkdir()
        (python.cwd / folder / "d.csv").write_text(f"a\n{value}\n")
    python.run("import os\nread = lambda: hutch.sql('SELECT a FROM \"d.csv\"').a.tolist()\nhome = os.getcwd()")
    assert python.run("os.chdir('one'); read()").text == python.run("read()").text == "[1]"
    assert python.run("os.chdir('../other'); read()").text == "[2]"
    assert "d.csv" in python.run("os.chdir(home); read()").error["message"]
    assert python.run("os.chdir('one'); read()").text == "[1]"
    assert not python.run("import shutil; shutil.rmtree(os.getcwd()); read()").ok
    assert python.run("os.chdir(home + '/other'); read()").text == "[2]"


def test_hutch_sql_errors_are_the_users(pair):
    python, _ = pair
    ending = python.run("a = 1\nhutch.sql('SELECT nope FROM df')")
    assert ending.error["name"] == "hutch.SQLError" and re.search(r"cell \d+, line 2", ending.stderr)
    assert "nope" in ending.error["message"] and "^" in ending.stderr
    assert "runners/" not in ending.stderr
    assert "no DataFrame, but of type int" in python.run("hutch.sql('SELECT * FROM x')").error["message"]
    assert python.run("try:\n    hutch.sql('SELEC 1')\nexcept hutch.SQLError as e: print('caught')").stdout == "caught\n"
    assert python.run("hutch.sql(5)").error["name"] == "TypeError"


def test_hutch_sql_is_interrupted(pair):
    python, _ = pair
    python.run("hutch.sql('SELECT 1')")  # the engine is there: what is interrupted is a query
    python.start("hutch.sql('WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n')")
    python.wait_until_busy()
    python.interrupt()
    ending = python.finish()
    assert ending.done["interrupted"], ending
    assert python.run("hutch.sql('SELECT 1 AS a').a.tolist()").text == "[1]"


def test_a_module_of_the_users_own_named_hutch(python):
    (python.cwd / "hutch.py").write_text("mine = 1")
    assert python.run("import hutch\nhutch.mine").text == "1"


@pytest.mark.parametrize("engine", ["SQLite"], indirect=True, scope="module")  # DuckDB's: integration/test_environments.py
def test_hutch_sql_in_javascript(start, python):
    javascript, sql = start("javascript"), start("sql")
    sql.run("CREATE TABLE t (a, b, c, d); INSERT INTO t VALUES (1, 9223372036854775807, x'00ff', NULL)")
    assert javascript.run("const [r] = await hutch.sql('SELECT * FROM t'); r").text == \
        "{ a: 1, b: 9223372036854775807n, c: <Buffer 00 ff>, d: null }"
    assert javascript.run("(await hutch.sql('SELECT i FROM df WHERE s = ?', ['é']))").text == "[ { i: 3 } ]"
    assert javascript.run("(await hutch.sql('SELECT :a + 1 AS b', {a: 2n ** 60n}))[0].b").text == "1152921504606846977n"
    assert javascript.run("(await hutch.sql('SELECT 1 a, \\'x\\' b')).columns").main["json"] == \
        [{"name": "a", "type": "INTEGER"}, {"name": "b", "type": "TEXT"}]
    ending = javascript.run("const a = 1;\nawait hutch.sql('SELECT nope')")
    assert ending.error["name"] == "SQLError" and "cell-5:2:" in ending.stderr
    assert javascript.run("(await hutch.sql('WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n "
                          "WHERE i < 100000) SELECT * FROM n')).length").text == "100000"


TIMES = "times = pd.DataFrame({'t': pd.to_datetime(['2024-03-05 10:20', '2024-03-06 00:00']), 'day': pd.to_datetime(['2024-03-05', '2024-03-06'])})"
DATES = [("2024-03-05T10:20:00Z", "2024-03-05 10:20:00", [1, 2, 0, 1]), ("2024-03-05T10:20:00.120Z", "2024-03-05 10:20:00.12", [0, 1, 0, 1]),
         ("2024-03-05T12:20:00+02:00", "2024-03-05 10:20:00", [1, 2, 0, 1]), ("2024-03-05", "2024-03-05", [0, 2, 1, 2])]
COUNTS = "SELECT sum(t = $d), sum(t >= $d), sum(day = $d), sum(day >= $d) FROM times"


@pytest.mark.parametrize("date, text, counts", DATES)
def test_dates_go_from_javascript_as_columns_have_them(start, date, text, counts):
    javascript, python = start("javascript"), start("python")
    assert python.run(f"import pandas as pd\n{TIMES}").ok
    assert javascript.run(f"const date = new Date('{date}'); (await hutch.sql('SELECT ? AS a', [date]))[0].a").text == f"'{text}'"
    code = f"Object.values((await hutch.sql('{COUNTS}', {{ d: date }}))[0]).join()"
    assert javascript.run(code).text == f"'{','.join(map(str, counts))}'"


@pytest.mark.parametrize("_date, text, counts", DATES)
def test_dates_of_javascript_are_dates_to_both_engines(pair, engine, _date, text, counts):
    python, sql = pair
    assert python.run(TIMES).ok
    code = COUNTS if engine == "SQLite" else COUNTS.replace("sum(", "count_if(")
    sql.send({"type": "run", "run_id": "run_1", "code": code, "env": {}, "language": "sql", "parameters": {"d": text}})
    assert rows(sql.finish()) == [counts]


@pytest.mark.slow
def test_an_open_transaction_holds_the_database(python, sql, engine):
    assert sql.run("CREATE TABLE t (a INT)").ok
    assert sql.run("BEGIN; INSERT INTO t VALUES (1)").ok
    code = "hutch.sql('INSERT INTO t VALUES (2)')"
    message = python.run(code).error["message"]  # after 10 seconds
    assert "locked" in message or engine == "DuckDB"
    assert "another language of this session" in message and "open transaction: COMMIT or ROLLBACK there" in message
    assert sql.run("COMMIT").ok
    assert python.run(code).ok
    assert rows(sql.run("SELECT a FROM t ORDER BY a")) == [[1], [2]]


def test_an_interrupted_transaction(sql):
    sql.run("CREATE TABLE t (a INT); BEGIN; INSERT INTO t VALUES (1)")
    sql.start("SELECT count(*) FROM (WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT * FROM n)")
    sql.wait_until_busy()
    sql.interrupt()
    assert sql.finish().done["interrupted"]
    sql.run("ROLLBACK")
    assert rows(sql.run("SELECT count(*) FROM t")) == [[0]]


def test_a_run_says_that_it_leaves_a_transaction_open(sql, engine):
    note = "a transaction is still open: COMMIT or ROLLBACK it; until then other languages " + (
        "see nothing of it, and cannot write" if engine == "SQLite" else "cannot use the session's database")
    assert sql.run("BEGIN; CREATE TABLE tx AS SELECT 1 AS a").done["note"] == note
    assert sql.run("SELECT * FROM tx").done["note"] == note
    assert "note" not in sql.run("COMMIT").done
    assert "note" not in sql.run("BEGIN; SELECT * FROM tx; COMMIT").done


def test_an_interrupted_wait_for_python_is_told(python, sql):
    python.run("import pandas as pd, time; waited = pd.DataFrame({'a': [1]})")
    python.start("end = time.monotonic() + 4\nwhile time.monotonic() < end: pass")
    python.wait_until_busy()
    sql.start("SELECT * FROM waited")
    time.sleep(0.5)
    sql.interrupt()
    done = sql.finish().done
    assert done["interrupted"] and done["note"].startswith("it waited for DataFrames: Python is busy with run_"), done
    python.finish()


@pytest.mark.parametrize("made", ["CREATE TEMP TABLE tt AS SELECT 1 AS a", "create temporary view \"TT\" as select 1 as a"])
def test_a_temporary_table_of_another_language_is_named_as_one(python, sql, made):
    assert sql.run(made).ok
    way = "a temporary table of that name belongs to the language that made it"
    assert way in python.run("hutch.sql('SELECT * FROM tt')").error["message"]
    assert way not in python.run("hutch.sql('SELECT * FROM other')").error["message"]
    assert rows(sql.run("SELECT a FROM tt")) == [[1]] and rows(sql.run("DROP " + made.split()[2] + " tt; SELECT 1")) == [[1]]


def test_a_list_says_how_it_becomes_a_dataframe(python, sql):
    python.run("import pandas as pd\nlst = [{'a': 1}]\nnumber = 5")
    way = "of type list: lst = pd.DataFrame(lst) makes it one"
    assert way in sql.run("SELECT * FROM lst").error["message"] and way in python.run("hutch.sql('SELECT * FROM lst')").error["message"]
    assert "makes it one" not in sql.run("SELECT * FROM number").error["message"]
    assert python.run("lst = pd.DataFrame(lst)").ok and rows(sql.run("SELECT * FROM lst")) == [[1]]


@pytest.mark.parametrize("mistake, said", [
    ("SELECT * FROM missing", "missing"), ("SELECT nothing FROM t", "nothing"), ("INSERT INTO missing VALUES (1)", "missing")])
def test_a_mistake_within_a_transaction_is_told_as_itself(sql, engine, mistake, said):
    assert sql.run("CREATE TABLE t (a INT); BEGIN; INSERT INTO t VALUES (1)").ok
    failed = sql.run(mistake)
    assert said in failed.error["message"] and "aborted" not in failed.error["message"]
    if engine == "SQLite":
        assert failed.done["note"].startswith("a transaction is still open: COMMIT or ROLLBACK it")
        assert rows(sql.run("SELECT count(*) FROM t")) == [[1]]
    else:
        assert failed.done["note"] == "the open transaction is aborted by that: ROLLBACK it, and begin again"
        assert "an earlier statement of it failed" in sql.run("SELECT count(*) FROM t").error["message"]
    assert "note" not in sql.run("ROLLBACK").done
    assert rows(sql.run("SELECT count(*) FROM t")) == [[0]]


def test_an_aborted_transaction_commits_nothing_and_says_so(sql, engine):
    sql.run("CREATE TABLE t (a INT); BEGIN; INSERT INTO t VALUES (1)")
    assert not sql.run("SELECT * FROM missing").ok
    ended = sql.run("COMMIT")
    if engine == "SQLite":
        assert ended.ok and rows(sql.run("SELECT count(*) FROM t")) == [[1]]
    else:
        assert "nothing is committed" in ended.error["message"] and "was rolled back" in ended.done["note"]
        assert rows(sql.run("SELECT count(*) FROM t")) == [[0]]
        late = sql.run("BEGIN; SELECT CASE WHEN i = 499999 THEN CAST('x' AS INT) ELSE i END FROM range(500000) r(i)")
        assert not late.ok and "aborted by that" in late.done["note"], late
        assert "note" not in sql.run("ROLLBACK").done
