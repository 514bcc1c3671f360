// Warnings, as node itself prints them.
//
// It is started with --no-warnings, or it would tell of experimental features that the runner uses.

import process from 'node:process';
import { Error } from './intrinsics.mjs';

export function installWarnings() {
  process.on('warning', (warning) => {
    if (!(warning instanceof Error) || warning.name === 'ExperimentalWarning') return;
    const code = warning.code ? `[${warning.code}] ` : '';
    const detail = typeof warning.detail === 'string' ? `\n${warning.detail}` : '';
    process.stderr.write(`(node:${process.pid}) ${code}${warning}${detail}\n`);
  });
}
