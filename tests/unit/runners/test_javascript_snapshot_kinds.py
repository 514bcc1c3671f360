"""Tests what of a JavaScript comes back from its snapshot: kept equal, or named. One table for all kinds of objects."""

import re

import pytest

from conftest import starter
from woken import WokenJavaScript, named

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
    "const": ("const it = 5", "it === 5 && (it = 6, it === 6)"),
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
    "module_named_like_a_global": ("import crypto from 'crypto'", "typeof crypto.createHash === 'function'"),
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


GENERATIONS = ["read", "read_again"]
AT_ONCE = 3  # a note has room to name so many


@pytest.fixture(scope="module")
def of_all(tmp_path_factory, request):
    folder = tmp_path_factory.mktemp("snapshots")
    for start_one in starter(folder, request):
        yield WokenJavaScript(start_one, folder, {"util": ("import util from 'node:util'", None), **KINDS}, len(GENERATIONS))


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("generation", range(len(GENERATIONS)), ids=GENERATIONS)
def test_values_come_back(of_all, generation, name):
    looked = of_all.generations[generation].run(named(name, KINDS[name][1]))
    assert looked.text == "true", (looked.text, looked.error, of_all.notes)


def test_the_note_says_how_many_after_which_run(of_all):
    for note in of_all.notes:
        assert re.match(r"a new JavaScript has the \d+ names that there were after run_\d+", note), note
        assert "not kept" not in note, note


@pytest.fixture(scope="module")
def of_none(tmp_path_factory, request):
    """Returns, by name of NOT_KEPT, the JavaScript that was to bring it back, with some others: made when it is first asked for."""
    made, names = {}, list(NOT_KEPT)
    folder = tmp_path_factory.mktemp("not_kept")
    for start_one in starter(folder, request):
        def woken(name):
            number = names.index(name) // AT_ONCE
            if number not in made:
                some = {one: (f"{NOT_KEPT[one][0]}\nlet beside_{one} = [5]", None) for one in names[number * AT_ONCE:][:AT_ONCE]}
                (folder / str(number)).mkdir()
                made[number] = WokenJavaScript(start_one, folder / str(number), some)
            return made[number]
        yield woken


@pytest.mark.parametrize("name", NOT_KEPT)
def test_what_is_not_kept_is_named(of_none, name):
    woken, words = of_none(name), NOT_KEPT[name][1]
    assert re.search(rf"\bit_{name} \([^)]*{re.escape(words)}", woken.notes[0]), woken.notes
    assert woken.generations[0].run(f"beside_{name}").text == "[ 5 ]"
