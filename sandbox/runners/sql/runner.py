"""Runs SQL for one session of hutch: an embedded engine, with a database file that stays.

Started as `python3 runner.py` with the channel to the host as descriptors 3 and 4. The frames are
described in ../README.md; session.py is where a run is received and answered.
"""

import os
import sys


def make_package():
    """Makes the files beside this one, and the common ones, importable as `hutch_runner.x`."""
    here = os.path.dirname(os.path.abspath(__file__))
    package = type(sys)("hutch_runner")
    above = os.path.dirname(here)
    package.__path__ = [os.path.join(above, "interpreter"), here, os.path.join(above, "database")]
    sys.modules["hutch_runner"] = package
    sys.path.pop(0)


if __name__ == "__main__":
    make_package()
    from hutch_runner import session

    session.serve()
