#!/usr/bin/env bash
# Boots a Debian 12 machine with cgroup version 2, its own kernel and systemd under qemu, copies the
# built programs and the tests in, and runs those that depend on such a host, as root and as an
# ordinary user. By software emulation, so that it needs no rights and works inside of a machine.
#
#   tests/vm/run.sh [BUILD_DIRECTORY]      build/release unless named
#
# The guest's disk is kept in build/vm and made again when what it is made from has changed.
# HUTCH_VM_SECONDS bounds the guest's life, HUTCH_VM_DEBIAN_MIRROR is where its packages come from,
# HUTCH_VM_ACCEL=kvm makes it quick where that works, HUTCH_VM_PLACES=user is for the places whose
# names match (guest/run-tests.sh), HUTCH_VM_KERNEL=bullseye gives it that Debian's kernel. What cannot
# be done here is skipped with the reason; with CI=true that is a failure.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
top=$(cd "$here/../.." && pwd)
build=$(cd "${1:-$top/build/release}" && pwd)
vm=$top/build/vm
seconds=${HUTCH_VM_SECONDS:-2700}
kernel=${HUTCH_VM_KERNEL:-bookworm}

say() { printf -- '-- %s (%s)\n' "$1" "$(date +%H:%M:%S)"; }

skip() {
  echo "no Debian 12 machine: $1" >&2
  [ "${CI:-}" = true ] && exit 1
  exit 77
}

# The guest runs what was built here, so both must be alike.
host=$(. /etc/os-release && echo "${ID:-} ${VERSION_ID:-} $(uname -m)")
[ "$host" = "debian 12 x86_64" ] || skip "programs built on $host need not run on Debian 12 for x86_64"
"$top/packaging/install-packages.sh" vm || skip "qemu and mmdebstrap cannot be installed"

mkdir -p "$vm"
exec 9>"$vm/lock"
flock -n 9 || { say "Waiting for another run on this image"; flock 9; }

# The packages of the libraries that the programs are linked with. The same library may be known to
# dpkg with and without /usr.
ldd "$build/bin/hutch" "$build/bin/hutch-box" "$build/bin/hutch-egress" | awk '$2 == "=>" { print $3 }' | sort -u |
  while read -r library; do
    dpkg -S "$library" 2>/dev/null || dpkg -S "/usr$library" 2>/dev/null || dpkg -S "${library#/usr}"
  done | cut -d: -f1 | sort -u >"$vm/libraries.txt"
key=$({ cat "$vm/libraries.txt" "$here/image.sh" "$here/guest-packages.txt" "$here/guest/hutch-tests.service"
  grep '^runtime' "$top/packaging/debian-packages.txt"; } | sha256sum | cut -c1-16)
image=$vm/image-$kernel-$key
if [ ! -e "$image/disk.ext4" ]; then
  say "Building the Debian 12 image: once, some minutes"
  rm -rf "$vm/image-$kernel"*
  "$here/image.sh" "$image" "$vm/libraries.txt" "$kernel" 9>&- >"$vm/image.log" 2>&1 ||
    { tail -n 20 "$vm/image.log" >&2; skip "its image cannot be built, see $vm/image.log"; }
fi

# Programs and tests are a tar file that the guest reads as its second disk.

say "Packing $build"
tests=$vm/tests.tar
tar -cf "$tests" -C "$build" bin/hutch bin/hutch-box bin/hutch-egress bin/hutch-init share weak/bin weak/share
tar -rf "$tests" -C "$top" --exclude=__pycache__ tests/conftest.py tests/pytest.ini tests/long_cases.txt tests/support \
  tests/integration tests/security tests/vm packaging/systemd packaging/config.toml

say "Booting, for at most $seconds seconds"
console=$vm/console.log
results=$vm/results.log
: >"$console"
: >"$results"
cpu=max
[ "${HUTCH_VM_ACCEL:-}" = kvm ] && cpu=host
# The image is shared by all runs: what the guest writes goes into a temporary file.
timeout -k 10 "$seconds" qemu-system-x86_64 -accel "${HUTCH_VM_ACCEL:-tcg,thread=multi}" -cpu "$cpu" \
  -machine q35,usb=off,smbus=off,sata=off -smp 2 -m 3072 \
  -nodefaults -no-user-config -display none -no-reboot \
  -kernel "$image/vmlinuz" -initrd "$image/initrd" \
  -append "root=/dev/vda rootfstype=ext4 rw console=ttyS0 panic=-1 mitigations=off tsc=reliable
    hutch.places=${HUTCH_VM_PLACES:-}" \
  -drive "file=$image/disk.ext4,format=raw,if=none,id=disk,snapshot=on,cache=unsafe" \
  -device virtio-blk-pci,drive=disk \
  -drive "file=$tests,format=raw,if=none,id=tests,readonly=on" -device virtio-blk-pci,drive=tests \
  -serial "file:$console" -serial "file:$results" 9>&- &
machine=$!
trap 'kill "$machine" 2>/dev/null || true' EXIT
tail -n +1 -f --pid="$machine" "$results" 9>&- | sed -u 's/\r$//'
status=0
wait "$machine" || status=$?
trap - EXIT

[ "$status" -eq 124 ] && echo "The machine was not done after $seconds seconds." >&2
if grep -q '^HUTCH-VM-RESULT passed' "$results"; then
  say "Passed in the Debian 12 machine"
  exit 0
fi
# Without a result line the machine itself failed.
grep -q '^HUTCH-VM-RESULT' "$results" || { echo "The end of its console:"; tail -n 40 "$console"; } >&2
exit 1
