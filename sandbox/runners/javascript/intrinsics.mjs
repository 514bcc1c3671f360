// Keeps what the runner needs of the global object, as it was before user code could replace it.

export const {
  Array, ArrayBuffer, Atomics, Buffer, Error, JSON, Map, Math, Number, Object, Promise, Set, String, Symbol,
  TypeError, Uint8Array, clearInterval, clearTimeout, setImmediate, setInterval, setTimeout,
} = globalThis;
