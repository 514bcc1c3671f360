"""The shell that is started when a run of bash has ended, for the next one."""

from boxes import until

NEXT_SHELLS = """
import os, signal
def is_next(pid):
    try: return open(f"/proc/{pid}/cmdline").read().endswith("--ahead\\0")
    except OSError: return False
print(sum(map(is_next, filter(str.isdigit, os.listdir("/proc")))))
"""


def test_the_shell_that_waits_for_the_next_run(client):
    client.run("x=1; mkdir d; cd d", "bash")
    until(lambda: client.run(NEXT_SHELLS)["stdout"] == "1\n")
    assert client.run("echo $x $SECONDS ${PWD##*/} ${OLDPWD##*/}; ls /proc/self/fd | wc -l; x=2", "bash")["stdout"] == "1 0 d workspace\n4\n"
    # Changes since it was started are seen.
    client.run("import os; os.rmdir('d')")
    gone = client.run("echo $x $PWD", "bash")
    assert gone["stdout"] == "2 /workspace\n" and "d is gone" in gone["stderr"], gone
    assert client.run("echo $x$E", "bash", env={"E": "e"})["stdout"] == "2e\n"
    client.run("x=3", "bash")
    until(lambda: client.run(NEXT_SHELLS)["stdout"] == "1\n")
    assert client.run("echo [$x]", "bash", restart=True)["stdout"] == "[]\n"
    # One that something has ended is missed by nobody.
    client.run("x=4", "bash")
    until(lambda: client.run(NEXT_SHELLS + "for pid in filter(is_next, filter(str.isdigit, os.listdir('/proc'))): os.kill(int(pid), 9)")["stdout"] == "1\n")
    run = client.run("echo $x", "bash")
    assert run["stdout"] == "4\n" and "note" not in run, run
