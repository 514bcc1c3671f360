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
    """A JavaScript whose predecessor did so; or had only read what another one had made."""

    def __init__(self, start, folder, kinds, generations=1):
        self.keeper = Keeper(folder / "snapshot")
        first = start("javascript", keeper=self.keeper)
        for name, (code, _) in kinds.items():
            made = first.run(named(name, code), language="typescript" if name == "typescript" else None)
            assert made.ok, (name, made.error)
        self.javascript = first
        for _ in range(generations):
            store(self.javascript, self.keeper)
            self.javascript.close_channel()
            self.javascript = start("javascript", keeper=self.keeper)
        self.note = self.javascript.run("1").done.get("note", "")


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
