// The bytes of a snapshot: written as they come, read as a whole.
//
//   magic          8 bytes
//   graphs         records, each with its number and its length (snapshot_values.mjs)
//   index          JSON: which graph lies where and has which names, what was not kept and why, what is around
//   end            16 bytes of length (of the index, of all before the end; little-endian), 32 of SHA-256 of
//                  all before them, 8 that say what this is
//
// A snapshot that was not written to its end has no end. It is code: its functions are run by whoever reads it.

import { createHash } from 'node:crypto';
import fs from 'node:fs';
import { Malformed } from './snapshot_bytes.mjs';
import { CONTENT_BYTES_MAX } from './snapshot_pipes.mjs';
import { Buffer, JSON, Math, Number } from './intrinsics.mjs';

const MAGIC = Buffer.from('hutchjs1');
const SUM_BYTES = 32;
const END_BYTES = 16 + SUM_BYTES + MAGIC.length;

const { from, allocUnsafeSlow } = Buffer;
const { readSync, fstatSync } = fs;

export class Writer {
  // send(view): one piece, which is its own again afterwards.
  constructor(send) {
    this.send = send;
    this.bytes = 0;
    this.sum = createHash('sha256');
    this.piece = allocUnsafeSlow(CONTENT_BYTES_MAX);
    this.filled = 0;
    this.put(MAGIC);
  }

  put(view) {
    this.bytes += view.length;
    for (let start = 0; start < view.length;) {
      const room = CONTENT_BYTES_MAX - this.filled;
      if (this.filled === 0 && view.length - start >= room) {
        this.pass(view.subarray(start, start + room));
        start += room;
        continue;
      }
      const part = view.subarray(start, start + room);
      this.piece.set(part, this.filled);
      this.filled += part.length;
      start += part.length;
      if (this.filled === CONTENT_BYTES_MAX) this.flush();
    }
  }

  flush() {
    const view = this.piece.subarray(0, this.filled);
    this.filled = 0;
    if (view.length > 0) this.pass(view);
  }

  pass(view) {
    this.sum.update(view);
    this.send(view);
  }

  end(index) {
    const text = from(JSON.stringify(index));
    this.put(text);
    const lengths = allocUnsafeSlow(16);
    lengths.writeBigUInt64LE(BigInt(text.length), 0);
    lengths.writeBigUInt64LE(BigInt(this.bytes), 8);
    this.put(lengths);
    this.flush();
    const end = Buffer.concat([this.sum.digest(), MAGIC]);
    this.bytes += end.length;
    this.send(end);
  }
}

// { content, index } of an open file; throws Malformed.
export function readSnapshot(fd) {
  return parseSnapshot(contentOf(fd));
}

export function parseSnapshot(content) {
  const end = content.length - END_BYTES;
  if (end < MAGIC.length || !content.subarray(-MAGIC.length).equals(MAGIC)) throw new Malformed('it has no end');
  const sum = createHash('sha256').update(content.subarray(0, end + 16)).digest();
  if (!sum.equals(content.subarray(end + 16, end + 16 + SUM_BYTES))) throw new Malformed('it is damaged');
  const size = Number(content.readBigUInt64LE(end));
  const isWhole = Number(content.readBigUInt64LE(end + 8)) === end && size <= end;
  if (!isWhole) throw new Malformed('its end does not fit its length');
  try {
    return { content, index: JSON.parse(content.toString('utf8', end - size, end)) };
  } catch {
    throw new Malformed('its index is no JSON');
  }
}

function contentOf(fd) {
  const content = allocUnsafeSlow(fstatSync(fd).size);
  let filled = 0;
  while (filled < content.length) {
    const read = readSync(fd, content, filled, Math.min(content.length - filled, 1 << 30), filled);
    if (read === 0) throw new Malformed('it is shorter than it was');
    filled += read;
  }
  return content;
}
