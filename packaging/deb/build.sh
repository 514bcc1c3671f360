#!/usr/bin/env bash
# hutch_VERSION_ARCHITECTURE.deb, for Debian 11 and Ubuntu 22.04 and all that came after: apt install ./FILE.
# What it has beside the programs is in this folder; where it lies is below.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. packaging/version.sh
. packaging/target.sh
version=$(hutch_version)
epoch=$(packaging/epoch.sh)
root=build/packages/deb-root
file=build/packages/hutch_${version}_$(hutch_architecture).deb
rm -rf "$root"

# The programs find what belongs to them beside themselves, so they stay together.
mkdir -p "$root/usr/lib/hutch" "$root/usr/bin" "$root/usr/share/doc/hutch" "$root/DEBIAN"
cp -r build/packages/tree/bin "$root/usr/lib/hutch/"
mkdir "$root/usr/lib/hutch/share"
cp -r build/packages/tree/share/hutch "$root/usr/lib/hutch/share/"
ln -s ../lib/hutch/bin/hutch "$root/usr/bin/hutch"

cp build/packages/tree/share/doc/hutch/{README.md,SECURITY.md,THIRD_PARTY_LICENSES.gz,hutch.spdx.json} "$root/usr/share/doc/hutch/"
cp -r build/packages/tree/share/doc/hutch/docs "$root/usr/share/doc/hutch/"
gzip -n9 <CHANGELOG.md >"$root/usr/share/doc/hutch/changelog.gz"
cp packaging/deb/copyright "$root/usr/share/doc/hutch/"
install -D -m 644 packaging/systemd/hutch.service -t "$root/usr/lib/systemd/system"
install -D -m 644 packaging/systemd/user/hutch.service -t "$root/usr/lib/systemd/user"
install -D -m 644 packaging/systemd/sysusers.conf "$root/usr/lib/sysusers.d/hutch.conf"
# Every default as a comment: one that changes with a newer version is then not held to the old one.
mkdir -p "$root/etc/hutch"
sed -E 's/^([a-z_]+ *=)/# \1/' packaging/config.toml >"$root/etc/hutch/config.toml"
mkdir -p "$root/usr/share/man/man1" "$root/usr/share/bash-completion/completions"
run_built build/packages/tree/bin/hutch manual | gzip -n9 >"$root/usr/share/man/man1/hutch.1.gz"
run_built build/packages/tree/bin/hutch completion bash >"$root/usr/share/bash-completion/completions/hutch"

size=$(du -sk --apparent-size "$root/usr" "$root/etc" | awk '{all += $1} END {print all}')
sed -e "s/@VERSION@/$version/" -e "s/@SIZE@/$size/" -e "s/@ARCHITECTURE@/$(hutch_architecture)/" \
  packaging/deb/control >"$root/DEBIAN/control"
echo /etc/hutch/config.toml >"$root/DEBIAN/conffiles"
install -m 755 packaging/deb/{postinst,prerm,postrm} "$root/DEBIAN/"
(cd "$root" && find usr -type f -print0 | sort -z | xargs -0 md5sum) >"$root/DEBIAN/md5sums"
chmod -R u=rwX,go=rX "$root"
find "$root" -exec touch -h -d "@$epoch" {} +
SOURCE_DATE_EPOCH=$epoch dpkg-deb --root-owner-group -Zxz -z9 -Sextreme --build "$root" "$file" >/dev/null
echo "$file"
