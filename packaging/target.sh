# Names the target: this machine, or with HUTCH_HOST=aarch64-linux-gnu that one (packaging/cross). To be read by scripts.
# shellcheck shell=bash disable=SC2034
host=${HUTCH_HOST:-}
machine=${host%%-*}
machine=${machine:-$(uname -m)}
tools=${host:+$host-} # a prefix of its compiler's and binutils' names

hutch_architecture() {
  if [ -z "$host" ]; then
    dpkg --print-architecture
  else
    dpkg-architecture -f -t "$host" -q DEB_HOST_ARCH 2>/dev/null
  fi
}

# A program that was built.
run_built() {
  if [ -z "$host" ]; then
    "$@"
  else
    "qemu-$machine-static" "$@"
  fi
}
