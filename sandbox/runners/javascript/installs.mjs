// What is being installed: code that misses it is told to wait for that, and not to install it.

import fs from 'node:fs';
import path from 'node:path';
import { Object, Set, String } from './intrinsics.mjs';

const MANAGERS = new Set(['pip', 'pip3', 'uv', 'npm', 'npm-cli.js']);
const ACTIONS = new Set(['install', 'add', 'i', 'ci']);
const PROCESSES_MAX = 1000;
const SHOWN_MAX = 200;
const FOLDERS_MAX = 300;

let ofRuns = {}; // what is installed, by run: those that were queued or on when this one began

export function beginInstalls(message) {
  ofRuns = message.installs ?? {};
}

// A clause; empty when nothing is being installed.
export function whatToWaitFor() {
  let told = Object.entries(ofRuns).map(([run, packages]) =>
    `${run} installs ${String(packages).slice(0, SHOWN_MAX)}: get_run tells when it has ended`);
  if (told.length === 0) told = commands().map((command) => `\`${command}\` is on`);
  return told.slice(0, 3).join('; ');
}

function commands() {
  const found = [];
  for (const process of fs.readdirSync('/proc').filter((name) => /^\d+$/.test(name)).slice(0, PROCESSES_MAX)) {
    let words;
    try {
      words = fs.readFileSync(`/proc/${process}/cmdline`, 'utf8').replace(/\0+$/, '').split('\0');
    } catch {
      continue; // it has ended
    }
    const names = words.map((word) => path.basename(word));
    const at = names.slice(0, 4).findIndex((name) => MANAGERS.has(name));
    if (at < 0 || !names.slice(at + 1, at + 3).some((name) => ACTIONS.has(name))) continue;
    found.push([names[at], ...words.slice(at + 1)].join(' ').slice(0, SHOWN_MAX));
  }
  return found;
}

// A folder below `top` whose node_modules has the package, though no cell looks there; null when there is none.
export function folderWith(name, top) {
  const wait = [top];
  for (let seen = 0; wait.length > 0 && seen < FOLDERS_MAX; seen += 1) {
    const folder = wait.shift();
    if (fs.existsSync(path.join(folder, 'node_modules', name))) return folder;
    let entries = [];
    try {
      entries = fs.readdirSync(folder, { withFileTypes: true });
    } catch {
      continue; // nobody may look into it
    }
    for (const entry of entries) {
      if (entry.isDirectory() && entry.name !== 'node_modules' && !entry.name.startsWith('.')) wait.push(path.join(folder, entry.name));
    }
  }
  return null;
}
