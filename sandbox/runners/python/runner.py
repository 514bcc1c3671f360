"""Runs Python for one session of hutch: cells of code in one lasting interpreter.

Started as `python3 runner.py` with the channel to the host as descriptors 3 and 4. The frames are
described in ../README.md; session.py is where a run is received and answered.
"""

import os
import sys


def make_package():
    """Makes the files beside this one importable as `hutch_runner.x`.

    Their folder itself stays off sys.path, else `import charts` in user code would find ours.
    """
    here = os.path.dirname(os.path.abspath(__file__))
    package = type(sys)("hutch_runner")
    above = os.path.dirname(here)
    package.__path__ = [os.path.join(above, "interpreter"), here, os.path.join(above, "database")]
    sys.modules["hutch_runner"] = package


if __name__ == "__main__":
    make_package()
    del sys.path[0]  # this file's folder
    from hutch_runner import session

    sys.path.insert(0, "")  # imports of cells look in the working directory, those of the runner do not
    sys.argv = [""]
    session.serve()
