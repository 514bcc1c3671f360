"""Many sessions at once, each with many runs in all five languages: every answer is that session's own.

HUTCH_MIXED_SESSIONS (100, fewer where memory is short) and HUTCH_MIXED_RUNS (100) say how many: a minute on
two cores.
"""

import concurrent.futures
import os
import random
import time

import pytest

from boxes import everything_left
from database import check_database
from test_soak import available_mb, count, wait_until_as_before

SESSIONS = int(os.environ.get("HUTCH_MIXED_SESSIONS", "100"))
RUNS = int(os.environ.get("HUTCH_MIXED_RUNS", "100"))
# A session takes this with its three interpreters.
SESSION_MB = 100
SEED = int(os.environ.get("HUTCH_MIXED_SEED", "1"))


class Model:
    """One session: what it has been told, and so what each language must answer."""

    def __init__(self, client, number):
        self.client = client
        self.session = client.call("create_session")["session_id"]
        self.tag = f"tag{number}x"
        self.choice = random.Random(SEED * 1000 + number)
        self.totals = {}
        self.lines = 0

    def total(self, language):
        step = self.choice.randrange(1, 1000)
        self.totals[language] = self.totals.get(language, 0) + step
        return step, self.totals[language]

    # Each sends a run; returns its request and a function that judges the run.

    def send(self, language, code):
        return self.client.start_tool("run_code", session_id=self.session, language=language, code=code)

    def python(self):
        step, total = self.total("python")
        request = self.send("python", f"n = globals().get('n', 0) + {step}\nprint('{self.tag}' * 3)\nn")
        return request, lambda run: (run["outputs"][-1]["text"], run["stdout"]) == (str(total), f"{self.tag * 3}\n")

    def javascript(self):
        step, total = self.total("node")
        request = self.send("javascript", f"globalThis.n = (globalThis.n ?? 0) + {step}; console.error('{self.tag}'); n")
        return request, lambda run: (run["outputs"][-1]["text"], run["stderr"]) == (str(total), f"{self.tag}\n")

    def typescript(self):
        step, total = self.total("node")
        request = self.send("typescript", f"const add: number = {step}; globalThis.n = (globalThis.n ?? 0) + add; n")
        return request, lambda run: run["outputs"][-1]["text"] == str(total)

    def sql(self):
        step, total = self.total("sql")
        request = self.send("sql", "CREATE TABLE IF NOT EXISTS t (v INTEGER, tag TEXT); "
                                   f"INSERT INTO t VALUES ({step}, '{self.tag}'); SELECT sum(v), min(tag), max(tag) FROM t")
        return request, lambda run: run["outputs"][-1]["json"]["rows"] == [[total, self.tag, self.tag]]

    def bash(self):
        step, total = self.total("bash")
        self.lines += 1
        lines = self.lines
        request = self.send("bash", f'n=$((n + {step})); echo {self.tag} >>lines; echo "$n $(wc -l <lines) $(sort -u lines)"')
        return request, lambda run: (run["stdout"], [file["path"] for file in run["files_changed"]]) == (
            f"{total} {lines} {self.tag}\n", ["/workspace/lines"])

    def failure(self):
        request = self.send("python", f"raise ValueError('{self.tag}')")
        return request, lambda run: (run["status"], run["error"]["message"]) == ("failed", self.tag)

    def large(self):
        request = self.send("python", f"for i in range(10_000): print('{self.tag}', i)")
        return request, lambda run: run["truncated"]["stdout"]["total_bytes"] == 10_000 * (len(self.tag) + 2) + 38_890

    def answer(self, request, judge):
        result = self.client.reply(request, 300)["result"]
        run = result["structuredContent"]
        assert not result["isError"] and run["session_id"] == self.session and judge(run), (self.tag, self.totals, run)

    def live(self):
        """All runs: one after the other, or two languages beside each other."""
        kinds = [self.python, self.javascript, self.typescript, self.sql, self.bash, self.failure, self.large]
        left = RUNS
        while left > 0:
            # Two of node's would be answered in the order they are sent in; files of bash are its own.
            chosen = self.choice.sample([self.python, self.javascript, self.sql], 2) \
                if left > 1 and self.choice.random() < 0.3 else [self.choice.choice(kinds)]
            for request, judge in [kind() for kind in chosen]:
                self.answer(request, judge)
            left -= len(chosen)

    def end(self):
        self.client.call("delete_session", session_id=self.session)


def round_of(client, sessions):
    with concurrent.futures.ThreadPoolExecutor(sessions) as pool:
        models = list(pool.map(lambda number: Model(client, number), range(sessions)))
        for done in [pool.submit(model.live) for model in models]:
            done.result()
        list(pool.map(Model.end, models))


@pytest.mark.slow
def test_many_sessions_with_mixed_runs(client, state):
    server = client.process.pid
    sessions = max(4, min(SESSIONS, available_mb() // 2 // SESSION_MB))
    round_of(client, 4)
    wait_until_as_before(state, server, count(state, server))
    before = count(state, server)
    begin = time.monotonic()
    round_of(client, sessions)
    took = time.monotonic() - begin
    wait_until_as_before(state, server, before)
    assert everything_left(state) == []
    check_database(state)
    print(f"{sessions} sessions with {RUNS} runs each in {took:.0f} s, {before}")
