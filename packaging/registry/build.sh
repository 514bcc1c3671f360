#!/usr/bin/env bash
# server.json, the entry of the MCP registry.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. packaging/version.sh
sed "s/@VERSION@/$(hutch_version)/g" packaging/registry/server.json >build/packages/server.json
echo build/packages/server.json
