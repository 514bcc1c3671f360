// Finds and rewrites imports, in place and line by line, as acorn sees them.
//
// The inspector evaluates cells as scripts, in which V8 knows no import: there static imports, import() and
// import.meta become calls of `__hutch__`. In modules, imports get the URLs of what they mean.

import { createRequire } from 'node:module';
import { Array, JSON, Object, Set } from './intrinsics.mjs';

let acorn;

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

// Throws a SyntaxError that names the place, when imports cannot be found for one.
function parse(source, cell) {
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

// The cell as a script. Lines stay where they are: tracebacks count them. Of TypeScript, which has lost its types,
// an imported name that nothing uses may have been one of them, and need not be there.
export function rewriteImports(source, cell, isTypeScript) {
  if (!/\b(import|export)\b/.test(source)) return source;
  let program;
  try {
    program = parse(source, cell);
  } catch (error) {
    // Without imports V8 itself says best what is wrong.
    if (!/^\s*(import|export)\b\s*[^(.\s]/m.test(source)) return source;
    throw error;
  }
  const used = isTypeScript ? usedNames(program) : undefined;
  return edited(source, program, (node, edit) => rewriteNode(node, edit, used));
}

// Of a program's identifiers those outside its imports.
function usedNames(program) {
  const names = new Set();
  const look = (node) => node.type === 'Identifier' && names.add(node.name);
  for (const statement of program.body) if (statement.type !== 'ImportDeclaration') visit(statement, look);
  return names;
}

// A module, with the URLs that urlOf() has for what it imports. `base` is the URL it shall believe to have.
export function rewriteModule(source, base, urlOf) {
  if (!/\b(import|export)\b/.test(source)) return source;
  const kept = (what) => `globalThis.__hutch__.${what}(${JSON.stringify(base)})`;
  return edited(source, parse(source, base), (node, edit) => {
    if (node.type === 'ImportExpression') edit(node.start, node.start + 'import'.length, kept('importFrom'));
    else if (node.type === 'MetaProperty' && node.meta.name === 'import') edit(node.start, node.end, kept('metaOf'));
    else if (/^(Import|Export(All|Named))Declaration$/.test(node.type) && node.source) {
      edit(node.source.start, node.source.end, JSON.stringify(urlOf(node.source.value)));
    }
  });
}

function edited(source, program, action) {
  const edits = [];
  const edit = (start, end, text) => {
    const lines = source.slice(start, end).split('\n').length - 1;
    edits.push({ start, end, text: text + '\n'.repeat(lines) });
  };
  visit(program, (node) => action(node, edit));
  let result = source;
  for (const { start, end, text } of edits.sort((a, b) => b.start - a.start)) {
    result = result.slice(0, start) + text + result.slice(end);
  }
  return result;
}

function visit(node, action) {
  action(node);
  for (const child of Object.values(node)) {
    if (Array.isArray(child)) child.forEach((one) => one?.type && visit(one, action));
    else if (child?.type) visit(child, action);
  }
}

function rewriteNode(node, edit, used) {
  switch (node.type) {
    case 'ImportExpression':
      return edit(node.start, node.start + 'import'.length, '__hutch__.import');
    case 'MetaProperty':
      return node.meta.name === 'import' && edit(node.start, node.end, '__hutch__.meta');
    case 'ImportDeclaration':
      return edit(node.start, node.end, importStatement(node, used));
    case 'ExportAllDeclaration':
      return edit(node.start, node.end, `await __hutch__.import(${node.source.raw});`);
    case 'ExportNamedDeclaration':
      if (node.declaration) return edit(node.start, node.declaration.start, '');
      return edit(node.start, node.end, node.source ? `await __hutch__.import(${node.source.raw});` : ';');
    case 'ExportDefaultDeclaration': {
      const { declaration } = node;
      if (declaration.id) return edit(node.start, declaration.start, '');
      edit(node.start, declaration.start, ';('); // `{` of an object would open a block
      return edit(declaration.end, declaration.end, ')');
    }
    default:
      return undefined;
  }
}

// `used`, if given: the names that must be there.
function importStatement(node, used) {
  const names = [];
  const bindings = [];
  let everything = null;
  for (const specifier of node.specifiers) {
    if (specifier.type === 'ImportNamespaceSpecifier') {
      everything = specifier.local.name;
    } else {
      const name = specifier.type === 'ImportDefaultSpecifier'
        ? 'default' : specifier.imported.name ?? specifier.imported.value;
      if (used?.has(specifier.local.name) ?? true) names.push(name);
      bindings.push(`${JSON.stringify(name)}: ${specifier.local.name}`);
    }
  }
  const attributes = node.attributes?.find((one) => (one.key.name ?? one.key.value) === 'type');
  const options = attributes ? `{ with: { type: ${attributes.value.raw} } }` : 'undefined';
  const call = `await __hutch__.import(${node.source.raw}, ${options}, ${JSON.stringify(names)})`;
  if (node.specifiers.length === 0) return `${call};`;
  if (!everything) return `const { ${bindings.join(', ')} } = ${call};`;
  const rest = bindings.length ? `, { ${bindings.join(', ')} } = ${everything}` : '';
  return `const ${everything} = ${call}${rest};`;
}
