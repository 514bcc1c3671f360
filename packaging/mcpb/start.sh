#!/bin/sh
# Starts hutch as the bundle's settings say: its arguments are folders, of which there may be none.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
mode=
[ "${HUTCH_BUNDLE_WRITABLE:-}" != true ] || mode=:rw
names=' data ' # which is the session's own
count=$#
while [ "$count" -gt 0 ]; do
  folder=$1
  shift
  count=$((count - 1))
  # A folder that was not chosen may come as nothing, or as its own name.
  case $folder in '' | '${'*) continue ;; [A-Za-z]:* | '\\'*) folder=$(wslpath -u "$folder") ;; esac
  if [ ! -d "$folder" ]; then
    echo "hutch: $folder is not there any more, and is left out" >&2
    continue
  fi
  # A name for /mnt that hutch takes, and that no other folder has.
  name=$(basename "$folder" | tr -c 'A-Za-z0-9._\n-' '-' | sed 's/^[.-]*//')
  name=${name:-folder}
  while case $names in *" $name "*) true ;; *) false ;; esac; do name=$name-2; done
  names="$names$name "
  set -- "$@" --mount "$name=$folder$mode"
done
[ "${HUTCH_BUNDLE_PACKAGES:-}" != true ] || set -- "$@" --packages
for variable in HUTCH_SHARE_DIR HUTCH_ALLOW; do
  eval "value=\${$variable:-}"
  case $value in '' | '${'*) unset "$variable" ;; esac
done
# Whoever unpacked it may have left out what may be executed.
for program in hutch hutch-box hutch-egress hutch-init; do
  [ -x "$here/hutch/bin/$program" ] || chmod +x "$here/hutch/bin/$program"
done
exec "$here/hutch/bin/hutch" stdio "$@"
