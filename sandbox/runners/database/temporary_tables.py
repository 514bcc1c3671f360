"""Names of the temporary tables that any process of the session has made: another one, which misses it, tells why.

They are in a file beside the session's database, one a line, behind the process that made it.
"""

import os
import re

_MAKES_ONE = re.compile(r"""CREATE\s+(?:OR\s+REPLACE\s+)?TEMP(?:ORARY)?\s+(?:TABLE|VIEW)\s+(?:IF\s+NOT\s+EXISTS\s+)?(?:temp\.)?("[^"\n]+"|\w+)""",
                        re.IGNORECASE)
_BYTES_MAX = 10_000


class TemporaryTables:
    def __init__(self, folder):
        self._path = os.path.join(folder, "session.temporary")

    def note_made_by(self, sql):
        made = _MAKES_ONE.match(sql)
        name = made[1].strip('"').lower() if made else ""
        line = f"{os.getpid()} {_start_of(os.getpid())} {name}"
        lines = self._lines() if name else []
        if name and line not in lines:
            kept = [one for one in lines if _is_alive(one)]
            if sum(map(len, kept)) > _BYTES_MAX:
                return
            try:
                with open(f"{self._path}.{os.getpid()}", "w", encoding="utf-8") as file:
                    file.write("".join(one + "\n" for one in [*kept, line]))
                os.replace(file.name, self._path)
            except OSError:
                pass  # no room: then nobody is told

    def why_missing(self, name):
        """A half sentence behind a semicolon, or nothing."""
        others = [line for line in self._lines() if line.partition(" ")[2].partition(" ")[2] == name.lower() and not line.startswith(f"{os.getpid()} ")]
        return "; a temporary table of that name belongs to the language that made it" if any(map(_is_alive, others)) else ""

    def _lines(self):
        try:
            with open(self._path, encoding="utf-8") as file:
                return file.read().splitlines()
        except (OSError, ValueError):
            return []


def _is_alive(line):
    pid, _, rest = line.partition(" ")
    return _start_of(pid) == rest.partition(" ")[0] != ""


def _start_of(pid):
    """When the process was started, which no other of its number was; empty where there is none."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(") ")[2].split()[19]
    except (OSError, IndexError):
        return ""
