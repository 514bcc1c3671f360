// TypeScript to JavaScript: types are taken away, nothing is checked.

import { spawnSync } from 'node:child_process';
import nodeModule from 'node:module';

const { SourceMap } = nodeModule;
const DEADLINE_MS = 20_000;

// { code, map }: `map` finds the user's line for one of `code`, null when lines are the same.
export function stripTypes(source, cell) {
  return nodeModule.stripTypeScriptTypes ? stripWithNode(source, cell) : stripWithEsbuild(source, cell);
}

function stripWithNode(source, cell) {
  try {
    return { code: nodeModule.stripTypeScriptTypes(source, { mode: 'strip' }), map: null };
  } catch (error) {
    // Enums and their like are more than types: they need another code, and a map.
    if (error.code !== 'ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX') throw withPlace(error, cell);
    return splitMap(nodeModule.stripTypeScriptTypes(source, { mode: 'transform', sourceMap: true }));
  }
}

// Node tells of a line and marks the column below it: ":2", "let b: = 2;", "       ^".
function withPlace(error, cell) {
  const [, line, space] = error.stack?.match(/^:(\d+)\n(?:.*\n)*?( *)\^/) ?? [];
  if (!line) return error;
  return Object.assign(new SyntaxError(error.message), {
    stack: `SyntaxError: ${error.message}\n    at ${cell}:${line}:${space.length + 1}`,
  });
}

function stripWithEsbuild(source, cell) {
  // Imports stay although this cell may not use them: a later one may.
  const config = '{"compilerOptions":{"preserveValueImports":true,"importsNotUsedAsValues":"remove","useDefineForClassFields":true}}';
  return runEsbuild(source, cell, ['--loader=ts', `--tsconfig-raw=${config}`])
    ?? fail('TypeScript needs the program esbuild (Debian: apt install esbuild), or node 22.13 or newer');
}

// Translates a file, by esbuild first: it leaves imports out that are only types, knows JSX, and makes CommonJS (null without it).
export function translateFile(source, file, format) {
  const loader = file.endsWith('x') ? 'tsx' : 'ts';
  const done = runEsbuild(source, file, [`--loader=${loader}`, `--format=${format}`, '--platform=node']);
  if (done) return done;
  if (loader === 'tsx') fail('JSX needs the program esbuild (Debian: apt install esbuild)');
  return format === 'cjs' ? null : stripTypes(source, file);
}

function fail(message) {
  throw new Error(message);
}

// null where there is no esbuild.
function runEsbuild(source, name, options) {
  const done = spawnSync('esbuild', ['--target=esnext', '--sourcemap=inline', '--log-level=error', '--color=false',
    `--sourcefile=${name}`, ...options],
  { input: source, encoding: 'utf8', timeout: DEADLINE_MS, maxBuffer: 64 << 20 });
  if (done.error?.code === 'ENOENT') return null;
  if (done.error) throw done.error;
  if (done.status !== 0) throw syntaxError(done.stderr, name);
  return splitMap(done.stdout);
}

function splitMap(output) {
  const marker = '\n//# sourceMappingURL=data:application/json;base64,';
  const at = output.lastIndexOf(marker);
  if (at < 0) return { code: output, map: null };
  const payload = Buffer.from(output.slice(at + marker.length).trim(), 'base64').toString();
  return { code: output.slice(0, at), map: new SourceMap(JSON.parse(payload)) };
}

// esbuild's first complaint: "✘ [ERROR] what", then "    cell-1:3:4:".
function syntaxError(text, cell) {
  const message = text.match(/\[ERROR\] (.*)/)?.[1] ?? text.trim();
  const position = text.match(/^\s+\S.*:(\d+):(\d+):$/m);
  const error = new SyntaxError(message);
  error.stack = `SyntaxError: ${message}`;
  if (position) error.stack += `\n    at ${cell}:${position[1]}:${Number(position[2]) + 1}`;
  return error;
}
