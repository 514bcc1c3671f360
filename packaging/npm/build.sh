#!/usr/bin/env bash
# hutch-mcp-VERSION.tgz: `npx hutch-mcp setup`, `npx hutch-mcp stdio`; the programs are inside.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. packaging/version.sh
version=$(hutch_version)
root=build/packages/npm-root
file=build/packages/hutch-mcp-$version.tgz
rm -rf "$root"
mkdir -p "$root/package"
cp -r build/packages/tree "$root/package/tree"
install -m 755 packaging/npm/start.js "$root/package/"
sed "s/@VERSION@/$version/" packaging/npm/package.json >"$root/package/package.json"
cp README.md LICENSE "$root/package/"
install -m 644 -D docs/*.md -t "$root/package/docs"
tar --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$(packaging/epoch.sh)" --format=ustar \
  -C "$root" -c package | gzip -n9 >"$file"
echo "$file"
