// TypeScript files as modules, which node itself loads late or never: for import (module_files.mjs) as JavaScript,
// for require by node's own way for a new suffix.

import fs from 'node:fs';
import nodeModule from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { rememberSource } from './errors.mjs';
import { translateFile } from './typescript.mjs';
import { Error, String } from './intrinsics.mjs';

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

// As an ES module.
export function translatedModule(file) {
  return read(file, String(pathToFileURL(file)), 'esm').code;
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
