// npm in few words, for install_packages: into /workspace, where cells of JavaScript and programs of bash both look,
// wherever bash, which starts it, happens to be, and whatever it has set. While it works for longer one line, written over
// again and again; at the end what is there now.
//
//     node npm.mjs ARGUMENT...      arguments of `npm install`

import { spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';

const FOLDER = '/workspace';
const LOG = '/tmp/install_packages.log';
const LINES_OF_FAILURE = 12;
const CAUSES_MAX = 6; // among them
const WARNINGS_MAX = 5; // beside those of engines
const LINE_CHARACTERS = 400;
const NAMED_MAX = 12;
const NEWEST_EVERY_MS = 1000;
const QUIET_MS = 5000; // most installs are over by then, and of lines that were written over an answer has to say so
// Where packages go, and which of them: not for bash to say. Where they come from is.
const OF_SESSION = new RegExp('^(PATH|HOME|PREFIX|NODE_(OPTIONS|PATH|ENV)|npm_config_(prefix|local_prefix|global.*|location|dry_run|package_lock_only|workspaces?|'
  + 'include_workspace_root|omit|include|only|production|dev|save.*|install_(strategy|links)|link|cpu|os|libc|loglevel|silent|quiet|json))$', 'i');

const WARNING = /^npm (warn|WARN) /;
const ERROR = /^npm (error|ERR!)/;
const CAUSE = /\b(error|fatal error|Error):|gyp ERR! (stack|find)|not found|No such file|cannot find/i;
const HARMLESS = /^npm \S+ (deprecated|EBADENGINE|using --force)/;

const begun = Date.now();
const before = packages();
let hasTold = false;

const log = fs.openSync(LOG, 'w');
const npm = spawn('npm', ['install', '--no-audit', '--no-fund', '--loglevel', 'warn', ...process.argv.slice(2)],
  { cwd: FOLDER, env: environmentOfSession(), stdio: ['ignore', 'pipe', 'pipe'] });
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
  tellWarnings(text);
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

// npm says at the beginning what is wrong, or that a package's own build has failed; what this has said follows.
function tellFailure(text) {
  const all = text.split('\n').filter((line) => line.trim() && !WARNING.test(line));
  const errors = all.filter((line) => ERROR.test(line));
  const lines = errors.length > 0 ? errors : all;
  const causes = lines.slice(LINES_OF_FAILURE - CAUSES_MAX).filter((line) => CAUSE.test(line)).slice(0, CAUSES_MAX);
  const shown = lines.length > LINES_OF_FAILURE ? [...lines.slice(0, LINES_OF_FAILURE - causes.length), ...causes] : lines;
  process.stderr.write([...new Set(shown)].map((line) => `${line.slice(0, LINE_CHARACTERS)}\n`).join(''));
  if (lines.length > LINES_OF_FAILURE) process.stderr.write(`(from what npm has said; the whole of it is in ${LOG})\n`);
}

function tellWarnings(text) {
  const lines = [...new Set(text.split('\n').filter((line) => WARNING.test(line) && !HARMLESS.test(line) && line.trim().length > 'npm warn'.length))];
  const told = [...enginesOf(text), ...lines.slice(0, WARNINGS_MAX).map((line) => line.slice(0, LINE_CHARACTERS))];
  process.stderr.write(told.map((line) => `${line}\n`).join(''));
  if (lines.length > WARNINGS_MAX) process.stderr.write(`(${lines.length} lines of warnings; the whole of what npm has said is in ${LOG})\n`);
}

// A line for each package that is made for other versions of node or npm, and was not there: npm installs it all the same.
function enginesOf(text) {
  const said = text.split('\n').filter((line) => /^npm \S+ EBADENGINE/.test(line)).map((line) => line.replace(/^npm \S+ EBADENGINE/, '')).join('');
  const lines = said.split('Unsupported engine').slice(1).map((one) => {
    const [, name, version] = /package:\s*'(.+?)@([^@']+)'/.exec(one) ?? [];
    const required = valuesOf(/required:\s*{([^}]*)}/.exec(one)?.[1]);
    const current = valuesOf(/current:\s*{([^}]*)}/.exec(one)?.[1]);
    const asked = required.map(([engine, range]) => `${engine} ${range}`).join(', ');
    const here = current.filter(([engine]) => required.some(([other]) => other === engine))
      .map(([engine, own]) => `${engine} ${own.replace(/^v/, '')}`).join(', ');
    return name && before.get(name) !== version && `${name} ${version} asks for ${asked}; this is ${here}`;
  }).filter(Boolean);
  return lines.length > NAMED_MAX ? [...lines.slice(0, NAMED_MAX), `and ${lines.length - NAMED_MAX} more ask for others`] : lines;
}

// Pairs of `{ node: '>=22', npm: '>=10' }`.
function valuesOf(text) {
  return [...(text ?? '').matchAll(/'?([\w-]+)'?:\s*["'`]([^"'`]*)["'`]/g)].map(([, name, value]) => [name, value]);
}

// Returns the environment of this process, but what bash had at its start of that which is not for its state to say.
function environmentOfSession() {
  let given;
  try {
    given = fs.readFileSync(`/proc/${process.ppid}/environ`, 'utf8').split('\0').filter((entry) => entry.includes('='));
  } catch {
    return process.env; // it has just ended
  }
  const ofBash = Object.entries(process.env).filter(([name]) => !OF_SESSION.test(name));
  const own = given.map((entry) => [entry.slice(0, entry.indexOf('=')), entry.slice(entry.indexOf('=') + 1)]);
  const ofSession = Object.fromEntries([...ofBash, ...own.filter(([name]) => OF_SESSION.test(name))]);
  // Compilers of bash's PATH may be needed by builds, behind the programs of the session.
  return { ...ofSession, PATH: [ofSession.PATH, process.env.HUTCH_BASH_PATH].filter(Boolean).join(':') };
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
