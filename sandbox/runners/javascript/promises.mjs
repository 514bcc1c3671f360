// Tells code that it takes a Promise for the value that it comes to: `const rows = hutch.sql(...); rows.length` is
// undefined, and `rows.map` no function. It is said only where the syntax leaves no doubt of which value a name means.

import util from 'node:util';
import { namesOf } from './declarations.mjs';
import { parse } from './syntax.mjs';
import { Array, Map, Object, Promise, Set, String } from './intrinsics.mjs';

const SOURCE_CHARACTERS_MAX = 20_000;
const MAY_MAKE_ONE = /\b(const|let|var|function|hutch|fetch)\b/;
const SCOPE = /^(BlockStatement|For(In|Of)?Statement|SwitchStatement|StaticBlock|Program)$|Function|^Class/;
const NO_FUNCTION = /^([\w$]+(?:\.[\w$]+)*?)(\(\.\.\.\))?\??\.([\w$]+) is not a (?:function|constructor)$/;
const OF_UNDEFINED = /^Cannot (?:read|set) properties of undefined \((?:reading|setting) '(.*)'\)$/;
const { fetch } = globalThis;

// Returns one phrase, or nothing, for a run that has come to its end. Only what it does at its top for certain counts.
export function wordsOfPromise(source) {
  return saidOf(() => {
    if (!isReadable(source) || !MAY_MAKE_ONE.test(source)) return '';
    const cell = look(source);
    const members = [];
    cell.program.body.forEach((statement) => findCertain(statement, members));
    return phraseFor(members.find((member) => isMissed(member, cell, false)));
  });
}

// Returns it for a TypeError with this message and traceback, which code of the cell itself must have thrown.
export function wordsOfPromiseIn(source, { message, traceback }, cellName) {
  return saidOf(() => {
    const [, callee, call, name] = message.match(NO_FUNCTION) ?? [];
    const [, property] = message.match(OF_UNDEFINED) ?? [];
    const [frame = ''] = traceback.match(/^ +at .*$/m) ?? [];
    if (!(name ?? property) || !isReadable(source) || !new RegExp(String.raw`\b${cellName}:\d`).test(frame)) return '';
    const cell = look(source);
    let members;
    if (name) {
      const isMeant = ({ object }) => (call ? object.type === 'CallExpression' && pathOf(object.callee) : pathOf(object)) === callee;
      members = cell.members.filter((member) => keyOf(member) === name && isMeant(member));
    } else if (!cell.taken.has(property)) {
      members = cell.members.filter((member) => (keyOf(member) ?? property) === property)
        .map(({ object }) => (object.type === 'ChainExpression' ? object.expression : object));
    }
    return members?.every((member) => isMissed(member, cell, true)) ? phraseFor(members[0]) : '';
  });
}

function saidOf(words) {
  try {
    return words();
  } catch {
    return ''; // it does not parse, or the user has taken apart what this needs
  }
}

function isReadable(source) {
  return source.length <= SOURCE_CHARACTERS_MAX;
}

function phraseFor(member) {
  if (!member) return '';
  const { object } = member;
  if (object.type === 'Identifier') return `${object.name} is a Promise: await it`;
  const path = pathOf(object.callee);
  return `${path}() gives a Promise: (await ${path}(...)) is its value`;
}

// The cell's member expressions, what each of its names is bound to, which names are assigned to, and which
// properties its patterns take.
function look(source) {
  const program = parse(source, '');
  const cell = { program, members: [], bound: new Map(), assigned: new Set(), taken: new Set() };
  const bind = (pattern, binding) => namesOf(pattern).forEach((name) => {
    cell.bound.set(name, [...cell.bound.get(name) ?? [], binding]);
  });
  const assign = (pattern) => namesOf(pattern).forEach((name) => cell.assigned.add(name));
  const top = new Set(program.body.map((statement) => statement.declaration ?? statement));
  const actions = {
    MemberExpression: (node) => cell.members.push(node),
    VariableDeclaration: (node, scope) => node.declarations.forEach(({ id, init }) =>
      bind(id, { isTop: top.has(node), kind: node.kind, init: id.type === 'Identifier' ? init : undefined, scope })),
    CatchClause: ({ param }) => bind(param, {}),
    ImportDeclaration: ({ specifiers }) => specifiers.forEach(({ local }) => bind(local, {})),
    AssignmentExpression: ({ left }) => assign(left),
    UpdateExpression: ({ argument }) => assign(argument),
    ForInStatement: ({ left }) => assign(left),
    ForOfStatement: ({ left }) => assign(left),
    ObjectPattern: ({ properties }) => properties.forEach(({ key }) => cell.taken.add(key?.name ?? String(key?.value))),
  };
  const walk = (node, scope) => {
    actions[node.type]?.(node, scope);
    if (/Function|^Class(Declaration|Expression)$/.test(node.type)) {
      bind(node.id, { isTop: top.has(node) });
      node.params?.forEach((one) => bind(one, {}));
    }
    childrenOf(node).forEach((child) => walk(child, SCOPE.test(node.type) ? node : scope));
  };
  walk(program, program);
  return cell;
}

function childrenOf(node) {
  return Object.values(node).flatMap((child) => (Array.isArray(child) ? child : [child])).filter((child) => child?.type);
}

// The member expressions that a statement comes to in any case, and whose value it does not merely ask for.
function findCertain(node, members) {
  if (/Function|^Class|^(Conditional|Logical)Expression$|^(?!Expression|Export).*Statement$/.test(node.type)) return;
  if (node.type === 'UnaryExpression' && /typeof|delete/.test(node.operator)) return;
  if (node.type === 'CallExpression' && node.optional && node.callee.type === 'MemberExpression') return;
  if (node.type === 'MemberExpression') members.push(node);
  childrenOf(node).forEach((child) => findCertain(child, members));
}

// Whether it is a member that its object, a promise, does not have.
function isMissed(node, cell, hasFailed) {
  const key = node.type === 'MemberExpression' ? keyOf(node) : undefined;
  if (key === undefined) return false;
  const { object } = node;
  if (object.type === 'CallExpression') return isAsynchronous(object, cell, hasFailed) && lacks(Promise.prototype, key);
  if (object.type !== 'Identifier') return false;
  const { name, start, end } = object;
  if (cell.assigned.has(name)) return false;
  const [binding, another] = cell.bound.get(name) ?? [];
  if (another) return false;
  if (!binding ? hasFailed : binding.isTop && binding.kind) {
    const { value } = valueOf(name);
    return util.types.isPromise(value) && lacks(value, key);
  }
  const { kind, init, scope } = binding ?? {};
  return hasFailed && kind === 'const' && init?.type === 'CallExpression' && scope.start <= start && end <= scope.end
    && isAsynchronous(init, cell, hasFailed) && lacks(Promise.prototype, key);
}

// Whether the call gives a promise. What an earlier run has defined may be another function by the end of this one.
function isAsynchronous({ callee }, cell, hasFailed) {
  const path = pathOf(callee);
  if (path === undefined) return false;
  const [root] = path.split('.');
  if (cell.assigned.has(root)) return false;
  const bindings = cell.bound.get(root) ?? [];
  if (bindings.length > 1 || bindings.some(({ isTop }) => !isTop)) return false;
  if (!hasFailed && bindings.length === 0 && path !== 'hutch.sql' && path !== 'fetch') return false;
  const { value } = valueOf(path);
  return util.types.isAsyncFunction(value) || (value !== undefined && value === fetch);
}

// `a.b.c` as it is written, of plain names alone.
function pathOf({ type, name, object, property, computed }) {
  if (type === 'Identifier') return name;
  if (type !== 'MemberExpression' || computed || property.type !== 'Identifier') return undefined;
  const path = pathOf(object);
  return path && `${path}.${property.name}`;
}

// undefined where only the run could tell.
function keyOf({ property, computed }) {
  if (!computed) return property.type === 'Identifier' ? property.name : undefined;
  return property.type === 'Literal' ? String(property.value) : undefined;
}

// Whether an object has no such member, without running any code.
function lacks(object, key) {
  for (let one = object; one !== null; one = Object.getPrototypeOf(one)) {
    if (util.types.isProxy(one) || Object.hasOwn(one, key)) return false;
  }
  return true;
}

// Returns what a name of the cells leads to, without running any code.
function valueOf(path) {
  let value = globalThis;
  for (const name of path.split('.')) {
    const property = value !== null && /^(object|function)$/.test(typeof value) && !util.types.isProxy(value)
      ? Object.getOwnPropertyDescriptor(value, name) : undefined;
    if (!property || !('value' in property)) return {};
    ({ value } = property);
  }
  return { value };
}
