// Runs JavaScript and TypeScript for one session of hutch: cells of code in one lasting interpreter.
//
// Started as `node runner.mjs` with the channel to the host as descriptors 3 and 4 (frames: ../README.md).
// Two threads: the channel's worker (channel_worker.mjs) reads frames and can stop this one; here
// the code runs, and everything it prints is written before a run is called done.

import { Worker } from 'node:worker_threads';
import { installStreams } from './streams.mjs';
import { Session } from './session.mjs';
import { LISTENS, LOOSE, PLACES } from './shared.mjs';
import { loadSyntax } from './syntax.mjs';
import { installWarnings } from './warnings.mjs';
import { Atomics } from './intrinsics.mjs';

installStreams();
installWarnings();

// Code of a timer that is stopped by force leaves node's record of nested callbacks one too deep,
// and node ends itself over that. This is --no-force-async-hooks-checks, from inside.
process.noDeprecation = true; // the binding is deprecated
try {
  const { constants, async_hook_fields: fields } = process.binding('async_wrap');
  fields[constants.kCheck] = 0;
} catch {
  // A node without this binding: such an interrupt costs the interpreter.
}
delete process.noDeprecation;

const shared = new Int32Array(new SharedArrayBuffer(4 * PLACES));
const worker = new Worker(new URL('./channel_worker.mjs', import.meta.url), {
  workerData: { shared, reads: 3, writes: 4 },
  execArgv: [],
  env: {},
  stdin: false,
});
const session = new Session(shared, (message, blob) => worker.postMessage({ message, blob }), keepAlive);
const realExit = process.reallyExit.bind(process);

function keepAlive(whether) {
  if (whether) worker.ref();
  else worker.unref();
  Atomics.store(shared, LOOSE, whether ? 0 : 1);
}

let early = []; // messages that come before the variables are back
worker.on('message', (message) => {
  if (message.type === 'closed') realExit(message.status);
  if (early) early.push(message);
  else answer(message);
});
worker.on('error', () => realExit(1));

function answer(message) {
  if (message.type === 'run') session.answer(message);
  else if (message.type === 'interrupt') session.interrupt(message.run);
  else if (message.type === 'store') session.snapshots.store(message);
}

const { Snapshots } = await import('./snapshots.mjs'); // while the worker starts
session.snapshots = new Snapshots(session);
await session.snapshots.wake();
worker.postMessage({
  message: { type: 'ready', language: 'javascript', version: process.versions.node, interrupt: 'frame' },
});
loadSyntax(); // while the worker starts
const waited = early;
early = null;
Atomics.store(shared, LISTENS, 1);
waited.forEach(answer);
