"""Snapshots of another version of Python, or of a package: code comes from its source, and what cannot come back is named."""

import json
import sys

import pytest

from conftest import starter
from runner_client import Keeper
from test_snapshot_kinds import DEFINED, KEPT
from woken import WokenPython, named, store

pytestmark = pytest.mark.plain_start

OTHER = f"3.{sys.version_info.minor + 1}"
OF_ANOTHER = f"import hutch_runner.snapshot_values as values; values.THIS_PYTHON = {OTHER!r}; del values"
KINDS = {**KEPT, **DEFINED}
NOT_BY_EARLIER_CLOUDPICKLES = {"typed_tuple"}


@pytest.fixture(scope="module", params=[False, True], ids=["plain", "extras"])
def of_another(tmp_path_factory, request):
    folder = tmp_path_factory.mktemp("versions")
    kinds = {name: kind for name, kind in KINDS.items() if request.param or name not in NOT_BY_EARLIER_CLOUDPICKLES}
    for start_one in starter(folder, request):
        woken = WokenPython(start_one, folder, {"first": (OF_ANOTHER, None), **kinds}, extras=request.param)
        woken.kinds = kinds
        yield woken


@pytest.mark.parametrize("name", KINDS)
def test_what_another_python_has_stored_comes_back(of_another, name):
    if name not in of_another.kinds:
        return
    looked = of_another.python.run(named(name, f"bool({KINDS[name][1]})"))
    assert looked.text == "True", (looked.text, looked.error, of_another.note)


def test_nothing_of_it_is_named(of_another):
    assert "not kept" not in of_another.note, of_another.note


def woken_as_another(start, keeper, code, then=""):
    """The note of a Python that wakes with what another one has stored."""
    python = start("python", keeper=keeper)
    assert python.run(OF_ANOTHER).ok and python.run(code).ok
    store(python, keeper)
    python.close_channel()
    python = start("python", keeper=keeper)
    note = python.run("1").done.get("note", "")
    return python, note


@pytest.mark.parametrize("code,why", [
    ("exec('def it(): return 1')", "it() was made by Python {other}, this is {this}, and it has no source: define it again"),
    ("it = {'f': eval('lambda: 1')}", "a lambda was made by Python {other}, this is {this}, and it has no source: define it again"),
    ("import linecache\ndef it(): return 1\nlinecache.cache['<cell-2>'][2][1] = 'def it(n): return n\\n'\nimport __main__, gc\n"
     "next(one for one in gc.get_objects() if type(one).__name__ == 'Cells').sources['<cell-2>'] = ('def it(n): return n', 0)",
     "it() was made by Python {other}, this is {this}, and is not found in its source: define it again"),
    ("def it(): return 1\nimport gc\nnext(one for one in gc.get_objects() if type(one).__name__ == 'Cells').sources['<cell-2>'] = ('def it(:', 0)",
     "it() was made by Python {other}, this is {this}, and its source is none of this one's: define it again"),
])
def test_code_without_its_source_is_named_and_stays_stored(start, tmp_path, code, why):
    keeper = Keeper(tmp_path / "snapshot")
    python, note = woken_as_another(start, keeper, code + "\nnumbers = [1, 2]")
    this = f"3.{sys.version_info.minor}"
    assert "it (" + why.format(other=OTHER, this=this)[:100] in note, note
    assert python.run("numbers, 'it' in globals()").text == "([1, 2], False)"
    store(python, keeper)
    python.close_channel()
    assert f"was made by Python {OTHER}" in start("python", keeper=keeper).run("1").done["note"], "it stays stored, for a Python that can read it"


def test_code_from_its_source_is_code_of_this_python(start, tmp_path):
    """Code that another Python has made of it is not used, whatever that is."""
    keeper = Keeper(tmp_path / "snapshot")
    code = ("import marshal, hutch_runner.snapshot_code as code\nmake = code.marshal.dumps\n"
            "class Spoiled:\n    dumps = staticmethod(lambda value, version: b'not for this one')\ncode.marshal = Spoiled\n"
            "def twice(n): return n * 2")
    python = start("python", keeper=keeper)
    for one in (OF_ANOTHER, code, "del Spoiled, make, code"):
        assert python.run(one).ok
    store(python, keeper)
    python.close_channel()
    python = start("python", keeper=keeper)
    assert python.run("twice(4)").text == "8"
    store(python, keeper)
    python.close_channel()
    assert start("python", keeper=keeper).run("twice(5)").text == "10", "it is stored as this Python's"


def test_a_snapshot_names_its_versions(start, tmp_path):
    keeper = Keeper(tmp_path / "snapshot")
    python = start("python", keeper=keeper, extras=True)
    python.run("import numpy as np, pandas as pd\nof = np.arange(3); frame = pd.DataFrame({'a': [1]}); versions = [np.__version__, pd.__version__]")
    content = store(python, keeper)
    versions = json.loads(python.run("import json; json.dumps(versions)").text[1:-1])
    length = int.from_bytes(content[-56:-48], "little")
    index = json.loads(content[-56 - length:-56])
    assert [index["packages"]["numpy"], index["packages"]["pandas"]] == versions, index["packages"]
    assert index["python"].startswith("3.") and "json" not in index["packages"]


PACKAGE = "__version__ = '1.0'\nclass Kind:\n    def __setstate__(self, state): self.__dict__.update(state)\n    def __init__(self): self.n = 4\ndef call(): return 5\n"


@pytest.mark.parametrize("change,why", [
    ("__version__ = '2.0'\n", "stored by pack 1.0, here is pack 2.0: reading it failed (AttributeError: Can't get"),
    ("__version__ = '2.0'\nclass Kind:\n    def __setstate__(self, state): raise KeyError('size')\n", "stored by pack 1.0, here is pack 2.0: reading it failed (KeyError: 'size'): make it again"),
    (None, "stored by pack 1.0, here is pack none: No module named 'pack'"),
    (PACKAGE.replace("1.0", "2.0"), ""),
    (PACKAGE.replace("class Kind", "class Other"), "reading it failed (AttributeError: Can't get"),
])
def test_what_another_version_of_a_package_cannot_read_is_named_with_both(start, tmp_path, change, why):
    module = tmp_path / "workspace" / "pack.py"
    module.parent.mkdir(parents=True)
    module.write_text(PACKAGE)
    keeper = Keeper(tmp_path / "snapshot")
    python = start("python", keeper=keeper)
    python.run("import pack\nit = pack.Kind(); other = 5")
    store(python, keeper)
    python.close_channel()
    module.unlink() if change is None else module.write_text(change)
    python = start("python", keeper=keeper)
    ran = python.run("other, 'it' in globals()")
    assert ran.text == f"(5, {not why})" and (f"it ({why}" if why else "after run_1") in ran.done["note"], ran.done
    assert not why or "pack 1.0" in ran.done["note"] or "Other" in change, ran.done
    store(python, keeper)
    python.close_channel()
    module.write_text(PACKAGE)
    assert start("python", keeper=keeper).run("it.n").text == "4", "it stays stored, with the version that it is of"
