// The syntax of JavaScript, by acorn.

import { createRequire } from 'node:module';
import { Array, Object } from './intrinsics.mjs';

let acorn;

// Ahead of the first cell: it takes as long as many cells do.
export function loadSyntax() {
  try {
    parse('const one = await 1; class Two {} for (const { a, b } of [() => one]) if (`${a}` === b) a.c(...b)', '');
  } catch {
    // A node without it: cells are taken as they are.
  }
}

// Debian's package node-acorn, else the copy that node carries for its own REPL.
function loadAcorn() {
  if (acorn) return acorn;
  try {
    acorn = createRequire('/usr/share/nodejs/')('acorn');
  } catch {
    const source = process.binding('natives')['internal/deps/acorn/acorn/dist/acorn'];
    const module = { exports: {} };
    new Function('exports', 'module', source)(module.exports, module);
    acorn = module.exports;
  }
  return acorn;
}

// Throws a SyntaxError that names the place.
export function parse(source, cell) {
  const options = { ecmaVersion: 'latest', allowAwaitOutsideFunction: true, allowHashBang: true };
  let failure;
  for (const sourceType of ['module', 'script']) { // 'script': code that strict mode forbids
    try {
      return loadAcorn().parse(source, {
        ...options, sourceType, allowImportExportEverywhere: sourceType === 'script',
      });
    } catch (error) {
      failure ??= error;
    }
  }
  const error = new SyntaxError(failure.message.replace(/ \(\d+:\d+\)$/, ''));
  const { line, column } = failure.loc ?? { line: 1, column: 0 };
  error.stack = `SyntaxError: ${error.message}\n    at ${cell}:${line}:${column + 1}`;
  throw error;
}

export function visit(node, action) {
  action(node);
  for (const child of Object.values(node)) {
    if (Array.isArray(child)) child.forEach((one) => one?.type && visit(one, action));
    else if (child?.type) visit(child, action);
  }
}
