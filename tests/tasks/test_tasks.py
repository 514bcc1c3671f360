"""Tries what people bring first: each task in a fresh session of code_interpreter, through MCP, its result checked."""

import importlib
import inspect
import pathlib
import sys
import textwrap

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))

import environments  # noqa: E402
from conftest import needs  # noqa: E402
from hutch_client import Client  # noqa: E402


def tasks():
    for file in sorted(HERE.glob("*.py")):
        if file.name.startswith(("test_", "conftest")):
            continue
        spec = importlib.util.spec_from_file_location(f"task_{file.stem}", file)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        for name, function in inspect.getmembers(module, inspect.isfunction):
            yield pytest.param(function, id=f"{file.stem}-{name}")


class Computer:
    """A session, as a task sees it. Whatever does not complete fails the task."""

    def __init__(self, client):
        self._client = client
        self._session = client.call("create_session")["session_id"]

    def _run(self, code, language, **options):
        result = self._client.result("run_code", code=textwrap.dedent(code), language=language, session_id=self._session,
                                     timeout_seconds=120, **options)
        run = result["structuredContent"]
        while run["status"] == "running" and not options.get("background"):
            run = self._client.call("get_run", run_id=run["run_id"], wait_seconds=50)
        assert run["status"] in ("completed", "queued" if options.get("background") else "", "running" if options.get("background") else ""), run
        return run, sum(block["type"] == "image" for block in result["content"])

    def python(self, code):
        return self._run(code, "python")[0]["stdout"].strip()

    def bash(self, code):
        return self._run(code, "bash")[0]["stdout"].strip("\n")

    def javascript(self, code):
        return self._run(code, "javascript")[0]["stdout"].strip()

    def typescript(self, code):
        return self._run(code, "typescript")[0]["stdout"].strip()

    def sql(self, code):
        outputs = self._run(code, "sql")[0]["outputs"]
        return outputs[-1].get("json", {}).get("rows")

    def result(self, code):
        return next(output for output in self._run(code, "python")[0]["outputs"] if output.get("is_main_result"))

    def output(self, code):
        return next(output for output in self._run(code, "python")[0]["outputs"] if "chart" in output)

    def images(self, code):
        return self._run(code, "python")[1]

    def background(self, code):
        self._run(code, "bash", background=True)

    def write(self, path, content):
        self._client.call("write_file", path=path, content=content, session_id=self._session)

    def edit(self, path, old, new):
        self._client.call("edit_file", path=path, old_text=old, new_text=new, session_id=self._session)

    def end(self):
        self._client.call("delete_session", session_id=self._session)


@pytest.fixture(scope="module")
def client(module_state):
    needs(environments.python().exists(), environments.MISSING)
    with Client(module_state, env={"HUTCH_ZYGOTE": "1", "HUTCH_ENVIRONMENTS_DIR": str(environments.directory())}) as started:
        yield started


@pytest.mark.parametrize("task", tasks())
def test_task(client, task):
    computer = Computer(client)
    task(computer)
    computer.end()
