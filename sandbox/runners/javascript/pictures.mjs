// Pictures small enough to be read. Node cannot draw: Python's PIL does, where it is.

import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const BYTES_GOOD = 750_000;
const BYTES_MAX = 20 << 20; // the host's own bound
const DEADLINE_MS = 10_000;
const PROGRAM = fileURLToPath(new URL('../python/pictures.py', import.meta.url));

// The picture, drawn smaller when it is too large; undefined when it is that and cannot be.
export function fitPicture(png) {
  if (png.length <= BYTES_GOOD) return png;
  const done = spawnSync('/usr/bin/python3', [PROGRAM], { input: png, maxBuffer: BYTES_MAX, timeout: DEADLINE_MS });
  if (done.status === 0 && done.stdout.length > 0) return done.stdout;
  return png.length <= BYTES_MAX ? png : undefined;
}
