// Records of a snapshot, one for each object, and which of them are stored: where all is there that a name leads to,
// and room for it.

import util from 'node:util';
import { isClass } from './function_sources.mjs';
import { ByteWriter, Table, isObject } from './snapshot_bytes.mjs';
import { Edges } from './snapshot_edges.mjs';
import { Math, Uint8Array } from './intrinsics.mjs';

const LONG_CHARACTERS = 40; // longer texts are stored once, however often they are met
const HEAD_BYTES = 8; // a record's, at most

const { getOwnPropertyDescriptor, getPrototypeOf } = Reflect;
const { isProxy } = util.types;

export class Records {
  // room: of bytesMax, for these.
  constructor(room, bytesMax) {
    this.room = room;
    this.tooLarge = 0; // how many names are not stored, since there is no room for them
    this.ofBytes = `of ${bytesMax >> 20} MB that are stored in all`;
    this.ids = new Table();
    this.values = []; // by number
    this.next = 0; // the number of the one whose record is written next
    this.current = 0; // whose record is being written
    this.starts = [0];
    this.blobs = new Table(); // number -> views that come behind its record
    this.blobBytes = 0;
    this.bytes = new ByteWriter();
    this.edges = new Edges();
    this.refused = new Table(); // number -> { kind, why }
    this.slabs = new Table(); // ArrayBuffer of node's own pool -> { id, ranges, isAll }
    this.names = []; // { label, id, value }
  }

  // Whatever was found and is not written yet.
  giveUp(why) {
    while (this.next < this.values.length) {
      this.refuse(this.next, '', why);
      this.starts[this.next++] = this.bytes.length;
    }
  }

  refuse(id, kind, why) {
    if (!this.refused.has(id)) this.refused.set(id, { kind, why });
  }

  idOf(value) {
    let id = this.ids.get(value);
    if (id !== undefined) return id;
    id = this.values.length;
    this.ids.set(value, id);
    this.values[id] = value;
    return id;
  }

  put(value) {
    if (typeof value === 'string' ? value.length <= LONG_CHARACTERS : typeof value !== 'symbol' && !isObject(value)) {
      return this.bytes.primitive(value);
    }
    if (this.slabs.size > 0 && this.slabs.has(value)) this.slabs.get(value).isAll = true;
    return this.refer(this.idOf(value));
  }

  refer(id) {
    this.bytes.reference(id);
    this.edges.add(this.current, id);
  }

  begin(letter, proto) {
    this.bytes.text(letter);
    this.put(proto);
  }

  addBlob(id, view) {
    this.blobs.set(id, [...this.blobs.get(id) ?? [], view]);
    this.blobBytes += view.length;
  }

  // { names, included }: which names are stored, and which records; notKept[label] becomes why another one is not.
  chosen(notKept) {
    const size = this.values.length;
    const tainted = this.edges.reached([...this.refused.keys()], size, true);
    const kept = [];
    for (const name of this.names) {
      if (tainted[name.id] === 0) kept[kept.length] = name;
      else notKept[name.label] = this.reasonOf(name, tainted[name.id] - 1);
    }
    return this.fitting(kept, notKept);
  }

  reasonOf({ value }, id) {
    const { kind, why } = this.refused.get(id);
    const own = kindOf(value);
    const isItself = this.ids.get(value) === id || kind === '';
    return [isItself ? kind || own : own, isItself ? why : `has a ${kind}: ${why}`];
  }

  sizeOf(id) {
    let blobs = 0;
    for (const view of this.blobs.get(id) ?? []) blobs += view.length;
    return this.starts[id + 1] - this.starts[id] + blobs + HEAD_BYTES;
  }

  // The small ones first, as many as there is room for.
  fitting(names, notKept) {
    if (this.byteCount() <= this.room) {
      return { names, included: this.edges.reached(names.map(({ id }) => id), this.values.length, false) };
    }
    const included = new Uint8Array(this.values.length);
    let left = this.room;
    const fitting = this.sized(names).filter((name) => {
      const fresh = [];
      const bytes = this.sizeFrom(name, (id) => included[id] === 0, fresh);
      if (bytes > left) {
        this.tooLarge++;
        notKept[name.label] = [kindOf(name.value), `${sizeInWords(bytes)}, ${this.ofBytes}`];
        return false;
      }
      left -= bytes;
      for (const id of fresh) included[id] = 1;
      return true;
    });
    return { names: fitting, included };
  }

  sized(names) {
    this.walk = this.edges.walker(this.values.length);
    const sizes = new Table();
    for (const name of names) sizes.set(name, this.sizeFrom(name, () => true, []));
    return [...names].sort((a, b) => sizes.get(a) - sizes.get(b));
  }

  // In bytes all that a name leads to and that counts; the numbers of that go to `met`.
  sizeFrom({ id: start }, counts, met) {
    let bytes = 0;
    this.walk(start, (id) => {
      if (!counts(id)) return;
      met[met.length] = id;
      bytes += this.sizeOf(id);
    });
    return bytes;
  }

  // At most.
  byteCount() {
    return this.bytes.length + this.blobBytes + this.values.length * HEAD_BYTES;
  }

  // Calls put(view) for all bytes of a graph.
  writeTo(put, included) {
    const { buffer: all } = this.bytes;
    const head = new ByteWriter();
    for (let id = 0; id < included.length; id++) {
      if (!included[id]) continue;
      putHead(put, head, id, this.sizeOf(id) - HEAD_BYTES);
      put(all.subarray(this.starts[id], this.starts[id + 1]));
      for (const view of this.blobs.get(id) ?? []) put(view);
    }
  }
}

// Records of an earlier snapshot, as [number, bytes].
export function writeRecords(put, records) {
  const head = new ByteWriter();
  for (const [id, record] of records) {
    putHead(put, head, id, record.length);
    put(record);
  }
}

function putHead(put, head, id, size) {
  head.length = 0;
  head.count(id);
  head.count(size);
  put(head.buffer.subarray(0, head.length));
}

export function nameOf(maker) {
  const name = getOwnPropertyDescriptor(maker, 'name')?.value;
  return typeof name === 'string' && name ? name : 'Object';
}

// In words for who reads a note.
export function kindOf(value) {
  if (!isObject(value)) return value === null ? 'null' : typeof value;
  if (isProxy(value)) return 'Proxy';
  if (typeof value === 'function') return isClass(value) ? 'class' : 'function';
  for (let one = value; one !== null && !isProxy(one); one = getPrototypeOf(one)) {
    const maker = getOwnPropertyDescriptor(one, 'constructor')?.value;
    if (typeof maker === 'function' && !isProxy(maker)) return nameOf(maker);
  }
  return 'Object';
}

export function sizeInWords(bytes) {
  return bytes < 1 << 20 ? `${(bytes >> 10) + 1} kB` : `${Math.floor(bytes / (1 << 20))} MB`;
}
