#!/usr/bin/env bash
# hutch-VERSION-linux-MACHINE.tar.xz: unpack it anywhere, and run bin/hutch there. The same as .tar.gz, which is larger
# and which systems without xz can unpack, too.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. packaging/version.sh
. packaging/target.sh
name=hutch-$(hutch_version)-linux-$machine
file=build/packages/$name.tar
tar --sort=name --owner=0 --group=0 --numeric-owner --format=gnu --transform "s|^tree|$name|" \
  -C build/packages -c tree >"$file"
gzip -9 -n <"$file" >"$file.gz"
xz -9e -T1 <"$file" >"$file.xz"
rm "$file"
printf '%s\n' "$file.xz" "$file.gz"
