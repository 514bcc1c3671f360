#!/bin/sh
# Stands before programs of the host that cannot do in a session what they are for (plan.cc): calls the program of its own
# name, and says after a failure how things are here. state.sh takes from it what to say of those that are not there.

# Says how things are that a program, $1, is for. The list, ../absent_programs.txt, is that of all languages.
__hutch_explain() {
  while IFS='	' command read -r __hutch_names __hutch_sentence; do
    case " $__hutch_names " in
      *" $1 "*)
        command printf "hutch: $__hutch_sentence\n" "$1"
        return 0
        ;;
    esac
  done <"${2:-/run/hutch/runners/absent_programs.txt}"
  return 1
}

# Says so of a call, $1 and its arguments: of what `sudo` is to run, where that is what cannot be.
__hutch_explain_call() {
  __hutch_called=$1
  [ "$1" = sudo ] && for __hutch_word in "$@"; do
    case $__hutch_word in
      sudo | -* | *=*) ;;
      *)
        __hutch_explain "$__hutch_word" && return
        break
        ;;
    esac
  done
  __hutch_explain "$__hutch_called"
}

# Succeeds where the arguments are those of an editor that is to sit at a terminal, and there is none.
__hutch_is_blind_editor() {
  [ ! -t 0 ] || return 1
  case " $* " in
    *" -e"* | *" -E"* | *" -s "* | *" -S "* | *" -c "* | *" -x "* | *" +"* | *" -batch "*) return 1 ;;
    *" --batch "* | *" --script"* | *" --eval"* | *" --execute"* | *" --headless "*) return 1 ;;
    *" --help "* | *" --version "* | *" -h "* | *" -V "* | *" --daemon"* | *" --bg-daemon"* | *" --serverlist "*) return 1 ;;
  esac
}

# Says how files come and go in a session, after code that names $1, a path of another machine.
__hutch_explain_path() {
  case $1 in
    /mnt/user-data/outputs* | /home/claude*)
      command echo "hutch: this session has no $1: write below /workspace, and share_file gives the file to the user." ;;
    /mnt/user-data* | /mnt/data* | /mnt/skills*)
      command echo "hutch: files of the chat are not in this session: the user gives them through write_file, or in a folder that" \
        "whoever runs hutch grants, which is at /mnt/NAME then, with --mount NAME=PATH." ;;
    *)
      command echo "hutch: this session sees no files of the user's machine: whoever runs hutch grants a folder, which is at /mnt/NAME" \
        "then, with --mount NAME=PATH; or the user gives the file's content, for write_file." ;;
  esac
}

case $0 in
  /run/hutch/explained/*)
    name=${0##*/}
    for folder in /usr/local/bin /usr/bin /usr/sbin; do
      [ ! -x "$folder/$name" ] || break
    done
    case $name in
      vi | vim | nano | emacs | pico | mcedit)
        if __hutch_is_blind_editor "$@"; then
          __hutch_explain "$name" >&2
          exit 1
        fi
        ;;
    esac
    "$folder/$name" "$@"
    status=$?
    case $status in
      0 | 130 | 141) ;; # it did, or somebody did not want all of it
      *) __hutch_explain_call "$name" "$@" >&2 ;;
    esac
    exit "$status"
    ;;
esac
