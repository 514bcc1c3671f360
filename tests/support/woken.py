"""Interpreters that have read the snapshot of another one."""

import re

from runner_client import Keeper

WISH = 7


def named(name, code):
    """Each kind has a name of its own."""
    return re.sub(r"\bit\b", f"it_{name}", code)


class WokenPython:
    """One in whose predecessor all kinds were made: {name: (code, ...)}."""

    def __init__(self, start, folder, kinds, **options):
        keeper = Keeper(folder / "snapshot")
        first = start("python", keeper=keeper, **options)
        for name, (code, *_) in kinds.items():
            made = first.run(named(name, code))
            assert made.ok, (name, made.error)
        # The first may be of a moment between two cells.
        first.run("the_end = True")
        while b"the_end" not in (keeper.take() or b""):
            pass
        first.close_channel()
        self.python = start("python", keeper=keeper, **options)
        self.note = self.python.run("1").done.get("note", "")


class WokenJavaScript:
    """JavaScripts whose predecessor did so; each but the first has only read what the one before it had read."""

    def __init__(self, start, folder, kinds, generations=1):
        keeper = Keeper(folder / "snapshot")
        maker = start("javascript", keeper=keeper)
        for name, (code, _) in kinds.items():
            made = maker.run(named(name, code), language="typescript" if name == "typescript" else None)
            assert made.ok, (name, made.error)
        store(maker, keeper)
        maker.close_channel()
        self.generations = [start("javascript", keeper=keeper)]
        while len(self.generations) < generations:
            store(self.generations[-1], keeper)  # before anybody has changed what it has
            self.generations.append(start("javascript", keeper=keeper))
        self.notes = [one.run("1").done.get("note", "") for one in self.generations]


def wish(runner, bytes_max=256 << 20):
    """Asks for all that it knows, as the box does."""
    runner.send({"type": "store", "bytes_max": bytes_max, "wish": WISH})


def store(runner, keeper, bytes_max=256 << 20):
    """All that it knows, as the box asks for it."""
    wish(runner, bytes_max)
    content = keeper.take()
    while keeper.last_begin != b"%d" % WISH:  # one that nobody has asked for was on its way
        content = keeper.take()
    return content
