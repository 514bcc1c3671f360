// Error.stack as code of the user should see it: without the runner's frames, and without those that led
// from them to a cell. Who sets another Error.prepareStackTrace gets all.

import { HERE } from './errors.mjs';
import { Error, Object, String } from './intrinsics.mjs';

const errorToString = Error.prototype.toString;
const isNodes = markOfNodes();
const format = Error.prepareStackTrace ?? ((error, frames) => [titleOf(error), ...frames].join('\n    at '));

export function installStacks() {
  Error.prepareStackTrace = (error, frames) => format(error, ofUser(frames));
}

function ofUser(frames) {
  const texts = frames.map(String);
  if (!texts.some((text) => text.includes(HERE))) return frames;
  const end = texts.findLastIndex((text) => /\bcell-\d+:\d+/.test(text)) + 1;
  return frames.filter((_frame, i) => (end === 0 || i < end) && !texts[i].includes(HERE));
}

// As node before 22 has it, which has no function for it: errors of its own show their code.
function titleOf(error) {
  return isNodes in error ? `${error.name} [${error.code}]: ${error.message}` : errorToString.call(error);
}

// The symbol by which node knows its own errors.
function markOfNodes() {
  try {
    process.chdir(0);
  } catch (error) {
    for (let one = error; one; one = Object.getPrototypeOf(one)) {
      const mark = Object.getOwnPropertySymbols(one).find(({ description }) => description === 'kIsNodeError');
      if (mark) return mark;
    }
  }
  return Symbol('kIsNodeError');
}
