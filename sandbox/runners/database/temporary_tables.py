"""Names of the temporary tables that any process of the session has made: another one, which misses it, tells why.

They are in a file beside the session's database, one a line.
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
        names = self._names() if name else []
        if name and name not in names and sum(map(len, names)) < _BYTES_MAX:
            try:
                with open(self._path, "a", encoding="utf-8") as file:
                    file.write(name + "\n")
            except OSError:
                pass  # no room: then nobody is told

    def why_missing(self, name):
        """A half sentence behind a semicolon, or nothing."""
        return "; a temporary table of that name belongs to the language that made it, until that starts anew" if name.lower() in self._names() else ""

    def _names(self):
        try:
            with open(self._path, encoding="utf-8") as file:
                return file.read().splitlines()
        except (OSError, ValueError):
            return []
