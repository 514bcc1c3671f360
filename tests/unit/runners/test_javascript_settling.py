"""JavaScript: failures that the code listens for itself, promises that nothing settles, and object literals as cells."""

import pytest

REST = "; await new Promise((resolve) => setTimeout(resolve, 50)); 'ok'"


@pytest.mark.parametrize("listen, fail", [
    ("process.on('unhandledRejection', (e) => console.log(e.message))", "Promise.reject(new Error('q'))"),
    ("process.once('unhandledRejection', (e) => console.log(e.message))", "Promise.reject(new Error('q'))"),
    ("process.on('uncaughtException', (e) => console.log(e.message))", "setTimeout(() => { throw new Error('q'); }, 1)"),
    ("process.prependListener('uncaughtException', (e) => console.log(e.message))", "setTimeout(() => { throw new Error('q'); }, 1)"),
])
def test_failures_that_the_code_listens_for_are_its_own(javascript, listen, fail):
    ending = javascript.run(f"{listen}; {fail}{REST}")
    assert ending.ok and (ending.stdout, ending.stderr, ending.text) == ("q\n", "", "'ok'")


def test_it_fails_again_without_the_listener(javascript):
    javascript.run("var listener = () => {}; process.on('unhandledRejection', listener)")
    assert javascript.run(f"Promise.reject(new Error('q')){REST}").ok
    javascript.run("process.off('unhandledRejection', listener)")
    ending = javascript.run(f"Promise.reject(new Error('q')){REST}")
    assert not ending.ok and ending.stderr.startswith("Unhandled rejection: ")


def test_a_listener_for_the_other_event_hears_nothing(javascript):
    ending = javascript.run(f"process.on('uncaughtException', () => console.log('heard')); Promise.reject(new Error('q')){REST}")
    assert not ending.ok and ending.stdout == ""


@pytest.mark.parametrize("body, exit_code, stderr", [
    ("process.exit(3)", 3, ""), ("throw new Error('again')", 1, "Error: again"), ("throw { code: 7 }", 1, "Uncaught: { code: 7 }")])
def test_a_listener_that_exits_or_fails_does_not_end_the_interpreter(javascript, body, exit_code, stderr):
    javascript.run("var kept = 5")
    ending = javascript.run(f"process.on('uncaughtException', () => {{ {body}; }}); setTimeout(() => {{ throw new Error('q'); }}, 1){REST}")
    assert ending.done["exit_code"] == exit_code and stderr in ending.stderr
    assert javascript.run("kept").text == "5"


def test_exit_from_a_timer_is_no_failure_to_listeners(javascript):
    ending = javascript.run(f"process.on('uncaughtException', (e) => console.log(e)); setTimeout(() => process.exit(4), 1){REST}")
    assert ending.done["exit_code"] == 4 and ending.stdout == ""


@pytest.mark.parametrize("code", [
    "new Promise(() => {})", "const { once, EventEmitter } = require('events'); once(new EventEmitter(), 'x')",
    "async function main() { await new Promise(() => {}); }\nmain()", "process.on('beforeExit', () => console.log('no')); new Promise(() => {})",
])
def test_a_promise_that_nothing_can_settle_is_shown_as_it_is(javascript, code):
    ending = javascript.run(code)
    assert ending.ok and ending.text == "Promise { <pending> }" and ending.stdout == ""
    assert javascript.run("1 + 1").text == "2"


@pytest.mark.parametrize("code, text", [
    ("(async () => { await new Promise((r) => setTimeout(r, 400)); return 5; })()", "5"), ("Promise.resolve(3)", "3"),
    ("new Promise((r) => process.nextTick(r, 1))", "1"), ("new Promise((r) => require('zlib').gzip('abc', (_, b) => r(b.length)))", "23"),
    ("new Promise((r) => require('child_process').exec('sleep 0.2; echo hi', (_, out) => r(out)))", "'hi\\n'"),
    ("crypto.subtle.digest('SHA-256', new Uint8Array(1e6)).then((b) => b.byteLength)", "32"), ("hutch.sql('SELECT 42 AS a')", "[ { a: 42 } ]"),
])
def test_a_promise_that_something_will_settle_is_awaited(javascript, code, text):
    assert javascript.run(code).text == text


def test_a_promise_that_an_earlier_run_will_settle_is_awaited(javascript):
    javascript.run("const late = new Promise((r) => setTimeout(() => r('late'), 900))")
    assert javascript.run("late").text == "'late'"


def test_an_interrupt_says_that_the_last_value_was_awaited(javascript):
    javascript.start("console.log('on'); setInterval(() => {}, 50); new Promise(() => {})")
    javascript.wait_for_stdout("on")
    javascript.interrupt()
    ending = javascript.finish()
    assert ending.done["interrupted"] and ending.done["note"].startswith("the run awaited its last value, a Promise")


@pytest.mark.parametrize("code, text", [
    ("{ a: 1, b: 2 }", "{ a: 1, b: 2 }"), ("{a: 1}", "{ a: 1 }"), ("{}", "{}"), ("\n{\n  x: await Promise.resolve(4),\n  y: [1]\n}\n", "{ x: 4, y: [ 1 ] }"),
    ("{ let x = 1; x }", "1"), ("{ if (true) { 7 } }", "7"), ("{ 5; }", "5"), ("{a: 1};", "1"),
])
def test_an_object_literal_as_a_cell(shared_javascript, code, text):
    assert shared_javascript.run(code).text == text


def test_failures_in_an_object_literal_have_their_place(shared_javascript):
    ending = shared_javascript.run("{ a: 1,\n  b: nosuch }")
    assert ending.error["name"] == "ReferenceError" and "  b: nosuch }\n     ^\n" in ending.stderr
    ending = shared_javascript.run("{ a: nosuch }")
    assert "{ a: nosuch }\n     ^\n" in ending.stderr


def test_what_is_thrown_and_no_error_is_told_by_name_and_message(shared_javascript):
    ending = shared_javascript.run("throw { code: 1 }")
    assert f"{ending.error['name']}: {ending.error['message']}\n" == ending.stderr == "Uncaught: { code: 1 }\n"
