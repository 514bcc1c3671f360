#!/usr/bin/env bash
# Makes the directory named the root of this mount namespace and runs its /opt/script.sh there, as
# pid 1's only work. The kernel's file systems are new where they can be, so that they are not
# covered in places: an ordinary user's namespaces are refused a new /proc otherwise.
set -euo pipefail
root=$1
mount --make-rprivate /
mount --bind "$root" "$root"
cd "$root"
mount -t proc proc proc
mount -t sysfs sysfs sys || mount --rbind /sys sys
[ ! -d /sys/fs/cgroup ] || mount --rbind /sys/fs/cgroup sys/fs/cgroup
mount -t tmpfs -o mode=755 dev dev
mkdir dev/pts dev/shm
mount -t devpts -o newinstance,ptmxmode=666,mode=620 devpts dev/pts
mount -t tmpfs -o mode=1777 shm dev/shm
for device in null zero full random urandom tty; do
  touch "dev/$device"
  mount --bind "/dev/$device" "dev/$device"
done
ln -s pts/ptmx dev/ptmx
ln -s /proc/self/fd dev/fd
for number in 0 1 2; do ln -s "/proc/self/fd/$number" "dev/$(printf 'stdin stdout stderr' | cut -d' ' -f$((number + 1)))"; done
hostname fresh
mkdir old
pivot_root . old
umount -l /old
rmdir /old
cd /
certificates=/etc/ssl/certs/ca-certificates.crt
environment=(PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8
  PIP_CERT=$certificates NODE_EXTRA_CA_CERTS=$certificates)
for name in http_proxy https_proxy no_proxy PIP_INDEX_URL PIP_DEFAULT_TIMEOUT npm_config_registry HUTCH_BUILD_JOBS; do
  [ -z "${!name:-}" ] || environment+=("$name=${!name}")
done
# Not exec: this process reaps what others leave behind.
env -i "${environment[@]}" bash -eu /opt/script.sh
