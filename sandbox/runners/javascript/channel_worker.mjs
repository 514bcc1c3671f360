// The thread that owns the channel. It stays responsive when user code loops for ever on the main
// thread, and stops that code from here.

import inspector from 'node:inspector';
import net from 'node:net';
import { parentPort, workerData } from 'node:worker_threads';
import { FrameReader, frame } from './frames.mjs';
import { CODE, GOING_ON, STOPPED } from './shared.mjs';

const DEAF_AFTER_MS = 50; // a main thread that has not ended its run by then is in a loop
const LONGEST_MS = 1000;
const EXIT_GRACE_MS = 200;

const { shared } = workerData;
const input = new net.Socket({ fd: workerData.reads, readable: true, writable: false });
const output = new net.Socket({ fd: workerData.writes, readable: false, writable: true });
let runs = 0;
let runId;

parentPort.on('message', ({ message, blob }) => {
  if (message.type === 'done') Atomics.store(shared, GOING_ON, 0);
  if (blob) output.write(frame('B', blob));
  output.write(frame('J', Buffer.from(JSON.stringify({ ...message, run_id: runId }))));
});

const reader = new FrameReader(take, () => close(1));
input.on('data', (chunk) => reader.push(chunk));
for (const end of [input, output]) end.on('error', () => close(0));
input.on('end', () => close(0));

function take(message) {
  if (message.type === 'run') {
    // Marked as going on here already: an interrupt right behind it must find it.
    message.run = ++runs;
    runId = message.run_id;
    Atomics.store(shared, GOING_ON, runs);
    Atomics.store(shared, CODE, runs);
    parentPort.postMessage(message);
  } else if (message.type === 'interrupt') {
    interrupt();
  }
}

// By message, which code that waits will take. Main code that does not turn its event loop is stopped by
// force: V8 then throws something that cannot be caught. That may hit what leads from the code's end to
// the run's end as well, which begins anew with the next message; so each stop by force is followed by
// one, and by twice the time of the one before to get there.
function interrupt() {
  const run = Atomics.load(shared, GOING_ON);
  const goesOn = () => run !== 0 && Atomics.load(shared, GOING_ON) === run;
  const tell = () => goesOn() && parentPort.postMessage({ type: 'interrupt', run });
  const look = (afterMs) => setTimeout(() => {
    if (!goesOn()) return;
    if (Atomics.compareExchange(shared, CODE, run, -run) === run) stopByForce(run, tell);
    look(Math.min(2 * afterMs, LONGEST_MS));
  }, afterMs);
  tell();
  look(DEAF_AFTER_MS);
}

function stopByForce(run, then) {
  Atomics.store(shared, STOPPED, run);
  const session = new inspector.Session();
  session.connectToMainThread();
  session.post('Runtime.terminateExecution', () => {
    session.disconnect();
    Atomics.compareExchange(shared, CODE, -run, run);
    Atomics.notify(shared, CODE);
    then();
  });
}

function close(status) {
  parentPort.postMessage({ type: 'closed', status });
  // The main thread may be in a loop and never hear of it.
  setTimeout(() => process.kill(process.pid, 'SIGKILL'), EXIT_GRACE_MS);
}
