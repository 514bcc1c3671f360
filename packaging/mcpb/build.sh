#!/usr/bin/env bash
# hutch-VERSION.mcpb: a bundle for Claude Desktop, checked and packed by the official tool.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. packaging/version.sh
version=$(hutch_version)
root=build/packages/mcpb-root
file=build/packages/hutch-$version.mcpb
tools=build/packages/mcpb-tool
[ -x "$tools/node_modules/.bin/mcpb" ] ||
  npm install --silent --no-fund --no-audit --prefix "$tools" @anthropic-ai/mcpb@2.1.2 >/dev/null
rm -rf "$root"
mkdir -p "$root/server/hutch"
cp -r build/packages/tree/bin build/packages/tree/share "$root/server/hutch/"
install -m 755 packaging/mcpb/start.sh "$root/server/"
sed "s/@VERSION@/$version/" packaging/mcpb/manifest.json >"$root/manifest.json"
cp packaging/icon.png "$root/"
"$tools/node_modules/.bin/mcpb" validate "$root/manifest.json" >&2
# Packed here, since the tool writes the time of packing: the same bytes each time, executables as such.
/usr/bin/python3 packaging/zip_tree.py "$root" "$file" "$(packaging/epoch.sh)"
"$tools/node_modules/.bin/mcpb" info "$file" >&2
echo "$file"
