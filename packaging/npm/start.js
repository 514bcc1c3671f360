#!/usr/bin/env node
// Starts the program that this package carries: `npx hutch-mcp stdio`. It has our descriptors, and our signals.
'use strict';
const { spawn } = require('child_process');
const fs = require('fs');
const path = require('path');

const environment = { ...process.env };
// Packages of npx may be gone tomorrow: clients are to start it by npx again, which knows the registry only.
const fetched = __dirname.match(/^.*\/_npx\/[^/]+/);
if (fetched) {
  const { dependencies } = JSON.parse(fs.readFileSync(path.join(fetched[0], 'package.json'), 'utf8'));
  environment.HUTCH_LAUNCHER ??= /^[\^~]?\d/.test(dependencies['hutch-mcp']) ? 'npx -y hutch-mcp' : 'none';
}
const child = spawn(path.join(__dirname, 'tree', 'bin', 'hutch'), process.argv.slice(2), { stdio: 'inherit', env: environment });
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
child.on('error', (error) => {
  console.error(`hutch-mcp: ${error.message}`);
  process.exit(1);
});
child.on('exit', (code, signal) => {
  if (signal) {
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  } else {
    process.exit(code);
  }
});
