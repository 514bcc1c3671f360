#!/usr/bin/env bash
# Builds what people install, into build/packages. Two builds of one commit give the same bytes.
#
#   packaging/build.sh KIND...     deb tarball mcpb wheel npm registry, or all (of these); oci, an image
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
kinds=("$@")
[ "${1:-}" != all ] || kinds=(deb tarball mcpb wheel npm registry)
[ $# -gt 0 ] || { sed -n '2,4p' "${BASH_SOURCE[0]}" >&2; exit 2; }
for kind in "${kinds[@]}"; do
  [ -x "$here/$kind/build.sh" ] || { echo "packaging/build.sh: there is no kind $kind" >&2; exit 2; }
done
"$here/tree.sh"
for kind in "${kinds[@]}"; do "$here/$kind/build.sh"; done
