"""Sessions: making, naming, pausing, ending; the commands for them; two servers at once."""

import fcntl
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

import pytest

from boxes import boxes_of, processes_of, until
from hutch_client import PATIENCE, Client, ToolError, hutch_binary
from trial import Trial


def command(state, *arguments, check=True):
    return subprocess.run([hutch_binary(), *arguments, "--state-dir", state], check=check,
                          capture_output=True, text=True, timeout=60)


def test_create_list_delete(client):
    made = client.call("create_session", name="work", limits={"memory_mb": 256})
    assert made["status"] == "ready" and made["name"] == "work"
    assert made["limits"]["memory_mb"] == 256 and made["limits"]["cpus"] == 2
    assert "network" not in made and "seccomp" in made["isolation"]
    assert client.run("1", session_id="work")["session_id"] == made["session_id"]
    listed = client.call("list_sessions")["sessions"]
    assert [s["session_id"] for s in listed] == [made["session_id"]]
    gone = client.call("delete_session", session_id="work")
    assert gone == {"session_id": made["session_id"], "status": "destroyed"}
    assert client.call("list_sessions")["sessions"] == []
    kept = client.call("list_sessions", status="destroyed")["sessions"]
    assert [s["session_id"] for s in kept] == [made["session_id"]]
    with pytest.raises(ToolError):
        client.run("1", session_id=made["session_id"])
    assert client.call("create_session", name="work")["name"] == "work", "the name is free again"


def test_names_are_unique(client):
    client.call("create_session", name="one")
    with pytest.raises(ToolError) as refused:
        client.call("create_session", name="one")
    assert "already" in str(refused.value)


def test_sessions_do_not_see_each_other(client):
    a = client.call("create_session")["session_id"]
    b = client.call("create_session")["session_id"]
    client.run("x = 1; open('f','w').write('a')", session_id=a)
    assert client.run("x", session_id=b)["error"]["name"] == "NameError"
    assert client.call("list_files", session_id=b)["entries"] == []


def test_session_env(client):
    session = client.call("create_session", env={"GREETING": "hello"})["session_id"]
    assert client.run("echo $GREETING", "bash", session_id=session)["stdout"] == "hello\n"


def test_lifetime_is_a_hard_end(client, state):
    session = client.call("create_session", lifetime_seconds=2)
    assert session["ends_at"]
    until(lambda: not processes_of(state), what="the end of the box")
    with pytest.raises(ToolError, match="lifetime_seconds are over|was deleted"):
        client.run("1", session_id=session["session_id"])


def test_end_of_input_ends_unnamed_sessions_and_keeps_their_files(state):
    with Client(state) as client:
        session = client.run("open('kept','w').write('k')")["session_id"]
    until(lambda: not processes_of(state), what="the end of the box")
    with Client(state) as client:
        assert client.call("list_sessions")["sessions"][0]["status"] == "stopped"
        assert client.call("read_file", path="kept", session_id=session)["content"] == "k"


def test_a_session_name_that_cannot_be_is_told_at_the_start(state):
    done = command(state, "stdio", "--session", "a/b", check=False)
    assert done.returncode != 0 and "a session name has at most 100 letters" in done.stderr and done.stdout == ""


def test_named_sessions_live_on(state):
    with Client(state, "--session", "lasting") as client:
        client.run("x = 9")
    assert len(processes_of(state)) == 1
    with Client(state, "--session", "lasting") as client:
        assert client.value("x") == "9"


def test_the_home_directory_is_kept_as_the_workspace_is(state):
    kept = "import pathlib; kept = pathlib.Path.home() / '.config/kept'"
    with Client(state, "--session", "lasting") as client:
        assert client.run(f"{kept}; kept.parent.mkdir(); kept.write_text('k'); str(kept)")["outputs"][0]["text"] == \
            "'/home/user/.config/kept'"
    (box,) = processes_of(state)
    os.kill(box, signal.SIGKILL)
    with Client(state, "--session", "lasting") as client:
        assert client.value(f"{kept}; kept.read_text()") == "'k'"


def test_a_run_is_asked_for_with_its_own_session_or_none(client):
    run = client.run("print('mine')")
    other = client.call("create_session", name="other")["session_id"]
    assert client.call("get_run", run_id=run["run_id"], session_id=run["session_id"])["stdout"] == "mine\n"
    for session in ("other", other):
        with pytest.raises(ToolError, match=f"is a run of session {run['session_id']}, not of {session}: leave session_id out"):
            client.call("get_run", run_id=run["run_id"], session_id=session)
    with pytest.raises(ToolError, match="no such session"):
        client.call("get_run", run_id=run["run_id"], session_id="nothing")


def test_sigterm_ends_the_server_cleanly(state):
    client = Client(state)
    client.__enter__()
    client.run("1")
    client.process.terminate()
    assert client.process.wait(60 * PATIENCE) == 0
    until(lambda: not processes_of(state), what="the end of the box")


def test_two_servers_see_the_same_sessions(state):
    with Client(state) as one, Client(state) as two:
        session = one.call("create_session", name="both")["session_id"]
        one.run("x = 1", session_id=session)
        assert two.run("x + 1", session_id="both")["outputs"][0]["text"] == "2"
        assert [s["session_id"] for s in two.call("list_sessions")["sessions"]] == [session]
        run = one.run("import time; print('up', flush=True); time.sleep(30)", background=True,
                      session_id=session)
        two.until_output(run["run_id"], "up")
        assert two.call("cancel_run", run_id=run["run_id"])["status"] == "cancelled"
        assert one.call("get_run", run_id=run["run_id"])["status"] == "cancelled"
        other = two.call("create_session", name="second")["session_id"]
        ids = [c.start_tool("run_code", code="import time; time.sleep(1); 7", session_id=s)
               for c, s in ((one, session), (two, other))]
        for c, i in zip((one, two), ids):
            assert c.reply(i)["result"]["structuredContent"]["status"] == "completed"


def test_two_servers_start_one_box(state):
    with Client(state) as one, Client(state) as two:
        session = one.call("create_session", name="race")["session_id"]
        command(state, "sessions", "pause", "race")
        for round_number in range(3):
            for pid in processes_of(state):
                os.kill(pid, 9)
            until(lambda: not processes_of(state))
            ids = [(c, c.start_tool("run_code", code=f"{round_number}", session_id=session))
                   for c in (one, two)]
            for c, i in ids:
                result = c.reply(i)["result"]
                assert not result["isError"], result["content"]
            # The one that came second gives up as soon as it sees that.
            until(lambda: len(processes_of(state)) == 1)


def test_commands(state):
    assert command(state, "sessions", "ls").stdout == "no sessions\n"
    run = command(state, "run", "--session", "shell", "-l", "bash", "/dev/stdin", check=False)
    assert run.returncode == 0
    listed = json.loads(command(state, "sessions", "ls", "--json").stdout)
    assert [s["name"] for s in listed] == ["shell"]
    assert "shell" in command(state, "sessions", "ls").stdout
    run_id = json.loads(command(state, "sessions", "show", "shell", "--json").stdout)["runs"][0]["run_id"]
    shown = command(state, "sessions", "show", "shell").stdout.splitlines()
    [line] = [line for line in shown if line.split()[:1] == [run_id]]
    assert re.fullmatch(r"\s+\S+\s+bash\s+completed\s+\S+Z\s+\d+ ms", line), shown
    assert re.search("paused|stored", command(state, "sessions", "pause", "shell").stdout)
    assert "ready" in command(state, "sessions", "resume", "shell").stdout
    command(state, "sessions", "rm", "shell")
    for verb in ("show", "rm", "pause", "resume"):
        failed = command(state, "sessions", verb, "nothing", check=False)
        assert failed.returncode == 1 and " sessions ls` shows" in failed.stderr, failed
        assert "_session" not in failed.stderr, "the tools of clients are none of the shell's"


def test_version_and_help():
    def run(*arguments):
        return subprocess.run([hutch_binary(), *arguments], capture_output=True, text=True, timeout=60)

    assert run("version").stdout.startswith("hutch ")
    flag = run("--version")
    assert (flag.returncode, flag.stdout) == (0, run("version").stdout)
    bare = run()
    assert bare.returncode == 2 and bare.stdout == ""
    assert "Usage: hutch " in bare.stderr and "doctor" in bare.stderr, "the help"


def test_programs_are_told_that_there_is_no_network(client):
    env = dict(line.split("=", 1) for line in client.run("env", "bash")["stdout"].splitlines() if "=" in line)
    expected = {"npm_config_fetch_retries": "0", "npm_config_update_notifier": "false", "npm_config_yes": "true", "PIP_RETRIES": "0",
                "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    assert {name: env.get(name) for name in expected} == expected


PICTURE = """import base64
class Picture:
    def _repr_png_(self):
        return base64.b64decode(
            "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")
display(Picture())
"""


@pytest.mark.slow
def test_run_command_saves_pictures(state, tmp_path):
    def run(code, *arguments):
        return subprocess.run([hutch_binary(), "run", *arguments, "-", "--state-dir", state], cwd=tmp_path,
                              input=code, capture_output=True, text=True, timeout=60, umask=0o027)

    without = run(PICTURE)
    assert without.returncode == 0 and "--save" in without.stderr and "read_file" not in without.stderr
    target = tmp_path / "out/1.png"
    for _ in range(2):  # the second time the picture is there already
        saved = run(PICTURE, "--save", "out/")
        assert (saved.returncode, saved.stderr) == (0, f"hutch: saved {target}\n")
    assert target.read_bytes().startswith(b"\x89PNG") and target.stat().st_mode & 0o777 == 0o640
    target.write_bytes(b"mine")
    failed = run(PICTURE + "1/0", "--save", "out")
    assert failed.returncode == 1 and f"hutch: saved {tmp_path}/out/1 (2).png\n" in failed.stderr
    assert target.read_bytes() == b"mine", "an existing file is never replaced"
    (tmp_path / "file").write_text("")
    refused = run(PICTURE, "--save", "file")
    assert refused.returncode == 1 and f"in {tmp_path}/file" in refused.stderr
    assert command(state, "sessions", "ls").stdout == "no sessions\n", "one-off sessions are gone, saved or not"


@pytest.mark.slow
def test_run_command(state):
    def run(code, *arguments):
        return subprocess.run([hutch_binary(), "run", *arguments, "-", "--state-dir", state],
                              input=code, capture_output=True, text=True, timeout=60)

    good = run("print('out'); import sys; print('err', file=sys.stderr); 6 * 7")
    assert (good.returncode, good.stdout, good.stderr) == (0, "out\n42\n", "err\n")
    assert run("exit 5", "-l", "bash").returncode == 5
    failed = run("1/0")
    assert failed.returncode == 1 and "ZeroDivisionError" in failed.stderr
    assert run("import time; time.sleep(30)", "-t", "1").returncode == 124
    deaf = "import time\nwhile True:\n    try: time.sleep(30)\n    except KeyboardInterrupt: pass"
    assert run(deaf, "-t", "1").returncode == 124, "also when it has to be killed"
    assert run("1", "-l", "ruby").returncode == 2
    assert command(state, "sessions", "ls").stdout == "no sessions\n", "one-off sessions are gone"


def test_ctrl_c_ends_the_run_and_its_session(state):
    process = subprocess.Popen([hutch_binary(), "run", "-", "--state-dir", state], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    process.stdin.write("print('up', flush=True)\nimport time; time.sleep(60)")
    process.stdin.close()
    assert process.stdout.readline() == "up\n"
    process.send_signal(signal.SIGINT)
    assert process.wait(30) == 130
    assert command(state, "sessions", "ls").stdout == "no sessions\n"


def test_a_reader_that_goes_away_does_not_stop_the_run(state):
    piped = subprocess.run(f"echo 'for i in range(100000): print(i)' | {hutch_binary()} run - --state-dir {state} | head -1",
                           shell=True, capture_output=True, text=True, timeout=60)
    assert piped.stdout == "0\n"


@pytest.mark.slow
def test_every_unnamed_session_of_a_connection_ends_with_it(state):
    with Client(state) as client:
        client.run("1")
        client.call("create_session")
        client.call("create_session", name="lasting")
        assert len(processes_of(state)) == 3
    until(lambda: len(processes_of(state)) == 1, what="the end of the two without a name")


def test_usage_errors_are_2(state):
    assert command(state, "nonsense", check=False).returncode == 2
    assert command(state, "run", check=False).returncode == 2
    assert command(state, "sessions", check=False).returncode == 2
    bad = subprocess.run([hutch_binary(), "sessions", "ls", "--log-level", "loud"], capture_output=True)
    assert bad.returncode == 2 and b"log level" in bad.stderr
    assert command(state, "version").stdout.startswith("hutch ")


def test_configuration_file(tmp_path, state):
    config = tmp_path / "config.toml"
    config.write_text("[limits]\nmemory_mb = 128\n[max_limits]\nmemory_mb = 200\n")
    with Client(state, "--config", str(config)) as client:
        assert client.call("create_session")["limits"]["memory_mb"] == 128
        with pytest.raises(ToolError) as refused:
            client.call("create_session", limits={"memory_mb": 201})
        assert "from 64 to 200" in str(refused.value)
    config.write_text("[limits]\nmemory = 128\n")
    bad = command(state, "sessions", "ls", "--config", str(config), check=False)
    assert bad.returncode == 2 and "config.toml:2: unknown limit memory" in bad.stderr


def test_flags_beat_environment_beats_file(tmp_path, state):
    config = tmp_path / "config.toml"
    config.write_text(f'state_dir = "{tmp_path}/from_file"\n')
    env = {**os.environ, "HUTCH_CONFIG": str(config)}
    subprocess.run([hutch_binary(), "sessions", "ls"], env=env, check=True, capture_output=True)
    assert (tmp_path / "from_file/hutch.db").exists()
    env["HUTCH_STATE_DIR"] = f"{tmp_path}/from_env"
    subprocess.run([hutch_binary(), "sessions", "ls"], env=env, check=True, capture_output=True)
    assert (tmp_path / "from_env/hutch.db").exists()
    subprocess.run([hutch_binary(), "sessions", "ls", "--state-dir", f"{tmp_path}/from_flag"], env=env,
                   check=True, capture_output=True)
    assert (tmp_path / "from_flag/hutch.db").exists()


def test_doctor_names_what_is_missing_of_hutch_itself(tmp_path, state):
    shutil.copytree(pathlib.Path(hutch_binary()).parent, tmp_path / "bin")
    doctor = subprocess.run([tmp_path / "bin/hutch", "doctor", "--json", "--state-dir", state],
                            capture_output=True, text=True)
    findings = {f["layer"]: f for f in json.loads(doctor.stdout)}
    assert doctor.returncode == 1
    assert findings["hutch itself"]["state"] == "missing"
    assert "share/hutch" in findings["hutch itself"]["detail"] and findings["hutch itself"]["remedy"]
    assert "lines above" in findings["a real box"]["remedy"]


def test_a_stopped_session_is_not_started_to_be_paused(client, state):
    session = client.call("create_session", name="work")["session_id"]
    os.kill(boxes_of(state)[session], signal.SIGKILL)
    until(lambda: client.call("list_sessions")["sessions"][0]["status"] == "stopped", what="the end of its box")
    paused = client.result("pause_session", session_id=session)
    assert paused["structuredContent"]["status"] == "stopped" and paused["isError"] is False
    assert "it has nothing running to pause" in paused["content"][0]["text"]
    assert "it has nothing running to pause" in command(state, "sessions", "pause", "work").stdout
    # While somebody clears up after its box, who holds its lock for it.
    with open(f"{state}/sessions/{session}/lock") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        pausing = client.start_tool("pause_session", session_id=session)
        client.call("list_sessions")  # which looks for its end for a while
    assert client.reply(pausing)["result"]["structuredContent"]["status"] == "stopped"
    assert boxes_of(state) == {}


def test_a_default_session_that_does_not_start_is_tried_again(tmp_path):
    trial = Trial(tmp_path)
    works = (trial.directory / "bin/hutch-init").read_text()
    trial.replace("hutch-init", "#!/bin/sh\nexit 1\n")
    (tmp_path / "config.toml").write_text("[session]\nmax_sessions = 2\n")
    with trial.client("--config", str(tmp_path / "config.toml")) as client:
        said = {client.result("run_code", code="1")["content"][0]["text"] for _ in range(3)}
        assert len(said) == 1 and "init" in said.pop()
        (session,) = client.call("list_sessions")["sessions"]
        assert session["status"] == "error"
        trial.replace("hutch-init", works)
        assert client.run("1 + 1")["session_id"] == session["session_id"]


def test_runs_that_end_with_their_session_were_cancelled(client):
    session = client.call("create_session")["session_id"]
    runs = [client.run("import time\ntime.sleep(600)", session_id=session, background=True)["run_id"]
            for _ in range(2)]
    waiting = [client.start_tool("run_code", code="import time\ntime.sleep(600)", session_id=session)
               for _ in range(3)]  # two of them queue
    until(lambda: len(client.call("list_sessions")["sessions"][0].get("active_runs", [])) == 5, what="five runs")
    client.call("delete_session", session_id=session)
    ended = [client.reply(request)["result"]["structuredContent"] for request in waiting]
    ended += [client.call("get_run", run_id=run) for run in runs]
    assert [(run["status"], run["error"]["cause"]) for run in ended] == [("cancelled", "cancelled")] * 5, ended
    again = [client.call("get_run", run_id=run["run_id"])["error"]["cause"] for run in ended]
    assert again == ["cancelled"] * 5


def test_runs_that_race_with_the_end_of_their_session_are_not_lost(client):
    for moment in range(8):
        session = client.call("create_session")["session_id"]
        started = [client.start_tool("run_code", code="import time; time.sleep(0.05)", session_id=session,
                                     background=number % 5 == 4) for number in range(12)]
        time.sleep(0.03 * moment)  # no condition: wherever it hits
        ending = client.start_tool("delete_session", session_id=session)
        answers = [client.reply(request)["result"] for request in started]
        client.reply(ending)
        for run in [answer["structuredContent"] for answer in answers if not answer["isError"]]:
            run = client.call("get_run", run_id=run["run_id"])
            assert run["status"] in ("completed", "cancelled"), run
