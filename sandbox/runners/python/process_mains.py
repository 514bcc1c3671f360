"""What processes get as `__main__` that multiprocessing starts anew: functions and classes of cells, which have no file."""

import json
import os
import sys

from hutch_runner.imports import WhenImported

_SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "spawned_main.py")


class ProcessMains:
    def __init__(self, cells):
        self._cells = cells
        self._path = None  # of what has been written, once a process has been started
        self._count = 0  # of the cells in it
        WhenImported("multiprocessing.spawn", self._take)

    def _take(self, spawn):
        prepare = spawn.get_preparation_data

        def get_preparation_data(name):
            data = prepare(name)
            if "init_main_from_path" not in data and "init_main_from_name" not in data:
                data["init_main_from_path"] = self._script()
            return data

        spawn.get_preparation_data = get_preparation_data
        sys.modules["__mp_main__"] = sys.modules["__main__"]  # where what comes back has its classes

    def _script(self):
        folder = os.environ.get("HUTCH_STATE_DIR", "/run/hutch/state")
        self._path = os.path.join(folder, f"cells-{os.getpid()}")
        _remove_those_of_the_dead(folder)
        self._write()
        script = self._path + ".py"
        _replace(script, f"_hutch_cells = {self._path + '.json'!r}\nexec(compile(open({_SCRIPT!r}).read(), {_SCRIPT!r}, 'exec'))\n")
        return script

    def renew(self):
        """Processes that are there already find what newer cells define."""
        if self._path is None or self._count == len(self._cells.sources):
            return
        try:
            self._write()
        except OSError:  # no room: what the cell defines is missed where somebody asks for it
            pass

    def _write(self):
        _replace(self._path + ".json", json.dumps([[name, *one] for name, one in self._cells.sources.items()]))
        self._count = len(self._cells.sources)


def _replace(path, text):
    with open(path + ".new", "w", encoding="utf-8", errors="surrogatepass") as file:
        file.write(text)
    os.replace(path + ".new", path)


def _remove_those_of_the_dead(folder):
    for name in os.listdir(folder):
        pid = name[len("cells-"):].partition(".")[0]
        if name.startswith("cells-") and not os.path.exists(f"/proc/{pid}"):
            os.unlink(os.path.join(folder, name))
