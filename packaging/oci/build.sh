#!/usr/bin/env bash
# compose.yaml, and hutch-VERSION-oci.tar, an image for `docker load`, `podman load` or a registry (skopeo copy oci-archive:FILE docker://…),
# and hutch-chart-VERSION.tgz, which runs it in Kubernetes.
# Needs root, or the ids of /etc/subuid, to unpack Debian's packages.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. packaging/version.sh
packaging/install-packages.sh image
version=$(hutch_version)
epoch=$(packaging/epoch.sh)
deb=build/packages/hutch_${version}_$(dpkg --print-architecture).deb
[ -e "$deb" ] || packaging/deb/build.sh
work=build/packages/oci
file=build/packages/hutch-$version-oci.tar
rm -rf "$work" "$file"
mkdir -p "$work"

mapfile -t inside < <(awk '$1 == "runtime" || $1 == "host" {print $2}' packaging/debian-packages.txt)
names=$(IFS=,; echo "${inside[*]}")
mode=root
[ "$(id -u)" -eq 0 ] || mode=unshare
echo "A Debian of ${#inside[@]} packages and what they need; $work/log tells how far it is"
SOURCE_DATE_EPOCH=$epoch mmdebstrap --mode="$mode" --variant=minbase --include="$names" \
  --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
  --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-include=/usr/share/doc/*/copyright' \
  --dpkgopt='path-include=/usr/share/doc/hutch/*' \
  --customize-hook="copy-in $deb /tmp" \
  --customize-hook='chroot "$1" sh -c "dpkg -i /tmp/hutch_*.deb && rm /tmp/hutch_*.deb"' \
  --customize-hook='chroot "$1" useradd --uid 1000 --create-home --shell /bin/bash agent' \
  --customize-hook='rm -f "$1/etc/hostname" "$1/etc/resolv.conf" "$1/etc/passwd-" "$1/etc/group-" "$1/etc/shadow-" "$1/etc/gshadow-" "$1/etc/subuid-" "$1/etc/subgid-"' \
  --customize-hook='rm -rf "$1"/var/log/* "$1"/var/cache/ldconfig/aux-cache "$1"/var/lib/hutch' \
  bookworm "$work/root.tar" ${HUTCH_DEBIAN_MIRROR:+"$HUTCH_DEBIAN_MIRROR"} >"$work/log" 2>&1 ||
  { tail -n 20 "$work/log" >&2; exit 1; }

storage=(--root "$PWD/$work/storage" --runroot "$PWD/$work/run" --storage-driver vfs)
buildah "${storage[@]}" bud --quiet --isolation chroot --timestamp "$epoch" --format oci \
  --label org.opencontainers.image.title=hutch --label "org.opencontainers.image.version=$version" \
  --tag "hutch:$version" --file packaging/oci/Containerfile "$work" >"$work/log" 2>&1 ||
  { tail -n 20 "$work/log" >&2; exit 1; }
buildah "${storage[@]}" push --quiet "hutch:$version" "oci-archive:$file:hutch:$version"
rm -rf "$work"
echo "$file"

sed "s/hutch:latest/hutch:$version/" packaging/oci/compose.yaml >build/packages/compose.yaml
echo build/packages/compose.yaml

# The chart for Kubernetes, as `helm package` lays it out.
chart=build/packages/hutch-chart-$version.tgz
rm -rf build/packages/chart
mkdir build/packages/chart
cp -r packaging/oci/chart build/packages/chart/hutch
sed -i "s/^\(version\|appVersion\): .*/\1: $version/" build/packages/chart/hutch/Chart.yaml
chmod -R u=rwX,go=rX build/packages/chart
tar --sort=name --owner=0 --group=0 --numeric-owner --format=gnu --mtime="@$epoch" -C build/packages/chart -c hutch |
  gzip -n9 >"$chart"
rm -rf build/packages/chart
echo "$chart"
