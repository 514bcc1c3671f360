// Tells of packages that were installed anew after code has loaded them: node keeps what it has loaded.

import fs from 'node:fs';
import nodeModule from 'node:module';
import path from 'node:path';
import { JSON, Map, Object } from './intrinsics.mjs';

const { _cache: cache } = nodeModule;
const PACKAGE = /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/; // the innermost one
const UNCHANGING = '/environment/';
const PACKAGES_MAX = 500;
const NAMED_MAX = 3;

const seen = new Map(); // folder of a package -> { stamp, version } as they were when it was loaded
const loaded = new Map(); // file -> its module when it was last seen here

// Notes the packages whose modules have been loaded since it last was called.
export function seePackages() {
  for (const file of Object.keys(cache)) {
    const before = loaded.get(file);
    if (before === cache[file]) continue;
    loaded.set(file, cache[file]);
    seePackageOf(file, before !== undefined);
  }
}

// Loaded anew, it is what is there now: somebody has taken it out of node's cache.
export function seePackageOf(file, anew = false) {
  const folder = PACKAGE.exec(file)?.[0];
  if (!folder || folder.startsWith(UNCHANGING) || (seen.has(folder) ? !anew : seen.size >= PACKAGES_MAX)) return;
  seen.set(folder, { stamp: stampOf(folder), version: versionIn(folder) });
}

// A sentence, once for each version that came; empty where there is none, or the user has taken apart what this needs.
export function noteOfPackages() {
  try {
    return sentenceOf([...seen].filter(([folder, before]) => isNewer(folder, before)).map(([folder]) => folder));
  } catch {
    return '';
  }
}

function isNewer(folder, before) {
  const stamp = stampOf(folder);
  if (!stamp || stamp === before.stamp) return false;
  const version = versionIn(folder);
  const isOther = Boolean(version) && version !== before.version;
  seen.set(folder, { stamp, version: isOther ? version : before.version });
  return isOther;
}

function sentenceOf(folders) {
  if (folders.length === 0) return '';
  const named = folders.slice(0, NAMED_MAX).map((folder) =>
    `${folder.slice(folder.lastIndexOf('/node_modules/') + '/node_modules/'.length)} ${seen.get(folder).version}`);
  const more = folders.length > NAMED_MAX ? ` and ${folders.length - NAMED_MAX} more` : '';
  return `${named.join(', ')}${more} ${folders.length === 1 ? 'was' : 'were'} installed after import, and what runs is the code from before: `
    + 'a run with restart: true takes it up';
}

function stampOf(folder) {
  try {
    const { ctimeMs, ino } = fs.statSync(path.join(folder, 'package.json'));
    return `${ctimeMs} ${ino}`;
  } catch {
    return ''; // it has just gone, or may not be read
  }
}

function versionIn(folder) {
  try {
    return JSON.parse(fs.readFileSync(path.join(folder, 'package.json'), 'utf8')).version ?? '';
  } catch {
    return ''; // it has just gone
  }
}
