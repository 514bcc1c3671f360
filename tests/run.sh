#!/usr/bin/env bash
# Sets up and runs all tests: as whoever calls it and, when that is root, as an ordinary user too.
#
#   tests/run.sh            dev as both users, then unit and integration under asan; the conformance
#                           suite as the caller only; with CI=true what --vm and --fuzz do too
#   tests/run.sh --quick    dev, without the tests labelled slow, as the caller only
#   tests/run.sh --vm       dev, in a Debian 12 machine under qemu only: cgroup version 2, systemd
#   tests/run.sh --fuzz     a minute of search with each fuzz target only
#
# HUTCH_TEST_ZYGOTE=1 makes suites take every Python from a zygote (ctest -R zygote); else none does.
# With CI=true a test that skips what should work here fails.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
top=$PWD
quick=false
only=
case ${1:-} in
  "") ;;
  --quick) quick=true ;;
  --vm | --fuzz) only=${1#--} ;;
  *) echo "tests/run.sh: unknown option $1; see its first lines" >&2; exit 2 ;;
esac
test_user=hutch-test

step() { printf '\n== %s (%s)\n' "$1" "$(date +%H:%M:%S)"; }

step "Packages"
packaging/install-packages.sh build runtime test

venv=$top/build/venv
if ! cmp -s tests/requirements.txt "$venv/requirements.txt"; then
  step "Python packages of the tests"
  rm -rf "$venv"
  /usr/bin/python3 -m venv "$venv"
  "$venv/bin/pip" install --quiet --disable-pip-version-check -r tests/requirements.txt
  cp tests/requirements.txt "$venv/requirements.txt"
fi
if [ ! -x "$top/build/extras/bin/python" ]; then
  step "What the runners use where it is: DuckDB, IPython, plotly, altair"
  "$top/tests/support/make_extras.sh" || echo "not to be had: their tests are skipped"
fi
export HUTCH_TEST_PYTHON=$venv/bin/python

# build PRESET [TARGET]
build() {
  step "Build $1"
  [ -e "build/$1/build.ninja" ] || cmake --preset "$1" "-DHUTCH_TEST_PYTHON=$HUTCH_TEST_PYTHON" >/dev/null
  cmake --build --preset "$1" -j "${HUTCH_BUILD_JOBS:-$(nproc)}" ${2:+--target "$2"}
}

# run PRESET CTEST_ARGUMENT...
run() {
  local preset=$1 status=0
  shift
  ctest --test-dir "build/$preset" --output-on-failure --no-tests=error -j "$(nproc)" "$@" ||
    status=$?
  [ "$status" -eq 0 ] || say_what_failed "build/$preset"
  return "$status"
}

# What a reader of many pages of output looks for first: at their end, a line for each failure.
say_what_failed() {
  step "What failed"
  grep -hE '^(FAILED|ERROR|E  )|^\[  FAILED  \]|: Failure$|Sanitizer: ' \
    "$1/Testing/Temporary/LastTest.log" | tail -n 12 || true
}

# The tree as another user sees it: readable, with state and temporary files of that user's own.
run_as_user() {
  step "Tests as an ordinary user ($test_user)"
  id "$test_user" >/dev/null 2>&1 || useradd --create-home --shell /bin/bash "$test_user"
  local copy
  copy=$(mktemp -d /tmp/hutch-tree.XXXXXX)
  chmod 755 "$copy"
  cp -a CMakeLists.txt mcp sandbox sessions share tools tests examples packaging "$copy/"
  mkdir -p "$copy/build"
  cp -a build/dev "$copy/build/dev"
  cp -a build/venv "$copy/build/venv"
  # The corpus with IPython, and SQL with DuckDB, are tests of that user's too.
  [ ! -e build/extras ] || cp -a build/extras "$copy/build/extras"
  # Test files name the directory they were configured in.
  find "$copy/build/dev" \( -name 'CTestTestfile.cmake' -o -name '*_tests*.cmake' \) \
    -exec sed -i "s|$top|$copy|g" {} +
  chown -R "$test_user" "$copy"
  local status=0
  runuser -u "$test_user" -- env -i "PATH=/usr/local/bin:/usr/bin:/bin" "HOME=/home/$test_user" \
    "LANG=C.UTF-8" "CI=${CI:-}" "TMPDIR=/tmp" "HUTCH_SOURCE_DIR=$copy" \
    ctest --test-dir "$copy/build/dev" --output-on-failure --no-tests=error -j "$(nproc)" \
    -LE 'tidy|conformance|clients' || status=$?
  [ "$status" -eq 0 ] || say_what_failed "$copy/build/dev"
  pkill -KILL -u "$test_user" 2>/dev/null || true
  rm -rf "$copy"
  return "$status"
}

run_in_vm() {
  step "Tests in a Debian 12 machine"
  timeout -k 30 1200 tests/vm/run.sh build/dev
}

run_fuzz() {
  step "Packages of the fuzz targets"
  packaging/install-packages.sh fuzz
  build fuzz fuzz_targets
  step "A minute of search with each fuzz target"
  run fuzz -L fuzz
}

if [ "$only" = fuzz ]; then
  run_fuzz
  exit 0
fi
build dev
if [ "$only" = vm ]; then
  run_in_vm
  exit 0
fi
step "Tests as $(id -un)"
if $quick; then
  run dev -LE slow
  exit 0
fi
run dev
if [ "$(id -u)" -eq 0 ]; then run_as_user; fi

build asan
step "Unit and integration tests under the address and undefined behaviour sanitizers"
run asan -L 'unit|integration' -LE slow

if [ "${CI:-}" = true ]; then
  run_in_vm
  run_fuzz
fi

step "All tests passed"
