#!/usr/bin/env bash
# Lets one fuzz target search for a while, from its corpus on. An input that it ends on, or that is
# slow or large in memory, is printed in base64 and is a failure.
#
#   tests/fuzz/search.sh TARGET CORPUS SECONDS
set -euo pipefail
target=$1
corpus=$2
seconds=$3

found=$(mktemp -d)
trap 'rm -rf "$found"' EXIT
mkdir "$found/corpus"
status=0
# New inputs go into the first directory; the corpus itself stays as it is.
"$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 -verbosity=0 \
  -artifact_prefix="$found/" "$found/corpus" "$corpus" || status=$?
for input in "$found"/*-*; do
  [ -f "$input" ] || continue
  echo "The input $(basename "$input") of $(basename "$target") in base64:"
  base64 "$input"
done
exit "$status"
