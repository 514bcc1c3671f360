// The surroundings of a session's values: its directory, its environment, and what goes on in its event loop.

import { EventEmitter } from 'node:events';
import process from 'node:process';
import { Array, Map, Object, Set, String } from './intrinsics.mjs';

const { apply } = Reflect;
const { eventNames, rawListeners } = EventEmitter.prototype; // user code may replace them
const resources = process.getActiveResourcesInfo.bind(process);
const chdir = process.chdir.bind(process);
const cwd = process.cwd.bind(process);
const WORDS = {
  Timeout: 'timers', Immediate: 'callbacks that waited', ProcessWrap: 'processes', PipeWrap: 'pipes',
  TCPServerWrap: 'servers', PipeServerWrap: 'servers', TCPSocketWrap: 'connections', UDPWrap: 'UDP sockets',
  MessagePort: 'workers or channels', Worker: 'workers', FSEventWrap: 'watched files', StatWatcher: 'watched files',
};
const OTHERS = 'operations that waited';

export class Surroundings {
  constructor() {
    this.environment = { ...process.env }; // as the host gave it
    this.directory = directoryNow();
    this.resources = undefined;
    this.listeners = undefined;
  }

  // Before the first run: what is going on now, and who listens to the process, is hutch's own.
  runBegins() {
    this.resources ??= counted();
    this.listeners ??= new Set(listened().map(([, listener]) => listener));
  }

  // Whether the code has changed any of what is taken.
  hasChanged() {
    const { directory, environment, unset } = this.taken();
    return directory !== this.directory || Object.keys(environment).length > 0 || unset.length > 0;
  }

  taken() {
    const now = { ...process.env };
    const changed = Object.entries(now).filter(([name, value]) => this.environment[name] !== value);
    const gone = Object.keys(this.environment).filter((name) => !(name in now));
    return { directory: directoryNow(), environment: Object.fromEntries(changed), unset: gone };
  }

  // Says what is not as it was, in words.
  putBack({ directory, environment, unset }) {
    for (const [name, value] of Object.entries(environment)) process.env[name] = value;
    for (const name of unset) delete process.env[name];
    if (!directory) return [];
    try {
      chdir(directory);
      return [];
    } catch {
      return [`the working directory ${directory} is gone`];
    }
  }

  // Says what goes with the process and is no value of a name, in words.
  goingOn() {
    const found = new Map();
    for (const [name, count] of counted()) {
      const more = count - (this.resources?.get(name) ?? 0);
      const words = WORDS[name] ?? OTHERS;
      if (more > 0) found.set(words, (found.get(words) ?? 0) + more);
    }
    const events = new Set(listened().filter(([, one]) => !this.listeners?.has(one)).map(([name]) => String(name)));
    const handlers = events.size > 0 ? [`handlers of the process (${[...events].slice(0, 5).join(', ')})`] : [];
    return [...Array.from(found, ([words, count]) => `${count} ${words}`), ...handlers];
  }
}

// [event, listener] of all that listen to the process.
function listened() {
  return apply(eventNames, process, []).flatMap((name) => apply(rawListeners, process, [name]).map((one) => [name, one]));
}

function counted() {
  const counts = new Map();
  for (const name of resources()) counts.set(name, (counts.get(name) ?? 0) + 1);
  return counts;
}

function directoryNow() {
  try {
    return String(cwd());
  } catch {
    return '';
  }
}
