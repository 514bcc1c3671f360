// process.stdout and process.stderr as synchronous streams.
//
// Node's own write to a full pipe later, from the event loop: output would come after the end of
// its run, be lost with process.exit(), and not be live while code computes. Nor do these go through a
// Writable's bookkeeping: code stopped by force in the midst of that would never print again.

import fs from 'node:fs';
import process from 'node:process';
import { Writable } from 'node:stream';
import { ArrayBuffer, Atomics, Buffer, Object, TypeError, Uint8Array } from './intrinsics.mjs';

const { writeSync } = fs; // user code may replace it
const napping = new Int32Array(new SharedArrayBuffer(4));

export function writeAll(fd, data) {
  let rest = typeof data === 'string' ? Buffer.from(data) : data;
  while (rest.length > 0) {
    try {
      rest = rest.subarray(writeSync(fd, rest));
    } catch (error) {
      // A child that shares the pipe may have made it non-blocking.
      if (error.code !== 'EAGAIN') return; // nobody reads any more
      Atomics.wait(napping, 0, 0, 1);
    }
  }
}

function bytesOf(chunk, encoding) {
  if (typeof chunk === 'string') return Buffer.from(chunk, encoding);
  if (chunk instanceof Uint8Array) return chunk;
  if (ArrayBuffer.isView(chunk)) return Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
  const error = new TypeError('The "chunk" argument must be of type string or an instance of Buffer, TypedArray, or DataView');
  throw Object.assign(error, { code: 'ERR_INVALID_ARG_TYPE' });
}

function synchronousStream(fd) {
  // Who waits for its end shall not wait for a close, too, which never comes; and pipelines leave listeners behind.
  const stream = new Writable({ autoDestroy: false, emitClose: false }).setMaxListeners(0);
  stream.write = (chunk, encoding, done) => {
    if (typeof encoding === 'function') [done, encoding] = [encoding, undefined];
    writeAll(fd, bytesOf(chunk, encoding));
    if (typeof done === 'function') process.nextTick(done);
    return true;
  };
  stream.fd = fd;
  stream._type = 'pipe';
  stream.destroySoon = stream.destroy = () => stream; // as for node's own: cannot be closed
  stream.end = (chunk, encoding, done) => {
    if (typeof chunk === 'string' || chunk instanceof Uint8Array) stream.write(chunk, encoding);
    const callback = [chunk, encoding, done].find((one) => typeof one === 'function');
    if (callback) process.nextTick(callback);
    process.nextTick(() => stream.emit('finish')); // for whoever waits for the end of a pipeline
    return stream;
  };
  return stream;
}

const streams = { stdout: synchronousStream(1), stderr: synchronousStream(2) };

// Also before each run: code may have put something else in their place.
export function installStreams() {
  for (const [name, stream] of Object.entries(streams)) {
    Object.defineProperty(process, name, {
      value: stream, configurable: true, enumerable: true, writable: true,
    });
  }
}
