"""What of a JavaScript comes back from its snapshot: kept equal, or named. One table for all kinds of objects."""

import re
import time

import pytest

from conftest import starter
from runner_client import Keeper, eventually

# name: code that makes `it`, an expression that is true of what came back
KEPT = {
    "number": ("let it = 1.5", "it === 1.5"),
    "minus_zero": ("let it = -0", "Object.is(it, -0)"),
    "not_a_number": ("let it = NaN", "Number.isNaN(it)"),
    "infinity": ("let it = -Infinity", "it === -Infinity"),
    "large": ("let it = 2 ** 53", "it === 2 ** 53"),
    "bigint": ("let it = -(2n ** 200n)", "it === -(2n ** 200n)"),
    "undefined": ("let it", "it === undefined && 'it' in globalThis"),
    "null": ("let it = null", "it === null"),
    "boolean": ("let it = true", "it === true"),
    "string": ("let it = 'gr\u00fc\u00df \U0001F600'", "it === 'gr\u00fc\u00df \\u{1F600}'"),
    "surrogate": ("let it = 'a\\ud83d'", "it.length === 2 && it.charCodeAt(1) === 0xd83d"),
    "long_string": ("let it = 'x'.repeat(3_000_000)", "it.length === 3_000_000"),
    "const": ("const it = 5", "(it = 6, it === 6)"),
    "object": ("let it = { b: 1, a: [2], 7: 'seven' }", "Object.keys(it).join() === '7,b,a' && it.a[0] === 2"),
    "proto_key": ("let it = JSON.parse('{\"__proto__\": 3}')", "Object.getOwnPropertyDescriptor(it, '__proto__').value === 3"),
    "symbol_key": ("const keyOfSymbol = Symbol('k'); let it = { [keyOfSymbol]: 4 }", "it[keyOfSymbol] === 4"),
    "hidden_property": ("let it = Object.defineProperty({}, 'h', { value: 5 })", "it.h === 5 && Object.keys(it).length === 0 && !Reflect.set(it, 'h', 6)"),
    "accessor": ("let it = { n: 2, get twice() { return this.n * 2 }, set twice(v) { this.n = v / 2 } }", "(it.twice = 10, it.n === 5 && it.twice === 10)"),
    "frozen": ("let it = Object.freeze({ a: Object.seal([1]) })", "Object.isFrozen(it) && Object.isSealed(it.a) && !Object.isFrozen(it.a)"),
    "not_extensible": ("let it = Object.preventExtensions({ a: 1 })", "!Object.isExtensible(it) && !Object.isSealed(it)"),
    "null_prototype": ("let it = Object.assign(Object.create(null), { a: 1 })", "Object.getPrototypeOf(it) === null && it.a === 1"),
    "own_prototype": ("const base = { hi() { return 'hi ' + this.n } }; let it = Object.create(base, { n: { value: 3 } })", "it.hi() === 'hi 3' && Object.getPrototypeOf(it) === base"),
    "array": ("let it = [1, 'two', [3], null, undefined]", "it.length === 5 && it[1] === 'two' && it[2][0] === 3 && 4 in it"),
    "numbers": ("let it = Array.from({ length: 5000 }, (_, i) => i / 2); it[3] = -0", "it.length === 5000 && it[4999] === 2499.5 && Object.is(it[3], -0)"),
    "holes": ("let it = [1, , 3]; it.length = 5", "it.length === 5 && !(1 in it) && it[2] === 3"),
    "sparse": ("let it = []; it[1e9] = 'far'", "it.length === 1e9 + 1 && it[1e9] === 'far'"),
    "array_with_names": ("let it = Object.assign([1, 2], { extra: 3, [Symbol.for('s')]: 4 })", "it.extra === 3 && it[Symbol.for('s')] === 4 && it.length === 2"),
    "many_with_names": ("let it = Object.assign(new Array(3000).fill('v'), { extra: 3 })", "it.extra === 3 && it.length === 3000 && it[2999] === 'v'"),
    "frozen_array": ("let it = Object.freeze([1, 2])", "Object.isFrozen(it) && it[1] === 2 && it.length === 2"),
    "map": ("let it = new Map([['a', { n: 1 }], [NaN, 2]])", "it.get('a').n === 1 && it.get(NaN) === 2 && it.size === 2"),
    "set": ("let it = new Set([1, 'a'])", "it.has('a') && it.size === 2"),
    "set_of_itself": ("let it = new Set(); it.add(it)", "it.has(it)"),
    "date": ("let it = new Date(86400000)", "it.toISOString() === '1970-01-02T00:00:00.000Z'"),
    "invalid_date": ("let it = new Date(NaN)", "Number.isNaN(it.getTime())"),
    "pattern": ("let it = /a+(?<n>b)\\//giu; it.lastIndex = 3", "it.source === 'a+(?<n>b)\\\\/' && it.flags === 'giu' && it.lastIndex === 3"),
    "error": ("let it = new TypeError('why', { cause: { n: 1 } }); it.code = 'E1'; const stackOfIt = it.stack",
              "it instanceof TypeError && it.message === 'why' && it.cause.n === 1 && it.code === 'E1' && it.stack === stackOfIt && it.stack.includes('cell-') && util.types.isNativeError(it)"),
    "aggregate": ("let it = new AggregateError([new RangeError('one')], 'all')", "it.errors[0] instanceof RangeError && it instanceof AggregateError"),
    "own_error": ("class Mine extends Error { name = 'Mine'; extra = 1 }\nlet it = new Mine('m')", "it instanceof Mine && it instanceof Error && String(it) === 'Mine: m' && it.extra === 1"),
    "array_buffer": ("let it = new Uint8Array([1, 2, 3]).buffer", "it.byteLength === 3 && new Uint8Array(it)[2] === 3"),
    "typed_array": ("let it = new Float32Array([1.5, -2])", "it instanceof Float32Array && it[0] === 1.5 && it.length === 2"),
    "big_array": ("let it = new BigInt64Array([-5n])", "it[0] === -5n"),
    "shared_memory": ("const bytesOfIt = new Uint8Array(16); let it = { view: new DataView(bytesOfIt.buffer, 4, 8), words: new Uint16Array(bytesOfIt.buffer, 2, 3) }",
                      "(bytesOfIt[4] = 1, bytesOfIt[5] = 2, it.view.getUint8(1) === 2 && it.view.byteLength === 8 && it.words[1] === 513)"),
    "buffer": ("let it = Buffer.from('bytes'); const restOfIt = it.subarray(1)", "(it[1] = 65, it.toString() === 'bAtes' && restOfIt.toString() === 'Ates' && Buffer.isBuffer(restOfIt))"),
    "large_buffer": ("let it = Buffer.alloc(2_000_000, 'ab')", "it.length === 2_000_000 && it[1999999] === 98"),
    "boxed": ("let it = [Object(1), Object('text'), Object(false), Object(2n)]", "it[0] + 1 === 2 && it[1].length === 4 && typeof it[2] === 'object' && it[3] + 1n === 3n && it[1][1] === 'e'"),
    "url": ("let it = new URL('https://a.b/c?d=1#e')", "it.searchParams.get('d') === '1' && it.hash === '#e' && it instanceof URL"),
    "query": ("let it = new URLSearchParams('a=1&a=2')", "it.getAll('a').join() === '1,2'"),
    "registered_symbol": ("let it = Symbol.for('key')", "it === Symbol.for('key')"),
    "known_symbol": ("let it = Symbol.iterator", "it === Symbol.iterator"),
    "own_symbol": ("let it = Symbol('mine'); const againSymbol = [it]", "it === againSymbol[0] && it.description === 'mine'"),
    "settled": ("let it = Promise.resolve({ n: 4 })", "it.then((v) => v.n === 4)"),
    "arguments": ("let it = (function () { return arguments })(1, 2)", "it.length === 2 && it[1] === 2"),
    "shared": ("const inner = [1]; let it = { a: inner, b: inner }", "it.a === it.b && it.a === inner"),
    "cycle": ("let it = []; it.push({ me: it })", "it[0].me === it"),
    "deep": ("let it = null; for (let i = 0; i < 100_000; i++) it = [it]", "(() => { let n = 0; for (let one = it; one; one = one[0]) n++; return n })() === 100_000"),
    "many": ("let it = Array.from({ length: 20_000 }, (_, id) => ({ id, name: 'n' + id, tags: [id] }))", "it.length === 20_000 && it[19_999].tags[0] === 19_999 && it[5].name === 'n5'"),
}
DEFINED = {
    "function": ("const offsetOfIt = 10; function it(a, b = 2) { return a + b + offsetOfIt }", "it(1) === 13 && it.name === 'it' && it.length === 1"),
    "sees_names": ("let seenByIt = 1; function it() { return seenByIt }", "(seenByIt = 5, it() === 5)"),
    "recursive": ("function it(n) { return n < 2 ? 1 : n * it(n - 1) }", "it(5) === 120"),
    "arrow": ("const it = (n) => n * 2", "it(4) === 8 && it.name === 'it'"),
    "async": ("const it = async (n) => (await n) + 1", "it(1).then((n) => n === 2)"),
    "generator": ("function* it() { yield* [1, 2] }", "[...it()].join() === '1,2'"),
    "async_generator": ("async function* it() { yield 7 }", "it().next().then(({ value }) => value === 7)"),
    "named_expression": ("const it = function again(n) { return n ? again(n - 1) : 'end' }", "it(3) === 'end' && it.name === 'again'"),
    "own_properties": ("function it() { return it.count } it.count = 3; it.self = it", "it() === 3 && it.self === it"),
    "after_await": ("const waited = await Promise.resolve(4); function it() { return waited }", "it() === 4"),
    "methods": ("let it = { n: 1, plain() { return this.n }, async later() { return 2 }, *[Symbol.iterator]() { yield 3 }, ['com' + 'puted']() { return 4 } }",
                "it.plain() === 1 && [...it][0] === 3 && it.computed() === 4 && it.later().then((n) => n === 2)"),
    "constructor": ("function ItOld(n) { this.n = n }\nItOld.prototype.get = function () { return this.n }; let it = new ItOld(5)", "it.get() === 5 && it instanceof ItOld && it.constructor === ItOld"),
    "inherits": ("function Parent() {}\nParent.prototype.who = () => 'parent'; function Child() {}\nChild.prototype = Object.create(Parent.prototype); Child.prototype.constructor = Child; let it = new Child()",
                 "it.who() === 'parent' && it instanceof Parent && it instanceof Child"),
    "class": ("class It { static made = 0; static make() { It.made++; return new this(4) }\n constructor(n) { this.n = n }\n get double() { return this.n * 2 }\n *[Symbol.iterator]() { yield this.n } }\nlet it = It.make()",
              "It.made === 1 && it.double === 8 && [...it][0] === 4 && it instanceof It && It.make() && It.made === 2"),
    "field": ("class Fields { list = []; n = this.list.length + 1 }\nlet it = new Fields()", "it.n === 1 && new Fields().list !== it.list"),
    "subclass": ("class Base { name() { return 'base' } }\nclass Sub extends Base { name() { return super.name() + ' sub' } }\nlet it = new Sub()", "it.name() === 'base sub' && it instanceof Base && Object.getPrototypeOf(Sub) === Base"),
    "private": ("class Secret { #n = 1; #get() { return this.#n } get() { return this.#get() } static #count = 3; static next() { return ++this.#count } }\nSecret.next(); let it = Secret", "new it().get() === 1 && it.next() === 5"),
    "of_builtin": ("class Stack extends Array { top() { return this.at(-1) } }\nlet it = Stack.from([1, 2])", "it.top() === 2 && it instanceof Stack && Array.isArray(it) && it.length === 2"),
    "of_map": ("class Counts extends Map { add(k) { this.set(k, (this.get(k) ?? 0) + 1); return this } }\nlet it = new Counts().add('a')", "it.add('a').get('a') === 2"),
    "of_expression": ("const mixin = (Base) => Base; class Mixed extends mixin(Stack) {}\nlet it = new Mixed(); it.push(9)", "it.top() === 9 && it instanceof Stack"),
    "static_block": ("let ranBlock = 0; class it { static { ranBlock++; this.of = 'block' } static [`computed`] = 1; static list = [ranBlock] }", "ranBlock === 1 && it.of === 'block' && it.computed === 1 && it.list[0] === 1"),
    "patched_class": ("class Patched { old() { return 1 } gone() {} }\nPatched.prototype.fresh = function () { return 2 }; delete Patched.prototype.gone; Patched.prototype.old = () => 3; let it = new Patched()",
                      "it.fresh() === 2 && it.gone === undefined && it.old() === 3"),
    "method_of_class": ("class Has { m() { return 1 } static s() { return 2 } get g() { return 3 } }\nlet it = [Has.prototype.m, Has.s]", "it[0] === Has.prototype.m && it[1] === Has.s"),
    "emitter": ("import { EventEmitter } from 'node:events'; class Bus extends EventEmitter {}\nlet it = new Bus(); let heardOfIt = 0; it.on('x', (n) => { heardOfIt += n })", "(it.emit('x', 4), heardOfIt === 4)"),
    "strict": ("'use strict'; function it() { return this }", "it() === undefined"),
    "made_of_text": ("const it = new Function('a', 'return a + 1')", "it(1) === 2"),
    "imports_later": ("const it = async () => (await import('node:os')).EOL", "it().then((eol) => eol === '\\n')"),
    "builtin": ("const it = [Math.max, Array.prototype.slice, console.log, process, globalThis]", "it[0] === Math.max && it[1] === [].slice && it[2] === console.log && it[3] === process && it[4] === globalThis"),
    "lazy_builtin": ("const it = [fetch, Headers, crypto]", "it[0] === fetch && it[1] === Headers && it[2] === crypto"),
    "module": ("import * as it from 'node:path'", "it.join('a', 'b') === 'a/b'"),
    "default": ("import it, { readFileSync as readOfIt } from 'fs'", "it === require('fs') && readOfIt === it.readFileSync"),
    "required": ("const it = require('util'); const { isDate } = it.types", "it.inspect(1) === '1' && isDate(new Date())"),
    "own_module": ("require('fs').writeFileSync('lib.mjs', 'export class Kind { n = 1; get() { return this.n } }; export const plus = (a) => a + 1');\nimport { Kind, plus } from './lib.mjs'; let it = new Kind(); it.n = 7",
                   "it.get() === 7 && it instanceof Kind && plus(1) === 2 && Kind === (await import('./lib.mjs')).Kind"),
    "own_required": ("require('fs').writeFileSync('lib.cjs', 'exports.Kind = class Kind { get() { return this.n } }'); const LibOfIt = require('./lib.cjs'); let it = new LibOfIt.Kind(); it.n = 8",
                     "it.get() === 8 && LibOfIt === require('./lib.cjs')"),
    "package": ("require('fs').mkdirSync('node_modules/pack', { recursive: true }); require('fs').writeFileSync('node_modules/pack/index.js', 'class Big { constructor(n) { this.n = n } plus(n) { return new Big(this.n + n) } }; module.exports = Big');\n"
                "import Big from 'pack'; let it = new Big(3)", "it.plus(1).n === 4 && it instanceof Big"),
    "added_to_builtin": ("Array.prototype.lastOfIt = function () { return this[this.length - 1] }; let it = 1", "[1, 2].lastOfIt() === 2"),
    "in_place_of_builtin": ("const randomOfIt = Math.random; Math.random = () => 0.5; let it = Math.random", "Math.random() === 0.5 && it === Math.random && randomOfIt() !== 0.5 && (Math.random = randomOfIt, true)"),
    "typescript": ("enum ItEnum { A, B = 5 }\ninterface Shape { n: number }\nlet it: Shape & { k: ItEnum } = { n: 1, k: ItEnum.B }; function typedOfIt(s: Shape): number { return s.n }", "it.k === ItEnum.B && ItEnum[5] === 'B' && typedOfIt(it) === 1"),
}
KINDS = {**KEPT, **DEFINED}
AGAIN = "make it again"
NOT_KEPT = {
    "waits": ("let it = new Promise(() => {})", "Promise: it waits: await it first"),
    "weak_map": ("let it = new WeakMap()", f"WeakMap: {AGAIN}"),
    "weak_set": ("let it = new WeakSet()", f"WeakSet: {AGAIN}"),
    "weak_reference": ("let it = new WeakRef({})", f"WeakRef: {AGAIN}"),
    "proxy": ("let it = new Proxy({}, {})", f"Proxy: {AGAIN}"),
    "closure": ("const makeIt = () => { let n = 0; return () => n++ }; let it = makeIt()", "function: closes over n: define it at the top level"),
    "closure_over_this": ("class Holds { n = 1; get = () => this.n }\nlet it = new Holds()", "closes over this"),
    "bound": ("let it = console.log.bind(console)", "bound function: bind it again"),
    "timer": ("let it = setTimeout(() => {}, 1e6).unref()", "Timeout: a timer: start it again"),
    "server": ("let it = require('net').createServer()", "Server: start it again"),
    "socket": ("let it = new (require('net').Socket)()", "Socket: connect it again"),
    "stream": ("let it = require('fs').createReadStream('/dev/null')", f"ReadStream: {AGAIN}"),
    "shared_memory": ("let it = new SharedArrayBuffer(8)", "SharedArrayBuffer: make it again"),
    "begun": ("let it = (function* () { yield 1 })(); it.next()", "generator: "),
    "iterator": ("let it = new Map([[1, 2]]).entries()", f"iterator: {AGAIN}"),
    "array_iterator": ("let it = [1][Symbol.iterator]()", f"iterator: {AGAIN}"),
    "private_field": ("class Sealed { #n = 1; get() { return this.#n } }\nlet it = new Sealed()", "Sealed: it has private fields: make it again"),
    "response": ("let it = new Response('x')", f"Response: {AGAIN}"),
    "decoder": ("let it = new TextDecoder()", f"TextDecoder: {AGAIN}"),
    "inside": ("let it = { deep: [new WeakMap()] }", f"Object: has a WeakMap: {AGAIN}"),
    "class_of_closure": ("const makeClass = () => { const n = 1; return class Inner { get() { return n } } }; let it = new (makeClass())()", "Inner: its class closes over n"),
}


def named(name, code):
    """Each kind has a name of its own."""
    return re.sub(r"\bit\b", f"it_{name}", code)


def store(javascript, keeper, bytes_max=256 << 20):
    """All that it knows, as the box asks for it."""
    javascript.send({"type": "store", "bytes_max": bytes_max, "wish": 7})
    content = keeper.take()
    while keeper.last_begin != b"7":  # one that nobody has asked for was on its way
        content = keeper.take()
    return content


class Woken:
    """A JavaScript that has read the snapshot of another one, in which all kinds were made; or of one that had only read it, too."""

    def __init__(self, start, folder, kinds, generations=1):
        self.keeper = Keeper(folder / "snapshot")
        first = start("javascript", keeper=self.keeper)
        for name, (code, _) in kinds.items():
            made = first.run(named(name, code), language="typescript" if name == "typescript" else None)
            assert made.ok, (name, made.error)
        self.javascript = first
        for _ in range(generations):
            store(self.javascript, self.keeper)
            self.javascript.close_channel()
            self.javascript = start("javascript", keeper=self.keeper)
        self.note = self.javascript.run("1").done.get("note", "")


@pytest.fixture(scope="module", params=[1, 2])
def of_all(tmp_path_factory, request):
    folder = tmp_path_factory.mktemp("snapshots")
    for start_one in starter(folder, request):
        yield Woken(start_one, folder, {"util": ("import util from 'node:util'", None), **KINDS}, generations=request.param)


@pytest.mark.parametrize("name", KINDS)
def test_values_come_back(of_all, name):
    looked = of_all.javascript.run(named(name, KINDS[name][1]))
    assert looked.text == "true", (looked.text, looked.error, of_all.note)


def test_the_note_says_how_many_after_which_run(of_all):
    assert re.match(r"a new JavaScript has the \d+ names that there were after run_\d+", of_all.note), of_all.note
    assert "not kept" not in of_all.note, of_all.note


@pytest.mark.parametrize("name", NOT_KEPT)
def test_what_is_not_kept_is_named(start, tmp_path, name):
    code, words = NOT_KEPT[name]
    woken = Woken(start, tmp_path, {name: (f"{code}\nlet other = [5]", None)})
    assert f"it_{name} (" in woken.note and words in woken.note, woken.note
    assert woken.javascript.run("other").text == "[ 5 ]"


def handed_over(start, keeper, code, **options):
    """What is there once a JavaScript that ran the code has ended; its bytes."""
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
    assert b"x" in keeper.take() and keeper.last_begin == b"0" and keeper.last_end.split()[1] == b"0"
    first.run("x = 'something else'")
    assert b"something else" in keeper.take()
    first.close_channel()
    assert start("javascript", keeper=keeper).run("x").text == "'something else'"


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
])
def test_what_is_no_value_and_goes_with_the_process_is_told(start, keeper, code, said):
    handed_over(start, keeper, code + "\nlet kept = 1")
    assert int(keeper.last_end.split()[1]) > 0
    note = start("javascript", keeper=keeper).run("kept").done["note"]
    assert "gone with the one before: " in note and said in note, note


def test_a_module_that_holds_nothing_is_not_told(start, keeper):
    handed_over(start, keeper, "require('fs').writeFileSync('pure.mjs', 'const RATE = 2; export const twice = (n) => n * RATE');\nimport { twice } from './pure.mjs'; let x = twice(2)")
    assert keeper.last_end.split()[1] == b"0"
    assert start("javascript", keeper=keeper).run("twice(x)").text == "8"


def test_what_could_not_be_read_stays_stored(start, tmp_path, keeper):
    module = tmp_path / "workspace" / "mod.mjs"
    module.parent.mkdir(parents=True)
    module.write_text("export class Kind {}")
    handed_over(start, keeper, "import { Kind } from './mod.mjs'; let x = new Kind(); x.n = 4; x.self = x; let y = 1, z = [x]")
    module.rename(module.with_suffix(".away"))
    second = start("javascript", keeper=keeper)
    ran = second.run("y = 2; z = 3")
    assert "x (Cannot find module" in ran.done["note"], ran.done
    store(second, keeper)
    second.close_channel()
    module.with_suffix(".away").rename(module)
    third = start("javascript", keeper=keeper)
    assert third.run("[x.n, x.self === x, x instanceof Kind, y, z]").text == "[ 4, true, true, 2, 3 ]"


@pytest.mark.parametrize("change", ["throw 3", "throw new Proxy({}, { get() { throw 1 } })", "await new Promise(() => {})", "syntax error"])
def test_whatever_a_module_does_as_it_is_loaded_costs_only_what_needs_it(start, tmp_path, keeper, change):
    module = tmp_path / "workspace" / "mod.mjs"
    module.parent.mkdir(parents=True)
    module.write_text("export class Kind {}")
    handed_over(start, keeper, "import { Kind } from './mod.mjs'; let x = new Kind(); let y = 1")
    module.write_text(change)
    ran = start("javascript", keeper=keeper).run("y")
    assert ran.text == "1" and "x (" in ran.done["note"], ran


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
    first.close_channel()
    ran = start("javascript", keeper=keeper).run("small")
    note = ran.done["note"]
    assert ran.text == "[ 1 ]" and "large (Buffer: 9 MB, of 4 MB that are stored in all)" in note and "holds (Object: 9 MB" in note, note


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
