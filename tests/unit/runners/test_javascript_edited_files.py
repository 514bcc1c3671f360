"""Files that are edited between runs: what is imported or required again is what they say now."""

import pytest

from test_javascript import needs_types


@pytest.mark.parametrize("name, text, code", [
    ("util.js", "exports.n = NUMBER", "require('./util').n"),
    ("util.cjs", "exports.n = NUMBER", "require('./util.cjs').n"),
    ("data.json", '{"n": NUMBER}', "require('./data.json').n"),
    ("util.js", "exports.n = NUMBER", "import { n } from './util.js';\nn"),
    ("util.js", "exports.n = NUMBER", "import u from './util';\nu.n"),
    ("util.mjs", "export const n = NUMBER", "import { n } from './util.mjs';\nn"),
    ("deep.js", "exports.n = NUMBER", "require('./uses.js').n"),
    ("deep.js", "exports.n = NUMBER", "import uses from './uses.js';\nuses.n"),
    ("deep.js", "exports.n = NUMBER", "import { n } from './uses.mjs';\nn"),
    ("deep.mjs", "export const n = NUMBER", "import { n } from './far.mjs';\nn"),
    ("deep.mjs", "export const n = NUMBER", "(await (await import('./lazy.mjs')).load()).n"),
    ("deep.mjs", "import { one } from './round.mjs'; export const n = NUMBER * one()", "import { n } from './round.mjs';\nn"),
    ("deep.json", '{"n": NUMBER}', "require('./reads.js').n"),
])
def test_an_edited_file_is_loaded_again(javascript, write, name, text, code):
    write("uses.js", "module.exports = { n: require('./deep.js').n }")
    write("reads.js", "exports.n = require('./deep').n")
    write("uses.mjs", "import { createRequire } from 'module'; import deep from './deep.js'; export const n = deep.n;")
    write("far.mjs", "export * from './near.mjs'; export const here = import.meta.url;")
    write("near.mjs", "import { n } from './deep.mjs'; import path from 'node:path'; export { n };")
    write("lazy.mjs", "export const load = () => import('./deep.mjs');")
    write("round.mjs", "export { n } from './deep.mjs'; export function one() { return 1 }")
    for number in (1, 22, 333):
        write(name, text.replace("NUMBER", str(number)))
        for _ in range(2):
            ending = javascript.run(code)
            assert ending.text == str(number), ending


def test_what_has_not_changed_keeps_its_state(javascript, write):
    write("state.mjs", "export const state = { n: 0 };")
    write("other.mjs", "export const factor = 1;")
    write("one.mjs", "import { state } from './state.mjs'; import { factor } from './other.mjs'; export const up = () => state.n += factor;")
    write("count.js", "let n = 0; exports.up = () => ++n;")
    write("plain.js", "exports.n = 1")
    assert javascript.run("(await import('./one.mjs')).up()").text == "1"
    assert javascript.run("require('./count').up() + require('./plain').n").text == "2"
    write("other.mjs", "export const factor = 10;")
    write("plain.js", "exports.n = 20")
    assert javascript.run("(await import('./one.mjs')).up()").text == "11"
    assert javascript.run("(await import('./state.mjs')).state.n").text == "11"
    assert javascript.run("require('./count').up() + require('./plain').n").text == "22"
    assert javascript.run("(await import('./one.mjs')).up === (await import('./one.mjs')).up").text == "true"


@pytest.mark.parametrize("broken, fixed, name", [
    ("export const n = = 1", "export const n = 1", "deep.mjs"),
    ("throw new Error('at once')", "export const n = 1", "deep.mjs"),
    ("export const other = 1", "export const n = 1", "deep.mjs"),
    (None, "export const n = 1", "deep.mjs"),
    ("throw new Error('at once')", "exports.n = 1", "deep.cjs"),
])
@pytest.mark.parametrize("importer", ["a.mjs", "b.mjs"])
def test_an_import_that_has_failed_may_be_mended(javascript, write, broken, fixed, name, importer):
    write("a.mjs", f"import {{ n }} from './{name}'; export {{ n }};")
    write("b.mjs", "export { n } from './a.mjs';")
    if broken:
        write(name, broken)
    for _ in range(2):
        ending = javascript.run(f"import {{ n }} from './{importer}';\nn")
        assert not ending.ok
        assert "/state/" not in ending.stderr and "runners" not in ending.stderr, ending.stderr
    write(name, fixed)
    assert javascript.run(f"import {{ n }} from './{importer}';\nn").text == "1"


def test_an_import_that_fails_by_itself_is_tried_again(javascript, write):
    write("picky.mjs", "import fs from 'node:fs'; if (!fs.existsSync('ready')) throw new Error('not yet'); export const n = 1;")
    assert javascript.run("import { n } from './picky.mjs'").error["message"] == "not yet"
    write("ready", "")
    assert javascript.run("import { n } from './picky.mjs';\nn").text == "1"


def test_packages_are_loaded_once(javascript, write):
    write("node_modules/pack/index.js", "exports.n = 1")
    assert javascript.run("require('pack').n").text == "1"
    write("node_modules/pack/index.js", "exports.n = 2")
    assert javascript.run("require('pack').n").text == "1"


@needs_types
def test_an_edited_file_that_typescript_imports(javascript, write):
    write("one.ts", "import { two } from './two';\nexport const one = (): number => two;")
    for number in (2, 30):
        write("two.ts", f"export const two: number = {number};")
        assert javascript.run("import { one } from './one.ts';\none()").text == str(number)
        assert javascript.run("require('./one.ts').one()").text == str(number)


def test_a_javascript_module_may_import_typescript(javascript, write):
    write("main.mjs", "import { two } from './two.ts'; export const n = two;")
    write("two.ts", "export const two = 2;")
    assert javascript.run("import { n } from './main.mjs';\nn").text == "2"
