"""A newer package while a session lives: the session goes on as it was for its server, and whoever starts next uses the
newer programs and has all that the session knew; so does who goes back to the older ones.

    upgrade.py make OLD.deb NEW.deb     the same programs as another build, of a later version
    upgrade.py try NEW.deb OLD.deb      with OLD.deb installed; installs by sudo
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile


class Server:
    def __init__(self, *command):
        self.process = subprocess.Popen(command or ["hutch", "stdio"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.number = 0
        self.request("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo={"name": "upgrade", "version": "1"})
        self.send(method="notifications/initialized")

    def send(self, **message):
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self.process.stdin.flush()

    def request(self, method, **params):
        self.number += 1
        self.send(id=self.number, method=method, params=params)
        while True:
            answer = json.loads(self.process.stdout.readline())
            if answer.get("id") == self.number:
                return answer["result"]

    def call(self, tool, **arguments):
        result = self.request("tools/call", name=tool, arguments=arguments)
        assert not result.get("isError"), result
        return result["structuredContent"]

    def said(self, session, language, code):
        run = self.call("run_code", session_id=session, language=language, code=code)
        assert run["status"] == "completed", run
        return run["stdout"]

    def end(self):
        self.process.stdin.close()
        assert self.process.wait(60) == 0


def make(old, new):
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["dpkg-deb", "-R", old, folder], check=True)
        control = pathlib.Path(folder, "DEBIAN/control")
        control.write_text(re.sub(r"^(Version: .*)$", r"\1+next", control.read_text(), flags=re.MULTILINE))
        programs = pathlib.Path(folder, "usr/lib/hutch/bin")
        build = re.search("^build ([0-9a-f]{64})$", subprocess.run([programs / "hutch", "version"], check=True, capture_output=True, text=True).stdout,
                          re.MULTILINE)[1].encode()
        for program in programs.iterdir():
            program.write_bytes(program.read_bytes().replace(build, build[::-1]))
        subprocess.run(["dpkg-deb", "--root-owner-group", "-Znone", "-b", folder, new], check=True, capture_output=True)


def install(package):
    subprocess.run(["sudo", "dpkg", "-i", package], check=True, capture_output=True)


# A session knows this, by language: how it comes to know it, and a look that says a number of its own each time.
KNOWN = {
    "python": ("x = 40; shared = [x]; alias = {'same': shared}\ndef said(): return x\nopen('kept', 'w').write('file')",
               "x += 1; shared.append(x); print(said(), alias['same'] is shared, len(shared), open('kept').read())"),
    "javascript": ("let n = 40; const list = [n]; const view = { list }; function next() { return ++n }",
                   "list.push(next()); console.log(n, view.list === list, list.length)"),
    "bash": ("cd /tmp; export WHERE=here; n=40; next() { n=$((n + 1)); }; alias told='echo $n'",
             "next; told; echo $PWD $WHERE"),
}


def looked(server, session, times):
    """Each language has what it knew; `times` is how often all were looked at, and each look changes them."""
    n = 40 + times
    assert server.said(session, "python", KNOWN["python"][1]) == f"{n} True {times + 1} file\n"
    assert server.said(session, "javascript", KNOWN["javascript"][1]) == f"{n} true {times + 1}\n"
    assert server.said(session, "bash", KNOWN["bash"][1]) == f"{n}\n/tmp here\n"


def taken_over(server, session, times):
    """By a box of the build that is installed now: it says what is back, and nothing is lost."""
    run = server.call("run_code", session_id=session, language="python", code="x")
    assert "a new Python has the" in run["note"] and "lost" not in run["note"] and "not kept" not in run["note"], run
    looked(server, session, times)
    assert "note" not in server.call("run_code", session_id=session, language="python", code="x")


def attempt(new, old):
    before = Server()
    session = before.call("create_session", name="kept")["session_id"]
    for language, (code, _) in KNOWN.items():
        before.said(session, language, code)
    install(new)
    looked(before, session, 1)
    assert before.said(session, "python", "import json, sqlite3, csv; print(sqlite3.connect(':memory:').execute('select 7').fetchone()[0])") == "7\n"
    after = Server()
    fresh = after.call("create_session")["session_id"]
    assert after.said(fresh, "python", "print(6 * 7)") == "42\n"
    looked(before, session, 2)  # others' starts are no matter to it
    # The newer one takes the session over with a box of its own, when it is asked for it.
    taken_over(after, session, 3)
    # The server from before has programs of the newer version beside it now.
    answer = before.request("tools/call", name="create_session", arguments={})
    print("a new session of the server from before:", answer["content"][0]["text"][:300])
    before.end()
    looked(after, session, 4)
    after.end()
    install(old)
    again = Server()
    taken_over(again, session, 5)
    again.call("delete_session", session_id=session)
    again.end()


if __name__ == "__main__":
    {"make": make, "try": attempt}[sys.argv[1]](*sys.argv[2:])
