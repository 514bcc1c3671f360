// Failures as the user should read them: their own frames, named by cell, line and column.

import { fileURLToPath } from 'node:url';
import util from 'node:util';
import { Error, Map, Math, Number, String } from './intrinsics.mjs';
import { inspected } from './program_failures.mjs';

const TRACEBACK_CHARACTERS_MAX = 60_000;
const MESSAGE_CHARACTERS_MAX = 4_000;
export const HERE = fileURLToPath(new URL('.', import.meta.url)); // frames name it as a path or as a URL

Error.stackTraceLimit = 30;

const sources = new Map(); // cell, or TypeScript file as frames name it -> { source, map }

export function rememberSource(name, source) {
  sources.set(name, source);
}

// { name, message, traceback } of anything that was thrown.
export function describeFailure(failure) {
  const isError = util.types.isNativeError(failure) || inheritsFromError(failure);
  let text;
  try {
    text = isError ? inspected(failure) : `Uncaught: ${util.inspect(failure)}`;
  } catch {
    text = 'Uncaught: (it cannot be shown: its inspection failed)';
  }
  text = userFrames(mapPositions(text));
  const quoted = isError ? quote(text.match(/\b(cell-\d+):(\d+):(\d+)/)) : '';
  return {
    name: isError ? read(failure, 'name', 'Error') : 'Uncaught',
    message: cut(isError ? read(failure, 'message', '') : text.replace(/^Uncaught: /, ''), MESSAGE_CHARACTERS_MAX),
    traceback: `${cut(quoted + text, TRACEBACK_CHARACTERS_MAX)}\n`,
  };
}

// Adds what the inspector knows: where in the cell a syntax error is.
export function explain(failure, details, cell) {
  const described = describeFailure(failure);
  if (described.name !== 'SyntaxError' || !details?.scriptId || /\bcell-\d+:\d+/.test(described.traceback)) {
    return described;
  }
  const [, line, column] = mapPositions(`${cell}:${details.lineNumber + 1}:${details.columnNumber + 1}`).match(/:(\d+):(\d+)$/);
  described.traceback = `${quote([null, cell, line, column])}SyntaxError: ${described.message}\n    at ${cell}:${line}:${column}\n`;
  return described;
}

// The highest number of a cell among a traceback's frames; NaN, which is less than none, without one.
export function newestCell(traceback) {
  const numbers = [...traceback.matchAll(/^\s+at .*?\bcell-(\d+):\d+:\d+/gm)].map(([, number]) => Number(number));
  return numbers.length ? Math.max(...numbers) : NaN;
}

// A thrown value may be a proxy, and any look at it the user's code.
function inheritsFromError(failure) {
  try {
    return failure instanceof Error;
  } catch {
    return false;
  }
}

export function read(failure, key, fallback) {
  try {
    return String(failure?.[key] ?? fallback);
  } catch {
    return fallback;
  }
}

export function cut(text, limit) {
  if (text.length <= limit) return text;
  const head = text.slice(0, Math.floor(limit * 0.75));
  const tail = text.slice(-Math.floor(limit / 4));
  return `${head}\n... [${text.length - head.length - tail.length} characters left out] ...\n${tail}`;
}

// Drops node's frames and the runner's; what follows the last frame of a cell is how it got there.
function userFrames(text) {
  const kept = [];
  let frames = [];
  const flush = () => {
    const lastOfCell = frames.findLastIndex((line) => /\bcell-\d+:\d+/.test(line));
    if (lastOfCell >= 0) frames = frames.slice(0, lastOfCell + 1);
    kept.push(...frames.filter((line) => /^\s+at /.test(line) && !line.includes('node:') && !line.includes(HERE)));
    frames = [];
  };
  for (const line of text.split('\n')) {
    if (/^\s+(at |\.\.\. \d+ lines matching)/.test(line)) {
      // " {" opens the error's own properties, which stay.
      const opens = line.endsWith(' {');
      frames.push(opens ? line.slice(0, -2) : line);
      if (opens) {
        flush();
        kept[kept.length - 1] += ' {';
      }
    } else {
      flush();
      kept.push(line);
    }
  }
  flush();
  return kept.join('\n');
}

// Positions of translated code as positions of what the user wrote.
function mapPositions(text) {
  return text.replace(/(\bcell-\d+|(?:file:\/\/)?\/[^\s():]+\.[cm]?tsx?):(\d+):(\d+)/g, (whole, name, line, column) => {
    const entry = sources.get(name)?.map?.findEntry(line - 1, column - 1);
    if (!entry || entry.originalLine === undefined) return whole;
    return `${name}:${entry.originalLine + 1}:${entry.originalColumn + 1}`;
  });
}

function quote(position) {
  if (!position) return '';
  const [, name, line, column] = position;
  const source = sources.get(name)?.source.split('\n')[line - 1];
  if (source === undefined || source.length > 500) return '';
  return `${name}:${line}\n${source}\n${' '.repeat(Math.max(0, column - 1))}^\n\n`;
}
