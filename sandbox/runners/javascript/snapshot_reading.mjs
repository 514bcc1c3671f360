// Makes values of the records of a snapshot again (snapshot_values.mjs): first each object by itself, then what is
// in it.

import { Place, labelOf, loaderOf } from './found_values.mjs';
import { madeClass, madeFunction } from './function_sources.mjs';
import { ByteReader, Malformed, Reference, Table, hole } from './snapshot_bytes.mjs';
import { Edges } from './snapshot_edges.mjs';
import { KINDS } from './snapshot_kinds.mjs';
import { ACCESSOR, CONFIGURABLE, DENSE, ENUMERABLE, NUMBERS, WRITABLE } from './snapshot_values.mjs';
import { Array, Error, Map, Math, Object, Set, String, Symbol } from './intrinsics.mjs';

const REASON_CHARACTERS_MAX = 120;
const PLAIN = WRITABLE | ENUMERABLE | CONFIGURABLE;

const {
  defineProperty, getOwnPropertyDescriptor, getPrototypeOf, ownKeys, preventExtensions, setPrototypeOf,
} = Reflect;
const kinds = new Map(KINDS.map((kind) => [kind.letter, kind]));

// Reads one record, and is what kinds read by: raw() is what stands there, next() the value that it means.
class RecordReader extends ByteReader {
  constructor(graph, id) {
    const { start, end } = graph.records.get(id) ?? {};
    if (start === undefined) throw new Malformed('a record is missing');
    super(graph.content, start, end);
    this.graph = graph;
    this.id = id;
  }

  raw() {
    return this.value();
  }

  next() {
    const value = this.value();
    if (!(value instanceof Reference)) return value;
    this.graph.edges.add(this.id, value.id);
    return this.graph.made(value.id);
  }
}

export class StoredGraph {
  // names: [[number of the record, label], ...].
  constructor(session, content, { start, end, names }) {
    this.session = session;
    this.content = content;
    this.names = names;
    this.records = new Table(); // number -> { start, end }
    this.edges = new Edges();
    this.objects = new Table(); // number -> what was made of it
    this.places = new Table(); // number -> where the rest of a record begins
    this.failures = new Table(); // number -> why it was not
    this.size = 1;
    this.bytes = 0;
    const reader = new ByteReader(content, start, end);
    while (reader.at < end) {
      const id = reader.count();
      const length = reader.count();
      const at = reader.take(length);
      this.records.set(id, { start: at, end: at + length });
      this.size = Math.max(this.size, id + 1);
      this.bytes += length + 16;
    }
  }

  // Puts the values of its names back, once modules are loaded: { back, failed }, where failed are the names that
  // are not there, and why.
  async restore() {
    this.loadPlace = await loaderOf([...this.placesToLoad()]);
    for (const id of this.records.keys()) {
      if (this.letterOf(id) === 'n') continue;
      this.attempt(id, () => this.made(id));
    }
    for (const id of this.records.keys()) {
      if (!this.failures.has(id)) this.attempt(id, () => this.fill(id));
    }
    for (const id of this.records.keys()) {
      if (!this.failures.has(id)) this.close(id);
    }
    return this.bindAll();
  }

  attempt(id, action) {
    try {
      action();
    } catch (failure) {
      this.failures.set(id, this.failures.get(id) ?? reasonOf(failure));
    }
  }

  letterOf(id) {
    return new RecordReader(this, id).raw();
  }

  *placesToLoad() {
    for (const id of this.records.keys()) {
      const reader = new RecordReader(this, id);
      if (reader.raw() !== 'b') continue;
      yield { root: reader.raw(), name: reader.raw() };
    }
  }

  // The object of a record, with nothing in it yet; throws where it cannot be made.
  made(id) {
    if (this.objects.has(id)) return this.objects.get(id);
    if (this.failures.has(id)) throw new Error(this.failures.get(id));
    try {
      const reader = new RecordReader(this, id);
      const value = this.make(reader, reader.raw());
      this.objects.set(id, value);
      this.places.set(id, reader.at);
      return value;
    } catch (failure) {
      this.failures.set(id, reasonOf(failure));
      throw failure;
    }
  }

  make(reader, letter) {
    switch (letter) {
      case 's': return reader.raw();
      case 'y': return makeSymbol(reader);
      case 'b': return this.makeFound(reader);
      case 'm': return makeMember(reader);
      case 'o': return makeObject(reader);
      case 'a': return withPrototype(reader.next(), new Array(reader.raw()));
      case 'f': return withPrototype(reader.next(), madeFunction(readSource(reader)));
      case 'c': return this.makeClass(reader);
      case 'p': return makePrototype(reader);
      default: return this.makeKind(reader, letter);
    }
  }

  makeFound(reader) {
    const [root, name, count] = [reader.raw(), reader.raw(), reader.raw()];
    const steps = [];
    while (steps.length < count) steps.push(reader.next());
    const value = this.loadPlace(new Place(root, name, steps));
    if (value === undefined) throw new Error(`${[name, ...steps.map(labelOf)].join('.')} is not there`);
    return value;
  }

  makeClass(reader) {
    const base = reader.next();
    const record = readSource(reader);
    const given = [];
    for (let left = reader.raw(); left > 0; left--) given.push(reader.next());
    return withPrototype(base, madeClass(this.session, record, base ?? null, given));
  }

  makeKind(reader, letter) {
    const kind = kinds.get(letter);
    if (!kind) throw new Malformed(`no record has the form ${letter}`);
    const proto = reader.next();
    const at = reader.at;
    const value = withPrototype(proto, kind.make(reader));
    if (kind.fill) reader.at = at;
    return value;
  }

  // Puts into it what it leads to.
  fill(id) {
    const reader = new RecordReader(this, id);
    const letter = reader.raw();
    if (letter === 'n') return this.fillBinding(reader);
    if ('sybm'.includes(letter)) return undefined;
    const value = this.made(id);
    reader.at = this.places.get(id);
    kinds.get(letter)?.fill?.(value, reader);
    if (letter === 'a') fillElements(value, reader);
    const isExtensible = reader.raw();
    const wanted = letter === 'p' || letter === 'c' || letter === 'f' ? new Set() : undefined;
    for (let left = reader.raw(); left > 0; left--) {
      const [key, descriptor, flags] = readProperty(reader);
      wanted?.add(key);
      putProperty(value, key, descriptor, flags);
    }
    if (wanted) dropOthers(value, wanted);
    kinds.get(letter)?.fillEnd?.(value, reader);
    this.places.set(id, isExtensible);
    return undefined;
  }

  fillBinding(reader) {
    const holder = reader.next() ?? globalThis;
    const [key, descriptor] = readProperty(reader);
    this.objects.set(reader.id, { holder, key, descriptor });
  }

  // Nothing more comes: what could not be extended cannot be again.
  close(id) {
    if (this.places.get(id) === false) preventExtensions(this.objects.get(id));
  }

  bindAll() {
    const tainted = this.edges.reached([...this.failures.keys()], this.size, true);
    const back = [];
    const failed = [];
    for (const [id, label] of this.names) {
      if (tainted[id] !== 0) {
        failed.push({ id, label, why: this.failures.get(tainted[id] - 1) });
        continue;
      }
      const { holder, key, descriptor } = this.objects.get(id);
      try {
        if (!defineProperty(holder, key, descriptor)) throw new Error('the name is taken');
        back.push({ label, isGlobal: holder === globalThis });
      } catch (failure) {
        failed.push({ id, label, why: reasonOf(failure) });
      }
    }
    return { back, failed };
  }

  // The part that belongs to names that could not be put back, to be written again as it is; null where there are none.
  kept(failed) {
    if (failed.length === 0) return null;
    const edges = new Edges();
    for (const id of this.records.keys()) {
      const reader = new RecordReader(this, id);
      while (reader.at < reader.end) {
        const value = reader.value();
        if (value instanceof Reference) edges.add(id, value.id);
      }
    }
    const reached = edges.reached(failed.map(({ id }) => id), this.size, false);
    const records = [...this.records.keys()].filter((id) => reached[id] !== 0).map((id) => {
      const { start, end } = this.records.get(id);
      return [id, this.content.subarray(start, end)];
    });
    return { names: failed.map(({ id, label }) => [id, label]), records };
  }
}

function makeSymbol(reader) {
  const isRegistered = reader.raw();
  const text = reader.raw();
  return isRegistered ? Symbol.for(text) : Symbol(text);
}

function makeMember(reader) {
  const maker = reader.next();
  const isStatic = reader.raw();
  const key = reader.next();
  const made = getOwnPropertyDescriptor(isStatic ? maker : maker.prototype, key)?.[reader.raw()];
  if (typeof made !== 'function') throw new Error('its class has no such method');
  return made;
}

function makeObject(reader) {
  const proto = reader.next();
  return proto === undefined ? {} : Object.create(proto);
}

function makePrototype(reader) {
  const proto = reader.next();
  const { prototype } = reader.next();
  if (getPrototypeOf(prototype) !== proto) setPrototypeOf(prototype, proto);
  return prototype;
}

function readSource(reader) {
  const source = reader.next();
  const [cell, line, column, isStrict] = [reader.raw(), reader.raw(), reader.raw(), reader.raw()];
  return { source, cell, line, column, isStrict };
}

function withPrototype(proto, value) {
  if (proto !== undefined) setPrototypeOf(value, proto);
  return value;
}

function readProperty(reader) {
  const key = reader.next();
  const flags = reader.raw();
  const [enumerable, configurable] = [(flags & ENUMERABLE) !== 0, (flags & CONFIGURABLE) !== 0];
  if (flags & ACCESSOR) return [key, { get: reader.next(), set: reader.next(), enumerable, configurable }, flags];
  return [key, { value: reader.next(), writable: (flags & WRITABLE) !== 0, enumerable, configurable }, flags];
}

function putProperty(value, key, descriptor, flags) {
  if (flags === PLAIN && key !== '__proto__' && getPrototypeOf(value) === Object.prototype) {
    value[key] = descriptor.value;
  } else if (!defineProperty(value, key, descriptor)) {
    const is = getOwnPropertyDescriptor(value, key);
    if (!Object.is(is?.value, descriptor.value)) throw new Error(`${labelOf(key)} cannot be set`);
  }
}

function dropOthers(value, wanted) {
  for (const key of ownKeys(value)) {
    if (!wanted.has(key) && getOwnPropertyDescriptor(value, key).configurable) delete value[key];
  }
}

function fillElements(value, reader) {
  const mode = reader.raw();
  if (mode === NUMBERS) {
    const bytes = reader.raw();
    const numbers = new Float64Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
    for (let i = 0; i < numbers.length; i++) value[i] = numbers[i];
  } else if (mode === DENSE) {
    for (let i = 0; i < value.length; i++) {
      const element = reader.next();
      if (element !== hole) value[i] = element;
    }
  }
}

export function reasonOf(failure) {
  let text;
  try {
    text = String(failure?.message ?? failure).split('\n')[0];
  } catch {
    text = 'it fails'; // the thrown value is the user's
  }
  return text.slice(0, REASON_CHARACTERS_MAX);
}
