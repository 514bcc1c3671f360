#!/usr/bin/env bash
# Builds the self-contained programs and lays them out as they are shipped: build/packages/tree, with bin and
# share, that runs wherever it lies. Every kind of package is made from it.
#
#   packaging/tree.sh
#
# Two calls give the same bytes: times are those of the commit, or SOURCE_DATE_EPOCH.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

packaging/install-packages.sh build package
packaging/static-libraries.sh
. packaging/version.sh
venv=build/packages/venv
if ! cmp -s packaging/requirements.txt "$venv/requirements.txt"; then
  rm -rf "$venv"
  /usr/bin/python3 -m venv "$venv"
  "$venv/bin/pip" install --quiet --disable-pip-version-check -r packaging/requirements.txt
  cp packaging/requirements.txt "$venv/"
fi
packaging/compile.sh portable hutch

tree=build/packages/tree
rm -rf "$tree"
cmake --install build/portable --prefix "$tree" --strip >/dev/null
# They are for one version of Python, which may be another one there: who installs compiles them (deb), or nobody does.
find "$tree" -name __pycache__ -prune -exec rm -rf {} +
install -m 644 /usr/lib/file/magic.mgc "$tree/share/hutch/"
install -m 644 -D README.md SECURITY.md CHANGELOG.md LICENSE -t "$tree/share/doc/hutch"
install -m 644 -D docs/*.md -t "$tree/share/doc/hutch/docs"
packaging/licences.sh | gzip -n9 >"$tree/share/doc/hutch/THIRD_PARTY_LICENSES.gz"
packaging/licences.sh --list | "$venv/bin/python" packaging/sbom.py "$(hutch_version)" "$(packaging/epoch.sh)" \
  >"$tree/share/doc/hutch/hutch.spdx.json"
chmod -R u=rwX,go=rX "$tree"
find "$tree" -exec touch -h -d "@$(packaging/epoch.sh)" {} +
