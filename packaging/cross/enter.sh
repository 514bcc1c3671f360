#!/usr/bin/env bash
# In namespaces of its own: makes the directory named the root, with the sources in /src and what is built apart from this
# machine's, and builds what is named there. Called by build.sh.
set -euo pipefail
root=$1
shift
mount --make-rprivate /
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount --bind . "$root/src"
mount --bind build/cross/build "$root/src/build"
environment=(PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 PIP_CERT=/etc/ssl/certs/ca-certificates.crt
  CMAKE_TOOLCHAIN_FILE=/src/packaging/cross/aarch64.cmake HUTCH_HOST=aarch64-linux-gnu
  PKG_CONFIG_LIBDIR=/usr/lib/aarch64-linux-gnu/pkgconfig:/usr/share/pkgconfig)
for name in http_proxy https_proxy no_proxy PIP_INDEX_URL HUTCH_BUILD_JOBS HUTCH_DEBIAN_MIRROR HUTCH_DEBIAN_SECURITY_MIRROR; do
  [ -z "${!name:-}" ] || environment+=("$name=${!name}")
done
exec chroot "$root" env -i "${environment[@]}" bash /src/packaging/cross/inside.sh "$@"
