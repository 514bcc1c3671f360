"""Code that was written as a script of node's: its guards, its questions, its streams."""

import pytest

from test_javascript import needs_types


@pytest.mark.parametrize("code", [
    "if (require.main === module) console.log('ran')",
    "if (!module.parent) console.log('ran')",
    "import { pathToFileURL } from 'node:url';\nif (import.meta.url === pathToFileURL(process.argv[1]).href) console.log('ran')",
    "import { fileURLToPath } from 'node:url';\nif (process.argv[1] === fileURLToPath(import.meta.url)) console.log('ran')",
    "if (import.meta.url === `file://${process.argv[1]}`) console.log('ran')",
    "if (process.argv[1] === __filename && require.main.filename === __filename) console.log('ran')",
    "if (import.meta.main) console.log('ran')",
    "process.chdir('/tmp');\nif (import.meta.filename === process.argv[1]) console.log('ran')",
    "process.argv = ['node', 'x', '--flag'];\nif (process.argv.slice(2)[0] === '--flag') console.log('ran')",
    "process.argv[1] = 'mine';\nif (process.argv[1] === 'mine') console.log('ran')",
])
def test_a_cell_is_the_main_module(javascript, code):
    javascript.run("1")
    assert javascript.run(code).stdout == "ran\n"


def test_arguments_are_shown_as_they_are(javascript):
    assert javascript.run("process.argv.length").text == "2"
    assert "Getter" not in javascript.run("process.argv").text and "cell-3" in javascript.run("process.argv[1]").text


@pytest.mark.parametrize("code", ["fs.mkdirSync('gone'); process.chdir('gone'); fs.rmdirSync('../gone')", "process.argv = null"])
def test_a_cell_needs_neither_directory_nor_arguments(javascript, code):
    javascript.run(f"const fs = require('fs'); {code}")
    assert javascript.run("const a = 1; a").text == "1"


def test_what_a_cell_imports_is_not_the_main_module(javascript):
    (javascript.cwd / "a.cjs").write_text("exports.main = require.main === module;")
    (javascript.cwd / "b.mjs").write_text("import { pathToFileURL } from 'url';\n"
                                          "export const main = import.meta.url === pathToFileURL(process.argv[1]).href;")
    assert javascript.run("[require('./a.cjs').main, (await import('./b.mjs')).main]").text == "[ false, false ]"


READLINE = "const rl = require('readline{}').createInterface({{ input: process.stdin, output: process.stdout }});"


@pytest.mark.parametrize("code", [
    READLINE.format("/promises") + "const name = await rl.question('name? ');",
    READLINE.format("/promises") + "await rl.question('name? ', { signal: AbortSignal.timeout(50000) })",
    READLINE.format("/promises") + "await new Promise((r) => setTimeout(r, 100)); await rl.question('name? ')",
    READLINE.format("") + "const name = await new Promise((resolve) => rl.question('name? ', resolve));",
    READLINE.format("") + "await require('util').promisify(rl.question).call(rl, 'name? ')",
    READLINE.format("") + "rl.question('name? ', (name) => console.log(name));",
])
def test_a_question_that_nobody_can_answer_fails(javascript, code):
    ending = javascript.run(code)
    assert not ending.ok and "put the value into the code" in ending.error["message"], ending
    assert javascript.run("'alive'").text == "'alive'"


def test_questions_to_other_streams_are_answered(javascript):
    code = ("import readline from 'node:readline/promises';\nimport { PassThrough } from 'stream';\nconst input = new PassThrough();\n"
            "const rl = readline.createInterface({ input });\nconst asked = rl.question('');\ninput.write('Ada\\n');\n"
            "const name = await asked;\nrl.close();\nname")
    assert javascript.run(code).text == "'Ada'"
    callback = "const rl2 = require('readline').createInterface({ input: require('stream').Readable.from(['Bob\\n']) });\n"
    assert javascript.run(callback + "await new Promise((r) => rl2.question('', r))").text == "'Bob'"
    ends = "let lines = 0; for await (const line of require('readline').createInterface({ input: process.stdin })) lines++; lines"
    assert javascript.run(ends).text == "0"


@pytest.mark.parametrize("code", [
    "import { pipeline } from 'node:stream/promises';\nimport { Readable } from 'stream';\n"
    "await pipeline(Readable.from(['a', 'b\\n']), process.stdout); 1",
    "await new Promise((r) => require('stream').pipeline(require('stream').Readable.from(['a', 'b\\n']), process.stdout, r)); 1",
    "await new Promise((r) => { process.stdout.once('finish', r); process.stdout.end('ab\\n') }); 1",
    "await require('stream/promises').pipeline(require('stream').Readable.from(['a', 'b\\n']), "
    "new (require('stream').PassThrough)(), process.stdout); 1",
])
def test_output_can_be_the_end_of_a_pipeline(javascript, code):
    for _ in range(12):
        ending = javascript.run(f"{{ {code} }}" if "import" not in code else code)
        assert ending.ok and ending.stdout == "ab\n" and not ending.stderr, ending
    assert javascript.run("console.log('still here')").stdout == "still here\n"


@needs_types
@pytest.mark.parametrize("code", [
    "import { User } from './types';\nconst u: User = { name: 'Ada' };\nu.name",
    "import { User, greet } from './types.ts';\nconst u: User = { name: 'Ada' };\ngreet(u)",
    "import type { User } from './types';\nconst u = { name: 'Ada' } as User;\nu.name",
])
def test_types_can_be_imported_into_typescript(javascript, code):
    (javascript.cwd / "types.ts").write_text("export interface User { name: string }\nexport const greet = (u: User) => u.name;")
    assert javascript.run(code, language="typescript").text == "'Ada'"


@needs_types
def test_a_value_that_typescript_uses_must_be_there(javascript):
    (javascript.cwd / "types.ts").write_text("export interface User { name: string }")
    ending = javascript.run("import { User } from './types';\nnew User()", language="typescript")
    assert "does not provide an export named 'User'" in ending.error["message"]
