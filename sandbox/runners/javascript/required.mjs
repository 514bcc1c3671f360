// CommonJS modules whose files have been edited: node keeps them for ever, and the user means what is there now.

import fs from 'node:fs';
import nodeModule from 'node:module';
import { Map, Object, Set } from './intrinsics.mjs';

const { _cache: cache } = nodeModule;
const stamps = new Map(); // file -> as it was when its module was first seen here
const versions = new Map(); // file -> how often its module was dropped

export function stampOf(file) {
  const { mtimeMs, size, ino } = fs.statSync(file, { throwIfNoEntry: false }) ?? {};
  return `${mtimeMs} ${size} ${ino}`;
}

const IN_A_PACKAGE = /\/node_modules\/|^(?:file:\/\/)?\/usr\/(?:share|lib(?:\/[^/]+)?)\/nodejs\//; // the latter are Debian's

// Packages stay as they are: they are large, and nobody edits them.
export function isOwn(file) {
  return !IN_A_PACKAGE.test(file);
}

export function versionOf(file) {
  return versions.get(file) ?? 0;
}

// Drops edited modules, and all of the user's own that have required them.
export function dropEdited() {
  const own = Object.keys(cache).filter(isOwn);
  const stale = new Set();
  for (const file of own) {
    if (!stamps.has(file)) stamps.set(file, stampOf(file));
    else if (stamps.get(file) !== stampOf(file)) stale.add(file);
  }
  if (stale.size === 0) return;
  for (let before = -1; before !== stale.size;) {
    before = stale.size;
    for (const file of own) if (cache[file]?.children?.some(({ filename }) => stale.has(filename))) stale.add(file);
  }
  for (const file of stale) {
    delete cache[file];
    stamps.delete(file);
    versions.set(file, versionOf(file) + 1);
  }
}
