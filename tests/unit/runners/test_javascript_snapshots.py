"""When a JavaScript's snapshots are written and read, what is around its values, and what disturbs them."""

import hashlib
import pathlib
import re
import subprocess
import time

import pytest

from runner_client import PROGRAMS, RUNNERS, Keeper, eventually
from woken import store, wish


def handed_over(start, keeper, code, **options):
    """Returns what is there once a JavaScript that ran the code has ended; its bytes."""
    first = start("javascript", keeper=keeper, **options)
    ran = first.run(code)
    assert ran.ok, ran.error
    content = store(first, keeper)
    first.close_channel()
    return content


@pytest.fixture
def keeper(tmp_path):
    return Keeper(tmp_path / "snapshot")


def test_what_has_changed_is_written_when_nothing_runs(start, keeper):
    first = start("javascript", keeper=keeper)
    first.run("let x = 1")
    assert b"x" in keeper.take() and keeper.last_begin == b"0" and keeper.last_end.split()[1:] == [b"0"] * 3
    first.run("x = 'something else'")
    assert b"something else" in keeper.take()
    first.close_channel()
    assert start("javascript", keeper=keeper).run("x").text == "'something else'"


@pytest.mark.parametrize("meminfo, bytes_taken, has_room", [
    ("MemTotal: 9000 kB\nMemAvailable:     1000 kB\n", 1000 << 10, "true"), ("MemTotal: 9000 kB\nMemAvailable:     1000 kB\n", 2000 << 10, "false"),
    ("MemTotal: 9000 kB\n", 1 << 40, "true"), (None, 1 << 40, "true")])
def test_half_of_what_storing_may_take_is_to_be_free(tmp_path, meminfo, bytes_taken, has_room):
    if meminfo is not None:
        (tmp_path / "meminfo").write_text(meminfo)
    code = f"import {{ hasRoom }} from '{RUNNERS}/javascript/snapshots.mjs'; console.log(hasRoom({bytes_taken}, '{tmp_path}/meminfo'))"
    said = subprocess.run([PROGRAMS["javascript"][0], "--input-type=module", "-e", code], capture_output=True, text=True, check=True)
    assert said.stdout == f"{has_room}\n", said


@pytest.mark.parametrize("count_of_all", [40, 250])
def test_a_note_has_whole_items_and_counts_the_others(start, keeper, count_of_all):
    handed_over(start, keeper, "".join(f"let number{n} = new WeakMap();\n" for n in range(count_of_all)) + "let kept = 5")
    note = start("javascript", keeper=keeper).run("kept").done["note"]
    named, count = re.search(r"; not kept: (number0 \(.+\)) and (\d+) more: `hutch sessions show`$", note).groups()
    assert named.count("number") + int(count) == count_of_all and 230 < len(note) <= 300, note


def test_names_that_share_objects_share_them_again(start, keeper):
    handed_over(start, keeper, "const a = { n: 1 }, b = [a], c = new Map([[a, b]]); a.b = b; const bytes = new Uint8Array(8), half = bytes.subarray(4)")
    woken = start("javascript", keeper=keeper)
    assert woken.run("b[0] === a && a.b === b && c.get(a) === b && half.buffer === bytes.buffer").text == "true"


def test_what_is_around_the_values_comes_back(start, tmp_path, keeper):
    (tmp_path / "workspace" / "sub").mkdir(parents=True)
    first = start("javascript", keeper=keeper)
    first.run("process.chdir('sub'); process.env.MINE = 'gr\u00fcn'; delete process.env.TERM; let x = 1", env={"OF_RUN": "1"})
    first.run("'last value'")
    store(first, keeper)
    first.close_channel()
    woken = start("javascript", keeper=keeper)
    looked = woken.run("[process.cwd().endsWith('/sub'), process.env.MINE, 'TERM' in process.env, 'OF_RUN' in process.env, _]")
    assert looked.text == "[ true, 'gr\u00fcn', false, false, 'last value' ]", looked
    assert "cell-4:1:" in woken.run("null.x").stderr


def test_tracebacks_name_the_cell_and_quote_it(start, keeper):
    handed_over(start, keeper, "import 'os'; const one = 1;\n\nfunction fails(x) {\n  return x.missing.more;\n}\nclass Fails extends Object { static of = 1; now() { null.x } }")
    woken = start("javascript", keeper=keeper)
    failed = woken.run("fails({})").stderr
    assert "cell-1:4\n  return x.missing.more;\n" in failed and "at fails (cell-1:4:20)" in failed, failed
    assert "cell-1:6:" in woken.run("new Fails().now()").stderr


def test_a_directory_that_is_gone_is_told(start, tmp_path, keeper):
    folder = tmp_path / "workspace" / "sub"
    folder.mkdir(parents=True)
    handed_over(start, keeper, "process.chdir('sub'); let x = 1")
    folder.rmdir()
    assert "sub is gone" in start("javascript", keeper=keeper).run("x").done["note"]


def test_code_of_values_is_not_run_by_writing(start, keeper):
    code = ("let ran = 0; const told = () => { ran++; throw new Error('told') };"
            "Object.defineProperty(globalThis, 'getter', { get: function () { return told() }, configurable: true });"
            "const object = { get a() { return told() } }; const list = [1]; Object.defineProperty(list, 0, { get: () => told(), enumerable: true });"
            "const proxy = new Proxy({}, new Proxy({}, { get: told })); const behind = Object.create(proxy); const named = class { static get name() { return told() } };"
            "class Tagged { get [Symbol.toStringTag]() { return told() } static [Symbol.hasInstance]() { told() } toJSON() { told() } } const tagged = new Tagged();"
            "const map = new (class extends Map { get size() { return told() } forEach() { told() } [Symbol.iterator]() { told() } })([[1, 2]]);"
            "const date = Object.assign(new Date(5), { getTime: told, valueOf: told, toJSON: told }); const error = new Error('e'); Object.defineProperty(error, 'stack', { get: told });"
            "Error.prepareStackTrace = () => told(); const late = new Error('late'); const constructed = Object.defineProperty({}, 'constructor', { get: told })")
    first = start("javascript", keeper=keeper)
    assert first.run(code).ok
    store(first, keeper)
    assert first.run("ran").text == "0"
    first.close_channel()
    woken = start("javascript", keeper=keeper)
    looked = woken.run("[ran, map.constructor.name, date.constructor === Date, Object.getOwnPropertyDescriptor(list, 0).get !== undefined]")
    assert looked.text == "[ 0, '', true, true ]" and "proxy (Proxy" in looked.done["note"] and "behind (Proxy" in looked.done["note"], looked


def test_code_in_place_of_builtins_does_not_disturb_the_writer(start, keeper):
    code = ("const kept = { list: [1, 2], map: new Map([[1, { n: 2 }]]), when: new Date(7), f() { return 1 } };"
            "for (const [holder, keys] of [[Array.prototype, ['push', 'includes', 'filter', 'map', 'slice']], [Map.prototype, ['get', 'set', 'has', 'forEach', 'entries']],"
            " [Object, ['getOwnPropertyDescriptor', 'keys', 'isExtensible']], [Reflect, ['ownKeys', 'apply']], [Function.prototype, ['toString']], [Date.prototype, ['getTime']],"
            " [Buffer, ['from']], [JSON, ['stringify']]]) for (const key of keys) { const before = holder[key]; holder[key] = function () {"
            " if (globalThis.isArmed) throw new Error('in the way'); return before.apply(this, arguments) } }")
    first = start("javascript", keeper=keeper)
    first.run("var isArmed = false;" + code + "; 1")
    store(first, keeper)
    first.close_channel()
    woken = start("javascript", keeper=keeper)
    assert woken.run("[kept.list[1], kept.map.size, kept.f()]").text == "[ 2, 1, 1 ]"


def test_whoever_asks_for_all_gets_it_and_hears_what_is_missing(start, tmp_path):
    keeper = Keeper(tmp_path / "snapshot", bytes_max=4 << 20)
    first = start("javascript", keeper=keeper)
    first.run("let large = Buffer.alloc(9 << 20, 1); let several = new WeakMap()")
    content = keeper.take()
    assert len(content) < 4 << 20 and keeper.last_end.split()[1] == b"2"
    first.send({"type": "store", "bytes_max": 64 << 20, "wish": 3})
    assert len(keeper.take()) > 9 << 20
    assert keeper.last_begin == b"3" and keeper.last_end.split()[1] == b"1"
    first.send({"type": "store", "bytes_max": 64 << 20, "wish": 4})  # though nothing has run since
    assert len(keeper.take()) > 9 << 20 and keeper.last_begin == b"4"
    first.close_channel()
    assert start("javascript", keeper=keeper).run("large.length").text == str(9 << 20)


@pytest.mark.parametrize("code,said", [
    ("setInterval(() => {}, 1e6)", "1 timers"),
    ("await new Promise((done) => require('net').createServer().listen(0, done))", "1 servers"),
    ("require('child_process').spawn('sleep', ['60'])", "1 processes"),
    ("require('fs').writeFileSync('mine.mjs', 'export const seen = []');\n(await import('./mine.mjs')).seen.push(1)", "what was changed in the modules ./mine.mjs"),
    ("require('fs').writeFileSync('mine.cjs', 'let seen = {}; exports.add = (n) => { seen[n] = 1 }');\nrequire('./mine.cjs').add(1)", "mine.cjs"),
    ("require('fs').writeFileSync('count.mjs', 'let n = 0; const add = () => { n += 1 }; export const up = () => { add(); return n }');\n(await import('./count.mjs')).up()",
     "what was changed in the modules ./count.mjs"),
    ("require('fs').writeFileSync('count.cjs', 'exports.n = 0; exports.up = function () { exports.n++ }');\nrequire('./count.cjs').up()", "count.cjs"),
    ("process.on('SIGUSR2', () => {}); process.once('exit', () => {})", "handlers of the process (SIGUSR2, exit)"),
])
def test_what_is_no_value_and_goes_with_the_process_is_told(start, keeper, code, said):
    handed_over(start, keeper, code + "\nlet kept = 1")
    assert int(keeper.last_end.split()[1]) > 0
    note = start("javascript", keeper=keeper).run("kept").done["note"]
    assert "gone with the one before: " in note and said in note, note


def test_a_module_that_holds_nothing_is_not_told(start, keeper):
    handed_over(start, keeper, "require('fs').writeFileSync('pure.mjs', 'const RATE = 2; export const twice = (n) => { let m = n; for (let i = 1; i < RATE; i++) m += n; return m }');\nimport { twice } from './pure.mjs'; let x = twice(2)")
    assert keeper.last_end.split()[1] == b"0"
    assert start("javascript", keeper=keeper).run("twice(x)").text == "8"


def test_a_package_of_debian_is_not_taken_for_the_users_own(start, keeper):
    handed_over(start, keeper, "const acorn = require('/usr/share/nodejs/acorn/dist/acorn.js'); let kept = 1")
    assert keeper.last_end.split()[1] == b"0"
    assert "gone" not in start("javascript", keeper=keeper).run("kept").done["note"]


def test_what_could_not_be_read_stays_stored(start, tmp_path, keeper):
    module = tmp_path / "workspace" / "mod.mjs"
    module.parent.mkdir(parents=True)
    module.write_text("export class Kind {}")
    handed_over(start, keeper, "import { Kind } from './mod.mjs'; let x = new Kind(); x.n = 4; x.self = x; let y = 1, z = [x]")
    module.rename(module.with_suffix(".away"))
    second = start("javascript", keeper=keeper)
    ran = second.run("y = 2; z = 3")
    assert "(Cannot find module" in ran.done["note"] and ran.done["note"].endswith("and 2 more: `hutch sessions show`"), ran.done
    store(second, keeper)
    second.close_channel()
    module.with_suffix(".away").rename(module)
    third = start("javascript", keeper=keeper)
    assert third.run("[x.n, x.self === x, x instanceof Kind, y, z]").text == "[ 4, true, true, 2, 3 ]"


@pytest.mark.slow
@pytest.mark.parametrize("change", ["throw 3", "throw new Proxy({}, { get() { throw 1 } })", "await new Promise(() => {})", "syntax error"])
def test_whatever_a_module_does_as_it_is_loaded_costs_only_what_needs_it(start, tmp_path, keeper, change):
    module = tmp_path / "workspace" / "mod.mjs"
    module.parent.mkdir(parents=True)
    module.write_text("export class Kind {}")
    handed_over(start, keeper, "import { Kind } from './mod.mjs'; let x = new Kind(); let y = 1")
    module.write_text(change)
    ran = start("javascript", keeper=keeper).run("y")
    assert ran.text == "1" and "x (" in ran.done["note"], ran


def test_a_wish_is_answered_at_once_where_the_code_has_broken_what_writing_needs_and_the_user_hears_of_it(start, keeper):
    javascript = start("javascript", keeper=keeper)
    javascript.run("globalThis.AggregateError = undefined; let x = 1")
    wish(javascript)
    assert keeper.packet() == (b"X", b"7")
    assert "variables could not be stored: " in javascript.run("x").done["note"]


def test_a_wish_is_answered_at_once_where_the_last_snapshot_cannot_be_read(start, keeper):
    magic, index = b"hutchjs1", b"{}"
    content = magic + index + len(index).to_bytes(8, "little") + (len(magic) + len(index)).to_bytes(8, "little")
    keeper.path.write_bytes(content + hashlib.sha256(content).digest() + magic)
    javascript = start("javascript", keeper=keeper)
    assert "could not be brought back, and stay stored" in javascript.run("let x = 1").done["note"]
    wish(javascript)
    assert keeper.packet() == (b"X", b"7")


def test_a_wish_is_answered_at_once_where_the_code_has_closed_the_answers(start, keeper):
    javascript = start("javascript", keeper=keeper)
    javascript.run("require('fs').closeSync(6); let x = 1")
    wish(javascript)
    assert keeper.packet() == (b"X", b"7")


MODULE = "import fs from 'node:fs'; console.log('loaded'); if (fs.existsSync('slow')) await new Promise((done) => setTimeout(done, 20_000)); export class Kind {}"


@pytest.fixture
def of_module(start, tmp_path, keeper):
    """A JavaScript with a value of a class of the user's module, and the file of that."""
    module = tmp_path / "workspace" / "mod.mjs"
    module.parent.mkdir(parents=True)
    module.write_text(MODULE)
    javascript = start("javascript", keeper=keeper)
    assert javascript.run("import { Kind } from './mod.mjs'; let x = new Kind()").ok
    keeper.take()
    return javascript, module


@pytest.mark.parametrize("size", [0, 9 << 20])
def test_a_pause_knows_that_what_was_stored_comes_back(of_module, keeper, size):
    javascript, _ = of_module
    javascript.run(f"let bytes = Buffer.alloc({size}, 1)")
    store(javascript, keeper)
    assert keeper.last_end.split()[1] == b"0"
    ran = javascript.run("x instanceof Kind")
    assert ran.text == "true" and ran.stdout == "" and "note" not in ran.done, ran


@pytest.mark.parametrize("change", ["throw new Error('now')", "export class Other {}", "process.exit(0)", "process.exitCode = 0; await new Promise(() => {})"])
def test_a_pause_knows_what_would_not_come_back(of_module, keeper, change):
    javascript, module = of_module
    module.write_text(change)
    javascript.run("let bytes = Buffer.alloc(9 << 20, 1)")
    store(javascript, keeper)
    assert keeper.last_end.split()[1] == b"1"


def test_a_run_that_comes_while_a_snapshot_is_tried_is_not_kept_waiting(of_module, keeper):
    javascript, module = of_module
    (module.parent / "slow").touch()
    wish(javascript)
    children = pathlib.Path(f"/proc/{javascript.process.pid}/task/{javascript.process.pid}/children")
    eventually(lambda: [pathlib.Path(f"/proc/{pid}/comm").read_text() for pid in children.read_text().split()] == ["hutch-snapshot\n"],
               "no process that hutch-box takes for its own")
    began = time.monotonic()
    assert javascript.run("x instanceof Kind").text == "true"
    assert time.monotonic() - began < 2
    while keeper.packet() != (b"X", b"7"):
        pass
    eventually(lambda: not children.read_text(), "the process that reads goes on")


def test_a_module_whose_file_is_gone_costs_what_needs_it_alone(of_module, start, keeper):
    javascript, module = of_module
    module.unlink()
    javascript.run("let y = 1")
    assert keeper.take()
    javascript.close_channel()
    ran = start("javascript", keeper=keeper).run("y")
    assert ran.text == "1" and ("Kind (Cannot find module" in ran.done["note"] or ran.done["note"].endswith("and 2 more: `hutch sessions show`")), ran


def test_modules_alone_are_nothing(start, keeper):
    javascript = start("javascript", keeper=keeper)
    javascript.run("import path from 'path'; const { join } = path; const max = Math.max; console.log(1)")
    assert keeper.take() is None
    javascript.run("const x = 1")
    assert b"x" in keeper.take()


@pytest.mark.parametrize("damage", [lambda c: c[:-1], lambda c: c[:100], lambda c: b"", lambda c: c[:50] + bytes([c[50] ^ 1]) + c[51:],
                                    lambda c: c[:-80] + bytes([c[-80] ^ 1]) + c[-79:], lambda c: c + b"more"])
def test_a_damaged_snapshot_is_told_and_harms_nobody(start, keeper, damage):
    content = handed_over(start, keeper, "let x = 1")
    keeper.path.write_bytes(damage(content))
    second = start("javascript", keeper=keeper)
    assert keeper.packet() == (b"M", b"")
    ran = second.run("'x' in globalThis")
    assert ran.text == "false" and "the snapshot is no good" in ran.done["note"], ran.done


def test_what_was_read_is_told(start, keeper):
    handed_over(start, keeper, "let x = 1")
    start("javascript", keeper=keeper)
    assert keeper.packet() == (b"W", b"")


def test_what_is_too_large_is_named_and_the_rest_is_kept(start, tmp_path):
    keeper = Keeper(tmp_path / "snapshot", bytes_max=4 << 20)
    first = start("javascript", keeper=keeper)
    first.run("let small = [1]; let large = Buffer.alloc(9 << 20); let holds = { large }")
    assert len(keeper.take()) < 4 << 20
    assert keeper.last_end.split()[3] != b"0", "that something is too large"
    first.close_channel()
    ran = start("javascript", keeper=keeper).run("small")
    note = ran.done["note"]
    assert ran.text == "[ 1 ]" and "large (Buffer: 9 MB, of 4 MB that are stored in all)" in note and "holds (Object: 9 MB" in note, note


def test_a_snapshot_has_as_much_as_the_last_answer_allows(start, tmp_path):
    """Whoever answers knows what was stored before (kept_state_test.cc)."""
    keeper = Keeper(tmp_path / "snapshot", bytes_max=4 << 20)
    first = start("javascript", keeper=keeper)
    first.run("let large = Buffer.alloc(9 << 20, 1)")
    keeper.bytes_max = 16 << 20  # as it is told when this one is there
    assert len(keeper.take()) < 4 << 20 and keeper.last_end.split()[1] == b"1"
    for code in ("let before = 1", "let after = 2"):
        first.run(code)
        assert len(keeper.take()) > 9 << 20 and keeper.last_end.split()[1] == b"0", code
        first.close_channel()
        first = start("javascript", keeper=keeper)
    assert first.run("[large.length, before, after]").text == "[ 9437184, 1, 2 ]"


def test_names_that_fit_only_one_by_one_are_kept_from_the_smallest_on(start, tmp_path):
    keeper = Keeper(tmp_path / "snapshot", bytes_max=4 << 20)
    first = start("javascript", keeper=keeper)
    first.run("let a = Buffer.alloc(3 << 20), b = Buffer.alloc(2 << 20), c = [b, 'small']")
    keeper.take()
    first.close_channel()
    ran = start("javascript", keeper=keeper).run("c[0] === b && b.length === 2 << 20")
    assert ran.text == "true" and "a (Buffer: 3 MB" in ran.done["note"], ran


def test_a_run_that_comes_soon_is_not_kept_waiting(start, keeper):
    javascript = start("javascript", keeper=keeper)
    javascript.run("let many = Array.from({ length: 200_000 }, (_, id) => ({ id, name: 'n' + id }))")
    began = time.monotonic()
    for number in range(10):
        javascript.run(f"let x = {number}")
    assert time.monotonic() - began < 1
    assert b"x" in keeper.take()


def test_a_run_that_comes_while_it_is_written_is_not_kept_waiting(start, keeper):
    javascript = start("javascript", keeper=keeper)
    javascript.run("let large = Buffer.alloc(15 << 20)")
    while keeper.packet()[0] != b"B":  # nobody takes the rest of it
        pass
    began = time.monotonic()
    javascript.run("let x = 1")
    assert time.monotonic() - began < 0.5
    while keeper.packet() != (b"X", b"0"):
        pass


def test_nothing_is_written_where_nothing_has_run(start, keeper):
    handed_over(start, keeper, "let x = 1")
    start("javascript", keeper=keeper)
    assert keeper.packet() == (b"W", b"")
    time.sleep(0.5)  # in which it would write
    assert keeper.has_nothing()


def test_without_pipes_there_are_none(start):
    javascript = start("javascript")
    javascript.run("let x = 1")
    time.sleep(0.3)  # in which it would write
    javascript.send({"type": "store", "bytes_max": 1 << 20, "wish": 1})
    assert javascript.run("x").text == "1"


def test_code_that_closes_every_descriptor_loses_its_snapshots_only(start, keeper):
    javascript = start("javascript", keeper=keeper)
    javascript.run("const fs = require('fs'); fs.closeSync(5); const mine = fs.openSync('mine', 'w+')")
    for number in range(2):
        time.sleep(0.3)  # in which it would write
        assert javascript.run(f"{number} + 1").text == str(number + 1)
    assert javascript.run("fs.fstatSync(mine).size").text == "0"


def test_a_timer_of_the_runner_is_not_what_goes_on(start, keeper):
    javascript = start("javascript", keeper=keeper)
    for _ in range(3):
        ran = javascript.run("setTimeout(() => {}, 1)")
        assert "note" not in ran.done, ran.done
        time.sleep(0.1)
    assert javascript.run("process.getActiveResourcesInfo().includes('Timeout')").text == "false"
