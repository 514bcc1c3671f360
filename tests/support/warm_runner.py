"""The Python runner as a copy of the zygote is one, without a box: what it has imported is in its stash.

Started in place of runner.py by tests of the runners alone.
"""

import sys

BEGIN = set(sys.modules)

import os  # noqa: E402

RUNNERS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../sandbox/runners")


def preloaded(begin):
    """As the zygote has it: its stash, and the modules of the runners."""
    sys.path[0] = os.path.join(RUNNERS, "zygote")
    import preload

    preload.INSIDE = os.path.realpath(RUNNERS)
    return preload.everything(os.path.realpath(RUNNERS), begin)


def main():
    stash, runners = preloaded(BEGIN)
    sys.path[0], sys.argv = "", [""]
    sys.modules.update(runners.modules["python"])
    sys.meta_path.insert(0, stash)
    sys.modules["hutch_runner.session"].serve()


if __name__ == "__main__":
    main()
