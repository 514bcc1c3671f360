#!/usr/bin/env bash
# Builds packages for 64-bit ARM on Debian 12 for x86-64, into build/packages, and runs the unit tests that need no
# kernel of their own under qemu-user. Needs root: the libraries of that architecture are in a root of their own, build/cross.
#
#   packaging/cross/build.sh [deb|tarball|unit_tests...]     all three unless named
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
top=$PWD
root=$top/build/cross/root
[ "$(id -u)" -eq 0 ] || { echo "packaging/cross/build.sh: only root can make and enter a root of its own" >&2; exit 1; }
packaging/install-packages.sh cross

# Libraries are of the target, programs of this machine.
wanted=crossbuild-essential-arm64,qemu-user-static,ca-certificates,libgtest-dev:arm64
while read -r group name _; do
  case $group:$name in
    build:lib* | package:lib*) wanted+=,$name:arm64 ;;
    build:* | package:*) wanted+=,$name ;;
  esac
done < <(grep -v -e '^#' -e '^$' packaging/debian-packages.txt)
if [ "$(cat "$root.packages" 2>/dev/null)" != "$wanted" ]; then
  echo "A Debian with the cross compiler and the libraries of ARM: once, some minutes"
  rm -rf --one-file-system "$root"
  mkdir -p build/cross
  mmdebstrap --quiet --variant=minbase --architectures=amd64,arm64 "--include=$wanted" bookworm "$root" \
    ${HUTCH_DEBIAN_MIRROR:+"$HUTCH_DEBIAN_MIRROR"} >build/cross/root.log 2>&1 || { tail -n 20 build/cross/root.log >&2; exit 1; }
  mkdir "$root/src"
  echo "$wanted" >"$root.packages"
fi
# How this machine reaches the network is that root's way, too.
cp /etc/resolv.conf /etc/hosts "$root/etc/"
grep -rlE '^ *Acquire' /etc/apt/apt.conf.d 2>/dev/null | xargs -r cp -t "$root/etc/apt/apt.conf.d"
cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"

mkdir -p build/cross/build build/packages
unshare --mount --pid --fork --kill-child -- packaging/cross/enter.sh "$root" "${@:-all}" </dev/null
find build/cross/build/packages -maxdepth 1 \( -name '*.deb' -o -name '*.tar.?z' \) -exec cp -t build/packages {} +
ls build/packages/*arm64.deb build/packages/*aarch64.tar.?z 2>/dev/null || true
