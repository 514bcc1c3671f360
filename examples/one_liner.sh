#!/usr/bin/env bash
# hutch as a plain command: code from a pipe, answered from inside a box.
set -euo pipefail
hutch=${1:-$(dirname "${BASH_SOURCE[0]}")/../build/release/bin/hutch}
echo 'import platform, os; print("pid", os.getpid(), "on", platform.node())' | "$hutch" run -
echo 'SELECT 6 * 7 AS answer;' | "$hutch" run -l sql -
