"""The bash runner: a process per run, the state a file."""

import json
import os
import re
import signal
import subprocess
import tempfile
import time

import pytest

from runner_client import RUNNERS, environment

PROFILE = json.loads((RUNNERS.parent / "profiles/bash.json").read_text())
PROGRAM = [part.replace("/run/hutch/runners", str(RUNNERS)) for part in PROFILE["program"]]


def place(fd):
    """In the child: the code becomes descriptor 3."""
    os.set_inheritable(fd, True)
    if fd != 3:
        os.dup2(fd, 3)


@pytest.fixture
def bash(tmp_path):
    (tmp_path / "workspace").mkdir()

    def run(code, env=None, background=False):
        variables = {**environment(tmp_path), **(env or {}), "HUTCH_RUN_ENV": " ".join(env or {})}
        with tempfile.TemporaryFile() as file:
            file.write(code.encode())
            file.seek(0)
            return subprocess.run(
                PROGRAM + ["--background"] * background, stdin=subprocess.DEVNULL, capture_output=True,
                text=True, cwd=tmp_path / "workspace", env=variables, timeout=60, close_fds=False,
                start_new_session=True, preexec_fn=lambda: place(file.fileno()))

    return run


@pytest.mark.parametrize("first, second, printed", [
    ("x=5", "echo $x", "5"),
    ("export X=5", "env | grep ^X=", "X=5"),
    ("cd /usr", "pwd; echo $OLDPWD | grep -c workspace", "/usr\n1"),
    ("f() { echo \"f $1\"; }", "f 2", "f 2"),
    ("f() { cat <<E\nhere $1\nE\n}", "f 2", "here 2"),
    ("export -f nothing 2>/dev/null; g() { echo g; }; export -f g", "bash -c g", "g"),
    ("alias ll='echo listed'", "ll", "listed"),
    ("a=(1 '2 3'); declare -A m=([k]='v w')", "echo \"${a[1]} ${m[k]}\"", "2 3 v w"),
    ("nl=$'a\\nb\\t'\\''\"$x'", "printf %q \"$nl\"", "$'a\\nb\\t\\'\"$x'"),
    ("readonly R=1", "R=2; echo $R", "2"),
    ("declare -i n=1", "n+=4; echo $n", "5"),
    ("PATH=$PATH:/added", "echo ${PATH##*:}", "/added"),
    ("unset TERM", "echo \"[${TERM-unset}]\"", "[unset]"),
    ("shopt -s nullglob; set -f", "shopt -q nullglob; echo $? $-", "0 fhBc"),
    ("set -euo pipefail; z=9; false; z=10", "echo $z; false; echo ${undefined-}on", "9\non"),
    ("IFS=,", "v=a,b; echo $v", "a b"),
    ("umask 077", "umask", "0077"),
    ("x=1; exit 4", "echo $x", "1"),
    ("x=1\nnosuchcommand\nif then", "echo $x", "1"),
    ("trap 'x=from-trap' EXIT; x=1", "echo $x; trap -p", "from-trap"),
    ("x=1; trap 'exit 5' EXIT", "echo $x", "1"),
    ("x=1; trap '' EXIT", "echo $x", "1"),
    ("x=1; trap - EXIT; exit", "echo $x", "1"),
    ("x=1; die() { local x=2 PATH=/nowhere; exit 1; }; die", "echo $x; ls -d /", "1\n/"),
    ("cat() { echo mine; }; mv() { :; }; printf() { :; }; alias cd=false", "cat", "mine"),
    ("x=1; set -x", "echo $x", "1"),
    ("x=1; kill -INT $$; x=2", "echo $x", "1"),
    ("OPTS=a OPTIONS=b EPOCHS=3 COMP_DIR=d BASH_SOURCE_DIR=e", "echo $OPTS$OPTIONS$EPOCHS$COMP_DIR$BASH_SOURCE_DIR", "ab3de"),
    ("shopt -s extglob\ng() { case $1 in +([0-9])) echo number ;; esac; }\nz() { echo z; }; alias ll='echo listed'",
     "g 12; z; ll; shopt -q extglob; echo $?", "number\nz\nlisted\n0"),
    ("shopt -s extglob\ng() { echo !(*); }\nshopt -u extglob", "g; shopt -q extglob; echo $?", "!(*)\n1"),
    ("declare -A m; declare -a l; declare -i q; export FOO",
     "m[a]=1; m[b]=2; q=2+3; FOO=1; echo ${#m[@]} ${m[a]} $q; env | grep ^FOO", "2 1 5\nFOO=1"),
    ("x=$'a\\ndeclare -i y\\nb'; y=text; unset y", "y=2+3; echo $y; echo \"${x#*i }\"", "2+3\ny\nb"),
    ("set -a; x=1", "env | grep -c __hutch", "0"),
    ("set -a", "cat > /tmp/big <<'E'\n" + "y" * 140_000 + "\nE\nwc -c < /tmp/big", "140001"),
    ("set -o posix", "trap 'echo bye' EXIT; echo set", "set\nbye"),
    ("IFS=0123456789; x=5", "echo \"$x\"", "5"),
    ("shopt() { echo mine; }; x=1", "echo $x", "1"),
    ("false", "echo $?", "1"),
    ("(exit 7)\n", "echo $?; true", "7"),
    ("exit 7", "# no command\n", ""),
    ("set -e; trap 'true' EXIT; (exit 9); true", "echo $?", "9"),
])
def test_state(bash, first, second, printed):
    bash(first)
    ended = bash(second)
    assert ended.stdout.strip() == printed, ended
    assert ended.stderr == ""


def state_of(tmp_path):
    copies = [path.read_text() for path in tmp_path.rglob("bash.[01]")]
    return max(copies, key=lambda text: int(text.split("\n")[0][1:]))


@pytest.mark.parametrize("code, is_plain", [
    ("echo x; ls / >/dev/null", True), ("cd /usr; umask 077; false", True), ("set -euo pipefail; true", True), ("(x=1)", True), ("exit 3", True),
    ("f() { local x=1; }; f; unset -f f", True), ("alias ll=ls; unalias ll", True), ("trap 'echo bye' EXIT", True),
    ("x=1", False), ("export TERM=other", False), ("unset TERM", False), ("f() { :; }", False), ("alias ll=ls", False), ("shopt -s nullglob", False),
    ("shopt -u expand_aliases", False), ("set -f", False), ("set +B", False), ("trap 'echo usr' USR1", False), ("trap '' INT", False),
    ("readonly R=1", False), ("declare -A m", False),
])
def test_a_shell_that_knows_no_more_than_a_new_one_says_so(bash, tmp_path, code, is_plain):
    bash("true")  # which makes the place in which a shell looks at itself
    bash(code)
    state = state_of(tmp_path)
    assert ("\n# plain\n" in state) == is_plain, state
    assert bash("echo on").stdout == "on\n"


@pytest.mark.parametrize("code, said", [
    ("set -euo pipefail", "errexit, nounset, pipefail"), ("set -x", "xtrace"), ("readonly R=1 S=2", "readonly of R, readonly of S"),
    ("set -e; readonly -a LIST=(1)", "errexit, readonly of LIST"), ("set -f; x=1", None), ("set -e; set +e", None),
])
def test_what_a_run_has_for_itself_alone_is_named_in_the_state(bash, tmp_path, code, said):
    bash(code)
    lines = state_of(tmp_path).split("\n")
    assert (lines[1] == f"# not kept: {said}") if said else not lines[1].startswith("# not kept"), lines[:3]
    bash("true")
    assert "# not kept" not in state_of(tmp_path)


@pytest.mark.parametrize("code, status, stderr", [
    ("true", 0, ""),
    ("exit 7", 7, ""),
    ("false", 1, ""),
    ("echo a\n\nnosuchcommand", 127, "bash: line 3: nosuchcommand: command not found"),
    ("echo a\nif then\nfi", 2, "line 2: syntax error"),
    ("set -e\nfalse\nexit 0", 1, ""),
    ("echo \"open", 2, "unexpected EOF"),
    ("cd /nowhere", 1, "line 1: cd: /nowhere"),
    ("(exit 9)", 9, ""),
    ("f() {\n  nosuchcommand\n}\nf; exit 3", 3, "line 2: nosuchcommand"),
])
def test_status_and_messages(bash, code, status, stderr):
    ended = bash(code)
    assert ended.returncode == status
    assert stderr in ended.stderr if stderr else ended.stderr == ""


@pytest.mark.parametrize("code, printed", [
    ("trap 'echo x' USR1; trap -p USR1", "trap -- 'echo x' SIGUSR1\n"),
    ("trap 'rm -f $x' EXIT INT TERM; trap -p; trap -", "trap -- 'rm -f $x' EXIT\ntrap -- 'rm -f $x' SIGINT\ntrap -- 'rm -f $x' SIGTERM\n"),
    ("old=$(trap -p INT); trap 'echo i' INT; eval \"$old\"; trap -p INT; trap - INT; trap -p INT", "trap -- 'echo i' SIGINT\n"),
    ("trap 'echo \"it'\\''s\"' EXIT; x=$(trap -p EXIT); trap - EXIT; eval \"$x\"", "it's\n"),
    ("trap 'echo outer' EXIT; (trap 'echo inner' EXIT; trap -p EXIT); trap -p 0; trap - EXIT", "trap -- 'echo inner' EXIT\ninner\ntrap -- 'echo outer' EXIT\n"),
    ("trap -p NOSUCH 2>/dev/null || echo $?", "1\n"),
    ("trap 'echo x' EXIT; trap -p -- EXIT; trap -p --; trap - EXIT", "trap -- 'echo x' EXIT\n" * 2),
])
def test_trap_shows_the_traps_of_the_user(bash, code, printed):
    assert bash(code).stdout == printed


@pytest.mark.parametrize("trap, code, printed, status", [
    ("trap 'echo error; exit 1' ERR", "", "fine\n", 0),
    ("trap 'echo error' ERR", "", "fine\n", 0),
    ("trap 'echo error; exit 1' ERR", "false", "error\n", 1),
    ("trap 'echo error' ERR", "f() { local y=1; exit 3; }; f", "", 3),
    ("trap 'echo debug' DEBUG", "", "debug\nfine\n", 0),
    ("trap 'echo $BASH_COMMAND' DEBUG", "f() { return 0; }; f", "f\nf\nreturn 0\necho fine\nfine\n", 0),
    ("trap 'echo error' ERR; trap 'false; echo left' EXIT", "", "fine\nerror\nleft\n", 0),
    ("trap 'echo error; exit 4' ERR; trap 'false; echo left' EXIT", "", "fine\nerror\n", 4),
])
def test_traps_are_for_the_users_own_commands(bash, trap, code, printed, status):
    ended = bash(f"set -Euo pipefail; set -T; X=5; {trap}\n{code}\necho fine")
    assert (ended.stdout, ended.returncode) == (printed, status), ended
    assert ended.stderr == ""
    assert bash("echo $X; trap -p").stdout == "5\n"


@pytest.mark.parametrize("traps", [
    "", "trap 'echo error' ERR", "trap 'echo return' RETURN", "trap 'echo debug' DEBUG",
    "trap 'echo error' ERR; trap 'echo return' RETURN; trap 'echo debug' DEBUG"])
@pytest.mark.parametrize("strict", ["", "set -ETeuo pipefail;"])
@pytest.mark.parametrize("end, status", [("true", 0), ("exit 3", 3), ("(exit 7)", 7), ("f() { exit 4; }; f", 4)])
def test_the_users_trap_sees_how_the_script_ended(bash, traps, strict, end, status):
    ended = bash(f"{strict} trap 'rc=$?; echo left $rc; exit $rc' EXIT; {traps}; echo begin; {end}".replace("; ;", ";"))
    debug = "debug\n" * ("DEBUG" in traps and ("f()" not in end or "T" in strict))  # as in any bash
    assert ended.stdout.endswith(f"{debug}{debug}left {status}\n{debug}"), ended
    between = ended.stdout.partition("begin\n")[2].removesuffix(f"{debug}{debug}left {status}\n{debug}")
    assert ("error" in between, "return" in between) == ("ERR" in traps and end == "(exit 7)", False)
    assert (ended.stderr, ended.returncode) == ("", status)


@pytest.mark.parametrize("code, printed, status", [
    ("trap 'echo $?' EXIT; true", "0\n", 0),
    ("trap 'echo $?' EXIT; exit 3", "3\n", 3),
    ("trap 'echo $?' EXIT; set -e; (exit 5); true", "5\n", 5),
    ("trap 'rc=$?; [ $rc = 0 ] || echo failed $rc' EXIT; nosuchcommand 2>/dev/null", "failed 127\n", 127),
    ("sleep 0 & p=$!; trap '[ $p = $! ] && echo same' EXIT; exit 2", "same\n", 2),
])
def test_the_status_in_an_exit_trap(bash, code, printed, status):
    ended = bash(code)
    assert (ended.stdout, ended.stderr, ended.returncode) == (printed, "", status)


def test_code_as_it_is(bash):
    assert bash("cat <<'E'\na  b\\n$x\nE\necho $LINENO $0 $#").stdout == "a  b\\n$x\n4 bash 0\n"
    assert bash("#" * 300_000 + "\necho after").stdout == "after\n"


def test_nothing_of_ours_is_inherited(bash):
    bash("x=1")
    assert bash("env | grep '^HUTCH'; [ -e /proc/$$/fd/3 ] && echo open || echo closed").stdout == "closed\n"


def test_a_killed_run_leaves_the_old_state(bash):
    bash("x=old")
    assert bash("x=new; kill -KILL $$").returncode == -signal.SIGKILL
    assert bash("echo $x").stdout == "old\n"


def test_interrupts_while_the_state_is_kept_end_nothing_of_it(bash):
    bash("x=old")
    many = "for n in {1..100}; do (trap '' INT; kill -INT 0; sleep 0.02); done >/dev/null 2>&1 &"
    ended = bash(f"eval v{{1..2000}}=1 x=new\n(trap '' INT; {many})\nwhile :; do [[ $SECONDS -gt 20 ]] && exit; done")
    assert ended.stderr == "" and ended.returncode == -signal.SIGINT
    assert bash("echo $x").stdout == "new\n"


def test_background_reads_and_does_not_write(bash):
    bash("x=1")
    assert bash("echo $x; x=2", background=True).stdout == "1\n"
    assert bash("echo $x").stdout == "1\n"


def test_environment_of_a_run_is_undone(bash):
    bash("OWN=kept")
    assert bash("echo $RUN $OWN; bash -c 'echo $RUN'; RUN=changed", env={"RUN": "r", "OWN": "run's"}).stdout == "r run's\nr\n"
    assert bash("echo \"[${RUN-unset}] $OWN\"").stdout == "[unset] kept\n"


def test_environment_of_a_background_run_goes_before_the_state_whatever_names_are_in_it(bash):
    bash("export A=state Z=state")
    ended = bash("echo $A $Z ${HUTCH_URL-hidden}", env={"A": "run", "B.x": "run", "HUTCH_URL": "x", "Z": "run", "x[$(touch${IFS}PW)]": "1"}, background=True)
    assert (ended.stdout, ended.stderr) == ("run run hidden\n", "")
    assert bash("ls").stdout == "" and bash("echo $A $Z").stdout == "state state\n"


def test_our_own_files_are_read_as_they_are_written(bash):
    """Though code that has failed makes them be read with its options and aliases on."""
    bash("alias while='echo W' if='echo I'")
    ended = bash("set -v\nfalse a.txt")
    assert "__hutch_explain" not in ended.stderr and "syntax error" not in ended.stderr, ended.stderr


def test_a_directory_that_is_gone(bash):
    bash("mkdir gone; cd gone; rmdir ../gone; x=1")
    ended = bash("echo $x; pwd")
    assert ended.stdout.startswith("1\n") and "gone" not in ended.stdout
    assert "is gone: starting in /workspace" in ended.stderr


def test_state_that_cannot_be_written(bash, tmp_path):
    (tmp_path / "state").write_text("a file where the folder should be")
    ended = bash("echo fine; exit 3")
    assert ended.stdout == "fine\n" and ended.returncode == 3
    assert "could not be kept" in ended.stderr


def test_a_subshell_has_a_trap_of_its_own(bash):
    ended = bash("trap 'echo outer' EXIT; (trap 'echo inner' EXIT; true); echo between")
    assert ended.stdout == "inner\nbetween\nouter\n"


@pytest.fixture
def left(bash):
    """The process that a run before has left."""
    bash("true")  # makes the folder of the state, which a box has
    pid = int(bash("sleep 61 >/dev/null 2>&1 & echo $!").stdout)
    yield pid
    os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize("code, printed", [
    ("echo 'stopping'; echo $!", "stopping\nPID"), ("echo 'it'\\''s $!' \"it's $!\"", "it's $! it's PID"),
    ("echo \"$(echo 'a')\" '$!' $!", "a $! PID"), ("echo $'\\'$!' $!", "'$! PID"), ("echo \"\\\"$!\" \\' $!", "\"PID ' PID"),
    ("# don't\necho $! # isn't $!\necho '$!' $#$!", "PID\n$! 0PID"), ("x=a#b; echo ${x#*#} $!", "b PID"),
    ("cat <<'E'; cat <<-F; echo $!\nit's $!\nE\nit's $! \\$!\n\tF\necho $!", "it's $!\nit's PID $!\nPID\nPID"), ("cat <<< '$!'$!; echo $((1 << 2)) $!", "$!PID\n4 PID"),
    ("case x in x) echo '$!' $! ;; esac; (echo ')' $!)", "$! PID\n) PID"), ("echo '\n$!\n' $!", "\n$!\n PID"),
    ("sleep 0 & [ $! != PID ] && echo '' own", " own"), ("bash -c 'echo \"[$!]\"'; echo \\$! $$! | tr -d 0-9", "[]\n$! !")])
def test_the_last_job_is_that_of_an_earlier_run(bash, left, code, printed):
    ended = bash(code.replace("PID", str(left)))
    assert (ended.stdout, ended.stderr) == (printed.replace("PID", str(left)) + "\n", ""), ended


def test_jobs_of_another_sandbox_are_none(bash, left, tmp_path):
    assert bash("echo $!").stdout == f"{left}\n"
    for file in tmp_path.rglob("bash.[01]"):
        text = file.read_text()
        changed = re.sub(rf'("\$\(__hutch_started {left}\)" = )\d+', r"\g<1>7", text)
        assert changed != text or "__hutch_last" not in text
        file.write_text(re.sub(rf"\b{left}\\ \d+", rf"{left}\\ 7", changed))
    ended = bash("echo \"[$!]\"; jobs; kill %1 2>/dev/null || echo none")
    assert ended.stdout == "[]\nnone\n", ended
    os.kill(left, 0)


def test_the_last_job_that_has_ended_is_it_still(bash):
    pid = bash("sleep 0 & wait; echo $!").stdout
    assert bash("echo $!").stdout == pid


def test_long_code_is_looked_through_in_no_time(bash, left):
    begun = time.monotonic()
    ended = bash("x='a' y=\"b\" # it's\n" * 3000 + "z='" + "\"(" * 50_000 + "'\n: '\n" + "echo $!\n" * 3 + "'\necho on")
    assert ended.stdout == "on\n" and time.monotonic() - begun < 10, ended
    for end, printed in (("echo on", "on"), ("echo $!", str(left))):
        begun = time.monotonic()
        ended = bash("x='" + ("a b $ c " * 400 + "\n") * 100 + "'\n" + end)
        assert ended.stdout == f"{printed}\n" and time.monotonic() - begun < 10, ended


def test_jobs_of_an_earlier_run_can_be_named(bash, left):
    line = f"[1]  {left} Running                 sleep 61 > /dev/null 2>&1 & (of an earlier run)\n"
    assert bash("jobs %1; jobs -l %sleep; jobs -p %1; echo $(jobs -p %%)").stdout == line * 2 + f"{left}\n{left}\n"
    other = bash("jobs %1 %7 || echo $?")
    assert (other.stdout, other.stderr) == (line + "1\n", "bash: line 1: jobs: %7: no such job\n")
    own = bash("sleep 5 & jobs %1; kill %1")
    assert "earlier" not in own.stdout and "sleep 5" in own.stdout, own


@pytest.mark.parametrize("name", ["PIPE", "URG", "XCPU", "XFSZ", "VTALRM", "PROF", "IO", "SYS", "RTMIN", "RTMIN+3", "RTMAX", "TERM", "INT"])
def test_traps_of_signals_last(bash, name):
    bash(f"trap 'echo got' {name}")
    assert bash(f"kill -{name} $$; echo on; trap - {name}").stdout == "got\non\n"
    assert bash("trap -p").stdout == ""


def test_traps_that_are_for_one_run_do_not_last(bash):
    bash("trap 'echo child' CHLD; trap 'echo error' ERR; trap 'echo left' EXIT; trap 'echo return' RETURN; set +B")
    ended = bash("trap -p; (exit 1); /bin/true; f() { :; }; f")
    assert (ended.stdout, ended.stderr) == ("", "")


CHAT, MACHINE = "hutch: files of the chat are not in this session", "hutch: this session sees no files of the user's machine"


@pytest.mark.parametrize("code, way", [
    ("cat /mnt/user-data/uploads/sales.csv", CHAT), ("ls /mnt/user-data/uploads; echo on", CHAT), ("head '/mnt/user-data/uploads/a b.csv' | wc -l", CHAT),
    ("set -euo pipefail; shopt -s nocasematch; cat /mnt/skills/public/SKILL.md", CHAT), ("cat </mnt/data/sales.csv", CHAT),
    ("cp a /mnt/user-data/outputs/a", "hutch: this session has no /mnt/user-data/outputs: write below /workspace, and share_file"),
    ("cd /home/claude", "hutch: this session has no /home/claude: "), ("cat /Users/anna/a.csv", MACHINE), ("cat ~/Downloads/a.csv", MACHINE),
    ("x=$(cat /home/anna/a.csv)", MACHINE), ("cat 'C:\\Users\\a.csv'", MACHINE), ("trap 'echo bye' EXIT; set() { :; }; cat /Users/anna/a", MACHINE),
    ("cat /home/user/nosuch", None), ("echo /Users/anna", None), ("echo http://host/Users/anna; false", None), ("cat >a.md <<E\n/mnt/user-data/x\nE", None),
    ("echo /mnt/user-database; false", None), ("ls /mnt", None), ("false", None)])
def test_paths_of_other_machines(bash, code, way):
    ended = bash(code)
    told = [line for line in ended.stderr.splitlines() if line.startswith("hutch: ")]
    assert len(told) == (way is not None) and (not told or told[0].startswith(way)), ended
    assert bash("echo next").stdout == "next\n"


@pytest.mark.parametrize("code, told", [
    ("cat Sales.csv", "sales.csv"), ("cat <SALES.CSV", "sales.csv"), ("cat /data/sales.csv", "sales.csv"), ("head 'Sales Report.csv'", "sales_report.csv"),
    ("python3 -c 'open(\"Sales.csv\")'", "sales.csv"), ("cat nosuch.csv Sales.csv", "sales.csv"), ("cat /mnt/user-data/uploads/sales.csv", "sales.csv"),
    ("cat /home/anna/sales.csv", "sales.csv"), ("set -euo pipefail; IFS=s; PATH=/nosuch; set -f; /bin/cat Sales.csv", "sales.csv"),
    ("cat Sales.csv | wc -l", None), ("cat sales.csv; false", None), ("cat nosuch.csv", None), ("cat <<E; false\nSales.csv\nE", None),
    ("echo http://host/Sales.csv; false", None), ("cat $x/Sales.csv *.CSV", None)])
def test_files_that_are_elsewhere(bash, tmp_path, code, told):
    for name in ("sales.csv", "sales_report.csv"):
        (tmp_path / "workspace" / name).write_text("a\n1\n")
    ended = bash(code)
    lines = [line for line in ended.stderr.splitlines() if line.startswith("hutch: ")]
    assert lines == ([f"hutch: there is {tmp_path}/workspace/{told}"] if told else []), ended
    assert bash("declare -F __hutch_explain_near || echo next").stdout == "next\n"
