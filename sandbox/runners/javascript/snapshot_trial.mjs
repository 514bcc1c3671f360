// Whether a snapshot comes back: another process reads it (read_back.mjs) while it is written. Only what comes back may
// end the process that has it.

import { spawn } from 'node:child_process';
import fs from 'node:fs';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { Late } from './snapshot_pipes.mjs';
import { ALL_BACK } from './snapshot_waking.mjs';
import { Atomics, String, clearTimeout, setTimeout } from './intrinsics.mjs';

const PROGRAM = fileURLToPath(new URL('read_back.mjs', import.meta.url));
const TITLE = 'hutch-snapshot'; // so that it is not taken for a process that the user's code has left (kOwnSnapshot)
const PAUSE_MS = 0.2; // while it has to make room
const READ_MS = 20_000; // once it has all

const { writeSync } = fs; // user code may replace it
const { execPath, execArgv } = process;
const napping = new Int32Array(new SharedArrayBuffer(4));

export class SnapshotTrial {
  // It starts as the next node will: with the environment and in the directory that the host gives.
  constructor({ environment, directory }, bytesMost) {
    this.then = undefined; // who waits for its end
    this.isWhole = undefined;
    this.child = spawn(execPath, [...execArgv, `--title=${TITLE}`, PROGRAM, String(bytesMost)], {
      cwd: directory, env: environment, stdio: ['pipe', 'ignore', 'ignore'],
    });
    this.child.unref();
    this.child.on('error', () => this.finish(false));
    this.child.on('exit', (status) => this.finish(status === ALL_BACK));
    this.child.stdin.on('error', () => {}); // its end tells
    this.fd = this.child.stdin._handle?.fd; // not documented: this thread goes on only once all is written
  }

  // mayWait(): whether to try again, looked at with each pause.
  put(view, mayWait) {
    for (let start = 0; start < view.length && this.fd >= 0;) {
      try {
        start += writeSync(this.fd, view, start);
      } catch (failure) {
        if (failure.code !== 'EAGAIN') this.fd = -1; // it has ended, and says how
        else if (!mayWait()) throw new Late('nobody reads it');
        else Atomics.wait(napping, 0, 0, PAUSE_MS);
      }
    }
  }

  // Calls then(isWhole), unless it is stopped.
  end(then) {
    this.then = then;
    this.child.stdin.destroy();
    const kill = () => this.child.kill('SIGKILL');
    this.timer = setTimeout(kill, READ_MS).unref();
    if (this.fd === undefined) kill();
  }

  finish(isWhole) {
    clearTimeout(this.timer);
    const { then } = this;
    this.then = undefined;
    then?.(isWhole);
  }

  stop() {
    this.then = undefined;
    this.child.kill('SIGKILL');
  }
}
