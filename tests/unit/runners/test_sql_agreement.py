"""The two tables of sandbox/runners/SQL.md: where both engines give the same answer, and where not."""

import json
import re

import pytest

from runner_client import RUNNERS

PAGE = (RUNNERS / "SQL.md").read_text()
SETUP = re.search(r"```python\n(.*?)```", PAGE, re.DOTALL)[1]
SAME, NOT_SAME = ([[cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
                   for line in part.splitlines() if re.match(r"\| `", line)]
                  for part in PAGE.split("## The same")[1].split("## Not the same"))


@pytest.fixture(scope="module", params=["SQLite", "DuckDB"])
def engine(request):
    return request.param


@pytest.fixture(scope="module")
def ask(engine, engine_start):
    python, sql = (engine_start(language, extras=engine == "DuckDB") for language in ("python", "sql"))
    assert sql.ready["version"].startswith(engine)
    assert python.run(SETUP).ok

    def answer(question):
        ending = sql.run(code_of(question))
        tables = [output["json"]["rows"] for output in ending.outputs if "json" in output]
        return tables[-1] if ending.ok and tables else "error" if not ending.ok else None
    return answer


def code_of(cell):
    return cell[1:-1] if cell.startswith("`") else cell


def expected_of(cell):
    return cell if cell == "error" else json.loads(code_of(cell))


@pytest.mark.parametrize("question, answer", SAME, ids=[question for question, _ in SAME])
def test_the_same(ask, question, answer):
    assert ask(question) == expected_of(answer)


@pytest.mark.parametrize("question, sqlite, duckdb", [row[:3] for row in NOT_SAME], ids=[row[0] for row in NOT_SAME])
def test_not_the_same(ask, engine, question, sqlite, duckdb):
    assert ask(question) == expected_of(sqlite if engine == "SQLite" else duckdb)


def test_the_page_has_them():
    assert len(SAME) > 30 and len(NOT_SAME) > 20
