// What code leaves going when its last statement is done: timers, requests, servers, children.

import net from 'node:net';
import process from 'node:process';
import { Math, Promise, Set, clearInterval, clearTimeout, setImmediate, setInterval, setTimeout } from './intrinsics.mjs';

const SOON_MS = 300; // the callbacks of a quick command, file or request have come by then
const LOOK_EVERY_MS = 2;
const LOOK_LEAST_OFTEN_MS = 200; // at what goes on for long

const handles = process._getActiveHandles?.bind(process) ?? (() => []); // not documented
const requests = process._getActiveRequests?.bind(process) ?? (() => []);
const resources = process.getActiveResourcesInfo.bind(process);
const now = performance.now.bind(performance);

// By identity where node tells it, so that servers and children of earlier runs do not count; timers by number.
export class Leftovers {
  constructor() {
    this.timersBefore = NaN;
    try {
      this.before = new Set([...handles(), ...requests()]);
      this.timersBefore = countTimers();
    } catch {
      // The user has taken apart what this needs; so look() sees nothing, and runs end as if nothing were left.
    }
  }

  // { ends, stays }: whether there is anything that may come to its end, and anything else.
  look() {
    try {
      const left = handles().filter((one) => !this.before.has(one) && !isAccepted(one));
      const stays = left.some(isListening);
      const ends = left.some((one) => !isListening(one)) || requests().some((one) => !this.before.has(one))
        || countTimers() > this.timersBefore;
      return { ends, stays };
    } catch {
      return { ends: false, stays: false };
    }
  }

  // Until all that ends has ended, but not for long: whether anything goes on.
  soon() {
    const first = this.look();
    if (!first.ends) return first.stays;
    return new Promise((resolve) => {
      const until = now() + SOON_MS;
      const timer = setInterval(() => {
        const { ends, stays } = this.look();
        if (ends && now() < until) return;
        clearInterval(timer);
        resolve(ends || stays);
      }, LOOK_EVERY_MS);
      timer.unref(); // else it would count itself
    });
  }
}

// Calls `ended` when the event loop has nothing left, as node would end a script then. What node does not tell of
// (compression, key derivation) shows in that the loop ends without the channel, which keepAlive() holds or
// leaves: only while nothing else can be seen, since a stop by force in a loop that nobody holds ends node.
// Returns what ends the waiting.
export function whenNothingIsLeft(leftovers, keepAlive, ended) {
  const isEmpty = () => {
    const { ends, stays } = leftovers.look();
    return !ends && !stays;
  };
  const atLoopsEnd = () => {
    keepAlive(true); // first: without anything alive, node ends
    // The user's own listeners, which come behind this one, may have begun something.
    process.nextTick(() => isEmpty() && setImmediate(ended));
  };
  let timer;
  const look = (pauseMs) => {
    keepAlive(!isEmpty());
    timer = setTimeout(look, pauseMs, Math.min(2 * pauseMs, LOOK_LEAST_OFTEN_MS)).unref();
  };
  process.prependListener('beforeExit', atLoopsEnd);
  look(LOOK_EVERY_MS);
  return () => {
    clearTimeout(timer);
    process.removeListener('beforeExit', atLoopsEnd);
    keepAlive(true);
  };
}

function countTimers() {
  return resources().filter((name) => name === 'Timeout' || name === 'Immediate').length;
}

function isListening(handle) {
  return handle instanceof net.Server && handle.listening;
}

// A connection of a server's: it is for others to end.
function isAccepted(handle) {
  return handle instanceof net.Socket && Boolean(handle.server);
}
