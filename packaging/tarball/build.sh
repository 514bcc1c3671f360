#!/usr/bin/env bash
# hutch-VERSION-linux-MACHINE.tar.xz: unpack it anywhere, and run bin/hutch there.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. packaging/version.sh
. packaging/target.sh
name=hutch-$(hutch_version)-linux-$machine
file=build/packages/$name.tar.xz
tar --sort=name --owner=0 --group=0 --numeric-owner --format=gnu --transform "s|^tree|$name|" \
  -C build/packages -c tree | xz -9e -T1 >"$file"
echo "$file"
