// import and require for cells, and for the TypeScript files that they load.

import fs from 'node:fs';
import { builtinModules, createRequire } from 'node:module';
import { resolveImport } from './resolve.mjs';
import { URL, fileURLToPath, pathToFileURL } from 'node:url';
import path from 'node:path';
import process from 'node:process';
import { watchPrograms } from './absent_programs.mjs';
import { folderWith, whatToWaitFor } from './installs.mjs';
import { importFile, isNodes } from './module_files.mjs';
import { seePackageOf, seePackages } from './newer_packages.mjs';
import { dropEdited, isOwn } from './required.mjs';
import { findFile, requireTypeScript } from './typescript_files.mjs';
import { Error, JSON, Map, Object, Set, String } from './intrinsics.mjs';

export const WORKSPACE = '/workspace';

// Where a cell looks for packages: as a file in the working directory would, then what belongs to
// the session, then what `npm install -g` has put into the home directory.
function searchFolders() {
  const home = process.env.HOME ?? '/home/user';
  return [...new Set([process.cwd(), WORKSPACE, path.join(home, '.local/lib')])];
}

// `main` is the module that a cell is.
export function makeRequire(main) {
  requireTypeScript();
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
    watchWhatStarts(name);
    if (typeof name !== 'string' || builtinModules.includes(name) || name.startsWith('node:')) {
      return from(name);
    }
    dropEdited();
    try {
      return from(resolve(name));
    } finally {
      dropEdited(); // which looks at what is new
      seePackages();
    }
  };
  return Object.assign(require, { resolve, cache: base().cache, extensions: base().extensions, main });
}

// Programs are started by one of node's modules, which any package may use.
function watchWhatStarts(name) {
  if (!isNodes(String(name)) || /^(?:node:)?child_process$/.test(name)) watchPrograms();
}

let hasToldHowToGet = false; // which need not be read with each package

function howToGet() {
  if (hasToldHowToGet) return 'no session installs any here: the first such error says who can change that';
  hasToldHowToGet = true;
  return 'on the machine that runs hutch `hutch environments build` gives new sessions what is used most, with ' +
    '--npm package.json what you list, `hutch stdio --packages` lets sessions install packages; or put its folder ' +
    `into ${WORKSPACE}/node_modules`;
}

function missing(name) {
  const [, packageName] = name.match(/^((?:@[^/]+\/)?[^/]+)/) ?? [null, name];
  const { awaited, others } = whatToWaitFor(packageName);
  const there = awaited ? null : folderWith(packageName, WORKSPACE, searchFolders());
  return notFound(
    `Cannot find package '${name}' (searched node_modules of ${searchFolders().join(', ')}); ` +
    (awaited ? `${awaited}; then run this again`
    : there ? `${there} has it: process.chdir(${JSON.stringify(there)}) lets it be found`
    : process.env.HUTCH_ASK_npm
      ? 'install_packages with manager npm installs it, in a session that create_session makes with network ' +
        JSON.stringify({ allow: [process.env.HUTCH_ASK_npm] })
    : process.env.HUTCH_NETWORK
      ? "install_packages with manager npm installs it, where the session's network policy allows"
      : howToGet()) +
    (others ? `; meanwhile ${others}` : ''),
  );
}

function notFound(message) {
  return Object.assign(new Error(message), { code: 'MODULE_NOT_FOUND' });
}

// Namespace -> { specifier, folder, url } of the import that gave it.
export const imported = new Map();

export async function importModule(name, options, names = [], folder = process.cwd()) {
  const specifier = String(name);
  const type = options?.with?.type ?? options?.assert?.type;
  const loaded = await load(specifier, type, folder);
  for (const wanted of names) {
    if (!(wanted in loaded)) {
      throw new SyntaxError(`The requested module '${specifier}' does not provide an export named '${wanted}'`);
    }
  }
  return loaded;
}

// import() of a file, whose URL it is.
export function importFrom(base) {
  return (name, options) => importModule(name, options, [], path.dirname(fileURLToPath(base)));
}

// import.meta of a file.
export function metaOf(base) {
  const filename = fileURLToPath(base);
  const dirname = path.dirname(filename);
  return { url: base, dirname, filename, resolve: (name) => String(isNodes(name) ? name : locate(name, dirname)) };
}

async function load(specifier, type, folder) {
  const note = (namespace, url) => {
    imported.set(namespace, { specifier, folder, url });
    return namespace;
  };
  watchWhatStarts(specifier);
  if (isNodes(specifier)) return note(await import(specifier), '');
  const url = locate(specifier, folder);
  // Node 18 and 20 differ in how they want JSON to be asked for.
  if (type === 'json') return { default: JSON.parse(fs.readFileSync(url, 'utf8')) };
  const isFile = isOwn(url.pathname) && !url.search;
  const loaded = await (isFile ? importFile(fileURLToPath(url), locate) : import(url.href));
  if (!isFile) seePackageOf(url.pathname);
  seePackages();
  return note(loaded, url.href);
}

function locate(specifier, folder) {
  if (/^(file:|\.{0,2}\/|\.{1,2}$)/.test(specifier)) {
    const wanted = specifier.startsWith('file:') ? new URL(specifier) : pathToFileURL(path.resolve(folder, specifier));
    const found = findFile(fileURLToPath(wanted));
    if (!found) throw notFound(`Cannot find module '${fileURLToPath(wanted)}', as it is or as .ts, .tsx or .js`);
    return Object.assign(pathToFileURL(found), { search: wanted.search });
  }
  for (const start of [folder, ...searchFolders()]) {
    const found = resolveImport(specifier, start);
    if (found) return pathToFileURL(found);
  }
  throw missing(specifier);
}
