#!/bin/sh
# Loads the AppArmor profile of hutch, now and at every boot.
#
#   sudo packaging/apparmor/install.sh                hutch in a directory that the profile names
#   sudo packaging/apparmor/install.sh DIRECTORY...   and hutch in each DIRECTORY, such as build/release/bin
#   packaging/apparmor/install.sh --print [DIRECTORY...]      only shows the profile
#   packaging/apparmor/install.sh --is-needed DIRECTORY...    exit status 0: whoever calls it can start no session of
#                                                             hutch there without it
#   packaging/apparmor/install.sh --if-needed DIRECTORY...    as who will run hutch there: does it by sudo, where
#                                                             AppArmor would keep sessions from starting
#
# Directories of earlier calls stay for as long as they hold hutch.
set -euf # f: a directory is never a pattern
here=$(cd "$(dirname "$0")" && pwd)
installed=${HUTCH_APPARMOR_INSTALLED:-/etc/apparmor.d/hutch}
restriction=${HUTCH_APPARMOR_RESTRICTION:-/proc/sys/kernel/apparmor_restrict_unprivileged_userns}
PATH=$PATH:/usr/sbin:/sbin # where apparmor_parser is

fail() {
  echo "install.sh: $1" >&2
  exit 1
}

missing_in() {
  for program in hutch hutch-box hutch-init; do
    [ -f "$1/$program" ] || { echo "$program"; return; }
  done
}

directories_in() { sed -n 's|^@{hutch_bin} = ||p' "$1" 2>/dev/null || true; }
all_but_directories_in() { sed '/^@{hutch_bin} = /d' "$1" 2>/dev/null || true; }

# The directories named, as the kernel names them: an attachment is compared with the path without links.
paths_of() {
  for named in "$@"; do
    directory=$(realpath -e "$named")
    missing=$(missing_in "$directory")
    [ -z "$missing" ] || fail "there is no $missing in $directory"
    case $directory in
      *[!A-Za-z0-9/._+-]*) fail "$directory has characters that mean something in a profile" ;;
    esac
    echo "$directory"
  done
}

# Whether a profile like this one is there for all of them. It lies there only once it was loaded.
is_installed_for() {
  [ "$(all_but_directories_in "$installed")" = "$(all_but_directories_in "$here/hutch")" ] || return 1
  for directory in "$@"; do
    case " $(directories_in "$installed") " in *" $directory "*) ;; *) return 1 ;; esac
  done
}

is_needed() {
  [ "$(cat "$restriction" 2>/dev/null)" = 1 ] || return 1
  [ "$(id -u)" -ne 0 ] || return 1 # it restricts ordinary users only
  paths=$(paths_of "$@") || exit 2
  # shellcheck disable=SC2086 # none has a space
  ! is_installed_for $paths
}

if_needed() {
  is_needed "$@" || return 0
  # shellcheck disable=SC2086 # none has a space
  set -- $paths
  . "$here/../as_root.sh"
  if can_be_root; then
    echo "Loading hutch's AppArmor profile as root: without it, ordinary users can make no sandbox on this system"
    if as_root sh "$here/install.sh" "$@"; then return; fi
  fi
  for directory in "$@"; do # they may start all the same, as under somebody else's profile
    "$directory/hutch" doctor >/dev/null 2>&1 ||
      fail "AppArmor keeps hutch's sessions from starting until root has run: sh $here/install.sh $*"
  done
}

mode=${1-}
case $mode in
  --if-needed) shift; if_needed "$@"; exit ;;
  --is-needed) shift; is_needed "$@"; exit ;;
  --print) shift ;;
esac

paths=$(paths_of "$@")
all=$(directories_in "$here/hutch")
for directory in $(directories_in "$installed") $paths; do
  case " $all " in *" $directory "*) continue ;; esac
  [ -n "$(missing_in "$directory")" ] || all="$all $directory"
done
text=$(sed "s|^@{hutch_bin} = .*|@{hutch_bin} = $all|" "$here/hutch")
if [ "$mode" = --print ]; then
  printf '%s\n' "$text"
  exit 0
fi
command -v apparmor_parser >/dev/null || fail "there is no apparmor_parser here: install the package apparmor"
printf '%s\n' "$text" | apparmor_parser -r
umask 022 # who asks whether it is needed reads it
printf '%s\n' "$text" >"$installed"
echo "loaded $installed"
