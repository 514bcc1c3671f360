// readline's question() to standard input, which nobody types into: node would leave it open for ever.

import readline from 'node:readline';
import promises from 'node:readline/promises';
import util from 'node:util';
import { Error, Object, Promise } from './intrinsics.mjs';

export function installQuestions() {
  refuse(readline.Interface.prototype, (failure) => { throw failure; });
  refuse(promises.Interface.prototype, (failure) => Promise.reject(failure));
}

function refuse(prototype, answerWith) {
  const ask = prototype.question;
  function question(...parameters) {
    if (this.input?.fd !== 0) return ask.apply(this, parameters);
    return answerWith(new Error('question() cannot ask anybody here: put the value into the code, '
      + 'or pass it in env and read process.env'));
  }
  const { custom } = util.promisify;
  if (ask[custom]) Object.defineProperty(question, custom, { value: ask[custom] });
  Object.defineProperty(prototype, 'question', { value: question, configurable: true, writable: true });
}
