// Values of a snapshot as bytes: a letter that says of which form, and what it is of. Who knows no more than
// these forms can walk through any record.

import { Buffer, Error, Map, Math, Number, String } from './intrinsics.mjs';

export const REFERENCE = 9;
const [UNDEFINED, NULL, TRUE, FALSE, INTEGER, DOUBLE, LATIN, WIDE, BIG] = [0, 1, 2, 3, 4, 5, 6, 7, 8];
const [BYTES, HOLE] = [10, 11];
const FIRST_BYTES = 1 << 16;
const SHORT_CHARACTERS = 24; // looked at one by one

const { allocUnsafeSlow } = Buffer;
const { isInteger, isNaN } = Number;
const { apply } = Reflect;
const { latin1Write, ucs2Write, latin1Slice, ucs2Slice, readDoubleLE, writeDoubleLE } = Buffer.prototype;
const { test } = RegExp.prototype;
const { charCodeAt } = String.prototype;
const { BigInt } = globalThis;
const textOfBig = BigInt.prototype.toString;
const isLatin = /^[\x00-\xff]*$/;

export class Malformed extends Error {}

// A Map that stays one whatever user code does to Map.prototype.
export class Table extends Map {}
for (const name of ['get', 'set', 'has', 'delete']) Table.prototype[name] = Map.prototype[name];

export function isObject(value) {
  return typeof value === 'object' && value !== null || typeof value === 'function';
}

// An element that an array does not have.
export const hole = { name: 'hole' };

// Stands for an object that has a record of its own.
export class Reference {
  constructor(id) {
    this.id = id;
  }
}

export class ByteWriter {
  constructor() {
    this.buffer = allocUnsafeSlow(FIRST_BYTES);
    this.length = 0;
  }

  need(bytes) {
    if (this.length + bytes <= this.buffer.length) return;
    const larger = allocUnsafeSlow(Math.max(2 * this.buffer.length, this.length + bytes));
    larger.set(this.buffer);
    this.buffer = larger;
  }

  byte(number) {
    this.need(1);
    this.buffer[this.length++] = number;
  }

  // Seven bits a byte, the lowest first.
  count(number) {
    this.need(8);
    let rest = number;
    while (rest >= 128) {
      this.buffer[this.length++] = (rest % 128) | 128;
      rest = Math.floor(rest / 128);
    }
    this.buffer[this.length++] = rest;
  }

  reference(id) {
    this.byte(REFERENCE);
    this.count(id);
  }

  // Neither objects nor symbols.
  primitive(value) {
    switch (typeof value) {
      case 'undefined': return this.byte(UNDEFINED);
      case 'boolean': return this.byte(value ? TRUE : FALSE);
      case 'number': return this.number(value);
      case 'string': return this.text(value);
      case 'bigint': return this.big(value);
      default: return this.byte(value === null ? NULL : HOLE);
    }
  }

  number(value) {
    if (isInteger(value) && value >= 0 && value < 0x8000000000 && 1 / value > 0) {
      this.byte(INTEGER);
      return this.count(value);
    }
    this.need(9);
    this.buffer[this.length] = DOUBLE;
    apply(writeDoubleLE, this.buffer, [isNaN(value) ? NaN : value, this.length + 1]);
    this.length += 9;
    return undefined;
  }

  text(value) {
    const narrow = isNarrow(value);
    this.byte(narrow ? LATIN : WIDE);
    this.count(value.length);
    const size = narrow ? value.length : 2 * value.length;
    this.need(size);
    apply(narrow ? latin1Write : ucs2Write, this.buffer, [value, this.length, size]);
    this.length += size;
  }

  big(value) {
    const isNegative = value < 0n;
    this.byte(BIG);
    this.byte(isNegative ? 1 : 0);
    this.text(apply(textOfBig, isNegative ? -value : value, [16]));
  }

  // The head of so many bytes, which follow.
  bytesHead(size) {
    this.byte(BYTES);
    this.count(size);
  }

  bytes(view) {
    this.bytesHead(view.length);
    this.need(view.length);
    this.buffer.set(view, this.length);
    this.length += view.length;
  }
}

function isNarrow(text) {
  if (text.length > SHORT_CHARACTERS) return apply(test, isLatin, [text]);
  for (let i = 0; i < text.length; i++) if (apply(charCodeAt, text, [i]) > 255) return false;
  return true;
}

export class ByteReader {
  constructor(buffer, at = 0, end = buffer.length) {
    this.buffer = buffer;
    this.at = at;
    this.end = end;
  }

  byte() {
    if (this.at >= this.end) throw new Malformed('a record ends too early');
    return this.buffer[this.at++];
  }

  count() {
    let number = 0;
    for (let factor = 1; ; factor *= 128) {
      const byte = this.byte();
      number += (byte & 127) * factor;
      if (byte < 128) return number;
    }
  }

  // A value that was written; a Reference where it has a record of its own.
  value() {
    const form = this.byte();
    switch (form) {
      case UNDEFINED: return undefined;
      case NULL: return null;
      case TRUE: return true;
      case FALSE: return false;
      case INTEGER: return this.count();
      case DOUBLE: return apply(readDoubleLE, this.buffer, [this.take(8)]);
      case LATIN: return this.text(latin1Slice, 1);
      case WIDE: return this.text(ucs2Slice, 2);
      case BIG: return this.big();
      case REFERENCE: return new Reference(this.count());
      case BYTES: return this.bytes();
      case HOLE: return hole;
      default: throw new Malformed(`no value has the form ${form}`);
    }
  }

  take(size) {
    const at = this.at;
    if (at + size > this.end) throw new Malformed('a value ends too late');
    this.at += size;
    return at;
  }

  text(slice, width) {
    const size = this.count() * width;
    const at = this.take(size);
    return apply(slice, this.buffer, [at, at + size]);
  }

  big() {
    const isNegative = this.byte() === 1;
    const size = BigInt(`0x${this.value()}`);
    return isNegative ? -size : size;
  }

  bytes() {
    const size = this.count();
    const at = this.take(size);
    return this.buffer.subarray(at, at + size);
  }
}
