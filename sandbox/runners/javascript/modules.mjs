// import and require for cells.
//
// The inspector evaluates scripts, in which V8 knows no import. So static imports, import() and
// import.meta become calls of `__hutch__.import`, in place and line by line, as acorn finds them.

import fs from 'node:fs';
import { builtinModules, createRequire } from 'node:module';
import { resolveImport } from './resolve.mjs';
import { pathToFileURL } from 'node:url';
import path from 'node:path';
import { Array, Error, JSON, Map, Object, String } from './intrinsics.mjs';

const WORKSPACE = '/workspace';

// --- parsing ---------------------------------------------------------------------------------------

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

// The cell as a script. Lines stay where they are: tracebacks count them.
export function rewriteImports(source, cell) {
  if (!/\b(import|export)\b/.test(source)) return source;
  let program;
  try {
    program = parse(source, cell);
  } catch (error) {
    // Without imports V8 itself says best what is wrong.
    if (!/^\s*(import|export)\b\s*[^(.\s]/m.test(source)) return source;
    throw error;
  }
  const edits = [];
  const edit = (start, end, text) => {
    const lines = source.slice(start, end).split('\n').length - 1;
    edits.push({ start, end, text: text + '\n'.repeat(lines) });
  };
  visit(program, (node) => rewriteNode(node, source, edit));
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

function rewriteNode(node, source, edit) {
  switch (node.type) {
    case 'ImportExpression':
      return edit(node.start, node.start + 'import'.length, '__hutch__.import');
    case 'MetaProperty':
      return node.meta.name === 'import' && edit(node.start, node.end, '__hutch__.meta');
    case 'ImportDeclaration':
      return edit(node.start, node.end, importStatement(node));
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

function importStatement(node) {
  const names = [];
  const bindings = [];
  let everything = null;
  for (const specifier of node.specifiers) {
    if (specifier.type === 'ImportNamespaceSpecifier') {
      everything = specifier.local.name;
    } else {
      const name = specifier.type === 'ImportDefaultSpecifier'
        ? 'default' : specifier.imported.name ?? specifier.imported.value;
      names.push(name);
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

// --- loading ---------------------------------------------------------------------------------------

// Where a cell looks for packages: as a file in the working directory would, then what belongs to
// the session, then what `npm install -g` has put into the home directory.
function searchFolders() {
  const home = process.env.HOME ?? '/home/user';
  return [process.cwd(), WORKSPACE, path.join(home, '.local/lib')];
}

export function makeRequire() {
  const base = () => createRequire(path.join(process.cwd(), 'cell.js'));
  const resolve = (name, options) => {
    if (options?.paths || builtinModules.includes(name) || /^(node:|\.{0,2}\/)/.test(name)) {
      return base().resolve(name, options);
    }
    try {
      return base().resolve(name, { paths: searchFolders() });
    } catch (error) {
      if (error.code !== 'MODULE_NOT_FOUND') throw error;
      throw missing(name);
    }
  };
  const require = (name) => {
    const from = base();
    if (typeof name !== 'string' || builtinModules.includes(name) || name.startsWith('node:')) {
      return from(name);
    }
    return from(resolve(name));
  };
  return Object.assign(require, { resolve, cache: base().cache, extensions: base().extensions, main: undefined });
}

function missing(name) {
  const error = new Error(
    `Cannot find package '${name}' (searched node_modules of ${searchFolders().join(', ')}); ` +
    'there is no network to install it from: npm install it on the machine that runs hutch and put its folder ' +
    `into ${WORKSPACE}/node_modules`,
  );
  error.code = 'MODULE_NOT_FOUND';
  return error;
}

const seen = new Map(); // file -> its time when it was last imported

export async function importModule(name, options, names = []) {
  const specifier = String(name);
  const type = options?.with?.type ?? options?.assert?.type;
  const loaded = await load(specifier, type);
  for (const wanted of names) {
    if (!(wanted in loaded)) {
      throw new SyntaxError(`The requested module '${specifier}' does not provide an export named '${wanted}'`);
    }
  }
  return loaded;
}

async function load(specifier, type) {
  if (builtinModules.includes(specifier) || /^(node|data):/.test(specifier)) return import(specifier);
  const file = specifier.startsWith('file:') ? new URL(specifier) : locate(specifier);
  // Node 18 and 20 differ in how they want JSON to be asked for.
  if (type === 'json') return { default: JSON.parse(fs.readFileSync(file, 'utf8')) };
  return import(fresh(file));
}

function locate(specifier) {
  if (/^\.{0,2}\//.test(specifier)) return pathToFileURL(path.resolve(process.cwd(), specifier));
  for (const folder of searchFolders()) {
    const found = resolveImport(specifier, folder);
    if (found) return pathToFileURL(found);
  }
  throw missing(specifier);
}

// A file that has changed since its last import is loaded again, as one would expect while editing.
function fresh(file) {
  if (file.pathname.includes('/node_modules/')) return file.href;
  const time = fs.statSync(file, { throwIfNoEntry: false })?.mtimeMs;
  const before = seen.get(file.href);
  if (!before) seen.set(file.href, { time, query: '' });
  else if (before.time !== time) seen.set(file.href, { time, query: `?changed=${time}` });
  return file.href + seen.get(file.href).query;
}
