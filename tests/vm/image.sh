#!/usr/bin/env bash
# Makes the guest's disk, kernel and initial file system in a directory. Debian 12 as it is: its
# packages, nothing patched, with the kernel of the Debian that is named.
#
#   tests/vm/image.sh DIRECTORY LIBRARIES KERNEL      packages of libraries, a file with one a line
set -euo pipefail
directory=$1
libraries=$2
kernel=$3
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
top=$(cd "$here/../.." && pwd)

packages=$({
  grep -v -e '^#' -e '^$' "$here/guest-packages.txt"
  awk '$1 == "runtime" { print $2 }' "$top/packaging/debian-packages.txt"
  cat "$libraries"
} | sort -u | paste -sd,)

# Into a directory of its own first: what is in $directory is whole.
work=$(mktemp -d "$(dirname "$directory")/image.XXXXXX")
trap 'rm -rf "$work"' EXIT

# The initial file system has the three modules that lead to the disk, instead of every driver:
# most of the time of an emulated boot would go into unpacking it.
initramfs='mkdir -p "$1/etc/initramfs-tools/conf.d"
  echo MODULES=list > "$1/etc/initramfs-tools/conf.d/list"
  printf "virtio_pci\nvirtio_blk\next4\n" > "$1/etc/initramfs-tools/modules"'

# Another Debian's kernel is the only package of its own.
mirror=${HUTCH_VM_DEBIAN_MIRROR:-http://deb.debian.org/debian}
sources=("deb $mirror bookworm main")
[ "$kernel" = bookworm ] || sources+=("deb $mirror $kernel main")

# Services that would only slow down every boot are masked; those of login sessions stay.
mmdebstrap --quiet --variant=minbase \
  --include="$packages,initramfs-tools,linux-image-cloud-amd64/$kernel" \
  --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' \
  --dpkgopt='path-exclude=/usr/share/locale/*' --dpkgopt=force-unsafe-io \
  --essential-hook="$initramfs" \
  --customize-hook="copy-in '$here/guest/hutch-tests.service' /etc/systemd/system" \
  --customize-hook='chroot "$1" sh "-c" "
    echo machine > /etc/hostname
    echo 127.0.0.1 localhost machine > /etc/hosts
    systemctl -q enable hutch-tests.service
    systemctl -q set-default multi-user.target
    systemctl -q mask getty@tty1.service serial-getty@ttyS0.service apt-daily.timer \
      apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer e2scrub_reap.service \
      fstrim.timer systemd-timesyncd.service systemd-networkd.service systemd-random-seed.service"' \
  bookworm "$work/root.tar" "${sources[@]}"

unpack='set -e; mkdir root; tar -xf root.tar --numeric-owner -C root
  cp root/boot/vmlinuz-* vmlinuz; cp root/boot/initrd.img-* initrd
  mke2fs -q -t ext4 -O ^has_journal -m 0 -d root disk.ext4 4G; rm -rf root root.tar'
if [ "$(id -u)" -eq 0 ]; then
  (cd "$work" && sh -c "$unpack")
else
  (cd "$work" && mmdebstrap --unshare-helper sh -c "$unpack")
fi
chmod 755 "$work"
rm -rf "$directory"
mv "$work" "$directory"
trap - EXIT
