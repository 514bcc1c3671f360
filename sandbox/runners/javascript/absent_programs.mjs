// Programs that code has called and that a session has not: how things are here, in the words of all languages.
//
// Mostly nothing fails: a shell says that it has not found the program, a callback gets an error that it only prints. So
// all that is called is looked at when the run is over.

import childProcess, { ChildProcess } from 'node:child_process';
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import path from 'node:path';
import process from 'node:process';
import { Array, Map, Object, Set, String } from './intrinsics.mjs';

const LIST = new URL('../absent_programs.txt', import.meta.url);
const SHELLS = new Set(['sh', 'bash', 'dash', 'zsh']);
const CALLS_MAX = 50; // for one run; a loop calls the same again and again
const CHARACTERS_MAX = 4_000;
const BEFORE = /^(\w+=\S*|-\S*|time|exec|nohup|env|command|then|do|else|if|while|until|!|\{)$/; // such words precede the name

const called = new Map(); // whatever was called by this run: names, and scripts of a shell
let isWatching = false;

// From when code first asks for a module that may start some: to make this known to all importers takes milliseconds.
export function watchPrograms() {
  if (isWatching) return;
  isWatching = true;
  const { spawn } = ChildProcess.prototype;
  replace(ChildProcess.prototype, 'spawn', function (options) {
    note(options?.args?.slice?.(1), options?.file, false);
    return spawn.apply(this, arguments);
  });
  for (const name of ['spawnSync', 'execFileSync', 'execSync']) {
    const original = childProcess[name];
    replace(childProcess, name, function (command, words, options) {
      const given = Array.isArray(words) ? options : words;
      note(Array.isArray(words) ? words : [], command, name === 'execSync' || Boolean(given?.shell));
      return original.apply(this, arguments);
    });
  }
  syncBuiltinESMExports();
}

// A sentence for each that is not there, those apart that `told` has already.
export function noteOfPrograms(told) {
  try {
    return sentencesOf(told ?? '');
  } catch {
    return ''; // the user has taken apart what this needs, or no file can be opened any more
  }
}

function sentencesOf(told) {
  const calls = [...called];
  called.clear();
  const names = new Set(calls.flatMap(([call, isScript]) => (isScript ? programsOf(call) : [call])));
  const said = [...names].filter((name) => !isThere(name)).map((name) => explanationOf(path.basename(name)));
  return [...new Set(said)].filter((sentence) => sentence && !told.includes(sentence)).join('; ');
}

// The names of what a shell's script calls, as far as that shows without running it.
function programsOf(script) {
  const withoutText = script.split('<<')[0].replace(/(['"])([\w./-]+)\1/g, '$2').replace(/'[^']*'|"[^"]*"/g, "''");
  return withoutText.split(/[;|&()\n`]+/)
    .map((piece) => piece.split(/\s+/).find((word) => word && !BEFORE.test(word)))
    .filter(Boolean);
}

function note(words, command, isScript) {
  try {
    keep(words, command, isScript);
  } catch {
    // As above: what the user calls is called all the same.
  }
}

function keep(words, command, isScript) {
  if (called.size >= CALLS_MAX || typeof command !== 'string') return;
  const inShell = !isScript && Array.isArray(words) && SHELLS.has(path.basename(command)) ? words.indexOf('-c') + 1 : 0;
  called.set(String(inShell ? words[inShell] : command).slice(0, CHARACTERS_MAX), isScript || inShell > 0);
}

export function isThere(name) {
  const folders = name.includes('/') ? [''] : String(process.env.PATH ?? '').split(':');
  return folders.some((folder) => fs.existsSync(path.join(folder, name)));
}

function explanationOf(name) {
  for (const line of fs.readFileSync(LIST, 'utf8').split('\n')) {
    const [names, sentence] = line.split('\t');
    if (names.split(' ').includes(name)) return sentence.replace('%s', name);
  }
  return '';
}

function replace(holder, name, value) {
  Object.defineProperty(value, 'name', { value: name });
  Object.defineProperty(holder, name, { value, configurable: true, writable: true, enumerable: true });
}
