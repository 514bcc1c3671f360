"""Reads the last snapshot of the session's Python, before its first run, and says what of it is not there."""

import linecache
import os

from hutch_runner import snapshot_check, snapshot_file, snapshot_large, snapshot_values
from hutch_runner.snapshot_pipes import FILE_FD

NOTE_CHARACTERS_MAX = 300
RUN_CHARACTERS_MAX = 200  # a run's name has fewer
_NOT_KEPT = "not kept: "
WOKEN_MAX = 200  # entries of the whole list, of which a note has the first
WOKEN_CHARACTERS_MAX = 200  # for each


def wake(snapshots):
    try:
        try:
            reader = snapshot_file.Reader(FILE_FD)
        except snapshot_file.Malformed as failure:
            snapshots.note = f"variables could not be brought back: the snapshot is no good ({failure})"
            snapshots.pipes.tell(b"M")
            return
        large = snapshot_large.LargeReader(reader.index.get("large", 0), reader.index.get("beside", 0), snapshots.files[1:])
        groups = [snapshot_values.stored_group(entry, reader, large) for entry in reader.index["groups"] if large.has(entry)]
        snapshots.check = snapshot_check.begin(groups)
        snapshots.close_files()  # before code of the user's runs
        _read_all(snapshots, reader, large, groups)
    except BaseException as failure:  # a runner of another version wrote it, or there is no room for it
        snapshots.note = f"variables could not be brought back, and stay stored: {snapshot_values.reason_of(failure)}"
        snapshots.writes = False  # nothing takes their place
        if isinstance(failure, OSError):
            snapshots.pipes.tell(b"K")
        return
    finally:
        snapshots.close_files()
    snapshots.kept_large = large.file
    snapshots.pipes.tell(b"W", b"%d %d" % (large.file.number, large.position))


def _read_all(snapshots, reader, large, groups):
    index, namespace, surroundings = reader.index, snapshots.namespace, snapshots.surroundings
    _put_back_sources(index["cells"], snapshots.cells)
    around = index["around"]
    missing = surroundings.put_back(around["said"])  # first: it says where modules are found
    before = set(namespace)
    not_kept = {name: tuple(said) for name, said in index["not_kept"].items()}
    not_kept.update({name: ("", "its large values are gone") for entry in index["groups"] if not large.has(entry) for name in entry["names"]})
    reasons, snapshots.unread = snapshot_values.put_back(groups, namespace, large.file)
    not_kept.update((name, ("", reason)) for name, reason in reasons.items())
    back = [name for name in namespace if name not in before]
    pieces = {module: reader.at(place) for module, place in around["pieces"].items()}
    missing += surroundings.put_back_pieces(pieces, lambda piece: snapshot_values.unpickled(piece, namespace))
    copies = [f"{' and '.join(names)} are copies now, no views of the same numbers" for names in index.get("copies", ())
              if set(names) <= set(back)]
    lost, said = _in_words(not_kept), missing + copies
    ended = _threads_to_tell(snapshots, index) + index["lost"]
    names = "1 name" if len(back) == 1 else f"{len(back)} names"
    snapshots.back = f"a new Python has the {names} that there were after {index['run_id']}" if back else ""
    snapshots.sections = [(words, items) for words, items in (
        ("gone with the one before: ", ended), (_NOT_KEPT, lost), *(("", [one]) for one in said)) if items]
    _tell(snapshots, snapshots.back, snapshots.sections)
    snapshots.woken = _woken(index["run_id"], [*lost, *ended, *said])


def _put_back_sources(stored, cells):
    cells.count, cells.futures = stored["count"], stored["futures"]
    for name, source in stored["sources"].items():
        cells.sources[name] = (source, stored["futures"])
        linecache.cache[name] = (len(source), None, [line + "\n" for line in source.split("\n")], name)


def lose(snapshots, words):
    """Values that had come back."""
    is_untold = bool(snapshots.note)
    _tell(snapshots, snapshots.back if is_untold else "", [*(snapshots.sections if is_untold else []), (_NOT_KEPT, words)])
    before = snapshots.woken or {"after": snapshots.run_id, "not_kept": []}
    snapshots.woken = _woken(before["after"], [*before["not_kept"], *words])


def _in_words(not_kept):
    return [f"{name} ({kind}: {why})" if kind else f"{name} ({why})" for name, (kind, why) in not_kept.items()]


def _woken(run_id, words):
    told = [_cut(word, WOKEN_CHARACTERS_MAX).encode("utf-8", "backslashreplace").decode() for word in words[:WOKEN_MAX]]
    return {"after": run_id, "not_kept": told, "left_out": len(words) - len(told)} if told else None


def _threads_to_tell(snapshots, index):
    """Threads that ran when the snapshot was written: one that has woken with it, and ended before the next was written, may have told of them."""
    threads = index.get("threads", [])  # a runner of another version has none apart
    path = os.path.join(os.environ.get("HUTCH_STATE_DIR", "/run/hutch/state"), "threads_told")
    try:
        with open(path, encoding="utf-8") as file:
            was_told = file.read(RUN_CHARACTERS_MAX) == index["run_id"]
    except (OSError, ValueError):
        was_told = False
    if not threads or was_told:
        return []

    def is_told():
        try:
            with open(path, "w", encoding="utf-8") as file:
                file.write(index["run_id"])
        except OSError:  # it is told again
            pass

    snapshots.note_is_told = is_told
    return threads


def _tell(snapshots, back, sections):
    """Has as many items, behind the words of their section, as there is room for, each of them whole."""
    lacks = [(", " if at else words) + item for words, items in sections for at, item in enumerate(items)]
    starts = {sum(len(items) for _words, items in sections[:at]) for at in range(0 if back else 1, len(sections))}
    lacks = ["; " * (at in starts) + piece for at, piece in enumerate(lacks)]
    told, length = lacks, len(back) + len("".join(lacks))
    if length > NOTE_CHARACTERS_MAX:
        room = NOTE_CHARACTERS_MAX - len(back) - len(_more(len(lacks)))
        count = next(at for at in range(len(lacks)) if len("".join(lacks[:at + 1])) > room)
        told = lacks[:count]
        if not told:  # it is one long item
            told = [_cut(lacks[0], room)]
    more = len(lacks) - len(told)
    snapshots.note = back + "".join(told) + (_more(more) if more else "")
    snapshots.pieces = {"back": back, "lacks": told, "more": more}


def _more(count):
    return f" and {count} more: `hutch sessions show`"


def _cut(text, limit):
    return text if len(text) <= limit else text[:limit - 3] + "..."
