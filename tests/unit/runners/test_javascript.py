"""The JavaScript and TypeScript runner."""

import shutil
import subprocess

import pytest

from runner_client import PROGRAMS, RUNNERS


@pytest.mark.parametrize("code, text", [
    ("1 + 1", "2"),
    ("const x = 5; x", "5"),
    ("let y = 1", None),
    ("undefined", None),
    ("null", "null"),
    ("'text'", "'text'"),
    ("10n ** 20n", "100000000000000000000n"),
    ("NaN", "NaN"),
    ("-0", "-0"),
    ("Symbol('s')", "Symbol(s)"),
    ("await new Promise((r) => setTimeout(r, 5, 'later'))", "'later'"),
    ("Promise.resolve(3)", "3"),
    ("async function main() { await null; return 'done'; }\nmain()", "'done'"),
    ("({ a: 1 })", "{ a: 1 }"),
    ("", None),
    ("// nothing", None),
    ("class A { x = 1 }; new A()", "A { x: 1 }"),
    ("typeof require('fs').readFileSync", "'function'"),
    ("import { join } from 'node:path';\njoin('a', 'b')", "'a/b'"),
    ("import fs, { readFileSync as read } from 'fs';\nread === fs.readFileSync", "true"),
    ("import * as path from 'path';\nimport 'os';\npath.sep", "'/'"),
    ("(await import('node:os')).EOL", "'\\n'"),
    ("const f = () => import('node:os'); (await f()).EOL", "'\\n'"),
    ("import os from 'node:os'; const s = 'import x from y'; s", "'import x from y'"),
    ("export const q = 4;\nq", "4"),
    ("import.meta.url.startsWith('file://')", "true"),
    ("__dirname === process.cwd()", "true"),
])
def test_last_value(shared_javascript, code, text):
    ending = shared_javascript.run(code)
    assert ending.ok, ending
    assert ending.text == text


def test_state_stays_and_const_may_be_declared_anew(javascript):
    assert javascript.run("const a = 1; let b = 2; var c = 3; function f() { return a + b + c }; f()").text == "6"
    assert javascript.run("const a = 10; let b = 20; [a, b, c, f()]").text == "[ 10, 20, 3, 33 ]"
    assert javascript.run("_").text == "[ 10, 20, 3, 33 ]"


def test_traceback_names_cell_line_and_column(javascript):
    javascript.run("function inner(x) {\n  return x.missing.more;\n}")
    ending = javascript.run("function outer() {\n  return inner({});\n}\nouter()")
    assert not ending.ok and ending.error["name"] == "TypeError"
    trace = ending.error["traceback"]
    assert "at inner (cell-1:2:20)" in trace and "at outer (cell-2:2:10)" in trace and "at cell-2:4:1" in trace
    assert "  return x.missing.more;\n                   ^" in trace
    assert "node:" not in trace and "runners" not in trace
    assert trace == ending.stderr


def test_lines_survive_the_rewriting_of_imports(javascript):
    ending = javascript.run("import {\n  join,\n  sep,\n} from 'path';\n\nnull.x")
    assert "cell-1:6:6" in ending.stderr


def test_syntax_error_has_a_caret(javascript):
    ending = javascript.run("let a = 1;\nlet b = = 2;")
    assert ending.error["name"] == "SyntaxError"
    assert "cell-1:2\nlet b = = 2;\n        ^\n" in ending.stderr
    with_import = javascript.run("import os from 'os';\nlet b = = 2;")
    assert "cell-2:2" in with_import.stderr and "cell-2:2:9" in with_import.stderr


@pytest.mark.parametrize("code, name", [
    ("throw 5", "Uncaught"),
    ("throw undefined", "Uncaught"),
    ("throw { get stack() { throw 1 } }", "Uncaught"),
    ("throw new Proxy({}, { get() { throw 1 } })", "Uncaught"),
    ("throw new Proxy({}, { getPrototypeOf() { throw 1 } })", "Uncaught"),
    ("class Mine extends Error { name = 'Mine' }; throw new Mine('m')", "Mine"),
    ("await Promise.reject(new RangeError('r'))", "RangeError"),
    ("(function f() { f() })()", "RangeError"),
    ("require('no-such-package')", "Error"),
    ("import x from 'no-such-package'", "Error"),
    ("import { nope } from 'fs'", "SyntaxError"),
    ("setTimeout(() => { throw new Error('stray') }, 1); await new Promise((r) => setTimeout(r, 30))", "Error"),
    ("Promise.reject(new EvalError('unheard')); 1", "EvalError"),
    ("async function main() { throw new TypeError('t') }\nmain()", "TypeError"),
])
def test_failures(shared_javascript, code, name):
    ending = shared_javascript.run(code)
    assert not ending.ok and ending.done["exit_code"] == 1, ending
    assert ending.error["name"] == name
    assert ending.stderr
    assert shared_javascript.run("'alive'").text == "'alive'"


def test_a_missing_package_names_the_remedy(javascript):
    message = javascript.run("require('no-such-package')").error["message"]
    assert "/node_modules" in message and "on the machine that runs hutch `hutch environments build`" in message


def test_a_folder_that_is_searched_is_named_once(javascript):
    code = "process.cwd = () => '/workspace'; require('no-such-package')"
    assert javascript.run(code).error["message"].count("/workspace") == 2  # searched, and where to put it


def test_failure_after_the_run_goes_to_stderr_only(javascript):
    assert javascript.run("const timer = setInterval(() => { if (!require('fs').existsSync('go')) return;"
                          " clearInterval(timer); throw new Error('too late') }, 10);").ok
    (javascript.cwd / "go").touch()
    javascript.wait_for_stderr("too late")
    assert javascript.run("'alive'").text == "'alive'"


SLEEP = "const sleep = (ms) => new Promise((r) => setTimeout(r, ms));"
WAITS = "while (!require('fs').existsSync('go')) await sleep(2);"


@pytest.mark.parametrize("earlier", [
    "setTimeout(function wait() { if (require('fs').existsSync('go')) throw new Error('later boom'); setTimeout(wait, 2) }, 2)",
    "setInterval(() => { if (require('fs').existsSync('go') && !this.thrown++) throw new Error('later boom') }, 2)",
    f"(async () => {{ {WAITS} throw new Error('later boom') }})(); 1",
    "const server = require('net').createServer(() => { throw new Error('later boom') }).listen('socket'); 1",
])
def test_what_an_earlier_run_left_behind_fails_no_later_one(javascript, earlier):
    javascript.run(f"var thrown = 0; {SLEEP}")
    assert javascript.run(earlier).ok
    code = "require('fs').writeFileSync('go', ''); require('net').connect('socket').on('error', () => {}); await sleep(200); 'innocent'"
    ending = javascript.run(code)
    assert ending.ok and ending.text == "'innocent'"
    assert "Code of an earlier run, or a function defined there, threw this" in ending.stderr and "later boom" in ending.stderr


@pytest.mark.parametrize("code", [
    "setTimeout(() => { throw new Error('mine') }, 1)",
    "setTimeout(boom, 1)",
    "await sleep(1); setTimeout(() => boom(), 1)",
    "process.nextTick(boom)",
    "queueMicrotask(() => boom())",
    "new (require('events'))().on('x', boom); setImmediate(boom)",
    "(async () => { await sleep(1); boom() })()",
])
def test_what_a_run_starts_itself_fails_it(javascript, code):
    javascript.run(f"function boom() {{ throw new Error('mine') }} {SLEEP}")
    ending = javascript.run(f"{code}; await sleep(50); 1")
    assert not ending.ok and ending.error["message"] == "mine"
    assert "earlier run" not in ending.stderr


@pytest.mark.parametrize("code, exit_code", [
    ("process.exit(3)", 3), ("process.exit()", 0), ("process.exitCode = 4; 1", 4),
    ("setTimeout(() => process.exit(5), 1); await new Promise(() => {})", 5),
    ("try { process.exit(6) } catch {}", 6),
])
def test_exit_ends_the_run_only(javascript, code, exit_code):
    javascript.run("var kept = 1")
    ending = javascript.run(code)
    assert (ending.ok, ending.done["exit_code"]) == (exit_code == 0, exit_code)
    if exit_code:
        assert ending.error["name"] == "SystemExit"
    assert javascript.run("kept").text == "1"


@pytest.mark.parametrize("code", [
    "while (true) {}",
    "await new Promise(() => {})",
    "var beat = setInterval(() => {}, 50); new Promise(() => {})",
    "while (true) await null",
    "for (;;) { try { for (;;); } catch {} }",
    "setTimeout(() => { console.log('in the timer'); while (true) {} }, 1); await new Promise((r) => setTimeout(r, 50))",
    "require('child_process').execSync('sleep 2'); while (true) {}",
    "(function f() { while (true) [1, 2, 3].map((x) => x * 2) })()",
])
def test_interrupt_keeps_variables(javascript, code):
    javascript.run("var kept = [1]")
    javascript.start("console.log('started');\n" + code)
    javascript.wait_for_stdout("in the timer" if "in the timer" in code else "started")
    javascript.interrupt()
    ending = javascript.finish()
    assert ending.done["interrupted"] and not ending.ok
    assert javascript.run("kept").text == "[ 1 ]"
    assert javascript.run("await new Promise((r) => setTimeout(r, 5, 'timers work'))").text == "'timers work'"


def test_interrupt_between_runs_is_ignored(javascript):
    javascript.run("1")
    javascript.interrupt()
    assert javascript.run("await new Promise((r) => setTimeout(r, 150, 'unharmed'))").text == "'unharmed'"


def test_interrupt_right_behind_the_run(javascript):
    for _ in range(5):
        javascript.start("while (true) {}")
        javascript.interrupt()
        assert javascript.finish().done["interrupted"]
    assert javascript.run("1").text == "1"


def test_an_interrupt_while_it_still_starts(start, tmp_path):
    """A stop by force then would end the start itself, and nothing would be answered any more."""
    shutil.copytree(RUNNERS, tmp_path / "runners")
    slow = tmp_path / "runners/javascript/runner.mjs"
    text = slow.read_text()
    slow.write_text(text.replace("\nloadSyntax();", "\nfor (const end = performance.now() + 500; performance.now() < end;);\nloadSyntax();"))
    assert slow.read_text() != text
    javascript = start("javascript", program=[*PROGRAMS["javascript"][:-1], str(slow)])
    javascript.start("while (true) {}")
    javascript.interrupt()
    assert javascript.finish().done["interrupted"]
    assert javascript.run("1").text == "1"


def test_output_is_live_whole_and_apart(javascript):
    javascript.start("console.log('first'); await new Promise((r) => setTimeout(r, 60000))")
    javascript.wait_for_stdout("first\n")
    javascript.interrupt()
    javascript.finish()
    ending = javascript.run("console.log('x'.repeat(3_000_000)); console.error('e'); process.stdout.write('end')")
    assert len(ending.stdout) == 3_000_004 and ending.stdout.endswith("end")
    assert ending.stderr == "e\n"


def test_timers_outlive_the_cell(javascript):
    javascript.run("var n = 0; const t = setInterval(() => n++, 1);")
    assert javascript.run("await new Promise((r) => setTimeout(r, 30)); clearInterval(t); n > 1").text == "true"


@pytest.mark.parametrize("code", [
    "process.stdout.end(); process.stderr.destroy()",
    "Object.defineProperty(process, 'stdout', { value: null, configurable: true, writable: true })",
    "JSON.stringify = null; Promise.race = null",
    "require('fs').writeSync = null",
    "globalThis._ = 5; var require2 = require",
    "process.removeAllListeners()",
])
def test_nothing_broken_stays_broken(javascript, code):
    javascript.run(code)
    ending = javascript.run("console.log('still here'); 'value'")
    assert ending.stdout == "still here\n" and ending.text == "'value'"


def test_environment_is_undone(javascript):
    assert javascript.run("process.env.RUN_VAR", env={"RUN_VAR": "v"}).text == "'v'"
    assert javascript.run("process.env.RUN_VAR").text is None


@pytest.mark.parametrize("code, shown", [("1 + 1; const a = 2", None), ("3; class A {}", None), ("4; let b\n// end", None),
                                         ("f(); function f() { return 5 }", "5"), ("const c = 6; c", "6")])
def test_a_declaration_shows_nothing(shared_javascript, code, shown):
    assert shared_javascript.run(code).text == shown


def test_results(javascript):
    assert javascript.run("({ a: [1, 'x', null] })").main["json"] == {"a": [1, "x", None]}
    assert "json" not in javascript.run("new Map([[1, 2]])").main
    ending = javascript.run("display({ toHTML: () => '<b>' }); display(Buffer.from('iVBORw0KGgo=', 'base64')); "
                            "({ $schema: 'https://vega.github.io/schema/vega-lite/v5.json', mark: 'bar' })")
    assert ending.outputs[0]["html"] == "<b>" and not ending.outputs[0]["is_main_result"]
    assert ending.images == [b"\x89PNG\r\n\x1a\n"] and "png" in ending.outputs[1]["formats"]
    assert ending.main["json"]["mark"] == "bar"


def test_huge_values_are_cut(javascript):
    assert len(javascript.run("'x'.repeat(5_000_000)").text) < 110_000


def test_local_modules(javascript):
    (javascript.cwd / "lib.mjs").write_text("export const n = 1; export default 'd';")
    (javascript.cwd / "old.cjs").write_text("module.exports = { m: 2 };")
    (javascript.cwd / "data.json").write_text('{"k": 3}')
    code = ("import d, { n } from './lib.mjs';\n"
            "[d, n, require('./old.cjs').m, require('./data.json').k]")
    assert javascript.run(code).text == "[ 'd', 1, 2, 3 ]"
    (javascript.cwd / "lib.mjs").write_text("export const n = 100; export default 'changed';")
    assert javascript.run("(await import('./lib.mjs')).default").text == "'changed'"


def test_import_attributes(javascript):
    parser = javascript.run("(() => { try { return require('node:module').createRequire('/usr/share/nodejs/')('acorn').version }"
                            " catch { return process.versions.acorn } })()").text.strip("'")
    if tuple(int(part) for part in parser.split(".")[:2]) < (8, 14):
        pytest.skip(f"this host's parser, acorn {parser}, knows no import attributes")
    (javascript.cwd / "data.json").write_text('{"k": 3}')
    assert javascript.run("import data from './data.json' with { type: 'json' };\ndata.k").text == "3"


@pytest.mark.parametrize("manifest, file, specifier", [
    ('{"exports": {"import": "./e.mjs", "require": "./c.cjs"}}', "e.mjs", "pack"),
    ('{"exports": {"./sub/*": "./s/*.mjs"}}', "s/one.mjs", "pack/sub/one"),
    ('{"main": "m.js", "type": "module"}', "m.js", "pack"),
    ('{"exports": {".": {"types": "./t.d.ts", "node": {"import": "./deep.mjs"}}}}', "deep.mjs", "pack"),
])
def test_packages(javascript, manifest, file, specifier):
    for root in (javascript.cwd / "node_modules", javascript.home / ".local/lib/node_modules"):
        folder = root / "pack"
        (folder / file).parent.mkdir(parents=True)
        (folder / "package.json").write_text(manifest)
        (folder / file).write_text("export default 'from the package';")
        assert javascript.run(f"import p from '{specifier}';\np").text == "'from the package'"
        folder.rename(root / "moved")


def test_channel_does_not_reach_subprocesses(javascript):
    code = "require('child_process').execSync('readlink /proc/self/fd/3 || echo none').toString()"
    assert "socket" not in javascript.run(code).text


def test_garbage_and_end_of_file_end_the_runner(start):
    first = start("javascript")
    first.send_bytes(b"\xff" * 64)
    assert first.wait_for_end() == 1
    second = start("javascript")
    second.start("console.log('started'); while (true) {}")
    second.wait_for_stdout("started")
    second.close_channel()
    second.wait_for_end()


def can_strip_types():
    code = "process.exit(require('module').stripTypeScriptTypes || require('child_process').spawnSync('esbuild', ['--version']).status === 0 ? 0 : 1)"
    try:
        return subprocess.run(["/usr/bin/node", "-e", code]).returncode == 0
    except OSError:
        return False


needs_types = pytest.mark.skipif(not can_strip_types(), reason="node has no stripTypeScriptTypes and there is no esbuild")


@needs_types
def test_typescript(javascript):
    run = lambda code: javascript.run(code, language="typescript")  # noqa: E731
    assert run("interface P { x: number }\nconst p: P = { x: 3 };\nenum C { Red, Green }\np.x + C.Green").text == "4"
    assert javascript.run("p.x").text == "3"
    assert run("function id<T>(v: T): T { return v }\nid<string>('s') as string").text == "'s'"
    assert run("import { join } from 'path';").ok
    assert run("join('a', 'b')").text == "'a/b'"
    assert run("await Promise.resolve(1 as number)").text == "1"


@needs_types
def test_typescript_lines(javascript):
    ending = javascript.run("type A = string;\n\n\ninterface B {\n  a: A;\n}\nconst b: B = { a: 'x' };\n\n(b as any).c.d",
                            language="typescript")
    assert "cell-1:9:" in ending.stderr and "(b as any).c.d" in ending.stderr
    ending = javascript.run("let a: number = 1;\nlet b: = 2;", language="typescript")
    assert ending.error["name"] == "SyntaxError" and "cell-2:2" in ending.stderr


def test_typescript_without_a_stripper(start):
    client = start("javascript", extra_env={"PATH": "/nowhere"})
    if client.run("typeof require('module').stripTypeScriptTypes").text == "'function'":
        pytest.skip("this node strips types itself")
    ending = client.run("let a: number = 1", language="typescript")
    assert "esbuild" in ending.error["message"]


@pytest.mark.parametrize("name", ["SIGCONT", "SIGWINCH", "SIGURG", "SIGCHLD", "SIGUSR1"])
def test_signals_that_end_nothing_end_nothing(javascript, name):
    javascript.run("const kept = 41")
    assert javascript.run(f"process.kill(process.pid, '{name}'); kept").text == "41"
    assert javascript.run("await 1; process.kill(0, process.binding('constants').os.signals." + name + "); kept + 1").text == "42"
    heard = javascript.run(f"let heard = 0; process.once('{name}', () => {{ heard += 1; }}); process.kill(process.pid, '{name}');"
                           "while (!heard) await new Promise(setImmediate); heard")
    assert heard.text == "1"


def test_without_its_inspector_it_ends(start):
    client = start("javascript")
    client.start("process._kill(process.pid, 28); 1")  # process.kill() is made of it
    client.wait_for_stderr("JavaScript cannot go on in this process")
    assert client.wait_for_end() == 1


@pytest.mark.parametrize("code, is_told", [
    ("require('fs').readFileSync('/Users/anna/data.csv')", True), ("require('fs').readFileSync('C:\\\\Users\\\\anna\\\\data.csv')", True),
    ("await require('fs/promises').readFile('/home/anna/data.csv')", True), ("require('fs').createReadStream('/Users/anna/data.csv');", True),
    ("require('fs').readFileSync('/home/user/Documents/data.csv')", True),
    ("require('fs').readFileSync('data.csv')", False), ("require('fs').readFileSync('/home/user/data.csv')", False),
    ("throw Object.assign(new Error('no'), { path: '/Users/anna' })", False),
])
def test_the_way_to_files_of_the_users_machine(shared_javascript, code, is_told):
    ending = shared_javascript.run(code)
    assert not ending.ok and ("this session sees no files of the user's machine" in ending.stderr) == is_told, ending


@pytest.mark.parametrize("code, way", [
    ("fs.readFileSync('/mnt/user-data/uploads/sales.csv')", "(files of the chat are not in this session: the user gives them through write_file"),
    ("await fs.promises.readdir('/mnt/user-data')", "(files of the chat are not"), ("fs.createReadStream('/mnt/data/sales.csv')", "(files of the chat are not"),
    ("fs.writeFileSync('/mnt/user-data/outputs/a.csv', '')", "(this session has no /mnt/user-data/outputs: write below /workspace, and share_file"),
    ("fs.mkdirSync('/home/claude/work')", "(this session has no /home/claude: "), ("fs.readFileSync('/mnt/user-database')", None), ("fs.readFileSync('/mnt/nosuch/a')", None),
])
def test_the_way_to_files_of_a_chat(shared_javascript, code, way):
    ending = shared_javascript.run(f"var fs = require('fs'); {code}")
    last = ending.stderr.splitlines()[-1]
    assert not ending.ok and (last.startswith(way) if way else last[0] != "("), ending


@pytest.mark.parametrize("code, told", [
    ("fs.readFileSync('Sales.csv')", "sales.csv"), ("await fs.promises.readFile('/data/SALES.csv')", "sales.csv"), ("fs.createReadStream('Sales Report.csv');", "sales_report.csv"),
    ("fs.readFileSync('/mnt/user-data/uploads/sales.csv')", "sales.csv"), ("fs.copyFileSync('/Users/anna/sales.csv', 'b.csv')", "sales.csv"),
    ("fs.readdirSync('/data/Folder/')", "folder"), ("fs.readFileSync('u\\u0308bersicht.csv')", "\u00fcbersicht.csv"),
    ("fs.readFileSync('nosuch.csv')", None), ("require('child_process').execFileSync('Folder')", None), ("fs.readFileSync('sales.csv/x')", None),
])
def test_files_that_are_elsewhere(shared_javascript, code, told):
    for name in ("sales.csv", "sales_report.csv", "\u00fcbersicht.csv"):
        (shared_javascript.cwd / name).write_text("a\n1\n")
    (shared_javascript.cwd / "folder").mkdir(exist_ok=True)
    ending = shared_javascript.run(f"var fs = require('fs'); {code}")
    last = ending.stderr.splitlines()[-1]
    assert not ending.ok and (last == f"(there is {shared_javascript.cwd}/{told})" if told else last[0] != "("), ending


GIVES, IS = "(hutch.sql() gives a Promise: (await hutch.sql(...)) is its value)", "(rows is a Promise: await it)"


@pytest.mark.parametrize("code, told", [
    ("var rows = Promise.resolve([1]); rows.length", IS), ("const made = async () => [1]; const rows = made(); rows[0]", IS), ("var rows = fetch('data:,x'); console.log(rows.status)", IS),
    ("var rows = Promise.resolve([1]); rows.map((row) => row)", IS), ("async function main() { const rows = hutch.sql('SELECT 1'); return rows.filter(Boolean); }\nawait main()", IS),
    ("let rows: Promise<number[]> = Promise.resolve([1]); rows?.length", IS), ("await hutch.sql('SELECT count(*)').length", GIVES),
    ("hutch.sql(\"SELECT 1 AS a\").map((row) => row.a)", GIVES),
    ("const values = await hutch.sql('SELECT 1'); values.length", None), ("(await hutch.sql('SELECT 1')).length", None), ("hutch.sql('SELECT 1').then((values) => values.length)", None),
    ("const made = Promise.resolve(5); made.finally(() => 1)", None), ("const ok = {}; ok.rows = Promise.resolve(1); ok.rows", None),
    ("const [a, b] = await Promise.all([hutch.sql('SELECT 1'), hutch.sql('SELECT 2')]); a.length + b.length", None), ("null.map()", None),
    ("const text = 'rows is'; text.length", None), ("throw new Error('rows.length')", None)])
def test_a_promise_that_is_taken_for_its_value(start, code, told):
    ending = start("javascript").run(code, language="typescript" if ": Promise" in code else "javascript")
    said = f"({ending.done.get('note', '')})" if ending.ok else ending.stderr.splitlines()[-1]
    if told and (": Promise" in code or "hutch.sql('SELECT count" in code):  # nobody waits for the query, which may still be told of
        assert told[1:-1] in said, ending
    else:
        assert said == told if told else "Promise:" not in said, ending


@pytest.mark.parametrize("code", [
    "[[1], [2]].map(p => p.length)", "function total(p) { return p.length }", "for (const p of [[1]]) p[0]", "console.log('p.length')",
    "const p2 = load(); p2.then((r) => r.length); const label = 'p2.length'", "const t1 = load(); t1[Symbol.toStringTag]",
    "function other() { const rows = hutch.sql('SELECT 1'); return rows } { const rows = [1, 2]; rows.length }", "p.length",
    "let q = [1]; q.length; q = load()", "const q = load(); q instanceof Promise ? (await q).length : q.length", "const q = load(); q.cancel?.()",
    "const q = Object.assign(load(), { pid: 5 }); q.pid", "const fetch = () => [1]; fetch('x').length", "const load = () => [1]; load().length",
    "const cfg = null; const used = 'p.x'; cfg.y", "const cfg = null; const q = load(); q.x; cfg.y", "[null].map((p) => p.length)", "[{}].map((p) => p.map())",
    "const cfg = {}; const got = () => p.x.y; cfg.x.y", "outer()", "const { a: { length } } = {}; p.x.length", "const q = load(); q.x; fs.readFileSync('/Users/anna/a.csv')"])
def test_what_is_no_promise_is_called_none(start, code):
    javascript = start("javascript")
    assert javascript.run("var fs = require('fs'); const load = async () => [1]; const p = load(); function outer() { const p = {}; p.map() }").ok
    ending = javascript.run(code)
    assert "Promise:" not in ending.stderr + ending.done.get("note", ""), ending
    assert "readFileSync" not in code or "this session sees no files" in ending.stderr.splitlines()[-1], ending


@pytest.mark.parametrize("code", ["p.map((one) => one)", "p[0].name", "[1].map(() => p.x.y)", "new p.Kind()"])
def test_a_promise_of_an_earlier_run_that_is_taken_for_its_value(start, code):
    javascript = start("javascript")
    assert javascript.run("const load = async () => [1]; const p = load()").ok
    assert javascript.run(code).stderr.splitlines()[-1] == "(p is a Promise: await it)"


def test_paths_are_explained_where_the_working_directory_is_gone(start):
    code = "const fs = require('fs'); fs.mkdirSync('gone'); process.chdir('gone'); fs.rmdirSync('../gone'); fs.readFileSync('/Users/anna/a.csv')"
    assert start("javascript").run(code).stderr.splitlines()[-1].startswith("(this session sees no files of the user's machine")
