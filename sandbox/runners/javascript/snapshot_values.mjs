// Turns what code has made of names into records: one for each object, with the numbers of those that it leads to.
//
// No code of the user's is run by that: properties are read as descriptors, and what a Proxy stands for is not
// looked at. A value that cannot be stored costs those names alone that lead to it.

import { EventEmitter } from 'node:events';
import fs from 'node:fs';
import util from 'node:util';
import { isClass, textOf } from './function_sources.mjs';
import { ByteWriter, Table, hole, isObject } from './snapshot_bytes.mjs';
import { KINDS, hiddenKind, lengthOf, read } from './snapshot_kinds.mjs';
import { Records, kindOf, nameOf, sizeInWords } from './snapshot_records.mjs';
import { Array, Buffer, Error, Map, Number, Object, Promise, Set, String, Symbol, Uint8Array } from './intrinsics.mjs';

const LARGE_ARRAY = 1000; // whose names are asked of node's inspector
const POOL_BYTES = Buffer.poolSize;
const LOOK_EVERY = 256; // records, at the clock
const LOOK_AT_ELEMENTS = 1 << 15;
const DENSE_MAX = 1 << 25; // elements; longer arrays have few of them, or no place in a snapshot
const REASON_CHARACTERS_MAX = 120;
const TOO_LONG = 'it takes too long to store';
const PRIVATE = 'it has private fields: make it again';
export const [WRITABLE, ENUMERABLE, CONFIGURABLE, ACCESSOR] = [1, 2, 4, 8];
export const [DENSE, NUMBERS, SPARSE] = [0, 1, 2];

const { getOwnPropertyDescriptor, getPrototypeOf, ownKeys, apply } = Reflect;
const { isExtensible, getOwnPropertySymbols } = Object;
const { isArray } = Array;
const { keyFor } = Symbol;
const { isProxy, isModuleNamespaceObject, isTypedArray } = util.types;
const { prototype: plain } = Object;
const { prototype: arrays } = Array;
const { toString: objectText } = plain;
const { toStringTag } = Symbol;
const functionPrototypes = [async () => {}, function* () {}, async function* () {}, () => {}].map(getPrototypeOf);
const safe = [
  Object, Array, Map, Set, Date, RegExp, Promise, Function, Boolean, Number, String, Symbol, BigInt,
  Error, AggregateError, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError,
  ArrayBuffer, Buffer, DataView, Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array,
  Uint32Array, Float32Array, Float64Array, BigInt64Array, BigUint64Array, getPrototypeOf(Uint8Array),
  EventEmitter, fs.Stats,
].map(({ prototype }) => prototype);

// A global name, or what was put into a builtin: { holder, key, label, descriptor }. Told by a private field: any other
// look at a value may be the user's code.
class Binding {
  #change;
  constructor(change) {
    this.#change = change;
  }
  static changeOf(value) {
    return isObject(value) && #change in value ? value.#change : undefined;
  }
}

export class Values extends Records {
  // found: FoundValues; sources: FunctionSources; leftMs(): of the time.
  constructor(found, sources, { room, bytesMax, leftMs }) {
    super(room, bytesMax);
    this.found = found;
    this.sources = sources;
    this.leftMs = leftMs;
    this.members = new Table(); // function -> the class that it is of, and where in it
  }

  // Classes first: what they have as methods is theirs, whoever else has it.
  addAll(changes) {
    const [classes, others] = [[], []];
    for (const change of changes) {
      const { value } = change.descriptor;
      const list = typeof value === 'function' && isClass(value) ? classes : others;
      list[list.length] = change;
    }
    for (const change of [...classes, ...others]) this.addName(change);
    this.fillSlabs();
    this.starts[this.next] = this.bytes.length;
  }

  addName(change) {
    const id = this.idOf(new Binding(change));
    this.names[this.names.length] = { id, label: change.label, value: change.descriptor.value };
    const [before, blobsBefore] = [this.bytes.length, this.blobBytes];
    const size = () => this.bytes.length - before + this.blobBytes - blobsBefore;
    this.leastMs = this.leftMs() / 2; // others need some as well
    while (this.next < this.values.length) {
      this.writeNext();
      if (size() > this.room) {
        this.tooLarge++;
        return this.giveUp(`${sizeInWords(size())}, ${this.ofBytes}`);
      }
      if (this.next % LOOK_EVERY === 0 && this.isLate()) return this.giveUp(TOO_LONG);
    }
    return undefined;
  }

  isLate() {
    return this.leftMs() < this.leastMs;
  }

  writeNext() {
    const id = this.next;
    const value = this.values[id];
    this.starts[id] = this.bytes.length;
    this.current = id;
    this.next += 1;
    try {
      this.record(value, id);
    } catch (failure) {
      if (this.isLate()) this.refuse(id, '', TOO_LONG);
      this.refuse(id, kindOf(value), `${failure?.message ?? 'it cannot be read'}`.slice(0, REASON_CHARACTERS_MAX));
    }
  }

  // Records

  record(value, id) {
    const change = Binding.changeOf(value);
    if (change) return this.binding(change);
    if (typeof value === 'string') return this.longText(value);
    const place = this.found.placeOf(value);
    if (place) return this.place(place);
    if (typeof value === 'symbol') return this.symbol(value);
    if (leadsToProxy(value)) return this.refuse(id, 'Proxy', 'make it again');
    if (typeof value === 'function') return this.functionOrClass(value, id);
    if (isArray(value)) return this.array(value, id);
    return isJustAnObject(value) ? this.object(value, id) : this.special(value, id);
  }

  special(value, id) {
    const place = this.found.lateOf(value, kindOf(value));
    if (place) return this.place(place);
    const problem = hiddenKind(value);
    if (problem) return this.refuse(id, problem.kind, problem.why);
    if (isModuleNamespaceObject(value)) return this.refuse(id, 'module', 'import it again');
    for (const kind of KINDS) if (kind.is(value)) return this.ofKind(kind, value, id);
    return this.object(value, id);
  }

  binding({ holder, key, descriptor }) {
    this.bytes.text('n');
    this.put(holder === globalThis ? undefined : holder);
    this.property(key, descriptor);
  }

  longText(value) {
    this.bytes.text('s');
    this.bytes.text(value);
  }

  symbol(value) {
    this.bytes.text('y');
    const key = keyFor(value);
    this.bytes.primitive(key !== undefined);
    this.bytes.primitive(key ?? value.description);
  }

  place(place) {
    this.bytes.text('b');
    for (const text of [place.root, place.name]) this.bytes.text(text);
    this.bytes.primitive(place.steps.length);
    for (const step of place.steps) this.put(step);
  }

  property(key, descriptor) {
    const { value, get, set, writable, enumerable, configurable } = descriptor;
    const isAccessor = get !== undefined || set !== undefined || !('value' in descriptor);
    let flags = isAccessor ? ACCESSOR : 0;
    if (writable) flags |= WRITABLE;
    if (enumerable) flags |= ENUMERABLE;
    if (configurable) flags |= CONFIGURABLE;
    this.put(key);
    this.bytes.primitive(flags);
    if (isAccessor) {
      this.put(get);
      this.put(set);
    } else {
      this.put(value);
    }
  }

  // The end of each record of an object; isLeft() of a name that comes back by itself.
  rest(value, isLeft) {
    const all = isTypedArray(value) && lengthOf(value) > LARGE_ARRAY ? this.namesBesideIndices(value) : ownKeys(value);
    const keys = [];
    for (let i = 0; i < all.length; i++) if (!isLeft?.(all[i])) keys[keys.length] = all[i];
    this.tail(value, keys);
  }

  tail(value, keys) {
    this.bytes.primitive(isExtensible(value));
    this.bytes.primitive(keys.length);
    for (let i = 0; i < keys.length; i++) this.property(keys[i], read.descriptor(value, keys[i]));
  }

  object(value, id) {
    const proto = getPrototypeOf(value);
    const maker = getOwnPropertyDescriptor(value, 'constructor')?.value;
    if (isPrototypeOf(maker, value)) return this.prototype(value, maker);
    const problem = proto === plain ? null : this.problemOfChain(value, true);
    if (problem) return this.refuse(id, problem.kind, problem.why);
    this.begin('o', proto === plain ? undefined : proto);
    return this.rest(value);
  }

  prototype(value, maker) {
    this.bytes.text('p');
    this.put(getPrototypeOf(value));
    this.put(maker);
    this.rest(value);
  }

  ofKind(kind, value, id) {
    const proto = getPrototypeOf(value);
    const usual = kind.prototype(value);
    const problem = proto === usual ? null : this.problemOfChain(value, false);
    if (problem) return this.refuse(id, problem.kind, problem.why);
    this.begin(kind.letter, proto === usual ? undefined : proto);
    this.rest(value, kind.write(this, value));
    kind.writeEnd?.(this, value, id);
    return undefined;
  }

  // Why an object cannot be made again by its prototypes, or null: they may be of a class whose objects have what
  // nobody else can read. The rest of a chain that node has is node's.
  problemOfChain(value, isPlain) {
    for (let one = getPrototypeOf(value); one !== null; one = getPrototypeOf(one)) {
      const given = getOwnPropertyDescriptor(one, 'constructor')?.value;
      const maker = typeof given === 'function' && !isProxy(given) ? given : undefined;
      const kind = maker ? nameOf(maker) : 'Object';
      const place = this.found.placeOf(one);
      if (place?.root === 'required' || place?.root === 'imported') {
        const mayHaveSecrets = maker && /#[\w$]/.test(textOf(maker));
        if (mayHaveSecrets && this.sources.looked(value).secrets.length > 0) return { kind, why: PRIVATE };
      } else if (place) {
        return isPlain && !safe.includes(one) ? { kind, why: 'make it again' } : null;
      } else if (maker) {
        const problem = this.sources.problemOf(maker);
        if (problem) return { kind, why: this.sources.recordOf(maker).cell ? `its class ${problem}` : 'make it again' };
        if (isClass(maker) && this.sources.partsOf(maker).hasSecrets) return { kind, why: PRIVATE };
      }
    }
    return null;
  }

  array(value, id) {
    const proto = getPrototypeOf(value);
    const problem = proto === arrays ? null : this.problemOfChain(value, false);
    if (problem) return this.refuse(id, problem.kind, problem.why);
    this.begin('a', proto === arrays ? undefined : proto);
    const { length } = value;
    this.bytes.primitive(length);
    const isWritable = getOwnPropertyDescriptor(value, 'length').writable;
    const keys = length > LARGE_ARRAY && length < DENSE_MAX ? this.namesBesideIndices(value) : ownKeys(value);
    const isWhole = length > LARGE_ARRAY ? length < DENSE_MAX : keys.length === length + 1;
    if (isWritable && isWhole && this.dense(value, length)) {
      return this.tail(value, length > LARGE_ARRAY ? keys.filter((key) => key !== 'length') : []);
    }
    this.bytes.primitive(SPARSE);
    return this.rest(value, (key) => key === 'length' && isWritable);
  }

  namesBesideIndices(value) {
    return [...this.sources.namesBesideIndices(value), ...getOwnPropertySymbols(value)];
  }

  // Writes the elements where each is there, and can be written, as usual; else writes nothing, and says so.
  dense(value, length) {
    const elements = new Array(length);
    let areNumbers = length > 0;
    for (let i = 0; i < length; i++) {
      const one = getOwnPropertyDescriptor(value, i);
      if (one === undefined) {
        elements[i] = hole;
        areNumbers = false;
        continue;
      }
      if (!one.writable || !one.enumerable || !one.configurable) return false;
      if (i % LOOK_AT_ELEMENTS === 0 && this.isLate()) throw new Error(TOO_LONG);
      elements[i] = one.value;
      areNumbers &&= typeof one.value === 'number';
    }
    this.bytes.primitive(areNumbers ? NUMBERS : DENSE);
    if (areNumbers) {
      const packed = new Float64Array(elements);
      this.bytes.bytes(new Uint8Array(packed.buffer));
    } else {
      for (let i = 0; i < length; i++) {
        if (elements[i] === hole) this.bytes.primitive(hole);
        else this.put(elements[i]);
      }
    }
    return true;
  }

  functionOrClass(value, id) {
    const member = this.members.get(value);
    if (member) return this.member(member);
    const place = this.found.lateOf(value, nameOf(value));
    if (place) return this.place(place);
    const problem = this.sources.problemOf(value);
    const isOfClass = isClass(value);
    if (problem) return this.refuse(id, /^bind/.test(problem) ? 'bound function' : kindOf(value), problem);
    const proto = getPrototypeOf(value);
    this.begin(isOfClass ? 'c' : 'f', functionPrototypes.includes(proto) ? undefined : proto);
    const { source, cell, line, column, isStrict } = this.sources.recordOf(value);
    this.put(source);
    for (const one of [cell, line, column, isStrict]) this.bytes.primitive(one);
    if (isOfClass) this.classParts(value);
    const isBare = !isOfClass && hasBarePrototype(value);
    return this.rest(value, (key) => (key === 'arguments' || key === 'caller' || isBare && key === 'prototype')
      && !getOwnPropertyDescriptor(value, key).configurable);
  }

  // The values in place of what is computed in it; and which functions are its methods.
  classParts(value) {
    const { members, staticSecrets } = this.sources.partsOf(value);
    const given = [];
    for (const { isStatic, slot, key, text, computed } of members) {
      const holder = isStatic ? value : getOwnPropertyDescriptor(value, 'prototype').value;
      const isIt = (name) => {
        const found = getOwnPropertyDescriptor(holder, name)?.[slot];
        return typeof found === 'function' && !isProxy(found) && textOf(found) === text;
      };
      const name = computed ? ownKeys(holder).find(isIt) : isIt(key) ? key : undefined;
      if (computed) given[given.length] = name ?? '';
      if (name === undefined) continue;
      const method = getOwnPropertyDescriptor(holder, name)[slot];
      if (!this.members.has(method)) this.members.set(method, { maker: value, isStatic, key: name, slot });
    }
    for (const { current } of staticSecrets) given[given.length] = current;
    this.bytes.primitive(given.length);
    for (const one of given) this.put(one);
  }

  member({ maker, isStatic, key, slot }) {
    this.bytes.text('m');
    this.put(maker);
    this.bytes.primitive(isStatic);
    this.put(key);
    this.bytes.primitive(slot);
  }

  // Bytes

  // A part of an ArrayBuffer: of node's pool only what is used of it has a place in the snapshot.
  viewOf(memory, offset, size, isBuffer) {
    if (!isBuffer || read.byteLength(memory) !== POOL_BYTES) return this.put(memory);
    if (!this.ids.has(memory)) this.slabs.set(memory, { id: undefined, ranges: [], isAll: false });
    const ranges = this.slabs.get(memory)?.ranges;
    if (ranges) ranges[ranges.length] = [offset, offset + size];
    return this.refer(this.idOf(memory));
  }

  // Its bytes come behind all else of its record.
  memory(value, id) {
    const slab = this.slabs.get(value);
    this.bytes.primitive(slab !== undefined);
    if (slab) {
      slab.id = id;
    } else {
      this.bytes.bytesHead(read.byteLength(value));
      this.addBlob(id, new Uint8Array(value));
    }
  }

  // Records of views on the pool come first, so that all that is used of it is known by now.
  fillSlabs() {
    for (const [memory, { id, ranges, isAll }] of this.slabs) {
      if (id === undefined) continue;
      if (isAll) ranges.splice(0, ranges.length, [0, POOL_BYTES]);
      const header = new ByteWriter();
      header.primitive(ranges.length);
      for (const [start, end] of ranges) {
        header.primitive(start);
        header.bytes(new Uint8Array(memory, start, end - start));
      }
      this.addBlob(id, header.buffer.subarray(0, header.length));
    }
  }

  // Whether a name is no more than a word for what is found elsewhere.
  isFound({ value }) {
    return (isObject(value) || typeof value === 'symbol') && this.found.placeOf(value) !== undefined;
  }
}

// Itself, or by a prototype: whatever asks for what it is would run the code of that.
function leadsToProxy(value) {
  for (let one = value; one !== null && one !== plain && one !== arrays; one = getPrototypeOf(one)) {
    if (isProxy(one)) return true;
  }
  return false;
}

// By the name that V8 has for it, where no property stands before that.
function isJustAnObject(value) {
  return getPrototypeOf(value) === plain && getOwnPropertyDescriptor(value, toStringTag) === undefined
    && apply(objectText, value, []) === '[object Object]';
}

// A prototype of which nobody has made anything: that of a function that is no constructor.
function hasBarePrototype(value) {
  const prototype = getOwnPropertyDescriptor(value, 'prototype')?.value;
  if (!isObject(prototype) || isProxy(prototype) || !isExtensible(prototype)) return false;
  const keys = ownKeys(prototype);
  if (keys.length === 0) return true; // a generator's
  if (keys.length !== 1 || getPrototypeOf(prototype) !== plain) return false;
  return getOwnPropertyDescriptor(prototype, 'constructor')?.value === value;
}

function isPrototypeOf(maker, value) {
  if (typeof maker !== 'function' || isProxy(maker)) return false;
  return getOwnPropertyDescriptor(maker, 'prototype')?.value === value;
}
