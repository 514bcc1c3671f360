// The user's own files as modules, as they are now.
//
// Node loads a URL once and for ever, whether it could or not. So a module that has changed, or that imports one, or
// whose import has failed, is imported by another URL: as a copy in a folder of the session's state, which names what
// it imports by the URLs that are right now. In tracebacks and for itself it is called what it was. So is
// TypeScript, which node loads late or never. What has not changed keeps its URL, and so its state.

import fs from 'node:fs';
import nodeModule from 'node:module';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import util from 'node:util';
import { importedBy, rewriteModule } from './imports.mjs';
import { dropEdited, isOwn, stampOf, versionOf } from './required.mjs';
import { isTypeScript, translatedModule } from './typescript_files.mjs';
import { JSON, Map, String } from './intrinsics.mjs';

const FOLDER = process.env.HUTCH_STATE_DIR ?? '/run/hutch/state';

const known = new Map(); // file -> { signature, url } of its newest import; without a signature when that has failed
const sources = new Map(); // file -> { stamp, code, imports } of a module
const ownUrls = new Map(); // URL of a copy -> that of the file
let folder;
let count = 0;

export function isNodes(specifier) {
  return nodeModule.builtinModules.includes(specifier) || /^(node|data):/.test(specifier);
}

// `locate(specifier, folder)` is the URL of the file that it means there, or throws.
export async function importFile(file, locate) {
  dropEdited();
  const made = new Map(); // file -> entry; there before what it imports is looked at: files may import each other
  try {
    return await import(urlFor(file, { locate, made, seen: new Map() }));
  } catch (failure) {
    for (const entry of made.values()) entry.signature = undefined;
    throw withTheirNames(failure);
  } finally {
    dropEdited(); // which looks at what is new
  }
}

function urlFor(file, now) {
  const reached = closureOf(file, now);
  const signature = signatureOf(reached);
  const before = known.get(file);
  if (before?.signature === signature) return before.url;
  const own = String(pathToFileURL(file));
  if (!isModule(file)) return add(file, { signature, url: before ? `${own}?changed=${count += 1}` : own }, now);
  if ([...reached.keys()].every((one) => isAsNodeSeesIt(one, now))) {
    for (const one of reached.keys()) {
      if (!known.has(one)) add(one, { signature: signatureOf(closureOf(one, now)), url: String(pathToFileURL(one)) }, now);
    }
    return own;
  }
  return copyOf(file, own, signature, now);
}

function copyOf(file, own, signature, now) {
  folder ??= fs.mkdtempSync(path.join(FOLDER, 'modules-'));
  const target = path.join(folder, `${count += 1}.mjs`);
  const url = add(file, { signature, url: String(pathToFileURL(target)) }, now);
  ownUrls.set(url, own);
  const code = rewriteModule(sourceOf(file).code, own, (specifier) => {
    if (isNodes(specifier)) return specifier;
    const there = now.locate(specifier, path.dirname(file));
    return isFollowed(there) ? urlFor(fileURLToPath(there), now) : there.href;
  });
  fs.writeFileSync(target, `${code}\n//# sourceURL=${own}`);
  return url;
}

function add(file, entry, { made }) {
  known.set(file, entry);
  made.set(file, entry);
  return entry.url;
}

// Whether an import by node itself would give what is right.
function isAsNodeSeesIt(file, now) {
  if (isTypeScript(file)) return false;
  const entry = known.get(file);
  if (!entry) return true;
  return entry.url === String(pathToFileURL(file)) && entry.signature === signatureOf(closureOf(file, now));
}

// A file and all that it imports -> its state.
function closureOf(file, now, reached = new Map()) {
  const { state, next } = lookAt(file, now);
  reached.set(file, state);
  for (const one of next) if (!reached.has(one)) closureOf(one, now, reached);
  return reached;
}

// Once for each import. CommonJS by whether it was dropped: what it requires is known only then.
function lookAt(file, { locate, seen }) {
  if (seen.has(file)) return seen.get(file);
  const ofModule = isModule(file);
  let state = ofModule || file.endsWith('.json') ? stampOf(file) : versionOf(file);
  const next = [];
  for (const specifier of ofModule ? sourceOf(file).imports : []) {
    try {
      const there = isNodes(specifier) ? undefined : locate(specifier, path.dirname(file));
      if (there && isFollowed(there)) next.push(fileURLToPath(there));
    } catch {
      state += ` without ${specifier}`;
    }
  }
  seen.set(file, { state, next });
  return seen.get(file);
}

function signatureOf(reached) {
  return JSON.stringify([...reached]);
}

function isFollowed(url) {
  return isOwn(url.pathname) && !url.search;
}

// { code, imports } of a file as it is now.
export function sourceOf(file) {
  const stamp = stampOf(file);
  if (sources.get(file)?.stamp === stamp) return sources.get(file);
  const code = isTypeScript(file) ? translatedModule(file) : fs.readFileSync(file, 'utf8');
  const source = { stamp, code, imports: importedBy(code) };
  sources.set(file, source);
  return source;
}

function isModule(file) {
  if (isTypeScript(file) || file.endsWith('.mjs')) return true;
  if (!file.endsWith('.js')) return false;
  for (let at = path.dirname(file); ; at = path.dirname(at)) {
    try {
      return JSON.parse(fs.readFileSync(path.join(at, 'package.json'), 'utf8')).type === 'module';
    } catch (failure) {
      if (failure.code !== 'ENOENT' || at === path.dirname(at)) return false;
    }
  }
}

// "The requested module '…/3.mjs' does not provide an export": node says what it has read.
function withTheirNames(failure) {
  if (!util.types.isNativeError(failure) || failure.name !== 'SyntaxError') return failure;
  const named = (text) => text.replace(/file:\/\/[^\s':]+\.mjs/g, (url) => ownUrls.get(url) ?? url);
  const { message, stack } = failure;
  failure.message = named(message);
  failure.stack = named(stack);
  return failure;
}
