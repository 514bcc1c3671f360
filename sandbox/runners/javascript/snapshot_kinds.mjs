// Builtin objects with something inside that is no property: how each is told, read and made anew.

import util from 'node:util';
import { handleKind } from './handles.mjs';
import {
  ArrayBuffer, Buffer, Error, Map, Number, Object, Promise, Set, String, Symbol, Uint8Array,
} from './intrinsics.mjs';

const { apply, getOwnPropertyDescriptor, getPrototypeOf } = Reflect;
const {
  isArgumentsObject, isArrayBuffer, isBigIntObject, isBooleanObject, isDataView, isDate, isExternal, isGeneratorObject,
  isMap, isMapIterator, isNativeError, isNumberObject, isPromise, isRegExp, isSet, isSetIterator, isSharedArrayBuffer,
  isStringObject, isSymbolObject, isTypedArray, isWeakMap, isWeakSet,
} = util.types;

const bytesOf = getPrototypeOf(Uint8Array.prototype);
const got = (prototype, name) => {
  const { get } = getOwnPropertyDescriptor(prototype, name) ?? {};
  return get ? (value) => apply(get, value, []) : () => undefined;
};
const called = (prototype, name) => {
  const { [name]: method } = prototype;
  return (value, ...given) => apply(method, value, given);
};
const functionText = Function.prototype.toString;

export const read = {
  // Newer nodes have a getter of their own for the stack.
  descriptor(value, key) {
    const found = getOwnPropertyDescriptor(value, key);
    if (key !== 'stack' || !found.get || !isNativeError(value)) return found;
    if (!/\[native code\]/.test(apply(functionText, found.get, []))) return found;
    const { enumerable, configurable } = found;
    return { value: apply(found.get, value, []), writable: true, enumerable, configurable };
  },
  byteLength: got(ArrayBuffer.prototype, 'byteLength'),
  maxByteLength(memory) {
    return isResizable(memory) ? maxByteLength(memory) : undefined;
  },
};
const isResizable = got(ArrayBuffer.prototype, 'resizable');
const maxByteLength = got(ArrayBuffer.prototype, 'maxByteLength');
const typeOf = got(bytesOf, Symbol.toStringTag);
export const lengthOf = got(bytesOf, 'length');
const timeOf = called(Date.prototype, 'getTime');
const sourceOf = got(RegExp.prototype, 'source');
const FLAGS = {
  d: 'hasIndices', g: 'global', i: 'ignoreCase', m: 'multiline', s: 'dotAll', u: 'unicode', v: 'unicodeSets',
  y: 'sticky',
};
const flags = Object.entries(FLAGS).map(([letter, name]) => [letter, got(RegExp.prototype, name)]);
const TYPED = {
  Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array, Uint32Array, Float32Array,
  Float64Array, BigInt64Array, BigUint64Array,
};
const BOXED = [
  [Number, isNumberObject], [String, isStringObject], [Boolean, isBooleanObject], [BigInt, isBigIntObject],
  [Symbol, isSymbolObject],
].map(([{ prototype }, is]) => ({ is, prototype, unboxed: called(prototype, 'valueOf') }));
const boxOf = (value) => BOXED.find(({ is }) => is(value));
const bufferPrototype = Buffer.prototype;

function flagsOf(value) {
  return flags.filter(([, has]) => has(value)).map(([letter]) => letter).join('');
}

// A kind whose elements lead to other values; that of a pair comes behind its key.
function collection(letter, is, Maker, adding, isOfPairs) {
  const { prototype } = Maker;
  const [size, each, add] = [got(prototype, 'size'), called(prototype, 'forEach'), called(prototype, adding)];
  return {
    letter, is, prototype: () => prototype,
    write(values, all) {
      values.bytes.primitive(size(all));
      each(all, (value, key) => {
        if (isOfPairs) values.put(key);
        values.put(value);
      });
    },
    make: () => new Maker(),
    fill(all, reader) {
      for (let left = reader.raw(); left > 0; left--) {
        const first = reader.next();
        if (isOfPairs) add(all, first, reader.next());
        else add(all, first);
      }
    },
  };
}

// A kind that is made of its text, which `text` reads.
function byText(letter, Maker, text) {
  const { prototype } = Maker;
  return {
    letter, is: (value) => value instanceof Maker && isNodes(text, value), prototype: () => prototype,
    write(values, value) {
      values.put(text(value));
      return (key) => typeof key === 'symbol';
    },
    make: (reader) => new Maker(reader.next()),
  };
}

// Returns what writes the bytes that a view is on, where in them it begins, and how long it is.
function viewOf(prototype) {
  const [memory, offset, size] = ['buffer', 'byteOffset', 'byteLength'].map((name) => got(prototype, name));
  return (values, view, isBuffer, length = size) => {
    values.viewOf(memory(view), offset(view), size(view), isBuffer);
    values.bytes.primitive(offset(view));
    values.bytes.primitive(length(view));
  };
}

const putArray = viewOf(bytesOf);
const putView = viewOf(DataView.prototype);
const isIndex = (key) => typeof key === 'string' && /^\d+$/.test(key);

// Each: is(value), the prototype that it has by itself, write(values, value), which returns whether a name comes back
// by itself, and make(reader), which reads what write() has put, or fill(value, reader), where that leads to other
// values; and for what comes behind the properties writeEnd() and fillEnd().
export const KINDS = [
  collection('M', isMap, Map, 'set', true),
  collection('S', isSet, Set, 'add', false),
  {
    letter: 'D', is: isDate, prototype: () => Date.prototype,
    write: (values, date) => void values.bytes.primitive(timeOf(date)),
    make: (reader) => new Date(reader.raw()),
  },
  {
    letter: 'R', is: isRegExp, prototype: () => RegExp.prototype,
    write(values, pattern) {
      values.put(sourceOf(pattern));
      values.bytes.primitive(flagsOf(pattern));
    },
    make: (reader) => new RegExp(reader.next(), reader.raw()),
  },
  {
    letter: 'E', is: isNativeError, prototype: () => Error.prototype,
    write: () => undefined,
    make() {
      const { stackTraceLimit } = Error;
      Error.stackTraceLimit = 0;
      const error = new Error();
      Error.stackTraceLimit = stackTraceLimit;
      delete error.stack;
      return error;
    },
  },
  {
    letter: 'B', is: isArrayBuffer, prototype: () => ArrayBuffer.prototype,
    write(values, memory) {
      values.bytes.primitive(read.byteLength(memory));
      values.bytes.primitive(read.maxByteLength(memory));
    },
    writeEnd: (values, memory, id) => values.memory(memory, id),
    make(reader) {
      const [size, most] = [reader.raw(), reader.raw()];
      return most === undefined ? new ArrayBuffer(size) : new ArrayBuffer(size, { maxByteLength: most });
    },
    fillEnd: fillMemory,
  },
  {
    letter: 'T', is: isTypedArray, prototype: (value) => TYPED[typeOf(value)]?.prototype,
    write(values, array) {
      values.bytes.primitive(typeOf(array));
      putArray(values, array, getPrototypeOf(array) === bufferPrototype, lengthOf);
      return isIndex;
    },
    make: (reader) => new TYPED[reader.raw()](reader.next(), reader.raw(), reader.raw()),
  },
  {
    letter: 'V', is: isDataView, prototype: () => DataView.prototype,
    write: (values, view) => void putView(values, view, false),
    make: (reader) => new DataView(reader.next(), reader.raw(), reader.raw()),
  },
  {
    letter: 'X', is: (value) => boxOf(value) !== undefined, prototype: (value) => boxOf(value).prototype,
    write(values, box) {
      values.put(boxOf(box).unboxed(box));
      return isStringObject(box) ? (key) => isIndex(key) || key === 'length' : undefined;
    },
    make: (reader) => Object(reader.next()),
  },
  byText('U', URL, got(URL.prototype, 'href')),
  byText('Q', URLSearchParams, called(URLSearchParams.prototype, 'toString')),
  {
    letter: 'A', is: isArgumentsObject, prototype: () => Object.prototype,
    write: () => undefined,
    make: () => new Function('return arguments')(), // not strict, as here all is
  },
  {
    letter: 'P', is: isPromise, prototype: () => Promise.prototype,
    write(values, promise) {
      const [state, result] = values.sources.promiseOf(promise);
      if (state !== 'fulfilled' && state !== 'rejected') throw new Error('it waits: await it first');
      values.bytes.primitive(state);
      values.put(result());
    },
    make(reader) {
      const isFulfilled = reader.raw() === 'fulfilled';
      let settle;
      const promise = new Promise((resolve, reject) => { settle = isFulfilled ? resolve : reject; });
      if (!isFulfilled) promise.catch(() => {});
      promises.push([promise, settle]);
      return promise;
    },
    fill(promise, reader) {
      reader.raw();
      const at = promises.findIndex(([one]) => one === promise);
      const [[, settle]] = promises.splice(at, 1);
      settle(reader.next());
    },
  },
];

const promises = []; // made, and not settled

function isNodes(reads, value) {
  try {
    reads(value);
    return true;
  } catch {
    return false; // Object.create(URL.prototype)
  }
}

function fillMemory(memory, reader) {
  const isOfPool = reader.raw();
  const all = new Uint8Array(memory);
  if (!isOfPool) return all.set(reader.raw());
  for (let left = reader.raw(); left > 0; left--) {
    const start = reader.raw();
    all.set(reader.raw(), start);
  }
  return undefined;
}

const NOT_KEPT = [
  [isWeakMap, 'WeakMap', 'make it again'],
  [isWeakSet, 'WeakSet', 'make it again'],
  [isSharedArrayBuffer, 'SharedArrayBuffer', 'make it again, or use an ArrayBuffer'],
  [isGeneratorObject, 'generator', 'it has begun or waits to: call its function again'],
  [isMapIterator, 'iterator', 'make it again'],
  [isSetIterator, 'iterator', 'make it again'],
  [isExternal, 'external value', 'make it again'],
  [(value) => /Iterator$/.test(tagOf(value)), 'iterator', 'make it again'],
  [(value) => value instanceof WeakRef, 'WeakRef', 'make it again'],
];

// { kind, why } of what cannot be read, or undefined.
export function hiddenKind(value) {
  for (const [is, kind, why] of NOT_KEPT) if (is(value)) return { kind, why };
  return handleKind(value);
}

// The name that a prototype of node's gives its objects, where it is no getter.
function tagOf(value) {
  return getOwnPropertyDescriptor(getPrototypeOf(value) ?? {}, Symbol.toStringTag)?.value ?? '';
}
