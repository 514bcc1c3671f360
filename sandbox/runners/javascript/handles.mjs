// Handles of node's (servers, timers, child processes, ...) in one line: node shows all that they are made of.

import { createRequire } from 'node:module';
import util from 'node:util';
import { Map, Object } from './intrinsics.mjs';

const load = createRequire(import.meta.url);
const Timeout = prototypeOf(setTimeout(() => {}, 0));
const Immediate = prototypeOf(setImmediate(() => {}));

// Name of the class -> [its prototype, the line].
const KINDS = new Map([
  ['Timeout', [() => Timeout, timeoutLine]],
  ['Immediate', [() => Immediate, () => 'Immediate']],
  ['ChildProcess', [() => load('child_process').ChildProcess.prototype, childLine]],
  ['Worker', [() => load('worker_threads').Worker.prototype, (worker) => `Worker { threadId: ${worker.threadId} }`]],
  ['Server', [() => load('net').Server.prototype, serverLine]],
  ['Socket', [() => load('net').Socket.prototype, socketLine]],
  ['ClientRequest', [() => load('http').ClientRequest.prototype, requestLine]],
  ['IncomingMessage', [() => load('http').IncomingMessage.prototype, messageLine]],
]);

// The line, or undefined for any other value.
export function handleLine(value) {
  if (value === null || typeof value !== 'object' || util.types.isProxy(value)) return undefined;
  return kindOf(value)?.kind[1](value, value.constructor.name);
}

function kindOf(value) {
  for (let one = Object.getPrototypeOf(value); one; one = Object.getPrototypeOf(one)) {
    const maker = Object.getOwnPropertyDescriptor(one, 'constructor')?.value;
    if (typeof maker !== 'function' || util.types.isProxy(maker)) continue;
    const name = Object.getOwnPropertyDescriptor(maker, 'name')?.value;
    const kind = KINDS.get(name);
    if (kind && kind[0]().isPrototypeOf(value)) return { kind, name };
  }
  return undefined;
}

const AGAIN = {
  Timeout: 'a timer: start it again', Immediate: 'a callback that waits: start it again',
  ChildProcess: 'start it again', Worker: 'start it again', Server: 'start it again', Socket: 'connect it again',
};

// { kind, why } of one that ends with its process, or undefined.
export function handleKind(value) {
  const { kind, name } = kindOf(value) ?? {};
  return kind && { kind: name, why: AGAIN[name] ?? 'make it again' };
}

function prototypeOf(timer) {
  clearTimeout(timer);
  clearImmediate(timer);
  return Object.getPrototypeOf(timer);
}

function timeoutLine(timer) {
  if (timer._destroyed) return 'Timeout (over)';
  return `Timeout (${timer._repeat ? 'every' : 'after'} ${timer._repeat ?? timer._idleTimeout} ms)`;
}

function childLine({ pid, exitCode, signalCode }, name) {
  const end = signalCode ? `, signalCode: '${signalCode}'` : exitCode === null ? '' : `, exitCode: ${exitCode}`;
  return pid === undefined ? `${name} (not started)` : `${name} { pid: ${pid}${end} }`;
}

function serverLine(server, name) {
  if (!server.listening) return `${name} (not listening)`;
  return `${name} listening on ${placeOf(server.address())}`;
}

function placeOf(address) {
  if (typeof address !== 'object' || address === null) return address;
  const everywhere = address.address === '::' || address.address === '0.0.0.0';
  return everywhere ? address.port : hostAndPort(address.address, address.port);
}

function hostAndPort(host, port) {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

function socketLine(socket, name) {
  if (socket.destroyed) return `${name} (closed)`;
  if (socket.connecting) return `${name} (connecting)`;
  return socket.remoteAddress ? `${name} to ${hostAndPort(socket.remoteAddress, socket.remotePort)}` : `${name} (${socket.readyState})`;
}

function requestLine({ method, protocol, host, path }, name) {
  return `${name} ${method} ${protocol}//${host}${path}`;
}

function messageLine({ statusCode, statusMessage, method, url }, name) {
  return statusCode === null ? `${name} ${method} ${url}` : `${name} ${statusCode} ${statusMessage}`;
}
