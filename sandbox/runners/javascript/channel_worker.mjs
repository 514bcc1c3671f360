// The thread that owns the channel. It stays responsive when user code loops for ever on the main
// thread, and stops that code from here.

import inspector from 'node:inspector';
import net from 'node:net';
import { parentPort, workerData } from 'node:worker_threads';
import { FrameReader, frame } from './frames.mjs';
import { CODE, GOING_ON, LISTENS, LOOSE, STOPPED } from './shared.mjs';

const DEAF_AFTER_MS = 50; // a main thread that has not ended its run by then is in a loop
const DEAF_WHEN_LOOSE_AFTER_MS = 300; // see interrupt()
const STOPPED_AFTER_MS = 50; // and one that was stopped may take so long to end it, however busy the machine
const LONGEST_MS = 1000;
const EXIT_GRACE_MS = 200;

const { shared } = workerData;
const input = new net.Socket({ fd: workerData.reads, readable: true, writable: false });
const output = new net.Socket({ fd: workerData.writes, readable: false, writable: true });
let runs = 0;
let looksAt; // the run whose end is being waited for
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
  } else if (message.type === 'store') {
    parentPort.postMessage(message);
  }
}

// By message, which code that waits will take. Main code that does not turn its event loop is stopped by
// force: V8 then throws something that cannot be caught. That may hit what leads from the code's end to
// the run's end as well, which begins anew with the next message; so each stop by force is followed by
// one, and by twice the time that it took to get there: node's timers, which clear up after a callback that
// was stopped, do not survive a second stop in the midst of that, and spin for ever. Where nothing holds the
// event loop, a stop that arrives just behind a callback hits 'beforeExit' instead, and node ends: there only
// what is most likely an endless loop is stopped. A main thread that still starts is not stopped at all: it
// would never come to hear of anything.
function interrupt() {
  const run = Atomics.load(shared, GOING_ON);
  const goesOn = () => run !== 0 && Atomics.load(shared, GOING_ON) === run;
  const patientUntil = performance.now() + DEAF_WHEN_LOOSE_AFTER_MS;
  const tell = () => goesOn() && parentPort.postMessage({ type: 'interrupt', run });
  const look = (afterMs) => {
    const begun = performance.now();
    setTimeout(() => {
      if (!goesOn()) return;
      if (!Atomics.load(shared, LISTENS)) return look(DEAF_AFTER_MS);
      const rest = patientUntil - performance.now();
      if (rest > 0 && Atomics.load(shared, LOOSE)) return look(rest);
      const again = (least) => look(Math.min(Math.max(2 * (performance.now() - begun), least), LONGEST_MS));
      if (Atomics.compareExchange(shared, CODE, run, -run) !== run) return again(0);
      return stopByForce(run, () => {
        tell();
        again(STOPPED_AFTER_MS);
      });
    }, afterMs);
  };
  tell();
  if (looksAt === run) return;
  looksAt = run;
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
