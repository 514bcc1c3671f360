#!/usr/bin/env bash
# Installs the packages of the groups named, from debian-packages.txt, if any is missing.
#
#   packaging/install-packages.sh build runtime
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/as_root.sh"

list=$(grep -v -e '^#' -e '^$' "$here/debian-packages.txt")
for asked in "$@"; do
  grep -q "^$asked " <<<"$list" || { echo "debian-packages.txt has no group $asked" >&2; exit 1; }
done

wanted=()
while read -r group name _; do
  for asked in "$@"; do
    [ "$group" = "$asked" ] && wanted+=("$name")
  done
done <<<"$list"

is_here() {
  case $1 in
    # From another source than the distribution they are as good, and conflict with its packages.
    nodejs) [ -x /usr/bin/node ] && return ;;
    npm) [ -x /usr/bin/npm ] && return ;;
  esac
  dpkg-query -W -f '${db:Status-Status}\n' "$1" 2>/dev/null | grep -qx installed
}

names=()
for name in ${wanted[@]+"${wanted[@]}"}; do is_here "$name" || names+=("$name"); done
[ "${#names[@]}" -eq 0 ] && exit 0

echo "Installing ${#names[@]} packages: ${names[*]}"
{ can_be_root && as_root true; } || {
  echo "It takes root, or sudo, to install these packages; have it done, and try again:" >&2
  echo "  apt-get install ${names[*]}" >&2
  exit 1
}

# apt-get waits for dpkg's lock when told to, but gives up at once while another holds the lists.
for attempt in 1 2 3 4 5 6; do
  as_root apt-get update -qq && break
  [ "$attempt" -lt 6 ] || exit 1
  echo "The package lists cannot be read yet; trying again in 10 seconds" >&2
  sleep 10
done
as_root env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 \
  install -y -qq --no-install-recommends "${names[@]}" >/dev/null
