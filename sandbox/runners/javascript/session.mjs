// One session's interpreter: takes runs, evaluates them as cells, answers.

import { AsyncResource, executionAsyncId, triggerAsyncId } from 'node:async_hooks';
import fs from 'node:fs';
import inspector from 'node:inspector';
import process from 'node:process';
import { pathToFileURL } from 'node:url';
import util from 'node:util';
import { promiseHooks } from 'node:v8';
import { isThere, noteOfPrograms } from './absent_programs.mjs';
import { prepareGlobals } from './declarations.mjs';
import { chained } from './edits.mjs';
import { describeFailure, explain, newestCell, read, rememberSource } from './errors.mjs';
import { Exit, statusOf, tellOfExit } from './exits.mjs';
import { outputOf, sendOutput } from './results.mjs';
import { toScript } from './imports.mjs';
import { beginInstalls } from './installs.mjs';
import { Leftovers, takeBeforeExit, whenNothingIsLeft } from './leftovers.mjs';
import { WORKSPACE, importFrom, importModule, makeRequire, metaOf } from './modules.mjs';
import { noteOfPackages } from './newer_packages.mjs';
import { wordsOfPromise, wordsOfPromiseIn } from './promises.mjs';
import { installQuestions } from './questions.mjs';
import { installKill } from './signals.mjs';
import { installStacks } from './stacks.mjs';
import { installStreams, writeAll } from './streams.mjs';
import { CODE, STOPPED } from './shared.mjs';
import { stripTypes } from './typescript.mjs';
import { outliveListeners, watchEvent } from './stray_failures.mjs';
import { wayOutOf } from './ways_out.mjs';
import { Atomics, Error, Map, Object, Promise, Set, String, TypeError, setImmediate } from './intrinsics.mjs';

const reallyExit = process.reallyExit.bind(process);
const nowMs = Date.now; // code may put another one there
const nowUs = () => nowMs() * 1000;

const INTERRUPTED = 130;
const TAKEN = 'has already been declared';
const GOES_ON = 'what this run has started goes on (callbacks, timers, a server or another process): '
  + 'get_run with its id shows what they print, until another run of JavaScript begins and has it';
const UNCHECKED = 'the types of TypeScript are taken away, not checked: `npx tsc --noEmit FILE.ts` checks them';
const TYPES_OF_NODE = "files that use node's modules need @types/node from install_packages for that";
const AWAITED = 'the run awaited its last value, a Promise, which nothing had settled: `void` before it, or a name for it, lets a run end without';
const FROM_EARLIER = 'Code of an earlier run, or a function defined there, threw this with nobody to catch it; it fails no run.\n';

export class Session {
  // keepAlive(whether): of this thread's event loop, for the channel.
  constructor(shared, send, keepAlive) {
    this.shared = shared;
    this.send = send;
    this.keepAlive = keepAlive;
    this.cells = 0;
    this.saysUnchecked = true; // once
    this.unanswered = new Set(); // promises of cells
    this.begun = 0; // the newest run
    this.current = null; // the run that is going on
    this.keepsLast = true; // as `_`, until the user has one
    this.inspector = new inspector.Session();
    this.inspector.connect();
    // Node calls this the main module. Many a script asks whether it is that.
    this.main = { id: '.', filename: '', exports: {}, children: [], paths: [], loaded: false };
    const { main } = this;
    this.kept = {
      import: importModule,
      importFrom,
      metaOf,
      refuse: () => { throw new TypeError('Assignment to constant variable.'); },
      settle: (number) => Atomics.wait(shared, CODE, number),
      get meta() {
        const { filename } = main;
        return { url: pathToFileURL(filename).href, dirname: process.cwd(), filename, main: true };
      },
    };
    this.nameCell();
    this.installGlobals();
    this.watchForStrays();
    this.post('Runtime.evaluate', { expression: '__hutch__' }, (_error, { result }) => {
      this.keptId = result.objectId;
    });
    this.snapshots = null; // they come before the first run
  }

  post(method, parameters, callback) {
    this.inspector.post(method, parameters, callback);
  }

  // The cell as the file that node runs; its argv stays as the user has set it.
  nameCell() {
    try {
      const isOurs = this.cells === 0 || process.argv[1] === this.main.filename;
      this.main.filename = `${process.cwd()}/cell-${this.cells}`;
      if (isOurs) process.argv[1] = this.main.filename;
    } catch {
      // The working directory is gone, or there is no argv.
    }
  }

  installGlobals() {
    const define = (name, descriptor) =>
      Object.defineProperty(globalThis, name, { configurable: true, ...descriptor });
    Object.defineProperty(globalThis, '__hutch__', { value: this.kept });
    const { main } = this;
    define('require', { value: makeRequire(main), writable: true });
    define('module', { value: main, writable: true });
    define('exports', { value: main.exports, writable: true });
    define('__dirname', { get: () => process.cwd(), set: (value) => define('__dirname', { value, writable: true }) });
    define('__filename', { get: () => main.filename, set: (value) => define('__filename', { value, writable: true }) });
    define('display', { value: (...values) => values.forEach((value) => this.show(value, false)), writable: true });
    // SQL is loaded on its first use.
    define('hutch', { value: { sql: async (text, parameters) => this.sql(text, parameters) }, writable: true });
    define('_', { value: undefined, writable: true });
    installKill();
    installQuestions();
    installStacks();
    process.exit = (code) => {
      const status = statusOf(code);
      this.current?.stop({ exit: status });
      throw new Exit(status);
    };
  }

  async sql(text, parameters) {
    if (typeof text !== 'string') throw new TypeError(`the query must be a string, not ${typeof text}`);
    const place = new Error();
    if (!this.sqlRunner) {
      const { Sql } = await import('./sql.mjs');
      this.sqlRunner ??= new Sql();
    }
    return this.sqlRunner.query(text, parameters, place);
  }

  // Watches for failures that no cell awaits: each fails its run, while that goes on, and never ends the interpreter.
  watchForStrays() {
    const report = (failure, kind, maker) => {
      if (Exit.codeOf(failure) !== undefined) return;
      const described = describeFailure(failure);
      described.traceback += wayOutOf(failure);
      const run = this.current;
      const isEarlier = run && this.isOfEarlierRun(run, described, maker);
      writeAll(2, `${isEarlier ? FROM_EARLIER : ''}${kind}: ${described.traceback}`);
      if (!run || isEarlier) return;
      run.stray ??= described;
      if (run.background) run.stop({});
    };
    const uncaught = (failure) => report(failure, 'Uncaught exception', { id: executionAsyncId(), trigger: triggerAsyncId() });
    watchEvent('uncaughtException', uncaught);
    watchEvent('unhandledRejection', (failure) => report(failure, 'Unhandled rejection', {}));
    outliveListeners((failure) => Exit.codeOf(failure) !== undefined, uncaught);
  }

  // By the timer or handle that called the code: node numbers them as they are made. Of promises, and of what
  // was made after an `await`, only the cells of the stack tell. (AsyncLocalStorage would know more, but
  // with it node before 20.20 ends the process when a recursion of promises is too deep.)
  isOfEarlierRun({ scope }, described, { id, trigger }) {
    if (id && id < scope.asyncId()) return true;
    if (trigger === scope.asyncId()) return false;
    return newestCell(described.traceback) < this.cells;
  }

  interrupt(run) {
    this.sqlRunner?.interrupt();
    if (run > this.begun) this.begin(run); // a stop by force has hit its message
    if (this.current?.number !== run) return;
    // Code that has come to its end, and whose callbacks did not have to be stopped, is done.
    const isDone = this.current.waits && !this.wasStopped(this.current);
    if (isDone) this.current.note = GOES_ON;
    else if (this.current.awaitsLast) this.current.note = AWAITED;
    this.current.ending ??= isDone ? {} : { interrupted: true };
    this.finish(this.current);
  }

  begin(number) {
    const scope = new AsyncResource('hutch.run', { requireManualDestroy: true });
    const run = { number, scope, leftovers: new Leftovers(), ending: null, stray: null, before: new Map() };
    // The first ending counts. Rejections are reported after the microtasks: let those of this run be heard.
    run.stop = (ending) => {
      if (run.ending) return;
      run.ending = ending;
      setImmediate(() => this.finish(run));
    };
    this.current = run;
    this.begun = number;
    return run;
  }

  async answer(message) {
    const run = this.begin(message.run);
    run.id = message.run_id;
    try {
      this.snapshots.runBegins();
      installStreams();
      enterEnvironment(message.env, run.before);
      beginInstalls(message);
      if (message.directory) {
        process.chdir(message.directory);
        process.env.PWD = message.directory;
      }
      leaveWhatIsGone();
      process.exitCode = undefined;
      run.background = message.background === true;
      run.began_us = nowUs();
      const ending = await this.evaluate(message, run);
      if ('failure' in ending || 'interrupted' in ending || run.ending) return run.stop(ending);
      if (run.background) {
        run.stopWaiting = whenNothingIsLeft(run.leftovers, this.keepAlive, () => run.stop({}));
        return undefined;
      }
      run.waits = true;
      run.stopWaiting = run.leftovers.soon(this.keepAlive, (goesOn) => {
        if (goesOn) run.note = GOES_ON;
        run.stop(this.wasStopped(run) ? { interrupted: true } : {});
      });
      return undefined;
    } catch (failure) {
      return run.stop({ failure });
    }
  }

  // By force, in a callback that went on and on.
  wasStopped(run) {
    return Atomics.load(this.shared, STOPPED) === run.number;
  }

  // Once for each run, though it may be begun several times: until leave() a stop by force may hit it,
  // as it may hit whatever waits for the code.
  finish(run) {
    if (this.current !== run) return;
    if (run.describing) run.ending = { interrupted: true }; // the thrown value takes for ever to show
    run.describing = true;
    const times = run.began_us === undefined ? {} : { began_us: run.began_us, ended_us: nowUs() };
    run.stopWaiting?.();
    const done = run.background ? this.describeExit(run) : this.describeEnd(run);
    this.leave(run);
    this.current = null;
    if (done.error && done.error !== run.stray) writeAll(2, done.error.traceback);
    try {
      this.post('Runtime.releaseObjectGroup', { objectGroup: 'cell' });
      restoreEnvironment(run.before);
    } catch (failure) {
      writeAll(2, describeFailure(failure).traceback);
    }
    const ofPrograms = noteOfPrograms(done.error?.traceback);
    const { note: ofState, pieces } = this.snapshots.takeNote();
    const ofPromise = done.ok ? wordsOfPromise(run.source ?? '') : '';
    const note = [run.note, ofPrograms, noteOfPackages(), run.remark, ofPromise].reduce(together, ofState);
    this.send({ ...done, ...(note && { note }), ...(ofState && { of_state: pieces }), ...times });
    this.snapshots.runIsOver(run.id);
  }

  // From here on nothing of this run is stopped by force. A stop that is on its way is waited for, or
  // taken, inside an evaluation of its own: it ends that one.
  leave(run) {
    while (Atomics.compareExchange(this.shared, CODE, run.number, 0) === -run.number) {
      this.post('Runtime.callFunctionOn', {
        objectId: this.keptId,
        functionDeclaration: 'function (number) { this.settle(number); }',
        arguments: [{ value: -run.number }],
      });
    }
  }

  // { value }, { failure, details }, or what stop() was given.
  async evaluate(message, run) {
    let source = String(message.code ?? '');
    this.cells += 1;
    const name = `cell-${this.cells}`;
    const cell = { source, map: null };
    let script;
    rememberSource(name, cell);
    try {
      this.nameCell();
      if (message.language === 'typescript') {
        if (this.saysUnchecked) run.remark = `${UNCHECKED}${isThere('tsc') ? '' : ', once typescript is installed'}; ${TYPES_OF_NODE}`;
        this.saysUnchecked = false;
        const stripped = stripTypes(source, name);
        source = stripped.code;
        cell.map = stripped.map;
      }
      run.source = source; // JavaScript
      script = toScript(source, name, message.language === 'typescript');
      cell.map = chained(script.map, cell.map);
      this.snapshots.cellIs({ name, source: cell.source, language: message.language, code: script.code });
    } catch (failure) {
      return { failure };
    }
    prepareGlobals(script);
    if (script.names.has('_')) this.keepsLast = false;
    const answer = await this.evaluateInRepl(`${script.code}\n//# sourceURL=${name}`, run);
    if ('failure' in answer && !script.mistake?.message.includes(TAKEN)) sayWayOut(answer.failure);
    if ('failure' in answer || 'interrupted' in answer) return answer;
    try {
      // `main()` as the last line: its end is the end of the run, and its failure fails the run.
      const value = util.types.isPromise(answer.value) ? (await this.settled(answer.value, run)).value : answer.value;
      if (value === undefined || run.ending || script.endsInDeclaration) return {};
      if (this.keepsLast && Object.getOwnPropertyDescriptor(globalThis, '_')?.writable) globalThis._ = value;
      this.show(value, true);
      return {};
    } catch (failure) {
      return { failure };
    }
  }

  // Waits for a promise, unless nothing is left that could settle it.
  async settled(promise, run) {
    run.awaitsLast = true;
    const left = new Promise((resolve) => {
      run.stopWaiting = whenNothingIsLeft(run.leftovers, this.keepAlive, () => resolve({ value: promise }), takeBeforeExit);
    });
    try {
      return await Promise.race([left, promise.then((value) => ({ value }))]);
    } finally {
      run.stopWaiting();
      run.awaitsLast = false;
    }
  }

  // The next promise that is made, a cell's own. Nothing else may hold it when the cell waits for ever, and V8
  // then answers from within its garbage collection, where node 22 cannot run JavaScript. A hook makes promises
  // slow, so it goes with the first.
  rootNextPromise() {
    const root = { promise: undefined, stop: undefined };
    const unhook = promiseHooks.onInit((promise) => {
      if (root.promise) return;
      this.unanswered.add(root.promise = promise);
      unhook();
    });
    root.stop = () => root.promise ?? unhook();
    return root;
  }

  // A cell of an earlier process as errors need it: the way back from its code is looked for when one is quoted.
  rememberedCell({ name, source, language }) {
    const isTypeScript = language === 'typescript';
    if (isTypeScript) this.saysUnchecked = false;
    return {
      source,
      get map() {
        try {
          const stripped = isTypeScript ? stripTypes(source, name) : { code: source, map: null };
          return chained(toScript(stripped.code, name, isTypeScript).map, stripped.map);
        } catch {
          return null;
        }
      },
    };
  }

  evaluateInRepl(expression, run) {
    const parameters = { expression, replMode: true, awaitPromise: true, objectGroup: 'cell' };
    return new Promise((resolve) => {
      const root = this.rootNextPromise();
      run.scope.runInAsyncScope(this.post, this, 'Runtime.evaluate', parameters, (error, answer) => {
        this.unanswered.delete(root.promise);
        // An error here is the protocol's own. Mostly the worker has terminated the code; else there is
        // no inspector any more, and without it no cell can be run.
        if (error && !this.wasStopped(run)) {
          writeAll(2, `JavaScript cannot go on in this process: ${error.message}\n`);
          reallyExit(1);
        }
        if (error) return resolve({ interrupted: true });
        const details = answer.exceptionDetails;
        if (!details) return resolve({ value: this.take(answer.result) });
        resolve({ failure: this.take(details.exception ?? answer.result), details });
      });
      root.stop(); // code that does not compile makes none
    });
  }

  // The value behind a remote object of the inspector.
  take(remote) {
    const { objectId, unserializableValue, value } = remote;
    const argument = objectId ? { objectId } : unserializableValue ? { unserializableValue } : { value };
    this.kept.taken = undefined;
    this.post('Runtime.callFunctionOn', {
      objectId: this.keptId,
      functionDeclaration: 'function (value) { this.taken = value; }',
      arguments: [argument],
    });
    const taken = this.kept.taken;
    this.kept.taken = undefined;
    return taken;
  }

  show(value, isMain) {
    sendOutput((message, blob) => this.send(message, blob), outputOf(value, isMain));
  }

  // With a run in the background its process ends: who listens for that may change how. Not so an interrupt,
  // which ends a process at once, and a failure stays one.
  describeExit(run) {
    const done = this.describeEnd(run);
    if (done.interrupted) return done;
    const ending = tellOfExit(done.exit_code);
    const hasThrown = 'failure' in ending && Exit.codeOf(ending.failure) === undefined;
    const wasFailure = Boolean(done.error?.traceback); // an exit with a status has none
    if (done.ok || !(hasThrown || wasFailure)) return this.describeEnd({ ending });
    if (hasThrown) writeAll(2, describeFailure(ending.failure).traceback);
    return done;
  }

  describeEnd({ ending, stray, source = '' }) {
    const done = (exit_code, interrupted, error) =>
      ({ type: 'done', ok: exit_code === 0, exit_code, interrupted, ...(error && { error }) });
    const exit = (status) =>
      done(status, false, status && { name: 'SystemExit', message: `exited with status ${status}`, traceback: '' });
    const thrown = Exit.codeOf(ending.failure);
    if (thrown !== undefined) return exit(thrown);
    if ('exit' in ending) return exit(ending.exit);
    if (ending.interrupted) {
      const error = { name: 'Interrupted', message: 'the run was interrupted', traceback: 'Interrupted\n' };
      return done(INTERRUPTED, true, error);
    }
    if ('failure' in ending) {
      const error = explain(ending.failure, ending.details, `cell-${this.cells}`);
      const ofPromise = error.name === 'TypeError' && wordsOfPromiseIn(source, error, `cell-${this.cells}`);
      error.traceback += ofPromise ? `(${ofPromise})\n` : wayOutOf(ending.failure);
      return done(1, false, error);
    }
    if (stray) return done(1, false, stray);
    return exit(statusOf());
  }
}

function together(first, second) {
  return first && second ? `${first}; ${second}` : first || second;
}

// A name that V8 has of a script of its own, which nothing takes back.
function sayWayOut(failure) {
  if (!util.types.isNativeError(failure) || read(failure, 'name', '') !== 'SyntaxError') return;
  const message = read(failure, 'message', '');
  if (message.endsWith(TAKEN)) failure.message = `${message}: use another name, or restart: true`;
}

// A working directory that was deleted is the end of every relative path.
function leaveWhatIsGone() {
  const said = fs.readlinkSync('/proc/self/cwd'); // node may remember another name
  if (!said.endsWith(' (deleted)') || fs.existsSync(said)) return;
  try {
    process.chdir(said.slice(0, -' (deleted)'.length)); // another may have the name by now
    return;
  } catch {
    // There is none.
  }
  if (!fs.existsSync(WORKSPACE)) return; // outside of a box
  process.chdir(WORKSPACE);
  writeAll(2, `(the working directory is gone: starting in ${WORKSPACE})\n`);
}

function enterEnvironment(changes, before) {
  for (const [name, value] of Object.entries(changes ?? {})) {
    before.set(name, process.env[name]);
    process.env[name] = String(value);
  }
}

function restoreEnvironment(before) {
  for (const [name, value] of before) {
    if (value === undefined) delete process.env[name];
    else process.env[name] = value;
  }
}
