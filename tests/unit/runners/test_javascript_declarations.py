"""Names that are declared anew, as anything, from run to run; and what const still refuses."""

import pytest

from test_javascript import needs_types

KINDS = {
    "const": "const thing = () => NUMBER;", "let": "let thing = () => NUMBER;", "var": "var thing = () => NUMBER;",
    "function": "function thing() { return NUMBER }", "class": "class thing { static valueOf = () => NUMBER }",
    "import": "import { isAbsolute as thing } from 'node:path';", "export": "export const thing = () => NUMBER;",
    "pattern": "const { thing } = { thing: () => NUMBER };", "list": "let [{ a: [...thing] = 1 }] = [{ a: [NUMBER] }];",
    "default class": "export default class thing { static valueOf = () => NUMBER }",
}


@pytest.mark.parametrize("first", KINDS)
def test_a_name_may_change_its_kind(javascript, first):
    for number, second in enumerate(KINDS):
        run = lambda code: javascript.run(code.replace("thing", f"thing{number}"))  # noqa: E731
        assert run(KINDS[first].replace("NUMBER", "1")).ok
        ending = run(KINDS[second].replace("NUMBER", "2"))
        assert ending.ok, (second, ending)
        shows = "typeof thing === 'function' && !/^class/.test(thing) ? thing('x') : thing[0] ?? thing.valueOf()"
        assert run(shows).text == ("false" if second == "import" else "2"), second


def test_let_without_a_value_begins_anew(javascript):
    javascript.run("let total = 5, other = 6; const seen = [1];")
    assert javascript.run("let total; var other; [total, other]").text == "[ undefined, 6 ]"
    assert javascript.run("const seen = [...globalThis.seen, 2]; seen").text == "[ 1, 2 ]"


@pytest.mark.parametrize("code", [
    "const a = 1;\na = 2", "const a = 1; a += 1", "const a = 1; a++", "const a = 1; 1 + --a", "const [a] = [1];\nfoo()\na = 2\nfunction foo() {}",
    "const a = 1; (() => { a = 2 })()", "const a = 1; a = await Promise.resolve(2)",
])
def test_const_refuses_another_value_in_its_run(javascript, code):
    ending = javascript.run(code)
    assert ending.error["message"] == "Assignment to constant variable." and ending.error["name"] == "TypeError"
    assert "runners" not in ending.stderr and "cell-1:" in ending.stderr
    assert javascript.run("a").text == "1"


def test_const_of_an_inner_scope_is_nodes_own(javascript):
    assert javascript.run("const a = 1; function f(a) { a = 2; return a } f()").text == "2"
    assert javascript.run("const b = 1; { let b = 1; b++ } b").text == "1"
    assert javascript.run("{ const c = 1; c = 2 }").error["name"] == "TypeError"


@pytest.mark.parametrize("code, text", [
    ("const crypto = require('crypto'); crypto.createHash('md5').update('').digest('hex').length", "32"),
    ("import crypto from 'crypto';\ntypeof crypto.createHash", "'function'"),
    ("const _ = { name: 'mine' }; 5", "5"),
    ("const URL = 'http://x/'; URL", "'http://x/'"),
    ("const __dirname = '/here'; __dirname", "'/here'"),
    ("const navigator = 'n'; navigator", "'n'"),
    ("const require = (await import('node:module')).createRequire('/tmp/'); typeof require('fs').statSync", "'function'"),
    ("const process = await import('node:process'); typeof process.cwd", "'function'"),
    ("import { setTimeout } from 'node:timers/promises';\nawait setTimeout(5, 'waited')", "'waited'"),
    ("class File {}; File.name", "'File'"),
    ("let undefinedYet; undefinedYet", None),
])
def test_names_that_node_has_taken(javascript, code, text):
    for _ in range(2):
        ending = javascript.run(code)
        assert ending.ok and ending.text == text, ending
    if "mine" in code:
        assert javascript.run("_.name").text == "'mine'"
    (javascript.cwd / "local.mjs").write_text("export const n = 1;")
    assert javascript.run("import { n } from './local.mjs';\nn").text == "1"


@pytest.mark.parametrize("code, place, caret", [
    ("const a = 1; class B { x = null.y }; new B()", "cell-1:1:33", True),
    ("class B {}; null.x", "cell-1:1:18", True),
    ("class A {\n  x = 1 } null.x", "cell-1:2:16", True),
    ("import os from 'os'; null.x", "cell-1:1:27", True),
    ("export const a = 1; null.x", "cell-1:1:26", True),
    ("let a;\nlet b = a.x", "cell-1:2:11", True),
    ("import os, {\n  EOL } from 'os'; null.x", "cell-1:2:25", True),
])
def test_columns_are_those_of_what_was_written(javascript, code, place, caret):
    ending = javascript.run(code)
    assert place in ending.stderr, ending.stderr
    line, column = (int(part) for part in place.split(":")[1:])
    assert f"\n{code.splitlines()[line - 1]}\n{' ' * (column - 1)}^\n" in ending.stderr


def test_what_cannot_be_declared_anew_names_the_way_out(javascript):
    assert javascript.run("require('vm').runInThisContext('const taken = 1'); 1").ok
    ending = javascript.run("const taken = 2")
    assert ending.error["name"] == "SyntaxError"
    assert "'taken' has already been declared" in ending.error["message"]
    assert "use another name, or restart: true" in ending.error["message"]
    twice = javascript.run("let a = 1; let a = 2")
    assert twice.error["name"] == "SyntaxError" and "restart" not in twice.error["message"]


def test_a_mistake_changes_no_variable(javascript):
    javascript.run("let kept = 1")
    assert javascript.run("let kept; let b = = 2").error["name"] == "SyntaxError"
    assert javascript.run("kept").text == "1"


@needs_types
def test_typescript_declares_anew_too(javascript):
    for code in ("const main = (a: number): number => a;\nmain(2)", "function main(a: number): number { return a }\nmain(2)",
                 "class main { x: number = 2 }\nnew main().x", "let main: number = 2;\nmain"):
        assert javascript.run(code, language="typescript").text == "2"
    ending = javascript.run("type A = string; const b = 1;\nclass K { a: number = 1 } (null as any).x", language="typescript")
    assert "cell-5:2:" in ending.stderr


@needs_types
@pytest.mark.parametrize("first, second, shown, text", [
    ("enum Color { Red, Green }", "enum Color { Blue }", "Object.keys(Color)", "[ '0', 'Blue' ]"),
    ("export enum Color { Red }", "export enum Color { Blue }", "Object.keys(Color)", "[ '0', 'Blue' ]"),
    ("enum Color { Red = 'r' }", "enum Color { Blue = 'b' }\nenum Color { Pink = 'p' }", "Object.keys(Color)", "[ 'Blue', 'Pink' ]"),
    ("namespace Shop { export const a = 1 }", "namespace Shop { export const b = 2 }", "Shop", "{ b: 2 }"),
    ("namespace Shop { export const a = 1 }",
     "namespace Shop { export const b = 2 }\nnamespace Shop { export const c = 3 }", "Shop", "{ b: 2, c: 3 }"),
    ("enum Color { Red }", "enum Color { Blue = 'b' }\nnamespace Color { export const fallback = Color.Blue }",
     "Color", "{ Blue: 'b', fallback: 'b' }"),
    ("enum crypto { Coin }", "enum crypto { Token = 't' }", "crypto", "{ Token: 't' }"),
    ("var kept = { n: 1 };", "var kept; enum Color { Red }", "kept", "{ n: 1 }"),
    ("1", "const { kept } = ((all) => all)({ kept: { n: 1 } });", "kept", "{ n: 1 }"),
    ("var kept = ((all) => all)({ n: 1 });", "var kept = ((all) => all)(kept || { n: 2 });", "kept", "{ n: 1 }"),
])
def test_enums_and_namespaces_are_declared_anew(javascript, first, second, shown, text):
    for code in (first, second):
        assert (ending := javascript.run(code, language="typescript")).ok, ending
    assert javascript.run(shown).text == text


def test_a_start_prints_nothing(javascript):
    ending = javascript.run("1")
    assert (ending.stdout, ending.stderr) == ("", "")
