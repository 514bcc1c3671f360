// Reads a snapshot from standard input as the next node would, and ends with the status ALL_BACK where all of it is there
// again: no other end of it has that, whatever the code does that is loaded for it.
//
// Started by snapshot_trial.mjs with the bytes that it will have at about. It is a process of its own: what is imported
// for it may do anything, and it is the first that is ended where memory is short.

import fs from 'node:fs';
import { Session } from './session.mjs';
import { PLACES } from './shared.mjs';
import { parseSnapshot } from './snapshot_file.mjs';
import { ALL_BACK, putBack } from './snapshot_waking.mjs';
import { Surroundings } from './surroundings.mjs';

const AT_ONCE = 1 << 20;
const PAUSE_MS = 1;
const napping = new Int32Array(new SharedArrayBuffer(4));
const end = process.reallyExit.bind(process);

function readAll(bytesMost) {
  let content = Buffer.allocUnsafeSlow(bytesMost + AT_ONCE);
  for (let filled = 0; ;) {
    if (content.length === filled) content = Buffer.concat([content, Buffer.allocUnsafeSlow(content.length)]);
    const read = readSome(content.subarray(filled, filled + AT_ONCE));
    if (read === 0) return content.subarray(0, filled);
    filled += read;
  }
}

// Waits until there is something, whether the descriptor would or not.
function readSome(view) {
  for (;;) {
    try {
      return fs.readSync(0, view, 0, view.length, null);
    } catch (failure) {
      if (failure.code !== 'EAGAIN') throw failure;
      Atomics.wait(napping, 0, 0, PAUSE_MS);
    }
  }
}

try {
  fs.writeFileSync('/proc/self/oom_score_adj', '1000');
} catch {
  // Then the kernel chooses as it likes.
}
const content = readAll(Number(process.argv[2]));
const surroundings = new Surroundings();
const session = new Session(new Int32Array(new SharedArrayBuffer(4 * PLACES)), () => {}, () => {});
const { missing, unread } = await putBack(session, surroundings, parseSnapshot(content));
if (missing.length + unread.length === 0) end(ALL_BACK);
end(1);
