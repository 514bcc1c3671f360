#!/bin/sh
# Starts hutch as the bundle's settings say: its arguments are folders, of which there may be none.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
mode=
[ "${HUTCH_BUNDLE_WRITABLE:-}" != true ] || mode=:rw
count=$#
while [ "$count" -gt 0 ]; do
  folder=$1
  shift
  count=$((count - 1))
  case $folder in [A-Za-z]:*) folder=$(wslpath -u "$folder") ;; esac # from Windows
  # What was not chosen may come as nothing, or as its own name.
  case $folder in
    '' | '${'*) ;;
    */data | */data/) set -- "$@" --mount "your-data=$folder$mode" ;; # /mnt/data is the session's own
    *) set -- "$@" --mount "$folder$mode" ;;
  esac
done
[ "${HUTCH_BUNDLE_PACKAGES:-}" != true ] || set -- "$@" --packages
for name in HUTCH_SHARE_DIR HUTCH_ALLOW; do
  eval "value=\${$name:-}"
  case $value in '' | '${'*) unset "$name" ;; esac
done
exec "$here/hutch/bin/hutch" stdio "$@"
