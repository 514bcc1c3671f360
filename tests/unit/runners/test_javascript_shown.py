"""What JavaScript shows of errors that code has caught itself, and of handles."""

import re

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
