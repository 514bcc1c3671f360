// Classes by their source: what of it gives which member, and how it is evaluated anew.
//
// A class is evaluated once more with its methods alone. What stands in it and would run again (heritage,
// computed names, static fields and blocks) is put there as a value, or left away: static fields come back as
// all other properties do.

import { parse } from './syntax.mjs';
import { Array, Object, Set } from './intrinsics.mjs';

const GIVEN = '__hutch__.given';
const KNOWN_NAME = /^(?:Symbol\.\w+|Symbol\.for\((?:'[^'\\]*'|"[^"\\]*")\)|'[^'\\]*'|"[^"\\]*"|\d+)$/;

// Reads a class's source, by places in it. `members`: methods, as { isStatic, slot, key, text, computed }, without
// a key where that is computed, but with the place of it. `blank`: what would run again. `heritage`, `staticSecrets`:
// what has a value. `hasSecrets`: whether its objects have private fields.
export function partsOf(source) {
  const { body: [{ expression }] } = parse(`(${source})`, '');
  const place = ({ start, end }) => ({ start: start - 1, end: end - 1 });
  const parts = { members: [], blank: [], staticSecrets: [], hasSecrets: false, problem: null };
  parts.heritage = expression.superClass ? place(expression.superClass) : null;
  for (const node of expression.body.body) {
    const { start, end } = place(node);
    if (node.type === 'StaticBlock') parts.blank.push({ start, end });
    else if (node.key.type === 'PrivateIdentifier') addSecret(parts, node, place);
    else if (node.type === 'MethodDefinition') addMethod(parts, node, source, place);
    else if (node.static) parts.blank.push({ start, end });
    else if (node.computed && !KNOWN_NAME.test(source.slice(node.key.start - 1, node.key.end - 1))) {
      parts.problem = 'a class with fields whose names are computed';
    }
  }
  return parts;
}

function addSecret(parts, node, place) {
  if (!node.static) parts.hasSecrets = true;
  else if (node.type === 'PropertyDefinition') {
    const value = node.value && place(node.value);
    parts.staticSecrets.push({ name: `#${node.key.name}`, after: place(node.key).end, value });
  }
}

function addMethod(parts, node, source, place) {
  if (node.kind === 'constructor') return;
  const { start, end } = place(node);
  const slot = node.kind === 'method' ? 'value' : node.kind;
  const text = source.slice(start, end).replace(node.static ? /^static\s+/ : /^/, '');
  const key = node.computed ? undefined : node.key.name ?? `${node.key.value}`;
  parts.members.push({ isStatic: node.static, slot, key, text, computed: node.computed ? place(node.key) : null });
}

// The edits that evaluating it anew needs: { start, end, text }, with given[i] in place of what was computed.
export function editsOf(parts, isHeritageGiven) {
  const edits = [];
  let count = 0;
  const give = (before, { start, end }) => {
    edits[edits.length] = { start, end, text: `${before}${GIVEN}[${count}]` };
    count += 1;
  };
  for (const { computed } of parts.members) if (computed) give('', computed);
  for (const { after, value } of parts.staticSecrets) {
    give(value ? '' : ' = ', value ?? { start: after, end: after });
  }
  for (const { start, end } of parts.blank) edits[edits.length] = { start, end, text: '' };
  if (parts.heritage && isHeritageGiven) edits[edits.length] = { ...parts.heritage, text: '__hutch__.base' };
  return edits;
}

// Names that a source uses as variables, of those given; and whether it uses `this` of what is around it.
export function variablesIn(source, names) {
  const used = new Set();
  let program;
  for (const [before, after] of [['(', ')'], ['({', '})']]) {
    try {
      program = parse(`${before}${source}${after}`, '');
      break;
    } catch {
      // It is a method, then.
    }
  }
  if (!program) return { used: names, usesThis: false };
  const look = (node) => {
    if (node.type === 'Identifier') used.add(node.name);
    if (node.type === 'MemberExpression' && !node.computed) return look(node.object);
    if (node.type === 'Property' && !node.computed && !node.shorthand) return look(node.value);
    for (const child of Object.values(node)) {
      if (Array.isArray(child)) child.forEach((one) => one?.type && look(one));
      else if (child?.type) look(child);
    }
    return undefined;
  };
  look(program);
  const { expression } = program.body[0];
  const isArrow = expression.type === 'ArrowFunctionExpression';
  return { used: names.filter((name) => used.has(name)), usesThis: isArrow && usesThis(expression) };
}

function usesThis(node) {
  if (node.type === 'ThisExpression' || node.type === 'Super') return true;
  if (node.type === 'MetaProperty' && node.meta.name === 'new') return true;
  if (node.type === 'Identifier' && node.name === 'arguments') return true;
  if (/^Function/.test(node.type) || /^Class/.test(node.type)) return false;
  return Object.values(node).some((child) => (Array.isArray(child)
    ? child.some((one) => one?.type && usesThis(one)) : Boolean(child?.type) && usesThis(child)));
}
