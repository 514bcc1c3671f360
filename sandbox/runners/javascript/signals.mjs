// process.kill() for signals to this process that do not end it.
//
// Node tears its inspector down before it sends itself a signal that has no listener, expecting to
// end by it; but it is by the inspector that cells are run. A listener for the moment of the call
// keeps node from that, and a signal that is ignored by default stays without effect.

import os from 'node:os';
import process from 'node:process';
import { Object, Set } from './intrinsics.mjs';

const IGNORED_BY_DEFAULT = new Set(['SIGCHLD', 'SIGCONT', 'SIGURG', 'SIGUSR1', 'SIGWINCH']);
const NAMES = Object.fromEntries(Object.entries(os.constants.signals).map(([name, number]) => [number, name]));

const kill = process.kill.bind(process);
const nothing = () => {};

export function installKill() {
  process.kill = (pid, signal = 'SIGTERM') => {
    const name = NAMES[signal] ?? signal;
    const ours = [0, -1, process.pid, -process.pid].includes(Number(pid));
    if (!ours || !IGNORED_BY_DEFAULT.has(name)) return kill(pid, signal);
    process.on(name, nothing);
    try {
      return kill(pid, signal);
    } finally {
      process.off(name, nothing);
    }
  };
}
