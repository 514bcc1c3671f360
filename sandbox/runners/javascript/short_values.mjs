// Long values in short: arrays and objects show their first and last items, Maps, Sets and bytes their first, and say how many are
// left out. That is whole items always, so that no part of a number can be taken for one.

import util from 'node:util';
import { Array, ArrayBuffer, Map, Math, Object, Set, String } from './intrinsics.mjs';

const WHOLE_CHARACTERS = 2_000; // a value that has no more is shown whole
const SHORT_CHARACTERS = 1_000;
const DEEP_CHARACTERS = 1_000; // a longer value shows two levels, as node does
const WHOLE_ITEMS = 1_000; // in a value, counted before it is shown
const OWN_WORDS_ITEMS = 50; // an object counts as so many whose class says how it is shown: that is the user's code
const ITEM_CHARACTERS = 50; // so many in a string count as an item
// Items at each end and characters of a string, each less than the one before: the first that fits is taken.
const LESS = [[10, 400], [10, 200], [5, 100], [3, 60], [2, 40], [1, 30]];
const DEPTH_MAX = 12; // levels that node shows: two as long as nobody asks for more
const BREAK_LENGTH = 100;
const LEFT_OUT = '…';
const OWN_WORDS = util.inspect.custom;
const NODES = { ...util.inspect.defaultOptions };
const sizeOfMap = Object.getOwnPropertyDescriptor(Map.prototype, 'size').get;
const sizeOfSet = Object.getOwnPropertyDescriptor(Set.prototype, 'size').get;
const eachOfMap = Map.prototype.forEach;
const eachOfSet = Set.prototype.forEach;
const keysOfLarge = new Map();

// Returns what node shows of a value, or less of a long one, unless the code has told node how much it wants.
export function shortText(value, maxStringLength) {
  const options = { maxStringLength, breakLength: BREAK_LENGTH };
  const { depth, maxArrayLength } = util.inspect.defaultOptions;
  if (value === null || typeof value !== 'object' || maxArrayLength !== NODES.maxArrayLength) return util.inspect(value, options);
  const levels = Math.min(depth ?? DEPTH_MAX, DEPTH_MAX);
  try {
    return textWithin(value, levels, options);
  } finally {
    keysOfLarge.clear();
  }
}

function textWithin(value, levels, options) {
  const whole = hasFew(value, levels) ? util.inspect(value, { ...options, maxArrayLength: WHOLE_ITEMS }) : undefined;
  if (whole !== undefined && whole.length <= WHOLE_CHARACTERS) return deeperIfShort(value, whole, options);
  let text = '';
  for (const [ends, characters] of LESS) {
    text = util.inspect(shorter(value, ends, levels), { ...options, maxArrayLength: 2 * ends + 1, maxStringLength: characters });
    if (text.length <= SHORT_CHARACTERS) break;
  }
  if (whole !== undefined && whole.length <= text.length) return whole; // an error, say: nothing in it is long
  return `${byLines(text)}\n\n[${nameOf(value)}; to see more, console.log() a part of it]`;
}

// Returns all levels of a value where these are few words: what node leaves out by itself is mostly what was asked for.
function deeperIfShort(value, shown, options) {
  if (util.inspect.defaultOptions.depth !== NODES.depth || !/\[(Object|Array|Map|Set)/.test(shown) || !hasFew(value, DEPTH_MAX)) return shown;
  const deeper = util.inspect(value, { ...options, maxArrayLength: WHOLE_ITEMS, depth: DEPTH_MAX, compact: DEPTH_MAX });
  return deeper.length <= DEEP_CHARACTERS ? deeper : shown;
}

function nameOf(value) {
  if (util.types.isProxy(value)) return 'shortened';
  if (Array.isArray(value)) return `array of ${withCommas(value.length)} items`;
  if (util.types.isMap(value)) return `Map of ${withCommas(sizeOfMap.call(value))} items`;
  if (util.types.isSet(value)) return `Set of ${withCommas(sizeOfSet.call(value))} items`;
  return isPlain(value) ? `object of ${withCommas(keysOf(value).length)} properties` : 'shortened';
}

const withCommas = (count) => String(count).replace(/\B(?=(\d{3})+$)/g, ',');

// Whether there is so little in it that all of it may be looked at. No code of the user's says so.
function hasFew(value, levels) {
  let left = WHOLE_ITEMS;
  const visit = (item, level) => {
    left -= typeof item === 'string' ? 1 + item.length / ITEM_CHARACTERS : 1;
    if (item === null || typeof item !== 'object' || util.types.isProxy(item) || level > levels || left < 0) return;
    if (ArrayBuffer.isView(item)) {
      left -= item.byteLength / 8;
      return;
    }
    if (util.types.isMap(item) && (left -= sizeOfMap.call(item)) >= 0) {
      eachOfMap.call(item, (content, key) => { visit(key, level + 1); visit(content, level + 1); });
    } else if (util.types.isSet(item) && (left -= sizeOfSet.call(item)) >= 0) {
      eachOfSet.call(item, (content) => visit(content, level + 1));
    }
    if (!isPlain(item) && OWN_WORDS in item) left -= OWN_WORDS_ITEMS;
    const keys = left < 0 || (Array.isArray(item) && item.length > left) ? undefined : keysOf(item);
    if (keys === undefined || keys.length > left) left = -1;
    else for (const key of keys) visit(Object.getOwnPropertyDescriptor(item, key)?.value, level + 1);
  };
  visit(value, 0);
  return left >= 0;
}

// The value, with so many items at each end of what is plain data in it; all else is node's to shorten.
function shorter(value, ends, levels, copies = new Map()) {
  if (value === null || typeof value !== 'object' || util.types.isProxy(value) || levels < 0) return value;
  if (copies.has(value)) return copies.get(value);
  const isArray = Array.isArray(value) && Object.getPrototypeOf(value) === Array.prototype;
  if (!isArray && !isPlain(value)) return value;
  const copy = isArray ? [] : Object.create(Object.getPrototypeOf(value));
  copies.set(value, copy); // it may be within itself
  const keys = isArray ? undefined : keysOf(value);
  const count = isArray ? value.length : keys.length;
  const keyAt = (place) => (isArray ? place : keys[place]);
  const take = (place, at) => {
    const one = Object.getOwnPropertyDescriptor(value, keyAt(place));
    if (one === undefined) copy.length = at + 1; // a hole
    else Object.defineProperty(copy, isArray ? at : keyAt(place), 'value' in one ? { ...one, value: shorter(one.value, ends, levels - 1, copies) } : one);
  };
  const isLong = count > 2 * ends;
  const head = isLong ? ends : count;
  for (let place = 0; place < head; place++) take(place, place);
  if (!isLong) return copy;
  // Keys that are numbers go before all others, whenever they come.
  const tail = isArray || !/^\d+$/.test(String(keys[count - 1])) ? ends : 0;
  const words = `<${withCommas(count - head - tail)} left out>`;
  copy[isArray ? head : LEFT_OUT] = { [OWN_WORDS]: () => words };
  for (let place = count - tail; place < count; place++) take(place, head + 1 + place - (count - tail));
  return copy;
}

// Returns the keys that node shows. To get a million takes so long that it is done once.
function keysOf(value) {
  let keys = keysOfLarge.get(value);
  if (keys === undefined) {
    keys = Object.keys(value);
    for (const symbol of Object.getOwnPropertySymbols(value)) {
      if (Object.prototype.propertyIsEnumerable.call(value, symbol)) keys.push(symbol);
    }
    if (keys.length > WHOLE_ITEMS) keysOfLarge.set(value, keys);
  }
  return keys;
}

function isPlain(value) {
  const prototype = Object.getPrototypeOf(value);
  return (prototype === Object.prototype || prototype === null) && !util.types.isModuleNamespaceObject(value) && !Object.hasOwn(value, OWN_WORDS);
}

// Whole lines of both ends of a text that is too long for all that.
function byLines(text) {
  if (text.length <= WHOLE_CHARACTERS) return text;
  const lines = text.split('\n');
  const head = [], tail = [];
  let left = WHOLE_CHARACTERS;
  while (head.length + tail.length < lines.length) {
    const isTail = tail.length < head.length;
    const line = isTail ? lines[lines.length - 1 - tail.length] : lines[head.length];
    if ((left -= line.length + 1) < 0) break;
    (isTail ? tail : head).push(line);
  }
  const count = lines.length - head.length - tail.length;
  return [...head, `... ${withCommas(count)} lines left out ...`, ...tail.reverse()].join('\n');
}
