"""Tests what JavaScript shows of errors that code has caught itself, and of handles."""

import re
import time

import pytest


@pytest.mark.parametrize("code, stack", [
    ("try { null.x } catch (e) { console.log(e.stack) }",
     "TypeError: Cannot read properties of null (reading 'x')\n    at cell-2:1:12\n"),
    ("try { thrower() } catch (e) { console.log(e) }", "Error: thrown\n    at thrower (cell-1:1:28)\n    at cell-2:1:7\n"),
    ("console.error = console.log; console.trace('here')", "Trace: here\n    at cell-2:1:38\n"),
    ("try { require('./lib.cjs').f() } catch (e) { console.log(e.stack) }",
     "Error: from the file\n    at exports.f ({cwd}/lib.cjs:1:27)\n    at cell-2:1:28\n"),
    ("const wrong = {}; Error.captureStackTrace(wrong); console.log(wrong.stack)", "Error\n    at cell-2:1:25\n"),
])
def test_a_caught_error_has_the_users_frames(javascript, code, stack):
    (javascript.cwd / "lib.cjs").write_text("exports.f = () => { throw new Error('from the file') }")
    javascript.run("function thrower() { throw new Error('thrown') }")
    ending = javascript.run(code)
    assert "/runners/" not in ending.stdout and "node:inspector" not in ending.stdout, ending.stdout
    assert ending.stdout == stack.format(cwd=javascript.cwd)


def test_an_error_as_a_value(javascript):
    assert javascript.run("new Error('kept')").text == "Error: kept\n    at cell-1:1:1"


def test_nodes_own_errors_keep_their_code(javascript):
    title = "TypeError [ERR_INVALID_ARG_TYPE]: The \"path\" argument must be"
    assert javascript.run("try { require('path').join(1) } catch (e) { console.log(e.stack) }").stdout.startswith(title)


def test_a_handler_of_stacks_that_the_user_sets_goes_first(javascript):
    code = "Error.prepareStackTrace = (error, frames) => frames.length > 1 && frames[0].getLineNumber();\nnew Error().stack"
    assert javascript.run(code).text == "2"
    assert javascript.run("Error.prepareStackTrace = undefined; null.x").error["name"] == "TypeError"


@pytest.mark.parametrize("code, text", [
    ("const { exec } = require('child_process'); exec('echo hi', (e, o) => console.log(o))", r"ChildProcess \{ pid: \d+ \}"),
    ("require('child_process').spawn('ls')", r"ChildProcess \{ pid: \d+ \}"),
    ("require('child_process').spawn('no such').on('error', () => {})", r"ChildProcess \(not started\)"),
    ("const c = require('child_process').spawn('true'); await new Promise((r) => c.on('exit', r)); c",
     r"ChildProcess \{ pid: \d+, exitCode: 0 \}"),
    ("const s = require('http').createServer((q, a) => a.end()).listen(0); s", r"Server listening on \d+"),
    ("require('http').createServer()", r"Server \(not listening\)"),
    ("require('net').createServer().listen(0, '127.0.0.1')", r"Server (listening on 127.0.0.1:\d+|\(not listening\))"),
    ("require('net').createServer().listen('a.socket')", r"Server listening on a.socket"),
    ("class Mine extends require('net').Server {}; new Mine()", r"Mine \(not listening\)"),
    ("setInterval(() => {}, 1000)", r"Timeout \(every 1000 ms\)"),
    ("setTimeout(() => {}, 20)", r"Timeout \(after 20 ms\)"),
    ("const t = setTimeout(() => {}, 20); clearTimeout(t); t", r"Timeout \(over\)"),
    ("setImmediate(() => {})", r"Immediate"),
    ("new (require('net').Socket)()", r"Socket \(\w+\)"),
    ("new (require('worker_threads').Worker)('1', { eval: true })", r"Worker \{ threadId: \d+ \}"),
    ("require('http').get('http://127.0.0.1:9/x').on('error', () => {})", r"ClientRequest GET http://127.0.0.1/x"),
    ("class Server { port = 1 }; new Server()", r"Server \{ port: 1 \}"),
    ("({ constructor: { name: 'Timeout' } })", r"\{ constructor: \{ name: 'Timeout' \} \}"),
])
def test_a_handle_is_one_line(javascript, code, text):
    ending = javascript.run(code)
    assert re.fullmatch(text, ending.text), ending


def test_printed_handles_are_nodes_own(javascript):
    assert "_idleTimeout: 5" in javascript.run("console.log(setTimeout(() => {}, 5))").stdout
    assert "_idleTimeout" in javascript.run("display(setTimeout(() => {}, 5))").outputs[0]["text"]


@pytest.mark.parametrize("code, words", [
    ("process.emitWarning('of the user')", "Warning: of the user\n"),
    ("process.emitWarning('old', 'DeprecationWarning', 'DEP9')", "[DEP9] DeprecationWarning: old\n"),
    ("process.emitWarning('short', { detail: 'and long' })", "Warning: short\nand long\n"),
    ("const many = new (require('events'))(); for (let n = 0; n < 12; n += 1) many.on('x', () => {})", "MaxListenersExceededWarning"),
    ("new Buffer(3); null", "[DEP0005] DeprecationWarning"),
])
def test_warnings_are_printed_as_node_does(javascript, code, words):
    ending = javascript.run(code)
    assert ending.ok and words in ending.stderr and ending.stderr.startswith("(node:"), ending


@pytest.mark.parametrize("code", ["1", "await import('node:fs')", "process.emit('warning', 5)",
                                  "process.emitWarning('of ours', 'ExperimentalWarning')"])
def test_what_is_no_warning_of_the_users_is_not_printed(javascript, code):
    ending = javascript.run(code)
    assert ending.ok and ending.stderr == ""


@pytest.mark.parametrize("code, parts", [
    ("Array.from({ length: 1_000_000 }, (_, i) => i)", ["8,                  9,", "<999,980 left out>, 999990", "999999\n]", "[array of 1,000,000 items; to see more, console.log() a part of it]"]),
    ("Object.fromEntries(Array.from({ length: 1_000_000 }, (_, i) => ['k' + i, i]))", ["  k9: 9,\n  '…': <999,980 left out>,\n  k999990: 999990", "object of 1,000,000 prop"]),
    ("Object.fromEntries(Array.from({ length: 3000 }, (_, i) => [i * 3, i]))", ["  '27': 9,\n  '…': <2,990 left out>\n}"]),
    ("new Map(Array.from({ length: 1_000_000 }, (_, i) => [i, { id: i }]))", ["Map(1000000) {", "20 => { id: 20 },", "... 999979 more items", "[Map of 1,000,000 items"]),
    ("new Set(Array.from({ length: 1_000_000 }, (_, i) => i))", ["Set(1000000) {", "more items", "[Set of"]),
    ("new Float64Array(1_000_000)", ["Float64Array(1000000) [", "more items", "[shortened; to see more"]),
    ("Array.from({ length: 1000 }, (_, id) => ({ id, name: 'user ' + id, at: [id / 7, id / 3] }))", ["id: 1, name: 'user 1'", " left out>,\n", "name: 'user 999', at: [ 142.71428571428572, 333 ] }"]),
    ("({ users: Array.from({ length: 1000 }, (_, id) => ({ id })), total: 1000, text: 'many words '.repeat(900) })", ["<980 left out>", "total: 1000", "more characters"]),
    ("const a = Array.from({ length: 3000 }, (_, i) => i); a.push(a, { a }); a", ["<ref *1> [", "[Circular *1]", "<2,982 left out>"]),
    ("const b = Object.fromEntries(Array.from({ length: 300 }, (_, i) => ['k' + i, i])); b.me = b; b", ["<ref *1> {", "me: [Circular *1]"]),
    ("Object.assign([], { length: 4e9 })", ["<10 empty items>, <3,999,999,980 left out>, <10 empty items>"]),
    ("class Model { rows = Array.from({ length: 5000 }, (_, i) => i); name = 'm' }; new Model()", ["Model {", "more items", "name: 'm'"]),
    ("class Big { constructor() { for (let i = 0; i < 3000; i++) this['k' + i] = i } }; new Big()", ["Big {\n  k0: 0,", " lines left out ...\n", "  k2999: 2999\n}"]),
    ("Array.from({ length: 300 }, () => Array.from({ length: 300 }, Math.random))", ["<296 left out>", "array of 300 items"]),
    ("({ get slow() { throw new Error('asked') }, rows: new Array(3000).fill(1) })", ["slow: [Getter]", "<2,980 left out>"]),
])
def test_long_values_are_shown_in_whole_items(shared_javascript, code, parts):
    began = time.monotonic()
    text = shared_javascript.run(f"{{ {code} }}" if code[:5] in ("const", "class") else code).text
    assert time.monotonic() - began < 15
    assert all(part in text for part in parts), text
    assert len(text) < 2200


@pytest.mark.parametrize("code, text", [
    ("[1, , 'a', [2, { b: null }]]", "[ 1, <1 empty item>, 'a', [ 2, { b: null } ] ]"),
    ("({ a: new Map([[1, new Set([2])]]), d: new Date(0) })", "{ a: Map(1) { 1 => Set(1) { 2 } }, d: 1970-01-01T00:00:00.000Z }"),
    ("({ a: { b: { c: { d: 1 } } } })", "{ a: { b: { c: { d: 1 } } } }"),
    ("[{ u: { addr: { geo: { lat: [1] } } } }]", "[ { u: { addr: { geo: { lat: [ 1 ] } } } } ]"),
    ("Array.from({ length: 160 }, (_, i) => i).length + ' ' + require('util').inspect.defaultOptions.maxArrayLength", "'160 100'"),
    ("const self = {}; self.self = self; self", "<ref *1> { self: [Circular *1] }"),
])
def test_ordinary_values_are_shown_as_node_shows_them(shared_javascript, code, text):
    assert shared_javascript.run(code).text == text


def test_a_list_that_is_short_enough_is_whole(shared_javascript):
    text = shared_javascript.run("Array.from({ length: 160 }, (_, i) => i * 7)").text
    assert [int(number) for number in re.findall(r"\d+", text)] == [i * 7 for i in range(160)]


def test_no_number_is_cut(shared_javascript):
    for size in (3, 30, 90, 300, 2000):
        for code in ("Array.from({ length: SIZE }, (_, i) => (i + 1) ** 9 / 7)", "Object.fromEntries(Array.from({ length: SIZE }, (_, i) => ['key' + i ** 5, (i + 1) ** 9 / 7]))",
                     "Array.from({ length: SIZE }, (_, i) => ({ id: i ** 7, at: [i / 7, i / 3] }))", "new Map(Array.from({ length: SIZE }, (_, i) => [i ** 7, i / 7]))"):
            shared_javascript.run(f"var value = {code.replace('SIZE', str(size))}")
            text = shared_javascript.run("value").text.split("\n\n[")[0]
            whole = shared_javascript.run("require('util').inspect.defaultOptions.maxArrayLength = null; console.log(value); require('util').inspect.defaultOptions.maxArrayLength = 100;").stdout
            shown = re.sub(r"<[\d,]+ left out>|\.\.\. \d+ more items?", " ", text).replace("…", "")
            assert set(re.findall(r"[\w.+-]+", shown)) <= set(re.findall(r"[\w.+-]+", whole)), text


def test_what_the_code_asked_node_for_is_shown(javascript):
    assert javascript.run("require('util').inspect.defaultOptions.maxArrayLength = null; Array.from({ length: 1500 }, (_, i) => i)").text.endswith("1499\n]")


def test_few_are_asked_how_they_are_shown(javascript):
    javascript.run("let asked = 0; class Mine { [require('util').inspect.custom]() { asked++; return 'M(' + 'x'.repeat(60) + ')' } }")
    text = javascript.run("Array.from({ length: 5000 }, () => new Mine())").text
    assert text.count("M(x") >= 10 and int(javascript.run("asked").text) <= 60, text
