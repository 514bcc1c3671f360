// process.stdout and process.stderr as synchronous streams.
//
// Node's own write to a full pipe later, from the event loop: output would come after the end of
// its run, be lost with process.exit(), and not be live while code computes.

import fs from 'node:fs';
import { Writable } from 'node:stream';
import { Atomics, Buffer, Object } from './intrinsics.mjs';

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

function synchronousStream(fd) {
  const stream = new Writable({
    decodeStrings: true,
    write(chunk, _encoding, done) {
      writeAll(fd, chunk);
      done();
    },
  });
  stream.fd = fd;
  stream._type = 'pipe';
  stream.destroySoon = stream.destroy = () => stream; // as for node's own: cannot be closed
  stream.end = (chunk, encoding, done) => {
    if (typeof chunk === 'string' || chunk instanceof Uint8Array) stream.write(chunk, encoding);
    const callback = [chunk, encoding, done].find((one) => typeof one === 'function');
    if (callback) process.nextTick(callback);
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
