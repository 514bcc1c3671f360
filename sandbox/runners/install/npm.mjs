// npm in few words, for install_packages: into /workspace, where cells of JavaScript and programs of bash both look,
// wherever bash happens to be. While it works for longer one line, written over again and again; at the end what is there now.
//
//     node npm.mjs ARGUMENT...      arguments of `npm install`

import { spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';

const FOLDER = '/workspace';
const LOG = '/tmp/install_packages.log';
const LINES_OF_FAILURE = 12;
const NAMED_MAX = 12;
const NEWEST_EVERY_MS = 1000;
const QUIET_MS = 5000; // most installs are over by then, and of lines that were written over an answer has to say so

const begun = Date.now();
const before = packages();
let hasTold = false;

const log = fs.openSync(LOG, 'w');
const npm = spawn('npm', ['install', '--no-audit', '--no-fund', '--loglevel', 'error', ...process.argv.slice(2)],
  { cwd: FOLDER, stdio: ['ignore', 'pipe', 'pipe'] });
let said = '';
for (const stream of [npm.stdout, npm.stderr]) {
  stream.setEncoding('utf8').on('data', (text) => {
    said += text;
    fs.writeSync(log, text);
  });
}
const newest = setInterval(() => {
  if (Date.now() - begun < QUIET_MS) return;
  hasTold = true;
  const seconds = Math.round((Date.now() - begun) / 1000);
  process.stdout.write(`\rnpm installs since ${seconds} s, ${names().length} packages are there`);
}, NEWEST_EVERY_MS);
process.on('SIGINT', () => {}); // npm has it, too, and says how it ends
let isOver = false; // both may come
npm.on('error', (failure) => end(failure.code === 'ENOENT' ? 127 : 1, `npm: ${failure.message}\n`));
npm.on('close', (code, signal) => end(signal ? 130 : code, said));

function end(status, text) {
  if (isOver) return;
  isOver = true;
  clearInterval(newest);
  process.stdout.write(`${hasTold ? '\r' : ''}${status === 0 ? '' : 'npm has failed\n'}`);
  if (status === 0) tellEnd();
  else tellFailure(text);
  process.exitCode = status;
}

function tellEnd() {
  const now = packages();
  const fresh = [...now].filter(([name, version]) => before.get(name) !== version);
  const { dependencies, devDependencies } = manifest(path.join(FOLDER, 'package.json'));
  const asked = new Set(Object.keys({ ...dependencies, ...devDependencies }));
  const named = (list) => list.slice(0, NAMED_MAX).map(([name, version]) =>
    `${name} ${version}${before.has(name) ? ` (was ${before.get(name)})` : ''}`).join(', ')
    + (list.length > NAMED_MAX ? ` and ${list.length - NAMED_MAX} more` : '');
  const wanted = fresh.filter(([name]) => asked.has(name));
  const needed = fresh.filter(([name]) => !asked.has(name));
  const seconds = Math.round((Date.now() - begun) / 1000);
  if (fresh.length === 0) console.log(`Nothing was to be done: it is in ${FOLDER}/node_modules already`);
  else console.log(`Installed ${named(wanted.length > 0 ? wanted : needed)} into ${FOLDER}/node_modules in ${seconds} s`);
  if (wanted.length > 0 && needed.length > 0) console.log(`With ${named(needed)}, which they need`);
}

function tellFailure(text) {
  const lines = text.split('\n').filter((line) => line.trim());
  process.stderr.write(`${lines.slice(0, LINES_OF_FAILURE).join('\n')}\n`);
  if (lines.length > LINES_OF_FAILURE) process.stderr.write(`(the beginning of what npm has said; the whole of it is in ${LOG})\n`);
}

// Returns the names of all packages at the top of node_modules.
function names() {
  const top = path.join(FOLDER, 'node_modules');
  return list(top).filter((name) => !name.startsWith('.'))
    .flatMap((name) => (name.startsWith('@') ? list(path.join(top, name)).map((own) => `${name}/${own}`) : [name]));
}

// Versions by name.
function packages() {
  return new Map(names().map((name) => [name, manifest(path.join(FOLDER, 'node_modules', name, 'package.json')).version]));
}

function list(folder) {
  try {
    return fs.readdirSync(folder);
  } catch {
    return [];
  }
}

function manifest(file) {
  try {
    return JSON.parse(fs.readFileSync(file, 'utf8')) ?? {};
  } catch {
    return {};
  }
}
