"""Reads the last snapshot of the session's Python, before its first run, and says what of it is not there."""

import linecache

from hutch_runner import snapshot_check, snapshot_file, snapshot_large, snapshot_values
from hutch_runner.snapshot_pipes import FILE_FD

NOTE_CHARACTERS_MAX = 300
LOST_CHARACTERS_MAX = 200  # in a note
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
    snapshots.note = _note_of(back, index["run_id"], lost, index["lost"], said)
    snapshots.woken = _woken(index["run_id"], [*lost, *index["lost"], *said])


def _put_back_sources(stored, cells):
    cells.count, cells.futures = stored["count"], stored["futures"]
    for name, source in stored["sources"].items():
        cells.sources[name] = (source, stored["futures"])
        linecache.cache[name] = (len(source), None, [line + "\n" for line in source.split("\n")], name)


def lose(snapshots, words):
    """Values that had come back."""
    snapshots.note = "; ".join(filter(None, (snapshots.note, _lost_in_words(words))))[:NOTE_CHARACTERS_MAX]
    before = snapshots.woken or {"after": snapshots.run_id, "not_kept": []}
    snapshots.woken = _woken(before["after"], [*before["not_kept"], *words])


def _in_words(not_kept):
    return [f"{name} ({kind}: {why})" if kind else f"{name} ({why})" for name, (kind, why) in not_kept.items()]


def _woken(run_id, words):
    told = [_cut(word, WOKEN_CHARACTERS_MAX).encode("utf-8", "backslashreplace").decode() for word in words[:WOKEN_MAX]]
    return {"after": run_id, "not_kept": told, "left_out": len(words) - len(told)} if told else None


def _note_of(back, run_id, lost, ended, said):
    parts = [f"a new Python has the {len(back)} names that there were after {run_id}"] if back else []
    if ended:
        parts.append("gone with the one before: " + ", ".join(ended))
    if lost:
        parts.append(_lost_in_words(lost))
    return "; ".join([*parts, *said])[:NOTE_CHARACTERS_MAX]


def _lost_in_words(lost):
    return "not kept: " + _cut(", ".join(lost), LOST_CHARACTERS_MAX)


def _cut(text, limit):
    return text if len(text) <= limit else text[:limit - 3] + "..."
