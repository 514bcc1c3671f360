// Where a file is that code has looked for elsewhere, or under a name that is written otherwise; and which folders can only be
// read. The same for Python: ../interpreter/near_files.py.

import fs from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { Set } from './intrinsics.mjs';

const ENTRIES_MAX = 2_000; // looked at for one failure
const TOLD_MAX = 2;
const WORKSPACE = '/workspace';
const OWN_FOLDERS = ['node_modules', '__pycache__']; // tools make them

// Finds files called so, or nearly so, in the working directory, in /workspace and its folders, and in granted folders; or nothing.
export function wordsFor(wanted) {
  const name = nameOf(wanted);
  if (!name || fs.existsSync(wanted)) return '';
  const found = [];
  let count = 0;
  for (const entry of entries()) {
    if ((count += 1) > ENTRIES_MAX) break;
    if (folded(nameOf(entry)) === folded(name)) found.push(entry);
  }
  const same = found.filter((entry) => nameOf(entry) === name);
  const there = [];
  const known = new Set();
  for (const entry of same.length ? same : found) {
    if (!fs.existsSync(entry) || known.has(fs.realpathSync(entry))) continue;
    known.add(fs.realpathSync(entry));
    there.push(entry);
  }
  return there.length ? `${wordsForFolder(wanted)}there is ${there.slice(0, TOLD_MAX).join(' and ')}` : '';
}

// Whoever wants to make something in the session has to make its folder first. Other paths are of another machine.
function wordsForFolder(wanted) {
  const folder = path.dirname(wanted);
  const isOwn = !folder.startsWith('/') || folder.startsWith(`${WORKSPACE}/`);
  return !isOwn || fs.existsSync(folder) ? '' : `there is no folder ${folder}; `;
}

// Where else to write, for a path in a granted folder that can only be read; or nothing, as where code may not read it either.
export function wordsForReadOnly(wanted) {
  const [folder] = path.resolve(wanted).match(/^\/mnt\/[^/]+/) ?? [];
  if (!folder || !isReadOnly(folder) || (fs.existsSync(wanted) && !isReadable(wanted))) return '';
  return `${folder} is read-only: write to ${WORKSPACE}`;
}

function isReadOnly(folder) {
  const mounts = fs.readFileSync('/proc/self/mounts', 'utf8').split('\n').map((line) => line.split(' '));
  const [, , , options = ''] = mounts.findLast(([, place]) => place === folder.replaceAll(' ', '\\040')) ?? [];
  return options.split(',').includes('ro');
}

function isReadable(wanted) {
  try {
    fs.accessSync(wanted, fs.constants.R_OK);
    return true;
  } catch {
    return false;
  }
}

// The nearest first.
function* entries() {
  const upper = [];
  for (const folder of new Set([...ownFolder(), WORKSPACE, ...listed('/mnt')])) {
    for (const entry of listed(folder)) {
      upper.push(entry);
      yield entry;
    }
  }
  for (const entry of upper) {
    const name = nameOf(entry);
    if (path.dirname(entry) === WORKSPACE && !OWN_FOLDERS.includes(name) && !name.startsWith('.')) yield* listed(entry);
  }
}

function ownFolder() {
  try {
    return [process.cwd()];
  } catch {
    return []; // it is gone
  }
}

function* listed(folder) {
  let open;
  try {
    open = fs.opendirSync(folder);
    for (let entry = open.readSync(); entry; entry = open.readSync()) yield path.join(folder, entry.name);
  } catch {
    // It is no folder, or may not be read.
  } finally {
    open?.closeSync();
  }
}

function nameOf(wanted) {
  return path.basename(wanted.replaceAll('\\', '/'));
}

// Makes names alike that differ by case, by what stands between words, and by how accents are written.
function folded(name) {
  return name.normalize('NFC').toLowerCase().replace(/[ -]/g, '_');
}
