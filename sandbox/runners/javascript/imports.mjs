// Rewrites cells and modules, in place and line by line.
//
// The inspector evaluates cells as scripts, in which V8 knows no import: there static imports, import() and
// import.meta become calls of `__hutch__`, and what is declared becomes global (declarations.mjs).
// In modules, imports get the URLs of what they mean.

import { declareGlobally, mergedNames } from './declarations.mjs';
import { chained, edited } from './edits.mjs';
import { parse, visit } from './syntax.mjs';
import { JSON, Set } from './intrinsics.mjs';

const FOLLOWED_CHARACTERS_MAX = 2_000_000; // larger ones were put together by a program

// The cell as a script: { code, map, names, unset }, with what it declares; without a map where it stays as it is,
// and with `mistake` where that is because it has one. Of TypeScript, which has lost its types, an imported name
// that nothing uses may have been one of them, and need not be there.
export function toScript(source, cell, isTypeScript) {
  const literal = asObject(source);
  if (literal) {
    const script = toScript(literal.code, cell, isTypeScript);
    return { ...script, map: chained(script.map, literal.map) };
  }
  const asItIs = { code: source, map: null, names: new Set(), unset: [] };
  if (!isTypeScript && !/\b(import|export|const|let|class)\b/.test(source)) return asItIs;
  let program;
  try {
    program = parse(source, cell);
  } catch (error) {
    // Without imports V8 itself says best what is wrong.
    if (!/^\s*(import|export)\b\s*[^(.\s]/m.test(source)) return { ...asItIs, mistake: error };
    throw error;
  }
  const used = isTypeScript ? usedNames(program) : undefined;
  let declared;
  const edits = collect((edit) => {
    visit(program, (node) => rewriteNode(node, edit, used));
    declared = declareGlobally(program, edit, visit);
  });
  for (const name of isTypeScript ? mergedNames(program) : []) {
    declared.names.add(name);
    declared.unset.push(name);
  }
  // To ECMAScript the value of `app.get(…); const server = app.listen()` is app: nobody has asked for that.
  const endsInDeclaration = /^(Variable|Class)Declaration$/.test(program.body.at(-1)?.type);
  return { ...edited(source, edits), ...declared, endsInDeclaration };
}

// A cell that is an object literal, and to ECMAScript a block, as that literal; undefined for any other.
function asObject(source) {
  if (!source.trimStart().startsWith('{') || !source.trimEnd().endsWith('}')) return undefined;
  const literal = edited(source, [{ start: 0, end: 0, text: '(' }, { start: source.length, end: source.length, text: ')' }]);
  try {
    const { expression } = parse(literal.code, '').body[0];
    // `foo(x) { … }` may be a call and a block as well as a method, and a comment alone is nothing.
    const { properties } = expression;
    return properties?.some(({ method }) => method) || (properties?.length === 0 && source.trim() !== '{}') ? undefined : literal;
  } catch {
    return undefined;
  }
}

// Returns the identifiers of a program outside its imports.
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
  const rewrite = (node, edit) => {
    if (node.type === 'ImportExpression') edit(node.start, node.start + 'import'.length, kept('importFrom'));
    else if (node.type === 'MetaProperty' && node.meta.name === 'import') edit(node.start, node.end, kept('metaOf'));
    else if (/^(Import|Export(All|Named))Declaration$/.test(node.type) && node.source) {
      edit(node.source.start, node.source.end, JSON.stringify(urlOf(node.source.value)));
    }
  };
  return edited(source, collect((edit) => visit(parse(source, base), (node) => rewrite(node, edit)))).code;
}

// Returns what a module imports, as it is written there; [] where it cannot be read.
export function importedBy(source) {
  const specifiers = [];
  if (!/\b(import|export)\b/.test(source) || source.length > FOLLOWED_CHARACTERS_MAX) return specifiers;
  try {
    visit(parse(source, ''), ({ type, source: from }) => {
      if (/^(Import|Export).*(Declaration|Expression)$/.test(type) && typeof from?.value === 'string') specifiers.push(from.value);
    });
  } catch {
    // Its import will say what is wrong.
  }
  return specifiers;
}

function collect(action) {
  const edits = [];
  action((start, end, text) => edits.push({ start, end, text }));
  return edits;
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
  if (!everything) return `var { ${bindings.join(', ')} } = ${call};`;
  const rest = bindings.length ? `, { ${bindings.join(', ')} } = ${everything}` : '';
  return `var ${everything} = ${call}${rest};`;
}
