#!/usr/bin/env bash
# Makes the locked lists anew, with the newest versions that fit each other; uv is on the PATH.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
lock() {
  uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes --only-binary :all: \
    --no-annotate --no-header --no-emit-index-url -o "$1.txt" "$1.in"
}
npm install --prefix code_interpreter.npm --package-lock-only --ignore-scripts --no-audit --no-fund \
  --omit-lockfile-registry-resolved
lock code_interpreter
lock uv
lock node
