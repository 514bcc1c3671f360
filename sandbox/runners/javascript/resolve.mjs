// Finds the file that a bare import specifier names: node's algorithm for ES modules, which node
// itself applies only to importers that are files.
// https://nodejs.org/api/esm.html#resolution-algorithm-specification

import fs from 'node:fs';
import path from 'node:path';

const CONDITIONS = new Set(['node', 'import', 'module-sync', 'default']);

// The path, or null when no node_modules from `folder` upwards has the package.
export function resolveImport(specifier, folder) {
  const [, name, rest] = specifier.match(/^((?:@[^/]+\/)?[^/]+)(\/.*)?$/) ?? [];
  if (!name) return null;
  for (let at = folder; ; at = path.dirname(at)) {
    const packageFolder = path.join(at, 'node_modules', name);
    if (fs.existsSync(packageFolder)) return resolveInPackage(packageFolder, rest ?? '', specifier);
    if (at === path.dirname(at)) return null;
  }
}

function resolveInPackage(folder, rest, specifier) {
  let manifest = {};
  try {
    manifest = JSON.parse(fs.readFileSync(path.join(folder, 'package.json'), 'utf8'));
  } catch {
    // A folder without a manifest: index.js.
  }
  if (manifest.exports !== undefined && manifest.exports !== null) {
    const target = matchExports(manifest.exports, `.${rest}`);
    if (target) return path.join(folder, target);
    throw new Error(`Package '${specifier}' does not export '.${rest}'`);
  }
  const wanted = rest ? path.join(folder, rest) : path.join(folder, manifest.main ?? 'index.js');
  const candidates = [wanted, `${wanted}.js`, `${wanted}.json`, path.join(wanted, 'index.js')];
  if (!rest) candidates.push(path.join(folder, 'index.js'));
  const found = candidates.find((file) => fs.statSync(file, { throwIfNoEntry: false })?.isFile());
  if (!found) throw new Error(`Package '${specifier}' has no file ${wanted}`);
  return found;
}

function matchExports(exports, subpath) {
  const isMap = typeof exports === 'object' && !Array.isArray(exports)
    && Object.keys(exports).some((key) => key.startsWith('.'));
  if (!isMap) return subpath === '.' ? pick(exports) : null;
  if (subpath in exports && !subpath.includes('*')) return pick(exports[subpath]);
  const patterns = Object.keys(exports).filter((key) => key.includes('*'))
    .sort((a, b) => b.indexOf('*') - a.indexOf('*')); // the most particular first
  for (const pattern of patterns) {
    const [before, after] = pattern.split('*');
    if (subpath.startsWith(before) && subpath.endsWith(after) && subpath.length >= pattern.length) {
      const middle = subpath.slice(before.length, subpath.length - after.length);
      return pick(exports[pattern])?.replaceAll('*', middle) ?? null;
    }
  }
  return null;
}

// The first target whose conditions hold.
function pick(target) {
  if (typeof target === 'string') return target;
  if (Array.isArray(target)) return target.map(pick).find(Boolean) ?? null;
  for (const [condition, inner] of Object.entries(target ?? {})) {
    if (CONDITIONS.has(condition)) {
      const found = pick(inner);
      if (found) return found;
    }
  }
  return null;
}
