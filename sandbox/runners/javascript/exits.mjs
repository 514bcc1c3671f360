// The end of a script as node's process has it: process.exit(), and who listens for 'exit'.

import process from 'node:process';
import { Error, Number, Object } from './intrinsics.mjs';

// Thrown by process.exit(), so that the interpreter lives on. What else is thrown may be a proxy, whose
// class is for its code to say; a private field is not.
export class Exit extends Error {
  #code;
  constructor(code) {
    super(`process.exit(${code})`);
    this.name = 'SystemExit';
    this.#code = code;
  }
  static codeOf(failure) {
    return Object(failure) === failure && #code in failure ? failure.#code : undefined;
  }
}

Object.freeze(Exit);

// The status that is asked for, or else what process.exitCode says.
export function statusOf(code) {
  return Number(code ?? process.exitCode ?? 0) & 0xff;
}

// Calls who listens for 'exit'. Returns the ending that they make of it: { exit } or { failure }.
export function tellOfExit(status) {
  try {
    if (status !== 0) process.exitCode = status;
    process.emit('exit', status);
    return { exit: statusOf() };
  } catch (failure) {
    return { failure };
  }
}
