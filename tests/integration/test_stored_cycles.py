"""A session is stored and woken again and again: each time all that it knew is as it was, and nothing grows.

HUTCH_STORED_CYCLES (100) says how often, HUTCH_STORED_FRAME_MB (500) how large its DataFrame is: ten minutes on
two cores.
"""

import os
import pathlib
import statistics
import time

import pytest

from boxes import boxes_of, children_of, until
from test_soak import resident_mb
from test_stored_sessions import until_it_is

CYCLES = int(os.environ.get("HUTCH_STORED_CYCLES", "100"))
FRAME_MB = int(os.environ.get("HUTCH_STORED_FRAME_MB", "500"))
FILES = 10_000
WARM = 5  # cycles after which allocators have what they keep
# SQLite's page cache and the threads of the server come once; a tenth of a megabyte a cycle would be more.
GROWTH_MB = 6
# Numbers in the index of a snapshot have more digits after more runs, and so have names of cells.
DISK_GROWTH_BYTES = 256 << 10

PYTHON = f"""
import collections, decimal, fractions, functools, hashlib, os, random, re
import numpy as np, pandas as pd
rows = ({FRAME_MB} << 20) // 40
chance = np.random.default_rng(1)
frame = pd.DataFrame({{
    "id": np.arange(rows), "n": chance.integers(0, 1 << 40, rows), "x": chance.random(rows), "y": chance.normal(size=rows),
    "at": pd.date_range("2026-01-01", periods=rows, freq="s"),
    "kind": pd.Categorical.from_codes(chance.integers(0, 3, rows).astype("int8"), ["a", "b", "c"])}})
words = pd.DataFrame({{"word": [f"wörd {{n}}" for n in range(20_000)]}}, index=pd.Index(range(20_000), name="line"))
alias, column = frame, words["word"]
tree = {{"numbers": list(range(1000)), "point": fractions.Fraction(1, 3), "price": decimal.Decimal("9.99"), "text": "ä" * 5000}}
tree["itself"] = tree
Row = collections.namedtuple("Row", "a b")
row, pattern, counts = Row(1, [2]), re.compile("a+"), collections.Counter("hello")
class Account:
    interest = 3
    def __init__(self, owner): self.owner, self.entries = owner, []
    def add(self, n): self.entries.append(n); return self
    @property
    def total(self): return sum(self.entries) * self.interest
account = Account("me").add(4)
def counter():
    count = 0
    def step(by=1):
        nonlocal count
        count += by
        return count
    return step
step = counter()
twice = functools.partial(lambda by, n: by * n, 2)
offset = 7
def shifted(n): return n + offset
@functools.lru_cache
def fibonacci(n): return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)
os.environ["MODE"] = "mine"
decimal.getcontext().prec = 6
random.seed(3)
def digest():
    total = hashlib.sha256()
    for name in frame:
        values = frame[name].cat.codes if name == "kind" else frame[name]
        total.update(f"{{name}} {{frame[name].dtype}} {{len(frame)}}".encode() + np.ascontiguousarray(values.to_numpy()).view("u1").data)
    known = [words.to_csv(), column.iloc[-1], tree["numbers"], tree["text"], tree["point"], tree["price"], tree["itself"] is tree, row, pattern.pattern,
             sorted(counts.items()), account.owner, account.total, type(account) is Account, twice(21), shifted(1), fibonacci(30), alias is frame,
             chance.bit_generator.state, random.getstate(), os.environ["MODE"], decimal.Decimal(1) / 3, os.getcwd(), rows]
    total.update(repr(known).encode())
    return total.hexdigest()
"""
SQL = """CREATE TABLE words AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000) SELECT i, 'word ' || i AS word FROM n;
CREATE TABLE empty (a INTEGER, b TEXT); CREATE VIEW odd AS SELECT * FROM words WHERE i % 2 = 1; CREATE INDEX by_word ON words (word);"""
BASH = f"""mkdir -p deep/er files; cd files
for ((i = 0; i < {FILES}; i++)); do echo "content of $i" >"$i.txt"; done
cd ../deep/er
greeting='hello "you" of
two lines'; list=(a 'b c' d); declare -A map=([one]=1 [two]='2 3'); declare -i number=5; export SHOWN=yes; readonly_like=x
say() {{ local who=${{1:-all}}; echo "$greeting, $who from ${{PWD##*/}}"; }}; again() {{ for n in 1 2; do say $n; done; }}
alias ll='echo listed'; shopt -s nullglob; set -f; umask 027; steps=0"""
JAVASCRIPT = """import crypto from 'crypto'; import path from 'path';
class Point { constructor(x) { this.x = x; } twice() { return 2 * this.x; } static origin() { return new Point(0); } }
class Named extends Point { get name() { return `point ${this.x}`; } }
const points = new Map([['a', new Point(4)], ['b', new Named(5)]]), same = points.get('a'), seen = new Set([1, 'two', same]);
const bytes = new Uint8Array(1 << 20).map((_, i) => i * 7), when = new Date(86400000), big = 2n ** 70n, odd = /a+b/giu;
const ring = { self: null, list: [1, , 3], none: undefined, nan: NaN, minus: -0 }; ring.self = ring;
let offset = 40, scripts = 0; function add(n) { return n + offset; } const base = (name) => path.basename(name);
function digest() {
  const known = [[...points.keys()], points.get('b').name, points.get('b').twice(), same === points.get('a'), seen.has(same), seen.size, when.toISOString(),
    String(big), String(odd), ring.self === ring, 1 in ring.list, ring.list.length, 'none' in ring, String(ring.nan), Object.is(ring.minus, -0), add(2),
    base('/x/y.z'), Point.origin().x, same instanceof Point];
  return crypto.createHash('sha256').update(bytes).update(JSON.stringify(known)).digest('hex');
}
5"""
# Each says how many cycles there were, which it counts by what it knows, and then a digest of all the rest.
LOOKS = {
    "python": "print(step(), digest())",
    "javascript": "scripts += 1; console.log(scripts, digest())",
    "bash": "steps=$((steps + 1)); echo $steps $({ pwd; declare -p greeting list map number SHOWN readonly_like; declare -f say again; alias; again; ll; "
            f"shopt nullglob; echo $-; umask; cat /workspace/files/{{0..{FILES - 1}}}.txt; ls -f /workspace/files | wc -l; }} | sha256sum)",
    "sql": "SELECT count(*), sum(i), min(word), max(word), sum(length(word)), sum(i * 31 % 1009), (SELECT count(*) FROM odd), (SELECT count(*) FROM empty) "
           "FROM words",
}


def look(client, session, language):
    """Returns what it counted and its digest, and the note of the run."""
    run = client.run(LOOKS[language], language, session_id=session)
    assert run["status"] == "completed" and not run["stderr"], run
    if language == "sql":
        return None, run["outputs"][-1]["json"]["rows"], run.get("note", "")
    count, digest = run["stdout"].split(maxsplit=1)
    return int(count), digest, run.get("note", "")


def make(client):
    session = client.call("create_session", name="kept")["session_id"]
    for language, code in {"bash": BASH, "python": PYTHON, "sql": SQL, "javascript": JAVASCRIPT}.items():
        run = client.run(code, language, session_id=session)
        if language == "python" and run["status"] == "failed" and run["error"]["name"] == "ModuleNotFoundError":
            pytest.skip(f"Python packages of this host: {run['error']['message']}")
        assert run["status"] == "completed", run
    return session


def with_descendants(pid):
    return [pid, *(one for child in children_of(pid) for one in with_descendants(child))]


def stored_bytes(state, session):
    return sum(file.stat().st_blocks * 512 for file in pathlib.Path(state, "sessions", session, "state").iterdir())


def median_of_ends(numbers):
    """At the begin, once it is warm, and at the end: one number alone is the machine's mood."""
    few = max(1, min(10, len(numbers) // 4))
    return statistics.median(numbers[WARM:WARM + few] or numbers[:1]), statistics.median(numbers[-few:])


def test_stored_and_woken_many_times(client, state):
    session = make(client)
    first = {language: look(client, session, language) for language in LOOKS}
    server, boxes, sessions, disk, seconds = [], [], [], [], []
    for cycle in range(2, CYCLES + 2):
        began = time.monotonic()
        client.call("pause_session", session_id=session)
        until_it_is(client, session, "stored")
        until(lambda: not boxes_of(state), what="the end of the box")
        disk.append(stored_bytes(state, session))
        server.append(resident_mb(client.process.pid))
        for language, (count, digest, _) in first.items():
            looked = look(client, session, language)
            assert looked[:2] == (count and cycle, digest), (cycle, language, looked)
            assert "lost" not in looked[2] and "not kept" not in looked[2], (cycle, language, looked)
        (box,) = boxes_of(state).values()
        boxes.append(resident_mb(box))
        sessions.append(sum(resident_mb(pid) for pid in with_descendants(box)))
        seconds.append(time.monotonic() - began)
    print(f"{CYCLES} cycles of {statistics.median(seconds):.1f} s, {max(seconds):.1f} s at most")
    for what, numbers in {"server, MB": server, "hutch-box, MB": boxes, "session, MB": sessions, "snapshots, bytes": disk}.items():
        print(what, *(f"{number:.1f}" for number in (*median_of_ends(numbers), max(numbers))))
    for numbers in (server, boxes):
        before, after = median_of_ends(numbers)
        assert after < before + GROWTH_MB, numbers
    before, after = median_of_ends(sessions)
    assert after < 1.05 * before + GROWTH_MB, sessions
    assert max(disk) < disk[0] + DISK_GROWTH_BYTES, disk
