"""What JavaScript shows of errors that code has caught itself, and of handles."""

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
