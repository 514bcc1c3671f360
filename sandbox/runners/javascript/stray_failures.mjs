// Failures that nothing in the code catches, and listeners of the user's for them.

import process from 'node:process';
import { Object } from './intrinsics.mjs';

const { apply } = Reflect;

// Hears what nobody else does: where the user listens, too, a failure is the user's.
export function watchEvent(event, report) {
  const listener = (failure) => {
    if (process.listeners(event).every((one) => one === listener)) report(failure);
  };
  process.on(event, listener);
}

// Keeps node from its end where a listener for uncaught exceptions throws itself, as process.exit() does there. By replacing
// emit(), which alone calls them; `isExit` says of which failures nobody is told.
export function outliveListeners(isExit, report) {
  const { emit } = process;
  const value = function (name, failure) {
    if (name !== 'uncaughtException') return apply(emit, this, arguments);
    try {
      return isExit(failure) || apply(emit, this, arguments);
    } catch (another) {
      report(another);
      return true;
    }
  };
  Object.defineProperty(Object.getPrototypeOf(process), 'emit', { value, writable: true, configurable: true });
}
