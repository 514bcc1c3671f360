#!/usr/bin/env bash
# Sets up, builds and runs the tests (tests/README.md).
#
#   tests/run.sh             the gate: the release preset, as whoever calls it and, when that is root,
#                            as an ordinary user too (how long: tests/README.md)
#   tests/run.sh --all       the gate, then everything that takes long
#   tests/run.sh quick       while working: no environment, and once built under two minutes
#   tests/run.sh STAGE...    only these: quick gate long asan tsan clang fuzz formats vm fresh
#
# The last line is always `N passed, N failed, N skipped`; above it stands what failed.
set -uo pipefail
cd -P "$(dirname "${BASH_SOURCE[0]}")/.." || exit 2
printed=false
trap '$printed || echo "0 passed, 1 failed, 0 skipped"' EXIT

stages=("$@")
[ $# -gt 0 ] || stages=(gate)
[ "${1:-}" != --all ] || stages=(gate long asan tsan clang fuzz formats vm fresh)
for stage in "${stages[@]}"; do
  case $stage in quick | gate | long | asan | tsan | clang | fuzz | formats | vm | fresh) ;; *)
    echo "tests/run.sh: unknown stage $stage; see its first lines" >&2
    exit 2
  esac
done

mkdir -p build
venv=$PWD/build/venv
results=$PWD/build/test-results.jsonl
said=$PWD/build/test-stage.log
environment_said=$PWD/build/test-environment.log
environment_status=$PWD/build/test-environment.status
rm -f "$results"
broken=false # a failure that could not be written down

# The marks of one run do not belong into another's.
unset HUTCH_TEST_ONLY HUTCH_TEST_REPORT HUTCH_TEST_ZYGOTE
export HUTCH_TEST_PYTHON=$venv/bin/python CTEST_OUTPUT_ON_FAILURE=1
# Where the quickstart has it too: built once a machine.
export HUTCH_TEST_ENVIRONMENTS=${HUTCH_TEST_ENVIRONMENTS:-$HOME/.local/share/hutch/environments}

gate() { /usr/bin/python3 tests/gate/gate.py "$1" --results "$results" "${@:2}"; }

finish() {
  printf '\n'
  $broken && set -- --broken
  gate summary "$@"
  status=$?
  case $status in 0 | 3) printed=true ;; esac
  exit "$status"
}

# step TITLE COMMAND...: a step that fails is a failed test of that name, and one that ends with 77 a
# skipped one; what it said last is the reason.
step() {
  printf '\n== %s (%s)\n' "$1" "$(date +%H:%M:%S)"
  "${@:2}" 2>&1 | tee "$said"
  local status=${PIPESTATUS[0]} state=failed
  [ "$status" -ne 0 ] || return 0
  [ "$status" -ne 77 ] || state=skipped
  gate note "$state" "$1" "$said" || broken=true
  return 1
}

make_venv() {
  cmp -s tests/requirements.txt "$venv/requirements.txt" && return
  rm -rf "$venv"
  /usr/bin/python3 -m venv "$venv" &&
    "$venv/bin/pip" install --quiet --disable-pip-version-check -r tests/requirements.txt &&
    cp tests/requirements.txt "$venv/requirements.txt"
}

# Most of it is downloads, so it is built while the tests are compiled.
begin_environment() {
  packaging/apparmor/install.sh --if-needed build/release/bin
  rm -f "$environment_status"
  {
    HUTCH_ENVIRONMENTS_DIR=$HUTCH_TEST_ENVIRONMENTS build/release/bin/hutch environments build
    echo $? >"$environment_status"
  } >"$environment_said" 2>&1 &
  environment=$!
}
end_environment() {
  tail -n +1 -f --pid="$environment" "$environment_said"
  return "$(cat "$environment_status")"
}

# build PRESET [TARGET]: all programs of the tests unless one is named; an ordinary user's may need a
# profile of AppArmor to make their boxes.
build() {
  cmake --preset "$1" -DHUTCH_TESTS=ON "-DHUTCH_TEST_PYTHON=$HUTCH_TEST_PYTHON" >/dev/null &&
    cmake --build --preset "$1" -j "${HUTCH_BUILD_JOBS:-$(nproc)}" ${2:+--target "$2"} &&
    { [ $# -gt 1 ] || packaging/apparmor/install.sh --if-needed "build/$1/bin" "build/$1/weak/bin"; }
}

# tests TITLE OPTION...: runs tests; what came of them is in the results, not in the status.
tests() { step "$1" gate run "${@:2}"; }

as_user() { [ "$(id -u)" -ne 0 ] || tests "$1, as an ordinary user" --as-user "${@:2}"; }

# Runs what says most of a change for its time: the tree's shape, the units and, of what runs in boxes and of the whole, the
# suites that the files not committed yet call for; the runner of a language with the folders that it uses.
stage_quick() {
  local changed suites='^(unit\.|tidy|integration\.protocol$' file
  changed=$(git status --porcelain --untracked-files=all | cut -c4-)
  needs() { ! grep -qE "$1" <<<"$changed" || suites+="|$2"; }
  needs 'runners/(python|interpreter|zygote|install)' 'runners\.(python|notebook|threads)$'
  needs 'runners/(javascript|interpreter)' 'runners\.javascript$'
  needs 'runners/(sql|database|interpreter)' 'runners\.sql$'
  needs 'runners/bash' 'runners\.bash$'
  needs '^sandbox/(box|init|zygote)' 'integration\.run_code$'
  needs '^sandbox/egress' 'integration\.network$'
  needs '^sessions/' 'integration\.sessions$'
  needs '^tools/cli/' 'integration\.command_line$'
  needs '^tools/setup/' 'integration\.setup$'
  needs '^tests/(unit/)?gate' 'gate\.'
  while read -r file; do
    case $file in
      tests/integration/test_*.py | tests/security/test_*.py) file=${file#tests/}; file=${file/\/test_/\\.} ;;
      tests/unit/runners/test_*.py) file=runners\\.${file##*/test_} ;;
      *) continue ;;
    esac
    suites+="|${file%.py}\$"
  done <<<"$changed"
  tests "Quick" -LE long -R "$suites)"
}

stage_gate() {
  tests "The gate" -LE long
  as_user "The gate" -LE 'long|either|caller-only|tidy' -E '^(runners|gate|conformance_judge)'
}

stage_long() {
  step "Build what takes long" build release long_tests || return
  # Ubuntu has none as a package of Debian's kind: the test says then that it is skipped.
  ! apt-cache show chromium >/dev/null 2>&1 || step "A browser" packaging/install-packages.sh browser
  tests "What takes long" -L long
  as_user "What takes long" -L 'long|either' -LE 'caller-only' -E '^runners'
}

# Sanitizers change time, not what is true: the suites of the gate in which programs of this build run.
sanitized() {
  step "Build $1" build "$1" &&
    tests "$1" --preset "$1" --name "$1" -L 'unit|integration' -LE long -E '^(runners|gate|conformance_judge)'
}
stage_asan() { sanitized asan; }
stage_tsan() { sanitized tsan; }

# Most checks look at eight files at a time, since most of the time goes into headers, which those share. The analyzer
# follows paths through functions of the main file alone, so it gets each by itself; what templates of libraries do, it
# would take for our faults.
clang_tidy() {
  run-clang-tidy-16 -quiet -j "${HUTCH_BUILD_JOBS:-$(nproc)}" -p "build/$1" "${@:2}" \
    "^$PWD/(build/clang/CMakeFiles/.*/Unity|base|mcp|sandbox|sessions|share|tools)/" 2>&1 | grep -v --line-buffered ' generated\.$'
}
tidy_checks() { clang_tidy clang -checks=-clang-analyzer-*; }
tidy_analyzer() {
  local option arguments=()
  for option in -Xclang -analyzer-config -Xclang c++-template-inlining=false; do arguments+=("-extra-arg=$option"); done
  cmake --preset clang-each && cmake --build --preset clang-each --target generated_headers &&
    clang_tidy clang-each '-checks=-*,clang-analyzer-*' "${arguments[@]}"
}

# The programs, with another compiler's warnings as errors, and what its analysis finds.
stage_clang() {
  step "Packages of clang" packaging/install-packages.sh clang &&
    step "Build clang" build clang hutch && gate note passed "Build clang" /dev/null &&
    step "clang-tidy" tidy_checks && gate note passed "clang-tidy" /dev/null &&
    step "The analyzer of clang" tidy_analyzer && gate note passed "The analyzer of clang" /dev/null
}

stage_fuzz() {
  step "Packages of the fuzz targets" packaging/install-packages.sh fuzz &&
    step "Build fuzz" build fuzz fuzz_targets &&
    tests "A minute of search with each fuzz target" --preset fuzz --name fuzz -L fuzz
}

stage_formats() {
  local title="What others read of the packages, by their schemas and linters"
  step "$title" tests/formats/run.sh && gate note passed "$title" /dev/null
}

stage_vm() {
  local title="A Debian 12 machine: cgroup version 2, systemd"
  step "$title" timeout -k 30 3400 tests/vm/run.sh build/release && gate note passed "$title" /dev/null
  title="The same with the oldest kernel, Linux 5.10 of Debian 11"
  step "$title" env HUTCH_VM_KERNEL=bullseye HUTCH_VM_PLACES=Delegate=yes timeout -k 30 3400 tests/vm/run.sh build/release &&
    gate note passed "$title" /dev/null
}

stage_fresh() {
  local title="Both scripts, each on a fresh Debian 12 and Ubuntu 24.04"
  step "$title" tests/fresh/run.sh && gate note passed "$title" /dev/null
}

step "Packages" packaging/install-packages.sh build runtime host example test || finish
step "Python packages of the tests" make_venv || finish
step "Build release" build release hutch || finish
[ "${stages[*]}" = quick ] || begin_environment
step "Build the tests" build release || finish
[ "${stages[*]}" = quick ] || step "The environment code_interpreter" end_environment || finish
for stage in "${stages[@]}"; do "stage_$stage"; done
finish
