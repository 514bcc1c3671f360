// Finds what code leaves going when its last statement is done: timers, requests, servers, children.

import { AsyncResource } from 'node:async_hooks';
import net from 'node:net';
import process from 'node:process';
import { Math, Object, Set, clearInterval, clearTimeout, setImmediate, setInterval, setTimeout } from './intrinsics.mjs';

const SOON_MS = 300; // the callbacks of a quick command, file or request have come by then
const LOOK_EVERY_MS = 2;
const LOOK_LEAST_OFTEN_MS = 200; // at what goes on for long

const handles = process._getActiveHandles?.bind(process) ?? (() => []); // not documented
const requests = process._getActiveRequests?.bind(process) ?? (() => []);
const resources = process.getActiveResourcesInfo.bind(process);
const now = performance.now.bind(performance);
const { apply } = Reflect;

let ours; // the handles that are there before any code of the user's

// By identity where node tells it, so that servers and children of earlier runs do not count; timers by number.
export class Leftovers {
  constructor() {
    this.timersBefore = NaN;
    this.lastId = newId();
    try {
      ours ??= new Set(handles());
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

  // Whether the event loop's end can tell of what node does not (see whenNothingIsLeft()): where the run has begun
  // something, and nothing that is seen, mostly of an earlier run, keeps the loop from its end.
  mayHide() {
    try {
      return newId() > this.lastId + 1 && countTimers() === 0 && requests().length === 0
        && handles().every((one) => ours.has(one));
    } catch {
      return false;
    }
  }

  // Calls `ended`, with whether anything goes on, when all that ends has ended, but soon. Returns what ends the waiting.
  soon(keepAlive, ended) {
    const first = this.look();
    if (!first.ends && !this.mayHide()) return ended(first.stays);
    const until = now() + SOON_MS;
    const stop = () => {
      keepAlive(true); // first: without anything alive, node ends
      clearInterval(timer);
      leaveBeforeExit();
    };
    const end = (goesOn) => {
      stop();
      ended(goesOn);
    };
    const leaveBeforeExit = takeBeforeExit(() => end(false));
    const timer = setInterval(() => {
      const { ends, stays } = this.look();
      if (!ends && !this.mayHide()) end(stays);
      else if (now() >= until) end(true);
      else keepAlive(ends);
    }, LOOK_EVERY_MS);
    timer.unref(); // else it would count itself
    keepAlive(first.ends);
    return stop;
  }
}

// Calls `ended` when the event loop has nothing left, as node would end a script then. What node does not tell of
// (compression, key derivation) shows in that the loop ends without the channel, which keepAlive() holds or
// leaves: only while nothing else can be seen, since a stop by force in a loop that nobody holds may end
// node. Returns what ends the waiting.
export function whenNothingIsLeft(leftovers, keepAlive, ended, watchBeforeExit = hearBeforeExit) {
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
  const leaveBeforeExit = watchBeforeExit(atLoopsEnd);
  look(LOOK_EVERY_MS);
  return () => {
    clearTimeout(timer);
    leaveBeforeExit();
    keepAlive(true);
  };
}

function hearBeforeExit(atLoopsEnd) {
  process.prependListener('beforeExit', atLoopsEnd);
  return () => process.removeListener('beforeExit', atLoopsEnd);
}

// Calls `atLoopsEnd` in place of the listeners of 'beforeExit', for whom a run's end is no end. By replacing emit() for
// so long: a listener of ours could not keep those of the user from being called. Returns what undoes it.
export function takeBeforeExit(atLoopsEnd) {
  const descriptor = Object.getOwnPropertyDescriptor(process, 'emit');
  const { emit } = process;
  let isOver = false;
  const taking = function (name) {
    return name === 'beforeExit' && !isOver ? atLoopsEnd() : apply(emit, this, arguments);
  };
  process.emit = taking;
  return () => {
    isOver = true;
    if (process.emit !== taking) return; // the user's, and may call it
    if (descriptor) Object.defineProperty(process, 'emit', descriptor);
    else delete process.emit;
  };
}

// Node numbers what is asynchronous as it is made, promises apart.
function newId() {
  return new AsyncResource('hutch.mark', { requireManualDestroy: true }).asyncId();
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
