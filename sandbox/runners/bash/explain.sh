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

case $0 in
  /run/hutch/explained/*)
    name=${0##*/}
    for folder in /usr/local/bin /usr/bin /usr/sbin; do
      [ ! -x "$folder/$name" ] || break
    done
    "$folder/$name" "$@"
    status=$?
    case $status in
      0 | 130 | 141) ;; # it did, or somebody did not want all of it
      *) __hutch_explain "$name" >&2 ;;
    esac
    exit "$status"
    ;;
esac
