// Keeps what the session's JavaScript knows outside of it: written between two runs, read by the next node.
//
// hutch-box gives three descriptors: a pipe that takes a snapshot, one that has answers (snapshot_pipes.mjs) and, where
// there is one, the file of the last. See ../README.md. Node cannot fork: this thread writes, and so only what
// takes it little time, unless hutch-box asks for all.

import fs from 'node:fs';
import { rememberSource } from './errors.mjs';
import { FoundValues } from './found_values.mjs';
import { GOING_ON } from './shared.mjs';
import { Gone, clockMs, openPipes } from './snapshot_pipes.mjs';
import { Surroundings } from './surroundings.mjs';
import { Atomics, Error, Math, Number, Object, Promise, Set, String, clearTimeout, setTimeout } from './intrinsics.mjs';

const FILE_FD = 7;
const IDLE_MS = 250; // after a run, before anything is written
const UNASKED_BYTES_MAX = 16 << 20;
const UNASKED_MS = 1000; // in which no run can begin, if none has come
const ASKED_MS = 30_000;
const SHARE_TO_SEND = 0.4; // of these
const SHARE_OF_TIME = 0.1; // that snapshots may take
const ANSWER_MS = 250; // between two looks for an answer
const ANSWER_MS_MAX = 60_000; // until a snapshot of which nothing is heard is taken for lost
const NOTE_CHARACTERS_MAX = 300;
const SOURCE_CHARACTERS_MAX = 1 << 20;
const OF_THE_INDEX_BYTES = 1 << 17; // beside names and sources
const OF_A_NAME_BYTES = 16;
const NAMES_TOLD_MAX = 200;

const { fstatSync, closeSync } = fs;
const performanceNow = performance.now.bind(performance);

// A run has come, or the time is over.
class Interrupted extends Error {}

export class Snapshots {
  constructor(session) {
    this.session = session;
    this.pipes = openPipes();
    this.hasChanged = false;
    this.cells = []; // { name, source, language, code }
    this.unread = []; // graphs of the last snapshot that could not be read: they are stored again
    this.note = '';
    this.runId = '';
    this.earliest = this.restUntil = 0; // when the next may come: for hutch-box, and for the code's sake
    this.answerUntil = 0; // until then the host has not said when it takes the next
  }

  // Puts back what the last snapshot has. What fails of it costs the rest nothing, and stays stored.
  async wake() {
    if (!this.pipes) return;
    this.found = new FoundValues(); // before any code of the user's
    this.surroundings = new Surroundings();
    this.bytesMax = this.pipes.answer() ?? 0;
    if (!isFile(FILE_FD)) return;
    await this.load();
    if (!this.pipes) return;
    let stored;
    try {
      stored = this.parts.readSnapshot(FILE_FD);
    } catch (failure) {
      this.note = `variables could not be brought back: the snapshot is no good (${failure.message})`;
      this.tell('M');
      return;
    } finally {
      closeSync(FILE_FD);
    }
    try {
      await this.putBack(stored);
      this.tell('W');
    } catch (failure) { // a runner of another version wrote it
      this.note = `variables could not be brought back, and stay stored: ${this.parts.reasonOf(failure)}`;
      this.pipes = null; // nothing takes their place
    }
  }

  // A new session does not wait for what it needs only later.
  async load(then = () => {}) {
    try {
      this.parts ??= await loadParts();
      then();
    } catch {
      this.pipes = null; // the code has broken what they need
    }
  }

  async putBack({ content, index }) {
    this.putBackCells(index.cells);
    const missing = this.surroundings.putBack(index.around); // first: it says where modules are found
    const notKept = index.notKept;
    const back = [];
    for (const place of index.graphs) {
      const graph = new this.parts.StoredGraph(this.session, content, place);
      const result = await graph.restore();
      back.push(...result.back.filter(({ isGlobal, label }) => isGlobal && label !== '_'));
      for (const { label, why } of result.failed) notKept[label] = ['', why];
      const kept = graph.kept(result.failed);
      if (kept) this.unread.push(kept);
    }
    this.runId = index.runId;
    this.note = noteOf(back.length, index, notKept, missing);
  }

  putBackCells({ count, keepsLast, sources }) {
    const { session } = this;
    session.cells = count;
    session.keepsLast = keepsLast;
    session.nameCell();
    for (const cell of sources) {
      this.cells.push(cell);
      rememberSource(cell.name, session.rememberedCell(cell));
    }
  }

  takeNote() {
    const { note } = this;
    this.note = '';
    return note;
  }

  cellIs(cell) {
    if (this.pipes) this.cells.push(cell);
  }

  // When

  runBegins() {
    if (!this.pipes) return;
    clearTimeout(this.timer);
    this.surroundings.runBegins();
  }

  runIsOver(runId) {
    if (!this.pipes) return;
    if (runId !== undefined) this.runId = runId;
    this.hasChanged = true;
    this.plan(IDLE_MS);
  }

  // The timer holds nothing: without it the event loop ends as it would.
  plan(ms) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.write(), ms).unref();
  }

  isBusy() {
    return this.session.current !== null || Atomics.load(this.session.shared, GOING_ON) !== 0;
  }

  // Takes what hutch-box has said; milliseconds until it takes the next snapshot.
  pauseMs() {
    for (let said = this.pipes.answer(); said !== undefined; said = this.pipes.answer()) {
      this.answerUntil = 0;
      this.earliest = said;
    }
    const now = clockMs();
    if (now < this.answerUntil) return ANSWER_MS;
    return Math.max(0, this.earliest - now, this.restUntil - now);
  }

  // Writes what has changed, where nobody has asked for it.
  write() {
    if (!this.pipes || !(this.hasChanged || this.hasBegun) || this.isBusy()) return undefined;
    try {
      if (!this.pipes.isThere()) throw new Gone('it was closed');
      const pause = this.pauseMs();
      if (pause > 0) return this.plan(pause);
      if (this.hasBegun) return this.sayOver(0);
      if (!this.parts) return this.load(() => this.plan(0)); // what has loaded it goes on until then
      this.writeAll({ bytesMax: Math.min(this.bytesMax, UNASKED_BYTES_MAX), number: 0, ms: UNASKED_MS });
    } catch (failure) {
      if (failure instanceof Gone) this.pipes = null;
    }
    return undefined;
  }

  // All, as hutch-box is about to end this process, or to let it rest.
  store(message) {
    const number = countOf(message.wish);
    if (!this.pipes?.isThere()) return undefined;
    if (!this.parts) return this.load(() => setTimeout(() => this.store(message), 0).unref());
    clearTimeout(this.timer);
    try {
      this.pauseMs(); // what was said of the last one
      if (this.isBusy()) return this.sayOver(number);
      this.writeAll({ bytesMax: countOf(message.bytes_max), number, ms: ASKED_MS });
    } catch (failure) {
      if (failure instanceof Gone) this.pipes = null;
    }
    return undefined;
  }

  // Writing

  writeAll(wish) {
    const began = performanceNow();
    const until = began + wish.ms;
    const leftMs = () => {
      if (Atomics.load(this.session.shared, GOING_ON) !== 0) throw new Interrupted('a run has come');
      return until - performanceNow();
    };
    try {
      this.withoutChanges((changes) => this.send(wish, this.taken(changes, wish, leftMs), () => leftMs() > 0));
      this.hasChanged = false;
    } catch (failure) {
      if (!(failure instanceof Interrupted)) this.hasChanged = false; // it would fail again, until something else runs
      if (failure instanceof Gone) throw failure;
      this.sayOver(wish.number);
    } finally {
      this.restUntil = clockMs() + (performanceNow() - began) / SHARE_OF_TIME;
    }
  }

  // Calls `action` with what the code has made and changed, while node is as it was: no code of the user's has a part in it.
  withoutChanges(action) {
    const { found } = this;
    found.renew();
    const changes = [...found.changes()];
    const putBack = found.withoutChanges(changes);
    try {
      action(changes);
    } finally {
      putBack();
    }
  }

  // { values, names, included, notKept, lost, cells } of what there is.
  taken(changes, wish, leftMs) {
    const { found, parts } = this;
    const labels = new Set(changes.map(({ label }) => label));
    const stillUnread = ({ names, records }) => ({ names: names.filter(([, label]) => !labels.has(label)), records });
    this.unread = this.unread.map(stillUnread).filter(({ names }) => names.length > 0);
    const sources = new parts.FunctionSources(this.session, this.cells);
    const cells = this.cellsKept(wish.bytesMax);
    const ofNames = changes.reduce((bytes, { label }) => bytes + 3 * label.length + OF_A_NAME_BYTES, 0);
    const room = wish.bytesMax - OF_THE_INDEX_BYTES - ofNames - 3 * cells.characters - this.unreadBytes();
    const values = new parts.Values(found, sources, {
      room: Math.max(0, room), bytesMax: wish.bytesMax, leftMs: () => leftMs() - wish.ms * SHARE_TO_SEND,
    });
    const lost = this.surroundings.goingOn();
    try {
      values.addAll(changes);
      const holding = found.holdingModules(sources);
      if (holding.length > 0) lost.push(`what was changed in the modules ${holding.slice(0, 5).join(', ')}`);
    } finally {
      sources.end();
    }
    const notKept = {};
    const { names, included } = values.chosen(notKept);
    delete notKept._;
    return { values, names, included, notKept, lost, cells };
  }

  send(wish, { values, names, included, notKept, lost, cells }, mayWait) {
    this.hasBegun = true;
    this.pipes.send('B', String(wish.number), mayWait);
    const count = Object.keys(notKept).length + lost.length;
    const isNothing = count === 0 && this.unread.length === 0 && !this.surroundings.hasChanged()
      && names.every((name) => name.label === '_' || values.isFound(name));
    if (isNothing && names.length > 0 && wish.number !== 0) {
      this.pipes.send('X', String(wish.number), mayWait); // nobody is to find modules gone after a pause
    } else if (isNothing) {
      this.pipes.send('N', '', mayWait);
    } else {
      const writer = new this.parts.Writer((view) => this.pipes.send('D', view, mayWait));
      const graphs = [];
      const add = (graphNames, write) => {
        const start = writer.bytes;
        write((view) => writer.put(view));
        graphs.push({ start, end: writer.bytes, names: graphNames });
      };
      add(names.map(({ id, label }) => [id, label]), (put) => values.writeTo(put, included));
      for (const graph of this.unread) add(graph.names, (put) => this.parts.writeRecords(put, graph.records));
      const told = Object.fromEntries(Object.entries(notKept).slice(0, NAMES_TOLD_MAX));
      writer.end({
        node: process.versions.node, runId: this.runId, graphs, notKept: told, lost, cells: cells.said,
        around: this.surroundings.taken(),
      });
      this.pipes.send('E', `${writer.bytes} ${count}`, mayWait);
    }
    this.hasBegun = false;
    this.answerUntil = clockMs() + ANSWER_MS_MAX;
  }

  unreadBytes() {
    let bytes = 0;
    for (const { records } of this.unread) for (const [, record] of records) bytes += record.length + 16;
    return bytes;
  }

  // Where nobody takes that either, the next snapshot says so first.
  sayOver(number) {
    try {
      this.pipes.send('X', String(number), () => number !== 0);
      this.hasBegun = false;
      this.answerUntil = clockMs() + ANSWER_MS_MAX;
    } catch (failure) {
      if (failure instanceof Gone) throw failure;
      this.plan(ANSWER_MS);
    }
  }

  tell(letter) {
    try {
      this.pipes.send(letter);
    } catch {
      // hutch-box is gone, and so is this soon.
    }
  }

  // The newest sources, as long as there is room for them.
  cellsKept(bytesMax) {
    const most = Math.min(SOURCE_CHARACTERS_MAX, Math.floor(bytesMax / 16));
    let characters = 0;
    let first = this.cells.length;
    while (first > 0 && characters + this.cells[first - 1].source.length <= most) {
      first -= 1;
      characters += this.cells[first].source.length;
    }
    const sources = this.cells.slice(first).map(({ name, source, language }) => ({ name, source, language }));
    this.cells = this.cells.slice(first);
    const { cells: count, keepsLast } = this.session;
    return { characters, said: { count, keepsLast, sources } };
  }
}

async function loadParts() {
  const [{ Values }, { writeRecords }, { StoredGraph, reasonOf }, { FunctionSources }, file] = await Promise.all([
    import('./snapshot_values.mjs'), import('./snapshot_records.mjs'), import('./snapshot_reading.mjs'),
    import('./function_sources.mjs'), import('./snapshot_file.mjs'),
  ]);
  return { Values, writeRecords, StoredGraph, reasonOf, FunctionSources, ...file };
}

function noteOf(count, index, notKept, missing) {
  const lost = Object.entries(notKept).map(([label, [kind, why]]) => `${label} (${kind && `${kind}: `}${why})`);
  const parts = count > 0 ? [`a new JavaScript has the ${count} names that there were after ${index.runId}`] : [];
  if (index.lost.length > 0) parts.push(`gone with the one before: ${index.lost.join(', ')}`);
  if (lost.length > 0) parts.push(`not kept, make them again: ${cut(lost.join(', '), NOTE_CHARACTERS_MAX - 100)}`);
  return [...parts, ...missing].join('; ').slice(0, NOTE_CHARACTERS_MAX);
}

function cut(text, limit) {
  return text.length <= limit ? text : `${text.slice(0, limit - 3)}...`;
}

function countOf(number) {
  return Number.isInteger(number) && number > 0 ? number : 0;
}

function isFile(fd) {
  try {
    return fstatSync(fd).isFile();
  } catch {
    return false;
  }
}
