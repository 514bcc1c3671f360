"""TypeScript files that cells import, in JavaScript and in TypeScript."""

import pytest

from runner_client import Keeper
from test_javascript import needs_types
from woken import store

pytestmark = needs_types
LANGUAGES = pytest.mark.parametrize("language", ["javascript", "typescript"])


UNCHECKED = "the types of TypeScript are taken away, not checked"


def test_that_types_are_not_checked_is_said_once_in_a_session(start, tmp_path):
    keeper = Keeper(tmp_path / "snapshot")
    first = start("javascript", keeper=keeper)
    assert "note" not in first.run("1").done, "of what has none"
    assert UNCHECKED in first.run("function twice(n: number): number { return 2 * n }", language="typescript").done["note"]
    for code in ("const wrong: number = 'text'", "let again: number = 1", "nothing: = 1"):
        assert UNCHECKED not in first.run(code, language="typescript").done.get("note", "")
    store(first, keeper)
    first.close_channel()
    woken = start("javascript", keeper=keeper)
    assert UNCHECKED not in woken.run("const y: number = twice(2); y", language="typescript").done.get("note", ""), "it is the same session"
    another = start("javascript")
    assert UNCHECKED in another.run("const x: number = 'text'", language="typescript").done["note"]
    assert UNCHECKED not in another.run("const z: number = 1", language="typescript").done.get("note", "")


@LANGUAGES
@pytest.mark.parametrize("code", [
    "import { mul } from './lib/util.ts'; mul(2, 3)",
    "import { mul } from './lib/util'; mul(2, 3)",
    "import { mul } from './lib/util.js'; mul(2, 3)",
    "import { mul } from './lib'; mul(2, 3)",
    "(await import('./lib/util.ts')).mul(2, 3)",
    "const { mul } = await import('./lib/util'); mul(2, 3)",
    "import * as all from './lib/util.ts'; all.default + all.Color.Green - 1",
    "require('./lib/util.ts').mul(2, 3)",
    "require('./lib/util').mul(2, 3)",
    "require('./lib').mul(2, 3)",
    "import { mul } from './lib/view.tsx'; mul(2, 3)",
])
def test_every_way_to_import(javascript, write, language, code):
    write("lib/util.ts", "export const mul = (a: number, b: number): number => a * b;\n"
                         "export enum Color { Red, Green }\nexport default 6 as number;")
    write("lib/index.ts", "export * from './util';")
    write("lib/view.tsx", "export { mul } from './util.ts';\nexport const view = (): unknown => <b>{1}</b>;")
    ending = javascript.run(code, language=language)
    assert ending.text == "6", ending


def test_files_import_one_another_and_all_else(javascript, write):
    write("main.ts", "import type { Shape } from './types';\nimport { Size } from './types.ts';\nimport { join } from 'path';\n"
                     "import pack from 'pack';\nimport { plain } from './plain.mjs';\nimport { back } from './round';\n"
                     "export const shape: Shape = { size: 3 };\nexport const name = () => 'main';\n"
                     "export const all = async (s: Size) => [join('a', 'b'), pack, plain, back(),\n"
                     "  (await import('./lazy')).lazy, import.meta.url, import.meta.dirname];")
    write("types.ts", "export interface Shape { size: Size }\nexport type Size = number;")
    write("round.ts", "import { name } from './main.ts';\nexport const back = (): string => name();")
    write("lazy.ts", "export const lazy: number = await Promise.resolve(5);")
    write("plain.mjs", "export const plain = 'js';")
    write("node_modules/pack/index.js", "module.exports = 'pack';")
    ending = javascript.run("import { all, shape } from './main.ts';\n[shape.size, ...await all(1)].join()")
    cwd = javascript.cwd
    assert ending.text == f"'3,a/b,pack,js,main,5,file://{cwd}/main.ts,{cwd}'", ending


def test_changed_files_are_read_again_and_others_are_not(javascript, write):
    write("state.ts", "export const state: { n: number } = { n: 0 };")
    write("one.ts", "import { state } from './state';\nexport const up = (): number => state.n += 1;")
    assert javascript.run("(await import('./one.ts')).up()").text == "1"
    assert javascript.run("(await import('./one')).up()").text == "2"
    write("one.ts", "import { state } from './state';\nexport const up = (): number => state.n += 10;")
    assert javascript.run("(await import('./one.ts')).up()").text == "12"
    write("one.ts", "export const up = (): number -> 5;")
    assert "one.ts:1:" in javascript.run("await import('./one.ts')").stderr
    write("one.ts", "export const up = (): number => 5;")
    assert javascript.run("(await import('./one.ts')).up()").text == "5"


@LANGUAGES
@pytest.mark.parametrize("how", ["import { fail } from './fails.ts';", "const { fail } = require('./fails.ts');"])
def test_failures_name_the_line_in_the_file(javascript, write, language, how):
    write("fails.ts", "interface Unused {\n  a: string;\n}\n\nexport function fail(x: any): void {\n  x.missing.more;\n}")
    ending = javascript.run(how + "\nfail({})", language=language)
    assert "fails.ts:6:" in ending.stderr and "cell-1:2:1" in ending.stderr, ending.stderr


@pytest.mark.parametrize("code, part", [
    ("import x from './nothing'", "Cannot find module '{cwd}/nothing'"),
    ("import { nope } from './some.ts'", "'./some.ts' does not provide an export named 'nope'"),
    ("import './wants.ts'", "some.ts' does not provide an export named 'nope'"),
    ("import './lost.ts'", "Cannot find module '{cwd}/gone'"),
])
def test_what_is_not_there(javascript, write, code, part):
    write("some.ts", "export const some: number = 1;")
    write("wants.ts", "import { nope } from './some.ts';\nconsole.log(nope);")
    write("lost.ts", "import { gone } from './gone';\nconsole.log(gone);")
    ending = javascript.run(code)
    assert part.format(cwd=javascript.cwd) in ending.error["message"], ending.error
    assert "/runners/" not in ending.stderr and "/state/" not in ending.stderr
