# For scripts to source: as_root COMMAND... runs it as root, by sudo where the caller is somebody else.
# HUTCH_SUDO=-n: nobody is there to be asked for a password.
# shellcheck shell=sh

can_be_root() { [ "$(id -u)" -eq 0 ] || command -v sudo >/dev/null; }

as_root() {
  if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo ${HUTCH_SUDO:+"$HUTCH_SUDO"} "$@"; fi
}
