// Places in the Int32Array that both threads see. Each holds the number of a run, or 0; the last two 1 or 0.

export const GOING_ON = 0; // came, and is not done: the worker's to write
export const CODE = 1; // whose code may be stopped by force; negative while such a stop is on its way
export const STOPPED = 2; // last one that was stopped by force
export const LOOSE = 3; // whether nothing holds the main thread's event loop (leftovers.mjs)
export const LISTENS = 4; // whether the main thread is through with its own start, which no stop may hit
export const PLACES = 5;
