// Whether a module of the user's may hold what a new import of it does not have, since its functions set variables of
// it. Told by its source: V8 does not show what a variable began with.

import { sourceOf } from './module_files.mjs';
import { parse, visit } from './syntax.mjs';
import { Map, Set } from './intrinsics.mjs';

const FUNCTION = /^(?:Function|ArrowFunction)/;
const EXPORTS = new Set(['exports', 'module']); // CommonJS has them; their properties are variables too
const looked = new Map(); // file -> { code, sets }

export function maySetVariables(file) {
  try {
    const { code } = sourceOf(file);
    if (looked.get(file)?.code !== code) looked.set(file, { code, sets: isSetInside(parse(code, file)) });
    return looked.get(file).sets;
  } catch {
    return true; // it is gone, or is no JavaScript: nobody knows
  }
}

function isSetInside(program) {
  const variables = new Set(EXPORTS);
  for (const one of program.body) {
    const { type, kind, declarations } = one.declaration ?? one; // which an export has
    if (type === 'VariableDeclaration' && kind !== 'const') declarations.forEach(({ id }) => addNames(id, variables));
  }
  return program.body.some((one) => outermostFunctions(one).some((inside) => sets(inside, variables)));
}

function outermostFunctions(node) {
  if (FUNCTION.test(node.type)) return [node];
  const found = [];
  for (const child of Object.values(node)) {
    for (const one of Array.isArray(child) ? child : [child]) if (one?.type) found.push(...outermostFunctions(one));
  }
  return found;
}

// A name that the function declares anywhere is taken for its own.
function sets(inside, variables) {
  const own = new Set();
  const set = new Set();
  visit(inside, (node) => {
    if (FUNCTION.test(node.type)) node.params.forEach((one) => addNames(one, own));
    if (node.type === 'VariableDeclarator') addNames(node.id, own);
    if (node.type === 'AssignmentExpression' || /^For(?:In|Of)/.test(node.type)) addNames(node.left, set);
    if (node.type === 'UpdateExpression') addNames(node.argument, set);
  });
  return [...set].some((name) => variables.has(name) && !own.has(name));
}

// Adds the names of a pattern; where a property is set, that of exports alone.
function addNames(pattern, names) {
  visit(pattern, (node) => {
    if (node.type === 'MemberExpression') return;
    if (node.type === 'Identifier') names.add(node.name);
  });
}
