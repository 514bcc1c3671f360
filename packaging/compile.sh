#!/usr/bin/env bash
# Configures one preset where that was not done yet, and builds it, showing progress.
#
#   packaging/compile.sh release [TARGET]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
preset=${1:?"which preset? (dev, clang, asan, tsan, fuzz, release, portable)"}
jobs=${HUTCH_BUILD_JOBS:-$(nproc)}
[ -e "build/$preset/build.ninja" ] || cmake --preset "$preset" >/dev/null
cmake --build --preset "$preset" -j "$jobs" ${2:+--target "$2"}
