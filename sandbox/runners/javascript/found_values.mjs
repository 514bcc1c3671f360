// Values that a new node has as well, by where they are found: what it begins with, and what modules export.

import nodeModule, { builtinModules, createRequire } from 'node:module';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import util from 'node:util';
import { Table, isObject } from './snapshot_bytes.mjs';
import { imported, importModule } from './modules.mjs';
import { maySetVariables } from './module_state.mjs';
import { isOwn } from './required.mjs';
import { Error, JSON, Object, Promise, Set, Symbol, Uint8Array, setTimeout } from './intrinsics.mjs';

const DEEP = 3; // as in module.Class.prototype.method
const OF_A_MODULE_MAX = 20_000;
const EAGER = new Set(['process', 'Buffer']); // there from the begin, behind getters
const LOOKED_INTO_MAX = 3; // functions of a module, for what it holds
const IMPORT_MS = 10_000; // until a module that comes back has been loaded
const OF_NODE = /^\[undici\./; // by fetch(), for itself
const WARNS = new Set(['punycode', 'sys', 'wasi', 'test']); // node warns of them as they are loaded
// Globals that code adds to, or puts something else into: that is kept like a global name.
const HOLDERS = new RegExp(`^(?:${[
  'Object', 'Function', '.*Array', 'Map', 'Set', 'WeakMap', 'WeakSet', 'Date', 'RegExp', 'Promise', 'Symbol', 'String',
  'Number', 'Boolean', 'BigInt', 'Math', 'JSON', 'Reflect', '.*Error', 'ArrayBuffer', 'DataView', 'console', 'Buffer',
  'URL', 'URLSearchParams',
].join('|')})$`);

const { apply, getOwnPropertyDescriptor, getPrototypeOf, ownKeys, defineProperty, deleteProperty } = Reflect;
const { isProxy } = util.types;
const load = createRequire(import.meta.url);
const { _cache: cache } = nodeModule;
const { moduleLoadList } = process; // not documented
const hidden = {
  AsyncFunction: getPrototypeOf(async () => {}),
  GeneratorFunction: getPrototypeOf(function* () {}),
  AsyncGeneratorFunction: getPrototypeOf(async function* () {}),
  Generator: getPrototypeOf(function* () {}).prototype,
  AsyncGenerator: getPrototypeOf(async function* () {}).prototype,
  TypedArray: getPrototypeOf(Uint8Array),
  TypedArrayPrototype: getPrototypeOf(Uint8Array.prototype),
  Iterator: getPrototypeOf(getPrototypeOf([][Symbol.iterator]())),
};

// Where a value is found. `root`: 'global', 'hidden', 'node', 'required' or 'imported'; `name` of what; `steps`: the
// names that lead to it from there.
export class Place {
  constructor(root, name, steps) {
    this.root = root;
    this.name = name;
    this.steps = steps;
  }
}

export class FoundValues {
  constructor() {
    this.before = new Table(); // the global names, before any code of the user's
    for (const key of ownKeys(globalThis)) this.before.set(key, getOwnPropertyDescriptor(globalThis, key));
    this.ofNode = new Table();
    this.holders = []; // { label, holder, before }
    for (const [key, { value }] of this.before) this.addGlobal(key, EAGER.has(key) ? globalThis[key] : value);
    for (const [name, value] of Object.entries(hidden)) this.add(this.ofNode, value, new Place('hidden', name, []), 1);
    this.late = new Table(); // name of a class -> the names behind getters that may have it, or one of its objects
    this.ofLate = new Table();
    for (const [key, { get }] of this.before) {
      if (!get || typeof key === 'symbol' || EAGER.has(key)) continue;
      for (const name of [key, `${key[0].toUpperCase()}${key.slice(1)}`]) {
        this.late.set(name, [...this.late.get(name) ?? [], key]);
      }
    }
    this.modulesSeen = '';
    this.ofModules = new Table();
  }

  addGlobal(key, value) {
    if (key === '__hutch__' || typeof key === 'symbol') return;
    const place = new Place('global', key, []);
    if (value !== globalThis) return this.add(this.ofNode, value, place, DEEP, HOLDERS.test(key) && key);
    if (!this.ofNode.has(value)) this.ofNode.set(value, place);
    return undefined;
  }

  // The value and what it leads to, as far as no getter stands before it.
  add(table, value, place, deep, label) {
    if (!isObject(value) && typeof value !== 'symbol' || isProxy(value)) return;
    if (table.has(value) || this.ofNode.has(value)) return;
    if (table.size - (table.start ?? 0) > OF_A_MODULE_MAX) return;
    table.set(value, place);
    if (deep === 0 || typeof value === 'symbol') return;
    const holder = label ? { label, holder: value, before: new Table() } : undefined;
    if (holder) this.holders[this.holders.length] = holder;
    for (const key of ownKeys(value)) {
      const descriptor = descriptorOf(value, key);
      if (!descriptor) continue;
      holder?.before.set(key, descriptor);
      const next = descriptor.value;
      if (!isObject(next) && typeof next !== 'symbol' || key === 'constructor') continue;
      const held = label && key === 'prototype' && `${label}.prototype`;
      this.add(table, next, new Place(place.root, place.name, [...place.steps, key]), deep - 1, held);
    }
  }

  // Where the value is found, or undefined.
  placeOf(value) {
    return this.ofNode.get(value) ?? this.ofModules.get(value);
  }

  // Looks behind the getters too by which node loads some globals, for one of that name.
  lateOf(value, name) {
    for (const key of this.late.get(name) ?? []) {
      if (!this.ofLate.has(key)) this.ofLate.set(key, this.valueOfNode(key, this.before.get(key)));
      this.addGlobal(key, this.ofLate.get(key));
    }
    return this.placeOf(value);
  }

  // Before a snapshot: modules are loaded as the session goes on.
  renew() {
    const files = ownKeys(cache);
    const seen = `${moduleLoadList.length} ${files.length} ${imported.size}`;
    if (seen === this.modulesSeen) return;
    this.modulesSeen = seen;
    const table = this.ofModules = new Table();
    const addModule = (value, place) => {
      table.start = table.size;
      this.add(table, value, place, DEEP);
    };
    for (const name of loadedModules()) addModule(load(name), new Place('node', name, []));
    for (const [namespace, from] of imported) addModule(namespace, new Place('imported', JSON.stringify(from), []));
    for (const file of files) {
      const exports = cache[file]?.exports;
      if (!/\.json$/.test(file) && isObject(exports)) addModule(exports, new Place('required', file, []));
    }
  }

  // Node puts some of its globals in place of their getters when they are used.
  isOfNode(key, value) {
    const place = isObject(value) ? this.lateOf(value, key) : undefined;
    return place?.root === 'global' && place.name === key && place.steps.length === 0; // a module may have that name, too
  }

  // A global that node loads late is a getter until then, and sets itself: what the user has put there stays.
  valueOfNode(key, before) {
    const now = getOwnPropertyDescriptor(globalThis, key);
    try {
      return apply(before.get, globalThis, []);
    } catch {
      return undefined;
    } finally {
      if (now) defineProperty(globalThis, key, now);
    }
  }

  // Names that code has made or changed: { holder, key, label, descriptor, before }.
  *changes() {
    for (const key of ownKeys(globalThis)) {
      const now = getOwnPropertyDescriptor(globalThis, key);
      const before = this.before.get(key);
      if (before && (isSame(now, before) || before.get && this.isOfNode(key, now.value))) continue;
      if (OF_NODE.test(labelOf(key))) continue;
      yield { holder: globalThis, key, label: labelOf(key), descriptor: now };
    }
    for (const { label, holder, before } of this.holders) {
      for (const key of ownKeys(holder)) {
        const now = descriptorOf(holder, key);
        if (!now || before.has(key) && isSame(now, before.get(key))) continue;
        yield { holder, key, label: `${label}.${labelOf(key)}`, descriptor: now, before: before.get(key) };
      }
    }
  }

  // Takes what was put into builtins away; returns what puts it there again.
  withoutChanges(changes) {
    const ofBuiltins = changes.filter(({ holder }) => holder !== globalThis);
    for (const { holder, key, before } of ofBuiltins) {
      if (before) defineProperty(holder, key, before);
      else deleteProperty(holder, key);
    }
    return () => {
      for (const { holder, key, descriptor } of ofBuiltins) defineProperty(holder, key, descriptor);
    };
  }

  // Files of the user's own modules that have something which code may have changed since it was loaded.
  holdingModules(sources) {
    const holding = new Set();
    for (const [namespace, { specifier, url }] of imported) {
      if (url && isOwn(url) && this.holdsSomething(namespace, fileURLToPath(url), sources)) holding.add(specifier);
    }
    for (const file of ownKeys(cache)) {
      if (isOwn(file) && !/\.json$/.test(file) && this.holdsSomething(cache[file].exports, file, sources)) holding.add(file);
    }
    return [...holding];
  }

  holdsSomething(exports, file, sources) {
    if (maySetVariables(file)) return true;
    if (!isObject(exports) || isProxy(exports)) return false;
    const values = ownKeys(exports).map((key) => descriptorOf(exports, key)?.value).filter(isObject);
    if (typeof exports === 'function') values.push(exports);
    const isNodes = (value) => this.ofNode.has(value) || this.ofModules.get(value)?.root === 'node';
    const isState = (value) =>
      typeof value === 'object' && !isProxy(value) && !isNodes(value) && !Object.isFrozen(value);
    if (values.some(isState)) return true;
    const functions = values.filter((value) => typeof value === 'function' && !isProxy(value));
    return functions.slice(0, LOOKED_INTO_MAX).some((one) => sources.variablesAround(one).some(isState));
  }
}

function loadedModules() {
  const prefix = 'NativeModule ';
  const names = moduleLoadList.filter((one) => one.startsWith(prefix)).map((one) => one.slice(prefix.length));
  return names.filter((name) => builtinModules.includes(name) && !name.startsWith('_') && !WARNS.has(name));
}

function isSame(one, other) {
  return Object.is(one.value, other.value) && one.get === other.get && one.set === other.set;
}

// A namespace may have names that are not set yet.
function descriptorOf(value, key) {
  try {
    return getOwnPropertyDescriptor(value, key);
  } catch {
    return undefined;
  }
}

export function labelOf(key) {
  return typeof key === 'symbol' ? `[${key.description}]` : key;
}

// At waking

// Loads the modules of places; returns what gives the value of one, or throws.
export async function loaderOf(places) {
  const loaded = new Table();
  const ofImports = places.filter(({ root }) => root === 'imported').map(({ name }) => name);
  for (const name of new Set(ofImports)) {
    const { specifier, folder } = JSON.parse(name);
    const late = new Promise((_resolve, reject) => {
      setTimeout(() => reject(new Error(`import of ${specifier} takes too long`)), IMPORT_MS).unref();
    });
    const found = Promise.race([importModule(specifier, undefined, [], folder), late]);
    loaded.set(name, await found.then((value) => () => value, (failure) => () => { throw failure; }));
  }
  const rootOf = ({ root, name }) => {
    if (root === 'imported') return loaded.get(name)();
    if (root === 'required') return globalThis.require(name);
    if (root === 'node') return load(name);
    return root === 'hidden' ? hidden[name] : globalThis[name];
  };
  return (place) => place.steps.reduce((value, step) => value?.[step], rootOf(place));
}

