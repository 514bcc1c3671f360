// Keeps what the session's JavaScript knows outside of it: written between two runs, read by the next node.
//
// hutch-box gives three descriptors: a pipe that takes a snapshot, one that has answers (snapshot_pipes.mjs) and, where
// there is one, the file of the last. See ../README.md. Node cannot fork: this thread writes, and so only what
// takes it little time, unless hutch-box asks for all. Here is when that is, and what is told of it.

import fs from 'node:fs';
import process from 'node:process';
import { read, rememberSource } from './errors.mjs';
import { FoundValues } from './found_values.mjs';
import { GOING_ON } from './shared.mjs';
import { Gone, Late, clockMs, openPipes, performanceNow } from './snapshot_pipes.mjs';
import { Surroundings } from './surroundings.mjs';
import { Atomics, Error, Math, Number, Object, String, clearTimeout, setTimeout } from './intrinsics.mjs';

const FILE_FD = 7;
const IDLE_MS = 250; // after a run, before anything is written
const UNASKED_MS = 1000; // in which no run can begin, if none has come
const ASKED_MS = 30_000;
const SHARE_OF_TIME = 0.1; // that snapshots may take
const ANSWER_MS = 250; // between two looks for an answer
const ANSWER_MS_MAX = 60_000; // until a snapshot of which nothing is heard is taken for lost
const NOTE_CHARACTERS_MAX = 300;
const WOKEN_MAX = 200; // entries of the whole list, of which a note has the first
const WOKEN_CHARACTERS_MAX = 200; // for each

const { fstatSync, closeSync, readFileSync } = fs;
const { rss } = process.memoryUsage;

// A run has come, or the time is over.
class Interrupted extends Error {}

export class Snapshots {
  constructor(session) {
    this.session = session;
    this.pipes = openPipes();
    this.writes = true; // false: what is stored stays as it is
    this.writer = undefined; // a SnapshotWriter, once one is needed
    this.hasChanged = false;
    this.cells = []; // { name, source, language, code }
    this.unread = []; // graphs of the last snapshot that could not be read: they are stored again
    this.note = '';
    this.runId = '';
    this.woken = undefined; // not brought back by the waking: each snapshot has it, for whoever asks later
    this.earliest = this.restUntil = 0; // when the next may come: for hutch-box, and for the code's sake
    this.answerUntil = 0; // until then the host has not said when it takes the next
    this.unended = undefined; // the number of a wish that has no answer yet
    this.trial = undefined; // tries what was written for that
    this.bytesMax = 0; // for one that nobody has asked for
  }

  // Waking

  // Puts back what the last snapshot has. What fails of it costs the rest nothing, and stays stored.
  async wake() {
    if (!this.pipes) return;
    this.found = new FoundValues(); // before any code of the user's
    this.surroundings = new Surroundings();
    const first = this.pipes.answer();
    this.bytesMax = first?.bytesMax ?? first?.nextMs ?? 0; // said in place of when by a hutch-box that was replaced
    if (!isFile(FILE_FD)) return;
    const { readSnapshot } = await import('./snapshot_file.mjs');
    let stored;
    try {
      stored = readSnapshot(FILE_FD);
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
      this.note = `variables could not be brought back, and stay stored: ${reasonOf(failure)}`;
      this.writes = false; // nothing takes their place
    }
  }

  async putBack(stored) {
    const { putBack } = await import('./snapshot_waking.mjs');
    const { index } = stored;
    this.putBackCells(index.cells);
    const { back, notKept, missing, unread } = await putBack(this.session, this.surroundings, stored);
    this.unread = unread;
    this.runId = index.runId;
    const lost = inWords(notKept);
    this.tellOf(back, index, lost, missing);
    this.woken = wokenOf(index, [...lost, ...index.lost, ...missing]);
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

  // The note, and the pieces that it was made of.
  takeNote() {
    const { note, pieces = { back: note, lacks: [], more: 0 } } = this;
    this.note = '';
    this.pieces = undefined;
    return { note, pieces };
  }

  tellOf(count, index, lost, missing) {
    const back = count > 0 ? `a new JavaScript has the ${count} names that there were after ${index.runId}` : '';
    const sections = [['gone with the one before: ', index.lost], ['not kept: ', lost], ...missing.map((one) => ['', [one]])];
    const lacks = sections.filter(([, items]) => items.length > 0)
      .flatMap(([words, items], at) => items.map((item, place) => (place > 0 ? ', ' : (at > 0 || back ? '; ' : '') + words) + item));
    this.pieces = fitted(back, lacks, index.leftOut ?? 0); // a snapshot of an earlier build has no count
    this.note = back + this.pieces.lacks.join('') + inMore(this.pieces.more);
  }

  cellIs(cell) {
    if (this.pipes) this.cells.push(cell);
  }

  // When

  runBegins() {
    if (!this.pipes) return;
    clearTimeout(this.timer);
    if (this.trial) this.whileThere(() => this.endTrial());
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

  // Calls what the host, or the code, may end by closing a pipe.
  whileThere(action) {
    try {
      action();
    } catch (failure) {
      if (!(failure instanceof Gone)) throw failure;
      this.writes = false;
      this.unended = undefined;
    }
  }

  // A new session does not wait for what it needs only later. Calls then(), whether there is a writer now or not.
  async load(then) {
    try {
      const { SnapshotWriter } = await import('./snapshot_writer.mjs');
      this.writer = new SnapshotWriter(this);
    } catch (failure) { // the code has broken what it needs
      this.writes = false;
      this.noteFailure(failure);
    }
    then();
  }

  // Takes what hutch-box has said; milliseconds until it takes the next snapshot.
  pauseMs() {
    for (let said = this.pipes.answer(); said !== undefined; said = this.pipes.answer()) {
      this.answerUntil = 0;
      this.earliest = said.nextMs;
      this.bytesMax = said.bytesMax ?? this.bytesMax;
    }
    const now = clockMs();
    if (now < this.answerUntil) return ANSWER_MS;
    return Math.max(0, this.earliest - now, this.restUntil - now);
  }

  // Writes what has changed, where nobody has asked for it.
  write() {
    const isWanted = this.unended !== undefined || this.writes && this.hasChanged;
    if (this.pipes && isWanted && !this.trial && !this.isBusy()) this.whileThere(() => this.writeNow());
  }

  writeNow() {
    if (!this.pipes.isThere()) throw new Gone('it was closed');
    const pause = this.pauseMs();
    if (pause > 0) return this.plan(pause);
    if (this.unended !== undefined) {
      this.sayOver(this.unended);
      return this.plan(ANSWER_MS);
    }
    if (!this.writer) return this.load(() => this.plan(0)); // looks again once it is loaded
    if (!hasRoom(Math.min(this.bytesMax, rss()))) { // the next run tries it again
      this.hasChanged = false;
      return undefined;
    }
    return this.writeAll({ bytesMax: this.bytesMax, number: 0, ms: UNASKED_MS });
  }

  // All, as hutch-box is about to end this process, or to let it rest. Every wish has its answer.
  store(message) {
    if (!this.pipes?.isThere()) return undefined; // as hutch-box sees as well
    if (this.writes && !this.writer) return this.load(() => setTimeout(() => this.store(message), 0).unref());
    clearTimeout(this.timer);
    const number = countOf(message.wish);
    this.whileThere(() => this.pauseMs()); // takes what was said of the last one
    return this.whileThere(() => {
      this.trial?.stop();
      this.trial = undefined;
      const most = 2 * Math.min(countOf(message.bytes_max), rss()); // another node reads it back
      if (!this.writes || this.isBusy() || !hasRoom(most)) return this.sayOver(number);
      return this.writeAll({ bytesMax: countOf(message.bytes_max), number, ms: ASKED_MS });
    });
  }

  writeAll(wish) {
    const began = performanceNow();
    const until = began + wish.ms;
    const leftMs = () => {
      if (Atomics.load(this.session.shared, GOING_ON) !== 0) throw new Interrupted('a run has come');
      return until - performanceNow();
    };
    this.unended = wish.number;
    try {
      const written = this.writer.write(wish, leftMs);
      this.hasChanged = false;
      if (!written) return this.isEnded();
      if (!written.trial) return this.end(written, 0);
      this.trial = written.trial;
      return this.trial.end((isWhole) => this.whileThere(() => this.endTrial(written, isWhole)));
    } catch (failure) {
      if (!(failure instanceof Interrupted)) this.hasChanged = false; // it would fail again, until something else runs
      if (failure instanceof Gone) throw failure;
      if (!(failure instanceof Interrupted || failure instanceof Late)) this.noteFailure(failure);
      return this.sayOver(wish.number);
    } finally {
      this.restUntil = clockMs() + (performanceNow() - began) / SHARE_OF_TIME;
    }
  }

  // With what was written and whether that comes back; with nothing where a run is about to begin.
  endTrial(written, isWhole) {
    this.trial.stop();
    this.trial = undefined;
    if (!written || this.isBusy()) this.sayOver(this.unended);
    else this.end(written, isWhole ? 0 : 1);
  }

  end({ bytes, missing, tooLarge }, unsure) {
    try {
      this.pipes.send('E', `${bytes} ${missing + unsure} 0 ${tooLarge}`, () => !this.isBusy());
      this.isEnded();
    } catch (failure) {
      if (failure instanceof Gone) throw failure;
      this.sayOver(this.unended);
    }
  }

  isEnded() {
    this.unended = undefined;
    this.answerUntil = clockMs() + ANSWER_MS_MAX;
  }

  // Where nobody takes that either, it is said before the next snapshot.
  sayOver(number) {
    this.unended = number;
    try {
      this.pipes.send('X', String(number), () => number !== 0 && !this.isBusy());
      this.isEnded();
    } catch (failure) {
      if (failure instanceof Gone) throw failure;
      this.plan(ANSWER_MS);
    }
  }

  tell(letter) {
    this.whileThere(() => this.pipes.send(letter));
  }

  noteFailure(failure) {
    this.note ||= `variables could not be stored: ${reasonOf(failure)}`;
  }
}

function reasonOf(failure) {
  return read(failure, 'message', 'it fails').split('\n')[0];
}

function inWords(notKept) {
  return Object.entries(notKept).map(([label, [kind, why]]) => `${label} (${kind && `${kind}: `}${why})`);
}

function wokenOf({ runId: after, leftOut = 0 }, words) {
  if (words.length === 0) return undefined;
  const told = words.slice(0, WOKEN_MAX).map((word) => cut(word, WOKEN_CHARACTERS_MAX));
  return { after, not_kept: told, left_out: words.length - told.length + leftOut };
}

function inMore(count) {
  return count > 0 ? ` and ${count} more: \`hutch sessions show\`` : '';
}

// As many of what is lacking as there is room for, each of them whole.
function fitted(back, lacks, leftOut) {
  if (back.length + lacks.join('').length <= NOTE_CHARACTERS_MAX && leftOut === 0) return { back, lacks, more: 0 };
  const room = NOTE_CHARACTERS_MAX - back.length - inMore(lacks.length + leftOut).length;
  let count = 0;
  let length = 0;
  while (count < lacks.length && length + lacks[count].length <= room) length += lacks[count++].length;
  const told = count === 0 && lacks.length > 0 ? [cut(lacks[0], room)] : lacks.slice(0, count); // it is one long item
  return { back, lacks: told, more: lacks.length - told.length + leftOut };
}

function cut(text, limit) {
  return text.length <= limit ? text : `${text.slice(0, limit - 3)}...`;
}

function countOf(number) {
  return Number.isInteger(number) && number > 0 ? number : 0;
}

// Whether half of what a snapshot may take is free, by what the session's memory, or the host's, has left.
export function hasRoom(bytes, meminfo = '/proc/meminfo') {
  const head = 'MemAvailable:';
  try {
    const text = readFileSync(meminfo, 'latin1');
    const place = text.indexOf(head);
    return place < 0 || Number.parseInt(text.slice(place + head.length), 10) * 1024 > bytes / 2;
  } catch {
    return true;
  }
}

function isFile(fd) {
  try {
    return fstatSync(fd).isFile();
  } catch {
    return false;
  }
}
