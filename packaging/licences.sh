#!/usr/bin/env bash
# Prints the licences of what the self-contained programs have inside, from the packages they were built with.
set -euo pipefail

# Each line has a package of headers and static libraries alone, and the name that its authors use.
inside='libboost1.74-dev Boost
libbrotli-dev Brotli
libbz2-dev bzip2
libc6-dev GNU C Library
libcli11-dev CLI11
libcpp-httplib-dev cpp-httplib
libcurl4-openssl-dev curl
libfmt-dev fmt
liblzma-dev XZ Utils
libmagic-dev file
libminizip-dev minizip
libnghttp2-dev nghttp2
libseccomp-dev libseccomp
libspdlog-dev spdlog
libsqlite3-dev SQLite
libssl-dev OpenSSL
libstdc++-12-dev GCC runtime libraries
libtomlplusplus-dev toml++
libyaml-cpp-dev yaml-cpp
nlohmann-json3-dev JSON for Modern C++
zlib1g-dev zlib'

while read -r package name; do
  [ "${1:-}" != --list ] || { dpkg-query -W -f "\${Package} \${Version} \${source:Package} $name\n" "$package" | head -n 1; continue; }
  printf '==== %s (%s)\n\n' "$name" "$(dpkg-query -W -f '${source:Package} ${Version}\n' "$package" | head -n 1)"
  cat "/usr/share/doc/$package/copyright"
  printf '\n'
done <<<"$inside"
