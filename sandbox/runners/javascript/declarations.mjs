// Makes global variables of what a cell declares at its top.
//
// V8 keeps `let`, `const` and `class` of a script for ever, and refuses a name that comes again as something else.
// So they become `var`, which any later run may declare as anything. What `const` refuses is looked for in its
// own cell; for later runs it is a variable like the others.

import { Map, Object, Set } from './intrinsics.mjs';

// Edits the program by edit(start, end, text). Returns { names, unset }: what it declares, and what of that
// shall be undefined when it begins.
export function declareGlobally(program, edit, visit) {
  const names = new Set();
  const unset = [];
  const constants = new Set();
  for (const statement of program.body) {
    const node = /^Export(Named|Default)Declaration$/.test(statement.type) ? statement.declaration : statement;
    if (node?.type === 'ClassDeclaration' && node.id) {
      names.add(node.id.name);
      edit(node.start, node.start, `var ${node.id.name} = `);
      edit(node.end, node.end, ';');
    } else if (node?.type === 'ImportDeclaration') {
      for (const { local } of node.specifiers) names.add(local.name);
    } else if (node?.type === 'VariableDeclaration' && node.kind !== 'var') {
      edit(node.start, node.start + node.kind.length, 'var'.padEnd(node.kind.length));
      for (const { id, init } of node.declarations) {
        const bound = namesOf(id);
        for (const name of bound) {
          names.add(name);
          if (node.kind === 'const') constants.add(name);
          if (!init) unset.push(name);
        }
      }
    }
  }
  refuseAssignments(program, constants, edit, visit);
  return { names, unset };
}

// Enums and namespaces of TypeScript, which without its types are `var X = (…)(X || {})` and `(…)(X || (X = {}))`:
// so that one of an earlier cell would go on in the next. Within a cell their parts make one.
export function mergedNames(program) {
  const declared = new Set();
  const calls = [];
  for (const statement of program.body) {
    const node = statement.type === 'ExportNamedDeclaration' ? statement.declaration : statement;
    if (node?.type === 'ExpressionStatement') calls.push(node.expression);
    if (node?.type !== 'VariableDeclaration') continue;
    for (const { id, init } of node.declarations) {
      if (id.type === 'Identifier') declared.add(id.name);
      calls.push(init);
    }
  }
  return calls.map(goesOnWith).filter((name) => declared.has(name));
}

function goesOnWith(call) {
  if (call?.type !== 'CallExpression' || !/^(Arrow)?FunctionExpression$/.test(call.callee.type)) return undefined;
  const [argument] = call.arguments;
  if (argument?.type !== 'LogicalExpression' || argument.operator !== '||') return undefined;
  const { left, right } = argument;
  const fresh = right.type === 'AssignmentExpression' ? right.right : right;
  return fresh.type === 'ObjectExpression' && fresh.properties.length === 0 ? left.name : undefined;
}

// Makes what a cell declares variables that can be set: of `crypto` node has a getter only, for one.
export function prepareGlobals({ names, unset }) {
  for (const name of names) {
    const there = Object.getOwnPropertyDescriptor(globalThis, name);
    if (there?.get && !there.set && there.configurable) {
      Object.defineProperty(globalThis, name, { value: globalThis[name], writable: true });
    }
  }
  for (const name of unset) if (Object.hasOwn(globalThis, name)) globalThis[name] = undefined;
}

// Where a name is bound a second time in the cell, an assignment may mean that one.
function refuseAssignments(program, constants, edit, visit) {
  if (constants.size === 0) return;
  const bound = new Map();
  const assigned = [];
  const bind = (pattern) => pattern && namesOf(pattern).forEach((name) => bound.set(name, (bound.get(name) ?? 0) + 1));
  visit(program, (node) => {
    if (node.type === 'VariableDeclarator') bind(node.id);
    else if (/Function/.test(node.type)) [node.id, ...node.params].forEach(bind);
    else if (/^Class(Declaration|Expression)$/.test(node.type)) bind(node.id);
    else if (node.type === 'CatchClause') bind(node.param);
    else if (node.type === 'AssignmentExpression' || node.type === 'UpdateExpression') assigned.push(node);
  });
  for (const { type, start, end, left, right, argument } of assigned) {
    const { name } = left ?? argument;
    if (!constants.has(name) || bound.get(name) !== 1) continue;
    if (type === 'UpdateExpression') {
      edit(start, end, '__hutch__.refuse()');
    } else {
      edit(right.start, right.start, '__hutch__.refuse(');
      edit(right.end, right.end, ')');
    }
  }
}

export function namesOf(pattern) {
  switch (pattern?.type) {
    case 'Identifier': return [pattern.name];
    case 'ObjectPattern': return pattern.properties.flatMap((one) => namesOf(one.value ?? one.argument));
    case 'ArrayPattern': return pattern.elements.flatMap(namesOf);
    case 'AssignmentPattern': return namesOf(pattern.left);
    case 'RestElement': return namesOf(pattern.argument);
    default: return [];
  }
}
