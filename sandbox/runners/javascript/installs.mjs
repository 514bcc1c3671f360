// Knows what is being installed: code that misses it is told to wait for that, and not to install it.

import fs from 'node:fs';
import path from 'node:path';
import { Object, Set, String } from './intrinsics.mjs';

const MANAGERS = new Set(['npm', 'npm-cli.js', 'pnpm', 'yarn']);
const ACTIONS = new Set(['install', 'add', 'i', 'ci', 'clean-install']);
// A value follows that is no package.
const HAVE_VALUES = new Set([
  '-C', '-w', '--before', '--cache', '--cwd', '--dir', '--filter', '--include', '--install-strategy', '--loglevel', '--modules-folder', '--omit',
  '--prefix', '--registry', '--tag', '--userconfig', '--workspace']);
const PROCESSES_MAX = 1000;
const SHOWN_MAX = 200;
const FOLDERS_MAX = 300;

let ofRuns = {}; // packages, by installing run: those that were queued or on when this one began

export function beginInstalls(message) {
  ofRuns = {};
  for (const [run, packages] of Object.entries(message.installs ?? {})) {
    if (String(packages).startsWith('npm ')) ofRuns[run] = String(packages).slice('npm '.length);
  }
}

// Two clauses, of installs that may bring the package, and of the others; empty where there are none.
export function whatToWaitFor(name) {
  let told = Object.entries(ofRuns).map(([run, packages]) =>
    ({ packages: packages.split(', '), clause: `${run} installs ${packages}: get_run tells when it has ended` }));
  if (told.length === 0) told = commands();
  const brings = ({ packages }) => packages.length === 0 || packages.some((one) => mayBring(one, name));
  const clauseOf = (some) => some.slice(0, 3).map(({ clause }) => clause).join('; ');
  return { awaited: clauseOf(told.filter(brings)), others: clauseOf(told.filter((one) => !brings(one))) };
}

// Folders, archives and addresses may have anything in them.
function mayBring(wanted, name) {
  const isNamed = /^(@[\w.~-]+\/)?[\w~-][\w.~-]*(@.*)?$/.test(wanted) && !/\.t?gz$/.test(wanted);
  return !isNamed || wanted.replace(/(?<=.)@.*$/, '') === name;
}

function commands() {
  const found = [];
  for (const process of entriesOf('/proc').filter(({ name }) => /^\d+$/.test(name)).slice(0, PROCESSES_MAX)) {
    let words;
    try {
      words = fs.readFileSync(`/proc/${process.name}/cmdline`, 'utf8').replace(/\0+$/, '').split('\0');
    } catch {
      continue; // it has ended
    }
    if (words.length === 1) words = words[0].split(' '); // npm's title
    const names = words.map((word) => path.basename(word));
    const at = names.slice(0, 4).findIndex((name) => MANAGERS.has(name));
    const packages = at < 0 ? null : packagesOf(words.slice(at + 1));
    if (packages === null) continue;
    const command = [names[at], ...words.slice(at + 1)].join(' ').slice(0, SHOWN_MAX);
    found.push({ packages, clause: `\`${command}\` is on` });
  }
  return found;
}

// Returns what a manager with these arguments is to install, nothing where that may be anything; null where it is none.
function packagesOf(words) {
  const isValue = (at) => at > 0 && HAVE_VALUES.has(words[at - 1]);
  const [action, ...packages] = words.filter((word, at) => !word.startsWith('-') && !isValue(at));
  if (!ACTIONS.has(action)) return null;
  return action === 'ci' || action === 'clean-install' ? [] : packages;
}

function entriesOf(folder) {
  try {
    return fs.readdirSync(folder, { withFileTypes: true });
  } catch {
    return []; // nobody may look into it, or no file can be opened any more
  }
}

// A folder below `top` whose node_modules has the package, though no cell looks there; null when there is none. Cells
// look into `searched`.
export function folderWith(name, top, searched) {
  const wait = [top];
  for (let seen = 0; wait.length > 0 && seen < FOLDERS_MAX; seen += 1) {
    const folder = wait.shift();
    const isSearched = searched.some((one) => one === folder || one.startsWith(`${folder}/`));
    if (!isSearched && fs.existsSync(path.join(folder, 'node_modules', name))) return folder;
    for (const entry of entriesOf(folder)) {
      if (entry.isDirectory() && entry.name !== 'node_modules' && !entry.name.startsWith('.')) wait.push(path.join(folder, entry.name));
    }
  }
  return null;
}
