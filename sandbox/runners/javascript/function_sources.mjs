// Functions and classes by their source text: whether they can be evaluated anew from it, and how.
//
// V8 shows what a function closes over through its inspector. What closes over globals alone is the text, and where
// in which cell it stands, so that tracebacks name that.

import vm from 'node:vm';
import { editsOf, partsOf, variablesIn } from './class_sources.mjs';
import { edited } from './edits.mjs';
import { Table } from './snapshot_bytes.mjs';
import { Error } from './intrinsics.mjs';

const GROUP = 'snapshot';
const { apply, getOwnPropertyDescriptor, ownKeys, defineProperty } = Reflect;
const functionText = Function.prototype.toString;
const { Script } = vm;
const { runInThisContext } = Script.prototype;

class Origins extends WeakMap {}
for (const name of ['get', 'set']) Origins.prototype[name] = WeakMap.prototype[name];

// Function that was evaluated anew -> { source, cell, line, column, isStrict }. The text that V8 has of it may have
// edits.
const origins = new Origins();

export function textOf(value) {
  return origins.get(value)?.source ?? apply(functionText, value, []);
}

export function isClass(value) {
  if (!/^class\b/.test(textOf(value))) return false;
  const prototype = getOwnPropertyDescriptor(value, 'prototype');
  return prototype !== undefined && !prototype.writable;
}

// Looks at functions for as long as one snapshot is made. `cells` are { name, code }.
export class FunctionSources {
  constructor(session, cells) {
    this.session = session;
    this.cells = cells;
    this.problems = new Table();
    this.parts = new Table();
  }

  end() {
    this.session.post('Runtime.releaseObjectGroup', { objectGroup: GROUP });
    this.session.kept.given = undefined;
  }

  // Why a function cannot be evaluated anew, in words; null where it can.
  problemOf(value) {
    if (!this.problems.has(value)) this.problems.set(value, this.findProblem(value));
    return this.problems.get(value);
  }

  findProblem(value) {
    const text = textOf(value);
    if (/\{\s*\[native code\]\s*\}$/.test(text)) {
      return /^bound /.test(getOwnPropertyDescriptor(value, 'name')?.value) ? 'bind it again' : "it is node's own";
    }
    const isOfClass = isClass(value);
    if (isOfClass) {
      const { problem } = this.partsOf(value);
      if (problem) return problem;
    } else if (/\bsuper\b/.test(text)) {
      return 'super outside of a class: define it again';
    }
    return this.closureOf(value, text);
  }

  closureOf(value, text) {
    const { scopes } = this.looked(value);
    const names = [];
    for (const scope of scopes) {
      for (const { name, value: remote } of this.propertiesOf(scope).result) {
        if (/^[.#]/.test(name) || !text.includes(name)) continue;
        if (remote?.type === 'function' && this.session.take(remote) === value) continue;
        names[names.length] = name;
      }
    }
    if (names.length === 0 && !/\b(?:this|arguments|target)\b/.test(text)) return null;
    const { used, usesThis } = variablesIn(text, names);
    if (usesThis) used.unshift('this'); // which V8 does not show
    return used.length === 0 ? null : `closes over ${used.slice(0, 3).join(', ')}: define it at the top level`;
  }

  // Objects that a function of a module sees and does not make itself.
  variablesAround(value) {
    const found = [];
    for (const scope of this.looked(value).scopes) {
      for (const { name, value: remote } of this.propertiesOf(scope).result) {
        const isOfModules = ['require', 'module', 'exports'].includes(name);
        if (!isOfModules && remote?.type === 'object' && remote.objectId) found.push(this.session.take(remote));
      }
    }
    return found;
  }

  // { scopes, line, secrets }: objects of the scopes around it, but for that of globals.
  looked(value) {
    const answer = this.propertiesOf(this.remoteOf(value));
    const internal = (name) => answer.internalProperties?.find((one) => one.name === name)?.value;
    const list = internal('[[Scopes]]');
    const all = list ? this.propertiesOf(list).result.map((one) => one.value) : [];
    return {
      scopes: all.filter((one) => one?.description && one.description !== 'Global'),
      line: internal('[[FunctionLocation]]')?.value.lineNumber,
      secrets: answer.privateProperties ?? [],
    };
  }

  remoteOf(value) {
    const { session } = this;
    session.kept.given = value;
    return this.call('Runtime.callFunctionOn', {
      objectId: session.keptId, functionDeclaration: 'function () { return this.given; }', objectGroup: GROUP,
    }).result;
  }

  propertiesOf({ objectId }) {
    return this.call('Runtime.getProperties', { objectId, ownProperties: true });
  }

  // Throws where V8 does not tell: a function of which nothing is known is not taken for one without a closure.
  call(method, parameters) {
    let found;
    let problem = { message: 'it does not answer' };
    this.session.post(method, parameters, (error, answer) => {
      problem = error;
      found = answer;
    });
    if (problem) throw new Error(`V8 does not show what is in it: ${problem.message}`);
    return found;
  }

  // The names of an array that are no indices, nor symbols, without a look at those: there may be millions.
  namesBesideIndices(array) {
    const { result } = this.call('Runtime.getProperties', {
      objectId: this.remoteOf(array).objectId, ownProperties: true, nonIndexedPropertiesOnly: true,
    });
    return result.filter(({ symbol }) => !symbol).map(({ name }) => name);
  }

  // [state, value] of a promise.
  promiseOf(value) {
    const found = this.propertiesOf(this.remoteOf(value)).internalProperties ?? [];
    const of = (name) => found.find((one) => one.name === name)?.value;
    return [of('[[PromiseState]]')?.value, () => this.session.take(of('[[PromiseResult]]'))];
  }

  partsOf(value) {
    if (!this.parts.has(value)) {
      let parts;
      try {
        parts = partsOf(textOf(value));
      } catch {
        parts = { members: [], staticSecrets: [], problem: 'its source cannot be read' };
      }
      this.parts.set(value, parts);
      if (!parts.problem && parts.staticSecrets.length > 0) this.readSecrets(value, parts);
    }
    return this.parts.get(value);
  }

  readSecrets(value, parts) {
    const { secrets } = this.looked(value);
    for (const secret of parts.staticSecrets) {
      const remote = secrets.find(({ name }) => name === secret.name)?.value;
      if (!remote || remote.objectId) parts.problem = `static ${secret.name} cannot be read`;
      else secret.current = this.session.take(remote);
    }
  }

  // { source, cell, line, column, isStrict }.
  recordOf(value) {
    const known = origins.get(value);
    if (known) return known;
    const source = textOf(value);
    const { line } = this.looked(value);
    for (let i = this.cells.length - 1; i >= 0 && line !== undefined; i--) {
      const { name, code } = this.cells[i];
      const place = placeOf(source, code ?? '', line);
      if (place) return { source, cell: name, ...place, isStrict: /^\s*(['"])use strict\1/.test(code) };
    }
    return { source, cell: '', line: 0, column: 0, isStrict: false };
  }
}

function placeOf(source, code, line) {
  for (let at = code.indexOf(source); at >= 0; at = code.indexOf(source, at + 1)) {
    const before = code.slice(0, at).split('\n');
    const first = before.length - 1;
    if (line >= first && line < first + source.split('\n').length) return { line: first, column: before[first].length };
  }
  return undefined;
}

// The function that a record is of.
export function madeFunction(record) {
  const code = withPlainName(record.source);
  let made;
  try {
    made = evaluated(code, '(', ')', record);
  } catch (failure) {
    if (failure?.name !== 'SyntaxError') throw failure;
    const holder = evaluated(code, '({', '})', record);
    const { value, get, set } = getOwnPropertyDescriptor(holder, ownKeys(holder)[0]) ?? {};
    made = value ?? get ?? set;
  }
  if (typeof made !== 'function') throw new Error('its source gives no function');
  origins.set(made, record);
  return made;
}

// A method whose name was computed gets any: its property `name` says which.
function withPlainName(source) {
  if (!/^(?:async\s*)?(?:\*\s*)?(?:get\s*|set\s*)?\[/.test(source)) return source;
  try {
    const wrapped = `(class { ${source} })`;
    const { members: [{ computed }] } = partsOf(wrapped.slice(1, -1));
    const shift = 'class { '.length;
    return `${source.slice(0, computed.start - shift)}'it'${source.slice(computed.end - shift)}`;
  } catch {
    return source;
  }
}

// The class that a record is of; `given` are the values in its source, `base` what it extends.
export function madeClass(session, record, base, given) {
  const parts = partsOf(record.source);
  const { heritage } = parts;
  const name = heritage && record.source.slice(heritage.start, heritage.end);
  const release = heritage && lendName(name, base);
  const { kept } = session;
  kept.given = given;
  kept.base = base;
  let made;
  try {
    made = evaluated(edited(record.source, editsOf(parts, !release)).code, '(', ')', record);
  } finally {
    release?.();
    kept.given = kept.base = undefined;
  }
  origins.set(made, record);
  let count = 0;
  for (const { computed, isStatic, slot, text } of parts.members) {
    if (!computed) continue;
    const member = getOwnPropertyDescriptor(isStatic ? made : made.prototype, given[count++])?.[slot];
    if (typeof member === 'function') origins.set(member, { ...record, source: text });
  }
  return made;
}

// Makes a global variable of that name, so that `extends Name` can stand as it is. Returns what undoes it.
function lendName(name, base) {
  if (!/^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u.test(name)) return undefined;
  const before = getOwnPropertyDescriptor(globalThis, name);
  if (before) return before.value === base ? () => {} : undefined;
  if (base === null) return undefined;
  defineProperty(globalThis, name, { value: base, configurable: true });
  return () => delete globalThis[name];
}

function evaluated(code, before, after, { cell, line, column, isStrict }) {
  const start = (isStrict ? "'use strict';" : '') + before;
  const options = cell ? { filename: cell, lineOffset: line, columnOffset: column - start.length } : {};
  return apply(runInThisContext, new Script(start + code + after, options), [{ displayErrors: false }]);
}
