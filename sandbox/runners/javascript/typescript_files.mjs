// TypeScript files as modules, which node itself loads late or never.
//
// import: the file and all TypeScript that it imports become JavaScript files in a folder of the session's state,
// where node finds them again. They name one another and all else by URL, and in tracebacks they are called
// what they were. require: node's own way for a new suffix.

import fs from 'node:fs';
import nodeModule from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import util from 'node:util';
import { rememberSource } from './errors.mjs';
import { rewriteModule } from './imports.mjs';
import { translateFile } from './typescript.mjs';
import { Error, Map, String } from './intrinsics.mjs';

const FOLDER = process.env.HUTCH_STATE_DIR ?? '/run/hutch/state';
const SUFFIXES = ['.ts', '.tsx', '.mts', '.js', '.mjs', '.cjs', '.json'];
const WRITTEN = { '.js': ['.ts', '.tsx'], '.mjs': ['.mts'] }; // TypeScript's own way: what will be there one day

export function isTypeScript(file) {
  return /\.[cm]?tsx?$/.test(file) && !file.endsWith('.d.ts');
}

// The file that a relative import means, or undefined.
export function findFile(wanted) {
  const { dir, name, ext } = path.parse(wanted);
  return [
    wanted,
    ...SUFFIXES.map((suffix) => wanted + suffix),
    ...(WRITTEN[ext] ?? []).map((suffix) => path.join(dir, name + suffix)),
    ...SUFFIXES.map((suffix) => path.join(wanted, `index${suffix}`)),
  ].find((file) => fs.statSync(file, { throwIfNoEntry: false })?.isFile());
}

const translated = new Map(); // file -> { stamp, url }
const ownUrls = new Map(); // URL of what translate() made -> that of the file
let folder;
let count = 0;

// `urlOf(specifier, folder, translate)` is the URL of what a file imports.
export async function importTypeScript(file, urlOf) {
  folder ??= fs.mkdtempSync(path.join(FOLDER, 'typescript-'));
  const made = new Map();
  try {
    const url = translate(file, made, urlOf);
    for (const [name, entry] of made) translated.set(name, entry);
    return await import(url);
  } catch (failure) {
    // Node keeps what failed; a later import begins anew.
    for (const [name, entry] of made) if (translated.get(name) === entry) translated.delete(name);
    throw withTheirNames(failure);
  }
}

function translate(file, made, urlOf) {
  const { mtimeMs, size } = fs.statSync(file);
  const stamp = `${mtimeMs} ${size}`;
  const known = made.get(file) ?? translated.get(file);
  if (known?.stamp === stamp) return known.url;
  const own = String(pathToFileURL(file));
  const target = path.join(folder, `${count += 1}.mjs`);
  const url = String(pathToFileURL(target));
  made.set(file, { stamp, url }); // first: files may import each other
  ownUrls.set(url, own);
  const { code } = read(file, own, 'esm');
  const rewritten = rewriteModule(code, own, (specifier) =>
    urlOf(specifier, path.dirname(file), (other) => translate(other, made, urlOf)));
  fs.writeFileSync(target, `${rewritten}\n//# sourceURL=${own}`);
  return url;
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

function read(file, name, format) {
  const source = fs.readFileSync(file, 'utf8');
  const done = translateFile(source, file, format);
  if (done) rememberSource(name, { source, map: done.map });
  return done;
}

// Node may know these suffixes, but not all of the language.
export function requireTypeScript() {
  for (const suffix of ['.ts', '.tsx', '.cts']) {
    nodeModule._extensions[suffix] = (module, file) => {
      const done = read(file, file, 'cjs');
      if (done) return module._compile(done.code, file);
      if (process.features.typescript) return nodeModule._extensions['.js'](module, file);
      throw new Error('require() of TypeScript needs the program esbuild (Debian: apt install esbuild)');
    };
  }
}
