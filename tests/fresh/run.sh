#!/usr/bin/env bash
# Both scripts from a clean clone of HEAD, each on a Debian 12 of its own that has git and nothing
# else: examples/quickstart.sh as a user with sudo, twice, and tests/run.sh as root.
#
#   tests/fresh/run.sh [quickstart|tests]      both unless named
#
# HUTCH_VM_DEBIAN_MIRROR is where its packages come from. Exit status 77, with the reason, where this
# host cannot make such a machine; with CI=true that is a failure.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
top=$(cd "$here/../.." && pwd)
mkdir -p "$top/build"
work=$(mktemp -d "$top/build/fresh.XXXXXX")
trap 'rm -rf --one-file-system "$work"' EXIT

say() { printf -- '-- %s (%s)\n' "$1" "$(date +%H:%M:%S)"; }
skip() {
  echo "no fresh machine: $1" >&2
  [ "${CI:-}" = true ] && exit 1
  exit 77
}

[ "$(id -u)" -eq 0 ] || skip "only root can make one"
"$top/packaging/install-packages.sh" vm || skip "mmdebstrap cannot be installed"

say "A Debian 12 with git and sudo"
mmdebstrap --quiet --mode=root --variant=minbase --include=ca-certificates,git,sudo \
  bookworm "$work/root.tar" ${HUTCH_VM_DEBIAN_MIRROR:+"$HUTCH_VM_DEBIAN_MIRROR"} >"$work/mmdebstrap.log" 2>&1 ||
  { tail -n 20 "$work/mmdebstrap.log" >&2; skip "mmdebstrap failed"; }
git -C "$top" bundle create --quiet "$work/hutch.bundle" HEAD

# How this host reaches the registries, and whom it believes there, is the new machine's too.
reach() {
  cp /etc/resolv.conf /etc/hosts "$1/etc/"
  grep -rlE '^ *Acquire' /etc/apt/apt.conf.d 2>/dev/null | xargs -r cp -t "$1/etc/apt/apt.conf.d"
  cp /etc/ssl/certs/ca-certificates.crt "$1/opt/ca.crt"
}

# machine NAME SCRIPT: runs SCRIPT as root in a machine of its own, whose processes end with it.
machine() {
  local root=$work/$1
  mkdir "$root"
  tar -xf "$work/root.tar" --numeric-owner -C "$root"
  reach "$root"
  cp "$work/hutch.bundle" "$root/opt/"
  printf '%s\n' "$2" >"$root/opt/script.sh"
  unshare --mount --pid --uts --ipc --fork --kill-child -- "$here/enter.sh" "$root" </dev/null
  rm -rf --one-file-system "$root"
}

quickstart() {
  say "examples/quickstart.sh, as a user with sudo"
  machine quickstart '
    useradd -m -s /bin/bash person
    echo "person ALL=(ALL) NOPASSWD: ALL" > /etc/sudoers.d/person
    exec setpriv --reuid person --regid person --init-groups env HOME=/home/person bash -euo pipefail -c "
      cd
      git clone --quiet /opt/hutch.bundle hutch 2>/dev/null
      SECONDS=0
      hutch/examples/quickstart.sh | tee first.log
      if grep -E \"no (pandas|matplotlib) on\" first.log; then exit 1; fi
      first=\$SECONDS
      SECONDS=0
      hutch/examples/quickstart.sh > again.log
      tail -n 1 again.log
      echo \"The first call took \$first seconds, the second \$SECONDS\"
      test \$SECONDS -lt \$((first / 4))
      test -z \"\$(git -C hutch status --porcelain)\"
    "'
}

tests() {
  say "tests/run.sh, as root"
  machine tests '
    cd /root
    git clone --quiet /opt/hutch.bundle hutch 2>/dev/null
    hutch/tests/run.sh'
}

for part in ${1:-quickstart tests}; do "$part"; done
say "${1:-quickstart and tests}: as it should be, from a clean clone"
