// What the runner needs of the global object, as it was before user code could replace it.

export const {
  Array, Atomics, Buffer, Error, JSON, Map, Math, Number, Object, Promise, Set, String, Symbol,
  clearInterval, setImmediate, setInterval,
} = globalThis;
