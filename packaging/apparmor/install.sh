#!/bin/sh
# Loads the AppArmor profile of hutch, now and at every boot.
#
#   sudo packaging/apparmor/install.sh             hutch in /usr/bin, /usr/local/bin or /opt/hutch/bin
#   sudo packaging/apparmor/install.sh DIRECTORY   and hutch in DIRECTORY, such as build/release/bin
#   packaging/apparmor/install.sh --print [DIRECTORY]   only shows the profile
set -eu
profile=$(dirname "$0")/hutch
print=
if [ "${1-}" = --print ]; then
  print=yes
  shift
fi
text=$(cat "$profile")
if [ $# -gt 0 ]; then
  # As the kernel names it: an attachment is compared with the path without links.
  directory=$(realpath -e "$1")
  for program in hutch hutch-box hutch-init; do
    if ! [ -f "$directory/$program" ]; then
      echo "install.sh: there is no $program in $directory" >&2
      exit 1
    fi
  done
  case $directory in
    *[!A-Za-z0-9/._+-]*)
      echo "install.sh: $directory has characters that mean something in a profile" >&2
      exit 1
      ;;
  esac
  text=$(printf '%s\n' "$text" | sed "s|^@{hutch_bin} = .*|& $directory|")
fi
if [ -n "$print" ]; then
  printf '%s\n' "$text"
  exit 0
fi
printf '%s\n' "$text" >/etc/apparmor.d/hutch
apparmor_parser -r /etc/apparmor.d/hutch
echo "loaded /etc/apparmor.d/hutch"
