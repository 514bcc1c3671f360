"""An older hutch.db in the default place: its sessions work, and nothing of them is lost."""

import json
import os
import pathlib
import sqlite3
import subprocess

from conftest import end_boxes
from hutch_client import Client, hutch_binary

SCHEMA = pathlib.Path(__file__).resolve().parents[2] / "sessions" / "schema.sql"


def age(database):
    """Makes it what the first version of the schema was, with the rows that it has."""
    old = f"{database}.old"
    with sqlite3.connect(old) as made:
        made.executescript(SCHEMA.read_text())
        made.execute("ATTACH ? AS now", (str(database),))
        for (table,) in made.execute("SELECT name FROM main.sqlite_schema WHERE type = 'table'").fetchall():
            if table.startswith("sqlite_"):
                continue
            columns = ", ".join(row[1] for row in made.execute(f"PRAGMA main.table_info({table})"))
            made.execute(f"INSERT INTO main.{table} ({columns}) SELECT {columns} FROM now.{table}")
        # It said this of its limits then.
        made.execute("UPDATE main.sessions SET isolation = ?",
                     (json.dumps({"memory": "cgroup v1", "processes": "rlimit", "disk": "watched"}),))
        made.execute("PRAGMA main.user_version = 1")
    made.close()
    for suffix in ("-wal", "-shm"):
        pathlib.Path(f"{database}{suffix}").unlink(missing_ok=True)
    os.rename(old, database)


def test_its_sessions_work(tmp_path):
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    state = tmp_path / ".local/state/hutch"
    with Client(str(state), env=environment) as client:
        client.call("create_session", name="kept")
        client.run("open('data.txt', 'w').write('still here')", session_id="kept")
        run = client.run("print('said before')", session_id="kept")
        shared = client.call("share_file", path="data.txt", session_id="kept")
    age(state / "hutch.db")

    listed = subprocess.run([hutch_binary(), "sessions", "ls", "--json"], env=environment, capture_output=True,
                            text=True, check=True)
    (session,) = json.loads(listed.stdout)
    assert session["name"] == "kept"
    # Nobody has measured it anew: what was said then is all that is known.
    assert session["enforcement"]["memory_mb"] == "hard" and session["enforcement"]["cpus"] == "none"
    with Client(str(state), env=environment) as client:
        assert client.call("get_run", run_id=run["run_id"])["stdout"] == "said before\n"
        assert client.run("print(open('data.txt').read())", session_id="kept")["stdout"] == "still here\n"
        again = client.call("share_file", path="data.txt", session_id="kept")
        assert again["sha256"] == shared["sha256"]
    token = subprocess.run([hutch_binary(), "token", "create"], env=environment, capture_output=True, text=True)
    assert token.returncode == 0, token.stderr
    end_boxes(str(state))
