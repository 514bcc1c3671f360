#!/usr/bin/env bash
# Builds the two libraries that the distribution has as shared ones only, from its own sources with its
# own patches, for programs that carry all libraries inside (the preset `portable`).
#
#   packaging/static-libraries.sh        into build/static; what is there in the same version stays
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. packaging/target.sh
prefix=$PWD/build/static
work=$PWD/build/static-sources
mkdir -p "$prefix/lib/pkgconfig" "$prefix/include" "$work"

# The sources of whatever the machine's packages come from, in lists of our own.
apt_options=(-o "Dir::Etc::sourcelist=$work/sources.list" -o "Dir::Etc::sourceparts=$work/none"
  -o "Dir::State::lists=$work/lists" -o APT::Sandbox::User=root -qq)
mkdir -p "$work/lists/partial" "$work/none"
. /etc/os-release
case $ID in
  debian)
    key=/usr/share/keyrings/debian-archive-keyring.gpg
    cat >"$work/sources.list" <<LIST
deb-src [signed-by=$key] ${HUTCH_DEBIAN_MIRROR:-http://deb.debian.org/debian} $VERSION_CODENAME main
deb-src [signed-by=$key] ${HUTCH_DEBIAN_SECURITY_MIRROR:-http://deb.debian.org/debian-security} $VERSION_CODENAME-security main
LIST
    ;;
  *)
    echo "the self-contained programs are built on Debian: older systems have no newer C library than theirs" >&2
    exit 1
    ;;
esac
apt-get "${apt_options[@]}" update

# source_of NAME: its newest version, unpacked and patched, in $work/NAME; false: it was built from that one.
source_of() {
  local version
  version=$(apt-get "${apt_options[@]}" --print-uris source "$1" | sed -n 's/.* \([^ ]*\)\.dsc .*/\1/p')
  [ -n "$version" ] || { echo "there are no sources of $1" >&2; exit 1; }
  echo "$version" >"$work/$1.version"
  cmp -s "$work/$1.version" "$prefix/$1.version" && return 1
  echo "Building $version"
  rm -rf "${work:?}/$1" "$work/unpacked"
  mkdir "$work/unpacked"
  (cd "$work/unpacked" && apt-get "${apt_options[@]}" source "$1" >/dev/null)
  mv "$work"/unpacked/*/ "$work/$1"
}
built() { cp "$work/$1.version" "$prefix/"; }

jobs=${HUTCH_BUILD_JOBS:-$(nproc)}
log=$work/build.log
trap 'tail -n 20 "$log" >&2' ERR
if source_of curl; then
  (
    cd "$work/curl"
    # HTTP and HTTPS, and nothing that would need another library. The certificates are named by who uses it.
    protocols=()
    for name in ftp file ldap ldaps rtsp dict telnet tftp pop3 imap smb smtp gopher mqtt ntlm manual; do
      protocols+=("--disable-$name")
    done
    for name in zlib brotli zstd libpsl libidn2 nghttp2 librtmp libssh2 ca-bundle ca-path; do
      protocols+=("--without-$name")
    done
    CFLAGS="-O2 -fPIC -fstack-protector-strong -ffile-prefix-map=$work=." ./configure -q ${host:+"--host=$host"} "--prefix=$prefix" \
      --disable-shared --enable-static --with-openssl --disable-libcurl-option --enable-ipv6 "${protocols[@]}"
    make -s -j "$jobs" -C lib install
    make -s -C include install
    install -m 644 libcurl.pc "$prefix/lib/pkgconfig/"
  ) >"$log" 2>&1
  built curl
fi

if source_of cpp-httplib; then
  (
    cd "$work/cpp-httplib"
    python3 "$PWD/split.py" # it looks beside itself
    defines=$(pkg-config --cflags-only-other cpp-httplib)
    # shellcheck disable=SC2086 # several words
    "${tools}g++" -std=c++17 -O2 -fPIC -fstack-protector-strong -ffile-prefix-map="$work=." $defines -c out/httplib.cc -o httplib.o
    rm -f "$prefix/lib/libcpp-httplib.a"
    "${tools}ar" rcsD "$prefix/lib/libcpp-httplib.a" httplib.o
    install -m 644 out/httplib.h "$prefix/include/"
    sed "s|^prefix=.*|prefix=$prefix|; s|^libdir=.*|libdir=\${prefix}/lib|" \
      "$(pkg-config --variable=pcfiledir cpp-httplib)/cpp-httplib.pc" >"$prefix/lib/pkgconfig/cpp-httplib.pc"
  ) >"$log" 2>&1
  built cpp-httplib
fi
