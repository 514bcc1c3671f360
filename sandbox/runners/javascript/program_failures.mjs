// Failures of programs that child_process has run, as they are read: without what their message has already, and with text
// where node shows the first fifty bytes as hexadecimal numbers.

import util from 'node:util';
import { Array, Buffer, Object } from './intrinsics.mjs';

const STREAMS = ['stdout', 'stderr'];

// util.inspect(failure), for which an error of a program is another for so long.
export function inspected(failure) {
  if (!util.types.isNativeError(failure) || !isOfProgram(failure)) return util.inspect(failure);
  const before = Object.getOwnPropertyDescriptors(failure);
  try {
    hide(failure, 'output');
    hide(failure, 'pid');
    for (const name of STREAMS) {
      const text = Buffer.isBuffer(failure[name]) ? failure[name].toString() : failure[name];
      if (!text || failure.message.includes(text)) hide(failure, name);
      else failure[name] = text;
    }
    return util.inspect(failure);
  } finally {
    Object.defineProperties(failure, before);
  }
}

function isOfProgram(failure) {
  const isOfCallback = 'cmd' in failure && 'killed' in failure;
  return !Object.isFrozen(failure) && typeof failure.message === 'string'
    && (isOfCallback || Array.isArray(failure.output) && 'pid' in failure);
}

function hide(failure, name) {
  if (name in failure) Object.defineProperty(failure, name, { enumerable: false });
}
