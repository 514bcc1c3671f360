// Pictures small enough to be read. Node cannot draw: Python's PIL does, where it is.

import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const BYTES_GOOD = 750_000;
const BYTES_MAX = 20 << 20; // the host's own bound
const DEADLINE_MS = 10_000;
const PYTHON = ['/environment/bin/python3', '/usr/bin/python3'].find(existsSync) ?? 'python3';
const PROGRAM = fileURLToPath(new URL('../python/pictures.py', import.meta.url));

// The picture, drawn smaller when it is too large; undefined when it is that and cannot be.
export function fitPicture(png) {
  if (png.length <= BYTES_GOOD) return png;
  const done = spawnSync(PYTHON, [PROGRAM], { input: png, maxBuffer: BYTES_MAX, timeout: DEADLINE_MS });
  if (done.status === 0 && done.stdout.length > 0) return done.stdout;
  return png.length <= BYTES_MAX ? png : undefined;
}
