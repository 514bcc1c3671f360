# Each bash of a session reads this before its script (BASH_ENV), whoever starts it: a command that is not there is explained.
command_not_found_handle() {
  builtin . "${BASH_SOURCE[0]%/*}/not_found.sh"
}
