// Writes a snapshot: what the code has made and changed, in the packets that hutch-box takes.

import process from 'node:process';
import { FunctionSources } from './function_sources.mjs';
import { Writer } from './snapshot_file.mjs';
import { writeRecords } from './snapshot_records.mjs';
import { SnapshotTrial } from './snapshot_trial.mjs';
import { Values } from './snapshot_values.mjs';
import { JSON, Math, Object, Set } from './intrinsics.mjs';

const SHARE_TO_SEND = 0.4; // a part of the time
const SOURCE_CHARACTERS_MAX = 1 << 20;
const OF_THE_INDEX_BYTES = 1 << 17; // beside names and sources
const OF_A_NAME_BYTES = 16;
const NAMES_TOLD_MAX = 200;

export class SnapshotWriter {
  // snapshots: the Snapshots that it is of, which have what is stored.
  constructor(snapshots) {
    this.snapshots = snapshots;
  }

  // Writes all but the last packet: { bytes, missing, tooLarge, trial }, where missing is how much is not stored, tooLarge
  // how much of that is too large, and a trial is to be waited for where there is one; undefined where there is nothing
  // to store, which it says.
  write(wish, leftMs) {
    let written;
    this.withoutChanges((changes) => {
      written = this.send(wish, this.taken(changes, wish, leftMs), () => leftMs() > 0);
    });
    return written;
  }

  // Calls `action` with what the code has made and changed, while node is as it was: no code of the user's has a part in it.
  withoutChanges(action) {
    const { found } = this.snapshots;
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
    const { found, session, surroundings } = this.snapshots;
    const labels = new Set(changes.map(({ label }) => label));
    const stillUnread = ({ names, records }) => ({ names: names.filter(([, label]) => !labels.has(label)), records });
    this.snapshots.unread = this.snapshots.unread.map(stillUnread).filter(({ names }) => names.length > 0);
    const sources = new FunctionSources(session, this.snapshots.cells);
    const cells = this.cellsKept(wish.bytesMax);
    const ofNames = changes.reduce((bytes, { label }) => bytes + 3 * label.length + OF_A_NAME_BYTES, 0);
    const ofWoken = 3 * (JSON.stringify(this.snapshots.woken) ?? '').length;
    const room = wish.bytesMax - OF_THE_INDEX_BYTES - ofNames - ofWoken - 3 * cells.characters - this.unreadBytes();
    const values = new Values(found, sources, {
      room: Math.max(0, room), bytesMax: wish.bytesMax, leftMs: () => leftMs() - wish.ms * SHARE_TO_SEND,
    });
    const lost = surroundings.goingOn();
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
    const { pipes, surroundings, unread, runId, woken } = this.snapshots;
    pipes.send('B', String(wish.number), mayWait);
    const missing = Object.keys(notKept).length + lost.length;
    const isNothing = missing === 0 && unread.length === 0 && !surroundings.hasChanged()
      && names.every((name) => name.label === '_' || values.isFound(name));
    if (isNothing) {
      const isFound = names.length > 0 && wish.number !== 0; // nobody is to find modules gone after a pause
      pipes.send(isFound ? 'X' : 'N', isFound ? `${wish.number} 1` : '', mayWait);
      return undefined;
    }
    const trial = wish.number !== 0 && missing === 0 ? new SnapshotTrial(surroundings, values.byteCount()) : undefined;
    try {
      const writer = new Writer((view) => {
        pipes.send('D', view, mayWait);
        trial?.put(view, mayWait);
      });
      const graphs = this.writeGraphs(writer, values, names, included);
      const entries = Object.entries(notKept);
      const told = Object.fromEntries(entries.slice(0, NAMES_TOLD_MAX));
      const leftOut = entries.length - Object.keys(told).length;
      const around = surroundings.taken();
      writer.end({ node: process.versions.node, runId, graphs, notKept: told, leftOut, lost, woken, cells: cells.said, around });
      return { bytes: writer.bytes, missing, tooLarge: values.tooLarge, trial };
    } catch (failure) {
      trial?.stop();
      throw failure;
    }
  }

  writeGraphs(writer, values, names, included) {
    const graphs = [];
    const add = (graphNames, write) => {
      const start = writer.bytes;
      write((view) => writer.put(view));
      graphs.push({ start, end: writer.bytes, names: graphNames });
    };
    add(names.map(({ id, label }) => [id, label]), (put) => values.writeTo(put, included));
    for (const graph of this.snapshots.unread) add(graph.names, (put) => writeRecords(put, graph.records));
    return graphs;
  }

  unreadBytes() {
    let bytes = 0;
    for (const { records } of this.snapshots.unread) for (const [, record] of records) bytes += record.length + 16;
    return bytes;
  }

  // The newest sources, as long as there is room for them.
  cellsKept(bytesMax) {
    const most = Math.min(SOURCE_CHARACTERS_MAX, Math.floor(bytesMax / 16));
    let characters = 0;
    const { session, cells } = this.snapshots;
    let first = cells.length;
    while (first > 0 && characters + cells[first - 1].source.length <= most) {
      first -= 1;
      characters += cells[first].source.length;
    }
    const sources = cells.slice(first).map(({ name, source, language }) => ({ name, source, language }));
    this.snapshots.cells = cells.slice(first);
    const { cells: count, keepsLast } = session;
    return { characters, said: { count, keepsLast, sources } };
  }
}
