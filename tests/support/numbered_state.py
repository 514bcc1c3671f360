"""A session whose Python, JavaScript and bash know one number each, by many names: afterwards these say which state they have.

A state that is neither the one before nor the one after has two numbers, or none.
"""

import json
import os
import pathlib
import re

from boxes import boxes_of, children_of, has_come_to_rest, until
from hutch_client import ToolError

# Endings of a run that was in something killed.
KILLED = {"sandbox_lost", "interpreter_died", "signal"}
TRIES = 3  # to send a run to what was killed just now

STEPS = {
    "python": """
version = NUMBER; payload = b'x' * (PAYLOAD + NUMBER); shared = [NUMBER]; alias = {'same': shared}
def said(number=NUMBER): return number
class Kept: number = NUMBER
kept = Kept(); make = lambda number: lambda: number; closure = make(NUMBER)
for name in [name for name in globals() if name.startswith('number_is_')]: del globals()[name]
globals()['number_is_' + str(NUMBER)] = True""",
    "javascript": """
const version = NUMBER, text = 'x'.repeat(100000 + NUMBER), shared = [NUMBER], alias = { same: shared };
function said() { return NUMBER; } class Kept { number = NUMBER; static all = NUMBER; } const kept = new Kept();
for (const name of Object.keys(globalThis).filter((one) => one.startsWith('number_is_'))) delete globalThis[name];
globalThis['number_is_' + NUMBER] = true; 5""",
    "bash": """
version=NUMBER; list=(a NUMBER); declare -A map=([one]=NUMBER); said() { echo NUMBER; }; alias told='echo NUMBER'
mkdir -p /workspace/at/NUMBER; cd /workspace/at/NUMBER""",
}
LOOKS = {
    "python": "import json\nprint(json.dumps([version, len(payload) - PAYLOAD, shared[0], said(), Kept.number, kept.number, closure(), "
              "*[int(name[10:]) for name in globals() if name.startswith('number_is_')], "
              "version if alias['same'] is shared and type(kept) is Kept else 'torn']))",
    "javascript": "console.log(JSON.stringify([version, text.length - 100000, shared[0], said(), kept.number, Kept.all, "
                  "...Object.keys(globalThis).filter((one) => one.startsWith('number_is_')).map((one) => Number(one.slice(10))), "
                  "alias.same === shared && kept instanceof Kept ? version : 'torn']))",
    "bash": "echo \"[$version, ${list[1]}, ${map[one]}, $(said), $(told), ${PWD##*/}]\"",
}
NAME_IN_INDEX = re.compile(rb'"number_is_(\d+)"')  # a name of this session; the sources of its cells do not have it whole
TAIL_BYTES = 1 << 20  # it has the index


def owners_of(state):
    """{session: pids of the hutch-box that it has}: more than one where two live at the same time."""
    found = {}
    for entry in pathlib.Path("/proc").glob("[0-9]*"):
        if session := _session_of_box(entry, state):
            found.setdefault(session, []).append(entry)
    # One may have ended, and its successor begun, while the list was read.
    return {session: [int(entry.name) for entry in entries if _session_of_box(entry, state)] for session, entries in found.items()}


def _session_of_box(entry, state):
    """A box that has ended has no log any more, and lets go of the session later than of that."""
    try:
        parent = (entry / "stat").read_text().rsplit(")", 1)[1].split()[1]
        names = [(one / "comm").read_text() for one in (entry, entry.parent / parent)]
        if names[0] == "hutch-box\n" and names[1] != "hutch-box\n":  # a child of one is about to be another program
            log = pathlib.Path(os.readlink(entry / "fd/2"))
            return log.parent.name if log.is_relative_to(state) else None
    except OSError:
        pass
    return None


def inside(box):
    """{host pid: name of its program} of the processes in a box, without its init."""
    found = {}
    try:
        for pid in [child for init in children_of(box) for child in children_of(init)]:
            found[pid] = pathlib.Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        pass  # they are ending
    return found


class NumberedState:
    """`payload_bytes` decides how long a snapshot is being written."""

    def __init__(self, client, state, name, payload_bytes, languages=tuple(STEPS)):
        self.state, self.payload_bytes, self.languages = state, payload_bytes, languages
        self.session = client.call("create_session", name=name)["session_id"]
        self.number = 0  # the last step's
        self.least = dict.fromkeys(languages, 0)  # the stored one that is the oldest that may come back

    def step(self, client):
        """All languages get the next number."""
        self.number += 1
        for language in self.languages:
            run = client.run(self._code(STEPS[language]), language, session_id=self.session)
            assert run["status"] == "completed", run

    def start_look(self, client):
        """The request of a look of which nobody knows what becomes."""
        return client.start_tool("run_code", code=self._code(LOOKS["python"]), session_id=self.session)

    def stored(self):
        """{language: the number that lies on the disk; 0: none}."""
        found = {language: self._number_in_snapshot(language) for language in self.languages if language != "bash"}
        return found | ({"bash": self._number_in_shell()} if "bash" in self.languages else {})

    def note_least(self):
        """From now on nothing older than what is stored now may come back."""
        stored = self.stored()
        assert all(stored[language] >= self.least[language] for language in self.languages), (stored, self.least)
        self.least = stored

    def check(self, client):
        """Checks that a whole state is there, no older than what was stored, and that the session is well. Returns the numbers."""
        numbers = {language: self._look(client, language) for language in self.languages}
        for language, found in numbers.items():
            assert len(set(found)) == 1, f"neither the old state nor the new one of {language}: {found}"
            assert self.least[language] <= found[0] <= self.number, (language, found, self.least, self.number)
        listed = next(one for one in client.call("list_sessions")["sessions"] if one["session_id"] == self.session)
        assert listed["status"] in ("ready", "running") and "error" not in listed, listed
        assert len(owners_of(self.state)[self.session]) == 1
        return {language: found[0] for language, found in numbers.items()}

    def _look(self, client, language):
        said = []
        for _ in range(TRIES):
            try:
                run = client.run(self._code(LOOKS[language]), language, session_id=self.session)
            except ToolError as refused:
                assert "internal error" not in str(refused), refused
                said.append(str(refused))
                continue
            if run["status"] == "completed":
                return json.loads(run["stdout"])
            said.append(run)
            assert run["error"].get("cause") in KILLED, (said, self.least, self.number, self.stored())
        raise AssertionError(said)

    def rest(self, client):
        """It is paused, and stored: all of it is on the disk then, and is what comes back."""
        client.call("pause_session", session_id=self.session)
        until(lambda: has_come_to_rest(self.state, self.session), what="the session resting")
        assert self.session not in boxes_of(self.state), f"it is frozen, not stored: {self.described()}"
        status = next(one["status"] for one in client.call("list_sessions")["sessions"] if one["session_id"] == self.session)
        assert status == "stored", status
        self.note_least()
        assert set(self.least.values()) == {self.number}, ("it is called stored, and is not all on the disk", self.least, self.number)

    def described(self):
        """Says what may keep it from being stored, for messages."""
        box = boxes_of(self.state)[self.session]
        commands = {pid: pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ") for pid in inside(box)}
        said = {language: self._file(language).read_bytes()[-3000:] for language in self.languages if self._file(language).exists()}
        return inside(box), commands, self.stored(), self.number, said

    def _code(self, text):
        return text.replace("NUMBER", str(self.number)).replace("PAYLOAD", str(self.payload_bytes))

    def _number_in_snapshot(self, language):
        try:
            with open(self._file(language), "rb") as file:
                file.seek(max(0, os.fstat(file.fileno()).st_size - TAIL_BYTES))
                names = NAME_IN_INDEX.findall(file.read())
        except FileNotFoundError:
            return 0
        assert len(names) == 1, f"a snapshot of {language} has the names {names}"
        return int(names[0])

    def _number_in_shell(self):
        copies = [copy.read_text() for number in "01" if (copy := self._file(f"bash.{number}")).exists()]
        whole = [copy for copy in copies if re.fullmatch(r"(#\d+\n).*\n\1", copy, re.DOTALL)]
        if not whole:
            return 0
        newest = max(whole, key=lambda copy: int(copy[1:copy.index("\n")]))
        return int(re.search(r'^declare -- version="(\d+)"$', newest, re.MULTILINE)[1])

    def _file(self, name):
        return pathlib.Path(self.state, "sessions", self.session, "state", name)
