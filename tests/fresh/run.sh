#!/usr/bin/env bash
# Both scripts from a clean clone of HEAD, each on a machine of its own that has git and nothing else,
# a Debian 12 and an Ubuntu 24.04: examples/quickstart.sh as a user with sudo, twice, and tests/run.sh
# as such a user on the Debian and as root on the Ubuntu. The kernel is this host's.
#
#   tests/fresh/run.sh [SYSTEM [quickstart|tests|package|tarball|registries|bundle|image]]
#
# Without a name all of them on bookworm and noble, `tarball` also on bullseye, trixie and jammy, and `image` once.
# `package` installs the .deb on such a machine, which never saw a compiler, has `hutch setup` tell a client, and
# removes and purges it again; `tarball` unpacks the other one; `registries` has what PyPI and npm would have; `bundle`
# what Claude Desktop unpacks; `image` has the container image.
#
# HUTCH_VM_DEBIAN_MIRROR and HUTCH_FRESH_UBUNTU_MIRROR are where their packages come from. Exit status
# 77, with the reason, where this host cannot make such a machine; with CI=true that is a failure.
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
restriction=/proc/sys/kernel/apparmor_restrict_unprivileged_userns
[ "$(cat "$restriction" 2>/dev/null)" != 1 ] ||
  skip "AppArmor restricts ordinary users here ($restriction), and a profile that one loads would be this host's"
"$top/packaging/install-packages.sh" vm || skip "mmdebstrap cannot be installed"

ubuntu=${HUTCH_FRESH_UBUNTU_MIRROR:-http://archive.ubuntu.com/ubuntu}
# The keys that sign Ubuntu, which Debian has no package of: this file of theirs and no other.
ubuntu_keys() {
  local package=ubuntu-keyring_2023.11.28.1_all.deb
  local hash=36de43b15853ccae0028e9a767613770c704833f82586f28eb262f0311adb8a8
  curl -fsS -o "$work/$package" "$ubuntu/pool/main/u/ubuntu-keyring/$package" &&
    echo "$hash  $work/$package" | sha256sum --check --quiet &&
    dpkg-deb --fsys-tarfile "$work/$package" |
    tar -xO ./usr/share/keyrings/ubuntu-archive-keyring.gpg >"$work/ubuntu.gpg"
}

# make_root SYSTEM: as a new installation is, and git and sudo.
make_root() {
  local options=()
  case $1 in
    bullseye | bookworm | trixie) options=("$1" "$work/root.tar" ${HUTCH_VM_DEBIAN_MIRROR:+"$HUTCH_VM_DEBIAN_MIRROR"}) ;;
    jammy | noble)
      ubuntu_keys || skip "the keys of Ubuntu cannot be had"
      # apt reads the keys as root: this tree may lie where nobody else can.
      options=(--components=main,universe "--keyring=$work/ubuntu.gpg"
        '--aptopt=APT::Sandbox::User "root"' "$1" "$work/root.tar" "$ubuntu")
      ;;
    *) echo "tests/fresh/run.sh: no system $1; see its first lines" >&2; exit 2 ;;
  esac
  say "A $1 with git and sudo"
  rm -f "$work/root.tar"
  mmdebstrap --quiet --mode=root --variant=minbase --include=apt,ca-certificates,git,sudo \
    "${options[@]}" >"$work/mmdebstrap.log" 2>&1 ||
    { tail -n 20 "$work/mmdebstrap.log" >&2; skip "mmdebstrap of $1 failed"; }
}
git -C "$top" bundle create --quiet "$work/hutch.bundle" HEAD

# How this host reaches the registries, and whom it believes there, is the new machine's too.
reach() {
  cp /etc/resolv.conf /etc/hosts "$1/etc/"
  grep -rlE '^ *Acquire' /etc/apt/apt.conf.d 2>/dev/null | xargs -r cp -t "$1/etc/apt/apt.conf.d"
  echo '127.0.1.1 fresh' >>"$1/etc/hosts"
  find /usr/local/share/ca-certificates -name '*.crt' -exec cp -t "$1/usr/local/share/ca-certificates" {} +
  chroot "$1" update-ca-certificates >/dev/null 2>&1
}

become_person='
useradd -m -s /bin/bash person
echo "person ALL=(ALL) NOPASSWD: ALL" > /etc/sudoers.d/person
cd /home/person
exec setpriv --reuid person --regid person --init-groups env HOME=/home/person bash -euo pipefail /opt/person.sh'

# machine NAME root|person SCRIPT: runs SCRIPT in a machine of its own, whose processes end with it; in the
# home directory of root, or of a user with sudo.
machine() {
  local root=$work/$1 script="cd; . /opt/$2.sh"
  [ "$2" = root ] || script=$become_person
  mkdir "$root"
  tar -xf "$work/root.tar" --numeric-owner -C "$root"
  reach "$root"
  cp "$work/hutch.bundle" ${packages[@]+"${packages[@]}"} "$root/opt/"
  printf '%s\n' "$3" >"$root/opt/$2.sh"
  printf '%s\n' "$script" >"$root/opt/script.sh"
  unshare --mount --pid --uts --ipc --fork --kill-child -- "$here/enter.sh" "$root" </dev/null
  rm -rf --one-file-system "$root"
}

quickstart() {
  say "examples/quickstart.sh, as a user with sudo"
  machine quickstart person '
    git clone --quiet /opt/hutch.bundle hutch 2>/dev/null
    SECONDS=0
    hutch/examples/quickstart.sh | tee first.log
    if grep -E "no (pandas|matplotlib|duckdb) on" first.log; then exit 1; fi
    first=$SECONDS
    SECONDS=0
    hutch/examples/quickstart.sh > again.log
    tail -n 1 again.log
    echo "The first call took $first seconds, the second $SECONDS"
    test $SECONDS -lt $((first / 4))
    test -z "$(git -C hutch status --porcelain)"'
}

# Packages that `packaging/build.sh` has made, once for all systems, lie in /opt of each machine.
packages=()
make_packages() {
  [ ${#packages[@]} -eq 0 ] || return 0
  say "The packages"
  local kinds=(deb tarball mcpb wheel npm) made="$top/build/packages" file
  rm -f "$made"/*.{deb,tar.xz,tar.gz,mcpb,whl,tgz} # they may be another version's or machine's
  "$top/packaging/build.sh" "${kinds[@]}" >"$work/packages.log" 2>&1 || { tail -n 30 "$work/packages.log" >&2; exit 1; }
  mkdir "$work/first"
  cp "$made"/*.{deb,tar.xz,tar.gz,mcpb,whl,tgz} "$work/first/"
  rm "$made"/*.{deb,tar.xz,tar.gz,mcpb,whl,tgz}
  "$top/packaging/build.sh" "${kinds[@]}" >"$work/packages.log" 2>&1 || { tail -n 30 "$work/packages.log" >&2; exit 1; }
  for file in "$work/first"/*; do cmp "$file" "$made/${file##*/}"; done
  smaller 8 "$made"/*.deb
  smaller 25 "$made"/*.tar.xz
  python3 "$here/upgrade.py" make "$top"/build/packages/hutch_*.deb "$work/next.deb"
  packages=("$made"/*.{deb,tar.xz,tar.gz,mcpb,whl,tgz} "$work/next.deb" "$here"/{upgrade,bundle}.py)
}

# smaller MB FILE
smaller() {
  [ "$(stat -c %s "$2")" -lt $(($1 * 1000000)) ] || { echo "$2 has $1 MB or more" >&2; exit 1; }
}

package() {
  make_packages
  say "The Debian package: two commands to an answer, and out again"
  machine package person '
    mkdir -p .cursor
    sudo apt-get update -qq
    sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq /opt/hutch_*.deb >apt.log 2>&1 || { tail apt.log; exit 1; }
    SECONDS=0
    hutch setup --yes
    test $SECONDS -lt 60
    grep -q /usr/bin/hutch .cursor/mcp.json
    printf "console.log(6 * 7)" | hutch run -l js - | grep -x 42
    man -w hutch 2>/dev/null || test -e /usr/share/man/man1/hutch.1.gz || grep -q path-exclude /etc/dpkg/dpkg.cfg.d/* 2>/dev/null
    test "$(stat -c %U:%a /etc/hutch/config.toml)" = root:644
    getent passwd hutch
    python3 /opt/upgrade.py try /opt/next.deb "$(echo /opt/hutch_*.deb)"
    hutch setup --remove --yes
    test ! -e .cursor/mcp.json
    sudo apt-get remove -y -qq hutch >/dev/null 2>&1
    test ! -e /usr/bin/hutch; test ! -e /usr/lib/hutch; test -e /etc/hutch/config.toml; test -d .local/state/hutch
    sudo apt-get purge -y -qq hutch >/dev/null 2>&1
    test ! -e /etc/hutch; test -z "$(getent passwd hutch)"; test ! -e /var/lib/hutch; test ! -e /etc/apparmor.d/hutch'
}

tarball() {
  make_packages
  say "The tarball"
  machine tarball root '
    apt-get update -qq && apt-get install -y -qq --no-install-recommends python3 >/dev/null 2>&1
    useradd -m person
    # The one needs nothing that a small system lacks, and holds what the other does.
    tar -C /root -xf /opt/hutch-*.tar.gz
    apt-get install -y -qq --no-install-recommends xz-utils >/dev/null 2>&1
    # Homes are closed on Ubuntu: root has one of its own.
    tar -C /home/person -xf /opt/hutch-*.tar.xz
    diff -r --no-dereference /root/hutch-* /home/person/hutch-*
    printf "print(6 * 7)" > code.py
    for who in root person; do
      home=/root; [ $who = root ] || home=/home/person
      for language in python bash; do
        code="print(6 * 7)"; [ $language = python ] || code="echo \$((6 * 7))"
        printf "%s" "$code" | setpriv --reuid $who --regid $who --init-groups env HOME=$home \
          $home/hutch-*/bin/hutch run -l $language - | grep -x 42
      done
    done'
}

registries() {
  make_packages
  say "The wheel and the npm package"
  machine registries person '
    sudo apt-get update -qq
    sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends python3-venv nodejs npm >/dev/null 2>&1
    python3 -m venv venv
    venv/bin/pip install --quiet --disable-pip-version-check /opt/hutch_mcp-*.whl uv
    mkdir .cursor
    PATH=$PWD/venv/bin:$PATH hutch-mcp setup --yes
    grep -q venv/bin .cursor/mcp.json || grep -q hutch_mcp .cursor/mcp.json
    venv/bin/uvx --from "$(echo /opt/hutch_mcp-*.whl)" hutch-mcp version
    fetched="npx --yes --package=$(echo /opt/hutch-mcp-*.tgz) hutch-mcp"
    $fetched version
    if $fetched setup --yes 2>refused.log; then exit 1; fi
    grep -q "install it first" refused.log
    npm install --silent --no-fund --no-audit --prefix node /opt/hutch-mcp-*.tgz
    printf "print(6 * 7)" | node/node_modules/.bin/hutch-mcp run - | grep -x 42'
}

# Claude Desktop unpacks it where it likes, and starts what its manifest says with the chosen folders.
bundle() {
  make_packages
  say "The bundle"
  machine bundle person '
    sudo apt-get update -qq
    sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends python3 unzip >/dev/null 2>&1
    mkdir extension tables
    unzip -q /opt/hutch-*.mcpb -d extension
    find extension -type f -exec chmod a-x {} +
    echo "a,b" >tables/t.csv
    HUTCH_ALLOW="a.example, b.example" python3 /opt/bundle.py sh extension/server/start.sh "$HOME/tables"'
}

# As a container runtime starts it that was told what SECURITY.md says: the namespaces, an ordinary user, no capability.
image() {
  say "The image"
  "$top/packaging/build.sh" oci >"$work/packages.log" 2>&1 || { tail -n 30 "$work/packages.log" >&2; exit 1; }
  skopeo copy --quiet "oci-archive:$(echo "$top"/build/packages/hutch-*-oci.tar)" "dir:$work/layers"
  local root=$work/image
  mkdir "$root"
  python3 -c 'import json, sys; print(*(layer["digest"][7:] for layer in json.load(sys.stdin)["layers"]), sep="\n")' \
    <"$work/layers/manifest.json" | while read -r layer; do tar -xf "$work/layers/$layer" --numeric-owner -C "$root"; done
  cat >"$root/opt/script.sh" <<'END'
cd /home/agent
as_agent() {
  setpriv --reuid 1000 --regid 1000 --clear-groups --no-new-privs --bounding-set=-all --inh-caps=-all \
    env HOME=/home/agent "$@"
}
set -o pipefail
echo "import pandas, matplotlib; print(6 * 7)" | as_agent hutch run - | grep -x 42
echo "console.log(6 * 7)" | as_agent hutch run -l js - | grep -x 42
echo "echo \$((6 * 7)); grep NoNewPrivs /proc/self/status" | as_agent hutch run -l bash - | grep -x 42
as_agent hutch doctor | grep "a real box       good"
END
  unshare --mount --pid --uts --ipc --fork --kill-child -- "$here/enter.sh" "$root" </dev/null
  rm -rf --one-file-system "$root" "$work/layers"
}

tests() {
  local who=root
  [ "$1" = noble ] || who=person
  say "tests/run.sh, as $who"
  machine tests "$who" '
    git clone --quiet /opt/hutch.bundle hutch 2>/dev/null
    hutch/tests/run.sh'
}

for system in ${1:-bookworm noble}; do
  make_root "$system"
  for part in ${2:-quickstart tests package tarball registries bundle}; do "$part" "$system"; done
done
if [ $# -eq 0 ]; then
  for system in bullseye trixie jammy; do
    make_root "$system"
    tarball
  done
  image
  say "Packages for 64-bit ARM, and its unit tests"
  "$top/packaging/cross/build.sh" >"$work/packages.log" 2>&1 || { tail -n 30 "$work/packages.log" >&2; exit 1; }
fi
say "${1:-bookworm and noble}, ${2:-everything}: as it should be, from a clean clone"
