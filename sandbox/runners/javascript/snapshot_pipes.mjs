// The pipes of snapshots: one takes packets, each written at once, the other has the answers. See ../README.md.
//
// Node can neither move a descriptor nor hide one: they stay numbers 5 and 6, which user code finds where it looks. They
// are closed in children, since node marks all that it starts with. Code that closes them loses its snapshots,
// and a file that gets their number then is not written to: it is looked at before each snapshot.

import fs from 'node:fs';
import { Atomics, Buffer, Error, Number } from './intrinsics.mjs';

const TAKES_FD = 5;
const ANSWERS_FD = 6;
const HEAD_BYTES = 3; // a letter, and the length of what follows
const PAUSE_MS = 2; // while the host has to make room
const PACKET_MS = 30_000; // until one that nobody takes is given up
const ANSWER_BYTES = 256;
export const CONTENT_BYTES_MAX = 4096 - HEAD_BYTES; // so much is written whole or not at all (PIPE_BUF)

const { writevSync, readSync, fstatSync } = fs; // user code may replace them
const { from } = Buffer;
export const performanceNow = performance.now.bind(performance);
const napping = new Int32Array(new SharedArrayBuffer(4));
const clock = process.hrtime.bigint; // CLOCK_MONOTONIC, as the host's

// The host, or the code, has closed it.
export class Gone extends Error {}

// Nobody took it in time.
export class Late extends Error {}

export function openPipes() {
  try {
    const found = fstatSync(TAKES_FD);
    return found.isFIFO() && fstatSync(ANSWERS_FD).isFIFO() ? new SnapshotPipes(found.ino) : null;
  } catch {
    return null; // as outside of a box
  }
}

export function clockMs() {
  return Number(clock() / 1_000_000n);
}

class SnapshotPipes {
  constructor(inode) {
    this.inode = inode;
  }

  isThere() {
    try {
      const found = fstatSync(TAKES_FD);
      return found.isFIFO() && found.ino === this.inode;
    } catch {
      return false;
    }
  }

  // mayWait(): whether to try again, looked at with each pause.
  send(letter, view, mayWait = () => true) {
    const content = typeof view === 'string' ? from(view, 'latin1') : view;
    const length = content?.length ?? 0;
    const parts = [from([letter.charCodeAt(0), length & 0xff, length >> 8])];
    if (length > 0) parts[1] = content;
    const until = performanceNow() + PACKET_MS;
    for (;;) {
      try {
        writevSync(TAKES_FD, parts);
        return;
      } catch (failure) {
        if (failure.code !== 'EAGAIN') throw new Gone(failure.message);
      }
      if (performanceNow() > until || !mayWait()) throw new Late('nobody takes it');
      Atomics.wait(napping, 0, 0, PAUSE_MS);
    }
  }

  // The last that the host has said since, or undefined: when the next snapshot may come, and how many bytes it may have.
  answer() {
    const bytes = Buffer.alloc(ANSWER_BYTES);
    try {
      const size = readSync(ANSWERS_FD, bytes, 0, ANSWER_BYTES, null);
      if (size === 0) throw new Gone('the host takes no more');
      const [nextMs, , bytesMax] = bytes.latin1Slice(0, size).trim().split(' ').at(-1).split('/').map(Number);
      return { nextMs: nextMs || 0, bytesMax }; // undefined: a hutch-box that was replaced by a newer one does not say it
    } catch (failure) {
      if (failure.code === 'EAGAIN') return undefined;
      throw failure instanceof Gone ? failure : new Gone(failure.message);
    }
  }
}
