#!/usr/bin/env bash
# hutch_mcp-VERSION-py3-none-manylinux….whl: `uvx hutch-mcp setup`, `uvx hutch-mcp stdio`; the programs are inside.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. packaging/version.sh
version=$(hutch_version)
root=build/packages/wheel-root
rm -rf "$root"
mkdir -p "$root/hutch_mcp/tree"
cp packaging/wheel/hutch_mcp/*.py "$root/hutch_mcp/"
cp -r build/packages/tree/bin build/packages/tree/share "$root/hutch_mcp/tree/"
# Static programs for any C library.
tag=py3-none-manylinux_2_17_x86_64.musllinux_1_1_x86_64
mkdir "$root/hutch_mcp-$version.dist-info"
sed "s/@VERSION@/$version/" packaging/wheel/METADATA >"$root/hutch_mcp-$version.dist-info/METADATA"
cat README.md >>"$root/hutch_mcp-$version.dist-info/METADATA"
printf 'Wheel-Version: 1.0\nGenerator: hutch packaging\nRoot-Is-Purelib: false\n' >"$root/hutch_mcp-$version.dist-info/WHEEL"
for abi in manylinux_2_17_x86_64 musllinux_1_1_x86_64; do
  printf 'Tag: py3-none-%s\n' "$abi" >>"$root/hutch_mcp-$version.dist-info/WHEEL"
done
printf '[console_scripts]\nhutch-mcp = hutch_mcp:main\nhutch = hutch_mcp:main\n' >"$root/hutch_mcp-$version.dist-info/entry_points.txt"
cp LICENSE "$root/hutch_mcp-$version.dist-info/"
find "$root" -exec touch -d "@$(packaging/epoch.sh)" {} +
file=build/packages/hutch_mcp-$version-$tag.whl
/usr/bin/python3 packaging/wheel/record.py "$root" "hutch_mcp-$version.dist-info"
/usr/bin/python3 packaging/zip_tree.py "$root" "$file" "$(packaging/epoch.sh)"
echo "$file"
