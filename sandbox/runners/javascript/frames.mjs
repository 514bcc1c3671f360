// Frames of a channel: how they are written, and how they are found in what arrives.

import { Buffer, JSON, String } from './intrinsics.mjs';

const FRAME_BYTES_MAX = 32 << 20; // that is taken: rows for hutch.sql() may be long; the host sends less
const HEAD_BYTES = 5;

export function frame(kind, payload) {
  const head = Buffer.alloc(HEAD_BYTES);
  head.writeUInt32LE(payload.length);
  head.write(kind, 4);
  return Buffer.concat([head, payload]);
}

// Calls take(message) for each JSON object, and refuse() once for what is no frame.
export class FrameReader {
  constructor(take, refuse) {
    this.take = take;
    this.refuse = refuse;
    this.chunks = [];
    this.bytes = 0;
    this.wanted = HEAD_BYTES; // nothing can be read with fewer
  }

  push(chunk) {
    this.chunks.push(chunk);
    this.bytes += chunk.length;
    if (this.bytes >= this.wanted) this.read();
  }

  read() {
    let data = Buffer.concat(this.chunks);
    this.wanted = HEAD_BYTES;
    while (data.length >= HEAD_BYTES) {
      const size = data.readUInt32LE(0);
      const kind = String.fromCharCode(data[4]);
      if (size > FRAME_BYTES_MAX || (kind !== 'J' && kind !== 'B')) return this.refuse();
      if (data.length < HEAD_BYTES + size) {
        this.wanted = HEAD_BYTES + size;
        break;
      }
      if (kind === 'J' && !this.takeJson(data.subarray(HEAD_BYTES, HEAD_BYTES + size))) return this.refuse();
      data = data.subarray(HEAD_BYTES + size);
    }
    this.chunks = [data];
    this.bytes = data.length;
    return undefined;
  }

  takeJson(payload) {
    let message;
    try {
      message = JSON.parse(payload.toString());
    } catch {
      return false;
    }
    if (typeof message !== 'object' || message === null) return false;
    this.take(message);
    return true;
  }
}
