#!/usr/bin/env bash
# In the root with the cross compiler: builds what is named.
set -euo pipefail
cd /src
git config --global --add safe.directory /src
kinds=()
for kind in "$@"; do
  case $kind in
    all) kinds+=(unit_tests deb tarball) ;;
    unit_tests | deb | tarball) kinds+=("$kind") ;;
    *) echo "packaging/cross/build.sh: there is no kind $kind" >&2; exit 2 ;;
  esac
done
packages=()
for kind in "${kinds[@]}"; do
  if [ "$kind" = unit_tests ]; then
    cmake --preset release -DHUTCH_TESTS=ON >/dev/null
    packaging/compile.sh release unit_tests
    # Tests for which qemu-user has no kernel are left to a machine of that architecture.
    qemu-aarch64-static build/release/bin/unit_tests --gtest_brief=1 \
      --gtest_filter="$(grep -v '^#' packaging/cross/unit-tests.txt | paste -sd:)"
  else
    packages+=("$kind")
  fi
done
[ ${#packages[@]} -eq 0 ] || packaging/build.sh "${packages[@]}"
