"""Files that ATTACH has named in this session, for all its processes: each attaches again what a statement names.

They are in a file beside the session's database, so that they are kept with it.
"""

import json
import os
import re

_SHOWS_ALL = re.compile(r"\bSHOW\b|\bduckdb_\w+\s*\(|\binformation_schema\b|\bPRAGMA\b|\bpg_catalog\b", re.IGNORECASE)


class AttachedFiles:
    def __init__(self, folder):
        self._path = os.path.join(folder, "session.attached")
        self._stamp = None
        self._files = {}

    def all(self):
        """Gives for each alias its path, what kind of database that is, and whether it is only read."""
        try:
            status = os.stat(self._path)
        except OSError:
            return {}
        stamp = (status.st_mtime_ns, status.st_ino, status.st_size)
        if stamp != self._stamp:
            self._files, self._stamp = self._read(), stamp
        return self._files

    def _read(self):
        try:
            with open(self._path, encoding="utf-8") as file:
                return {str(alias): (str(path), str(kind), read_only is True) for alias, (path, kind, read_only) in json.load(file).items()}
        except (OSError, ValueError, AttributeError, TypeError):
            return {}

    def put(self, alias, path, kind, read_only):
        self._write({**self._without(alias), alias: (os.path.abspath(path), kind, read_only)})

    def remove(self, alias):
        if len(others := self._without(alias)) < len(self.all()):
            self._write(others)

    def _without(self, alias):
        return {name: file for name, file in self.all().items() if name.lower() != alias.lower()}

    def _write(self, files):
        try:
            with open(f"{self._path}.{os.getpid()}", "w", encoding="utf-8") as file:
                json.dump(files, file)
            os.replace(file.name, self._path)
        except OSError:
            pass  # no room: then this process alone knows

    def named_in(self, sql):
        """Gives the ones that a statement may mean."""
        files = self.all()
        if not files:
            return files
        shows_all, lower = _SHOWS_ALL.search(sql), sql.lower()
        return {alias: file for alias, file in files.items()
                if shows_all and file[1] == "duckdb" or alias.lower() in lower and _means(alias, sql)}  # a database of SQLite would be read whole

    def why_missing(self, sql):
        """A line for an error, about files that are gone."""
        gone = [(alias, path) for alias, (path, _, _) in self.named_in(sql).items() if not os.path.isfile(path)]
        return "".join(f"({alias} was attached from {path}, which is not there)\n" for alias, path in gone[:1])


def _means(alias, sql):
    name = rf'(?:"{re.escape(alias)}"|(?<![\w.]){re.escape(alias)})'
    return re.search(rf"{name}\s*\.|\b(?:USE|FROM|DETACH(?:\s+DATABASE)?(?:\s+IF\s+EXISTS)?)\s+{name}\s*(?:;|$)", sql, re.IGNORECASE) is not None
