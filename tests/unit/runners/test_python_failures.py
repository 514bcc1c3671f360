"""What the Python runner adds to a traceback: the way to a missing package, and files that have changed."""

import pytest

# As pandas asks for what it does not always need.
LIBRARY = """
import importlib
def need(name, told=None, cause=False):
    try:
        importlib.import_module(name)
    except ImportError as error:
        message = f"Missing optional dependency '{told or name}'.  Use pip or conda to install {told or name}."
        if cause: raise ImportError(message) from error
    else: return
    raise ImportError(message)
def engine(*names):
    messages = ""
    for name in names:
        try: need(name)
        except ImportError as error: messages += f"\\n - {error}"
    raise ImportError(f"Unable to find a usable engine; tried using: {names}.{messages}")
"""


@pytest.mark.parametrize("code, way", [
    ("import lib; lib.need('nosuch')", "no nosuch: install it on the machine that runs hutch, on Debian and Ubuntu usually "
                                       "with apt install python3-nosuch,"),
    ("import lib; lib.need('nosuch.part', 'NoSuch', cause=True)", "apt install python3-nosuch,"),
    ("import lib; lib.engine('nosuch', 'none')", "apt install python3-nosuch,"),
    ("import lib; lib.engine('pyarrow_not_here', 'none')", "apt install python3-pyarrow-not-here,"),
    ("raise ImportError('html5libx not found, please install it')", "apt install python3-html5libx,"),
    ("import typing_ext_x", "apt install python3-typing-ext-x,"),
    ("import sys\nsys.modules['polars'] = None\ntry: import polars\nfinally: del sys.modules['polars']",
     "Ubuntu as root with pip install --break-system-packages polars,"),
    ("try: import nosuch\nexcept ImportError: from os import nothing", None),
    ("import lib; lib.need('json'); raise ImportError('something else')", None),
    ("raise ImportError(\"Missing optional dependency 'json'\")", None),
])
def test_the_way_to_a_missing_package(python, code, way):
    (python.cwd / "lib.py").write_text(LIBRARY)
    ending = python.run(code)
    assert not ending.ok
    assert way in ending.stderr if way else "install it on" not in ending.stderr
