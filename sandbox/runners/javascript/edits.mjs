// Source with pieces of it replaced, and where what comes of it was.

import { Object } from './intrinsics.mjs';

// `edits` are { start, end, text } apart from each other; a text has no line break. Lines stay where they are, since
// tracebacks count them; for columns there is map.findEntry(line, column), as a source map has it.
export function edited(source, edits) {
  edits.sort((a, b) => a.start - b.start || a.end - b.end);
  const pieces = []; // { at, from, isOriginal }: what is at an offset of the code, and from where
  let code = '';
  let done = 0;
  for (const { start, end, text } of edits) {
    pieces.push({ at: code.length, from: done, isOriginal: true });
    code += source.slice(done, start);
    pieces.push({ at: code.length, from: start, isOriginal: false });
    code += text + '\n'.repeat(source.slice(start, end).split('\n').length - 1);
    done = end;
  }
  pieces.push({ at: code.length, from: done, isOriginal: true });
  code += source.slice(done);
  return { code, map: { findEntry: (line, column) => placeIn(source, offsetBefore(pieces, offsetIn(code, line, column))) } };
}

// First the way back of what was made last; either may be null.
export function chained(last, first) {
  if (!last || !first) return last ?? first;
  return {
    findEntry(line, column) {
      const { originalLine, originalColumn } = last.findEntry(line, column);
      return first.findEntry(originalLine, originalColumn);
    },
  };
}

function offsetBefore(pieces, offset) {
  const { at, from, isOriginal } = pieces.findLast((piece) => piece.at <= offset) ?? pieces[0];
  return isOriginal ? from + offset - at : from;
}

function offsetIn(text, line, column) {
  let start = 0;
  for (let i = 0; i < line; i++) start = text.indexOf('\n', start) + 1;
  return start + column;
}

function placeIn(text, offset) {
  const before = text.slice(0, offset).split('\n');
  return Object.freeze({ originalLine: before.length - 1, originalColumn: before.at(-1).length });
}
