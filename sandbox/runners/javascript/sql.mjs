// hutch.sql(): SQL from JavaScript, by an SQL runner of this interpreter's own.
//
// It is started on first use, speaks the frames of ../README.md, and works on the session's database
// beside the others: what one commits, all see.

import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { FrameReader, frame } from './frames.mjs';
import { Array, Buffer, Error, JSON, Object, Promise, String } from './intrinsics.mjs';

const RUNNER = fileURLToPath(new URL('../sql/runner.py', import.meta.url));
// That of the environment, which goes before the machine's own: sessions with one have their tables in DuckDB.
const PYTHON = ['/environment/bin/python3', '/usr/bin/python3'].find((file) => existsSync(file)) ?? '/usr/bin/python3';
const STDERR_CHARACTERS_MAX = 2000;

// `place` is where hutch.sql() was called: the answer comes from elsewhere.
function sqlError({ name, message }, place) {
  const error = new Error(message, { cause: name });
  error.name = 'SQLError';
  const [, ...frames] = place.stack.split('\n');
  error.stack = [`SQLError: ${message}`, ...frames].join('\n');
  return error;
}

export class Sql {
  constructor() {
    this.runner = null;
    this.last = Promise.resolve(); // queries go one after the other
    this.current = null;
  }

  // The rows of the last table, as objects; [] without one.
  query(text, parameters, place) {
    const answer = this.last.then(() => this.run(text, parameters, place));
    this.last = answer.catch(() => {});
    return answer;
  }

  interrupt() {
    if (this.current) this.runner.process.kill('SIGINT');
  }

  run(text, parameters, place) {
    const values = parameters === undefined ? undefined : toJson(parameters); // first: it may throw
    this.runner ??= this.start();
    const { runner } = this;
    runner.process.ref();
    return new Promise((resolve, reject) => {
      this.current = { resolve, reject, place, columns: [], rows: [] };
      runner.channel.write(frame('J', Buffer.from(JSON.stringify({
        type: 'run', run_id: 'hutch.sql', language: 'sql', code: text, parameters: values, rows: true,
      }))));
    });
  }

  start() {
    const child = spawn(PYTHON, [RUNNER], { stdio: ['ignore', 'ignore', 'pipe', 'pipe', 'pipe'] });
    const [, , , channel, answers] = child.stdio;
    const runner = { process: child, channel, errors: '' };
    const reader = new FrameReader((message) => this.take(message), () => child.kill('SIGKILL'));
    answers.on('data', (chunk) => reader.push(chunk));
    for (const end of [channel, answers]) end.on('error', () => {});
    child.stderr.on('data', (chunk) => { runner.errors = (runner.errors + chunk).slice(-STDERR_CHARACTERS_MAX); });
    const ended = (why) => {
      if (this.runner === runner) this.runner = null;
      this.settle('reject', new Error(`hutch.sql: ${why}${runner.errors && `\n${runner.errors}`}`));
    };
    child.on('error', (error) => ended(error.code === 'ENOENT' ? `this machine has no ${PYTHON}, which runs it` : error.message));
    child.on('exit', (code, signal) => ended(`its process ended (${signal ?? `status ${code}`})`));
    // None of them keeps the event loop of this interpreter alive; a query that is going on does.
    for (const one of [child, child.stderr, channel, answers]) one.unref();
    return runner;
  }

  take(message) {
    const { current } = this;
    if (!current) return;
    if (message.type === 'rows') {
      if (message.columns) Object.assign(current, { columns: message.columns, rows: [] });
      for (const row of message.rows) current.rows.push(rowOf(current.columns, row));
    } else if (message.type === 'done') {
      if (message.ok) this.settle('resolve', withColumns(current.rows, current.columns));
      else this.settle('reject', sqlError(message.error, current.place));
    }
  }

  settle(how, value) {
    const { current } = this;
    this.current = null;
    this.runner?.process.unref();
    current?.[how](value);
  }
}

// Columns with their types are on the array, and not in what shows it.
function withColumns(rows, columns) {
  return Object.defineProperty(rows, 'columns', { value: columns, configurable: true });
}

function rowOf(columns, cells) {
  const row = {};
  cells.forEach((cell, i) => {
    Object.defineProperty(row, columns[i].name, { value: valueOf(cell), enumerable: true, writable: true, configurable: true });
  });
  return row;
}

function valueOf(cell) {
  if (cell === null || typeof cell !== 'object' || Array.isArray(cell)) return cell;
  if (typeof cell.integer === 'string') return BigInt(cell.integer);
  if (typeof cell.bytes === 'string') return Buffer.from(cell.bytes, 'base64');
  if (typeof cell.real === 'string') return { inf: Infinity, '-inf': -Infinity }[cell.real] ?? NaN;
  return cell;
}

function toJson(parameters) {
  const plain = (value) => {
    if (value instanceof Date) return { moment: value.toISOString().replace('Z', '') };
    if (typeof value === 'bigint') return { integer: String(value) };
    if (value instanceof Uint8Array) return { bytes: Buffer.from(value).toString('base64') };
    return value ?? null;
  };
  if (Array.isArray(parameters)) return parameters.map(plain);
  return Object.fromEntries(Object.entries(parameters).map(([name, value]) => [name, plain(value)]));
}
