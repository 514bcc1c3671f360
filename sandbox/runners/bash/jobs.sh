# Makes builtins know processes that earlier runs have left, of which this bash is not the father: state.sh evaluates
# this where there are any. Jobs of this run go before those of earlier ones that have the same number, and what is
# not about a job of an earlier run is the builtin's. It is evaluated, not sourced, so that what builtins say begins as everywhere.
#
# How one ended that nobody could wait for is in /run/hutch/ended, a line "PID STATUS" each. The end of this file
# gives the code of this run its `$!`.

# Sets __hutch_pid to the process of a job of an earlier run: %NUMBER, %%, %+, %, %-, %COMMAND, %?TEXT. With `ended`
# also of one that has ended, when none that goes on is called so.
__hutch_find_job() {
  local line number pid started command
  local -i at
  __hutch_pid=
  [[ $1 == %* ]] || builtin return 1
  builtin jobs "$1" >/dev/null 2>&1 && builtin return 1
  for ((at = ${#__hutch_left[@]} - 1; at >= 0; at--)); do
    line=${__hutch_left[at]}
    IFS=' ' builtin read -r number pid started command <<<"$line"
    case $1 in
      % | %% | %+) ;;
      %-) [[ $at -eq $((${#__hutch_left[@]} - 2)) || ${#__hutch_left[@]} -eq 1 ]] || continue ;;
      %[0-9]*) [[ ${1#%} == "$number" ]] || continue ;;
      %\?*) [[ $command == *"${1#%?}"* ]] || continue ;;
      *) [[ $command == "${1#%}"* ]] || continue ;;
    esac
    if [[ $(__hutch_started "$pid") == "$started" ]]; then
      __hutch_pid=$pid
      builtin return 0
    fi
    [[ -n $__hutch_pid || ${2-} != ended ]] || __hutch_pid=$pid
  done
  [ -n "$__hutch_pid" ]
}

# Waits for the end of a process that is not this shell's child, and returns how it ended.
__hutch_await_end() {
  local pid status line before=
  while line=$(__hutch_started "$1") && [[ -n $line && (-z $before || $line == "$before") ]]; do
    before=$line
    command sleep 0.05
  done
  for line in 1 2 3; do
    while IFS=' ' builtin read -r pid status; do
      [[ $pid != "$1" ]] || line=$status:
    done 2>/dev/null </run/hutch/ended
    [[ $line != *: ]] || builtin return "${line%:}"
    command sleep 0.05 # it has ended, and is reaped now
  done
  builtin echo "bash: wait: $1 has ended; how is not known" >&2
  builtin return 127
}

__hutch_is_left() {
  local line
  [[ $1 == "${!:-}" ]] && builtin return 1
  [[ $1 == "$__hutch_last" ]] && builtin return 0
  for line in "${__hutch_left[@]}"; do [[ $line == +([0-9])" $1 "* ]] && builtin return 0; done
  builtin return 1
}

# Says what a builtin has said, as of the line of the code that called the function in its place.
__hutch_say() {
  local line
  while IFS= builtin read -r line; do
    builtin echo "bash: line $1: ${line#*: line *: }"
  done <"$__hutch_listed" >&2
}

# Prints one that goes on, or with the option -p its process.
__hutch_show_left() {
  local number pid started command
  IFS=' ' builtin read -r number pid started command <<<"$1"
  [[ $(__hutch_started "$pid") == "$started" ]] || builtin return 0
  if [[ $2 == *p* ]]; then
    builtin echo "$pid"
  else
    builtin printf '[%s]  %s Running                 %s & (of an earlier run)\n' "$number" "$pid" "$command"
  fi
}

# Scripts count and kill what `jobs -p` and `jobs -r` list: those are their own. Jobs that are named may be of an earlier run.
jobs() {
  local line argument options= shown= __hutch_pid
  local -a others=()
  local -i asked=0 status=0
  if [[ $# -eq 0 || $* == -l ]] && [ "$BASHPID" = $$ ]; then
    for line in "${__hutch_left[@]}"; do __hutch_show_left "$line" ''; done
  fi
  for argument in "$@"; do
    if [[ ${1-} != -*x* ]] && __hutch_find_job "$argument"; then
      shown=true
      for line in "${__hutch_left[@]}"; do
        [[ $line != +([0-9])" $__hutch_pid "* ]] || __hutch_show_left "$line" "$options"
      done
      continue
    fi
    others+=("$argument")
    if [[ $argument == -* ]]; then options+=$argument; else asked+=1; fi
  done
  [[ -z $shown || $asked -gt 0 ]] || builtin return 0
  if [[ $asked -eq 0 || $1 == -*x* ]]; then
    builtin jobs "${others[@]}"
    builtin return
  fi
  builtin jobs "${others[@]}" 2>|"$__hutch_listed" || status=$?
  __hutch_say "${BASH_LINENO[0]}"
  builtin return "$status"
}

kill() {
  local argument __hutch_pid
  local -a arguments=()
  local -i status=0
  for argument in "$@"; do
    if __hutch_find_job "$argument"; then arguments+=("$__hutch_pid"); else arguments+=("$argument"); fi
  done
  builtin kill "${arguments[@]}" 2>|"$__hutch_listed" || status=$?
  __hutch_say "${BASH_LINENO[0]}"
  builtin return "$status"
}

# Without arguments it is the builtin's: an earlier run may have left a server, which has no end. Where nothing else can
# be meant, it says so.
wait() {
  local argument __hutch_pid
  local -i status=0
  if [[ $# -eq 0 || $1 == -* ]]; then
    builtin jobs -p >|"$__hutch_listed"
    [[ $# -gt 0 || -s $__hutch_listed || $BASHPID != $$ ]] || __hutch_name_left
    builtin wait "$@"
    builtin return
  fi
  for argument in "$@"; do
    status=0
    if __hutch_find_job "$argument" ended; then
      __hutch_await_end "$__hutch_pid" || status=$?
    elif __hutch_is_left "$argument"; then
      __hutch_await_end "$argument" || status=$?
    else
      builtin wait "$argument" 2>|"$__hutch_listed" || status=$?
      __hutch_say "${BASH_LINENO[0]}"
    fi
  done
  builtin return "$status"
}

# Names the first job of an earlier run that goes on.
__hutch_name_left() {
  local line number pid started command
  for line in "${__hutch_left[@]}"; do
    IFS=' ' builtin read -r number pid started command <<<"$line"
    [[ $(__hutch_started "$pid") == "$started" ]] || continue
    builtin echo "hutch: $command (pid $pid) of an earlier run goes on, and was not waited for: wait $pid does" >&2
    builtin return
  done
}

disown() {
  local line __hutch_pid
  local -a kept=()
  if [ $# -ne 1 ] || ! __hutch_find_job "$1"; then
    builtin disown "$@"
    builtin return
  fi
  for line in "${__hutch_left[@]}"; do [[ $line == +([0-9])" $__hutch_pid "* ]] || kept+=("$line"); done
  __hutch_left=("${kept[@]}")
}

# `$!` is that of an earlier run until this one starts something itself: but in single quotes, comments and quoted
# here-documents, where the code means the letters. Nothing is looked at behind the last line that has it, nor from the
# first line on that is so long that it takes time.
__hutch_mean_earlier() {
  local line seen text open= before
  local here='^<<(-?)[[:space:]]*([^[:space:];&|<>()]+)'
  local -a lines=() ends=()
  local -i at last
  [[ $__hutch_code == *'$!'* ]] || builtin return 0
  builtin mapfile -t lines <<<"$__hutch_code"
  last=${#lines[@]}-1
  while [[ $last -ge 0 && ${lines[last]} != *'$!'* ]]; do last+=-1; done
  [[ $last -ge 0 ]] || builtin return 0 # no room for a file that long lines go through
  for ((at = 0; at <= last; at++)); do
    line=${lines[at]} seen=
    if [[ ${#ends[@]} -eq 0 ]]; then
      [[ ${#line} -le 4000 ]] || break
      while [[ -n $line ]]; do __hutch_take_word; done
      lines[at]=$seen
    elif [[ =$line == "${ends[0]#?}" || -${line#"${line%%[!$'\t']*}"} == "${ends[0]#?}" ]]; then
      ends=("${ends[@]:1}")
    elif [[ ${ends[0]} == '<'* && ${#line} -le 4000 ]]; then
      before=$open open+='<'
      while [[ -n $line ]]; do __hutch_take_word; done
      open=$before lines[at]=$seen
    fi
  done
  builtin printf -v text '%s\n' "${lines[@]}"
  __hutch_code=${text%$'\n'}
}

# Moves what `line` begins with to `seen`, up to behind the next character that means something to bash. `open` has
# what is open there, the innermost last: quotes, `$` for $'..', `<` for a here-document, parentheses. `ends` has the
# words that end the here-documents of this line: behind `<` where they are code, else `'`; and `-` where tabs may stand
# before the word, else `=`.
__hutch_take_word() {
  local head within=${open: -1}
  local -i size=1
  case $within in
    \') head=${line%%\'*} ;;
    \$) head=${line%%[\\\']*} ;;
    \") head=${line%%[\\\"\$]*} ;;
    \<) head=${line%%[\\\$]*} ;;
    *) head=${line%%[\\\'\"\$\#\<\(\)]*} within=- ;;
  esac
  seen+=$head line=${line:${#head}}
  case $within$line in
    ?) ;;
    \'* | \$\'* | \"\"*) open=${open%?} ;;
    ?\\* | ?'$$'* | ?'$#'*) size=2 ;;
    ?'$!'*)
      seen+='${!:-$__hutch_last}' line=${line:2}
      builtin return
      ;;
    ?'$('*) open+='(' size=2 ;;
    -\$\'*) open+='$' size=2 ;;
    -[\'\"\(]*) open+=${line:0:1} ;;
    -\)*) [[ $open != *'(' ]] || open=${open%?} ;;
    -\#*) [[ -n $seen && ${seen: -1} != [[:space:]\;\&\|\(\)] ]] || size=${#line} ;;
    -'<<<'*) size=3 ;;
    -'<<'*)
      size=2 # in arithmetic a shift
      if [[ $open != *'((' && $line =~ $here ]]; then
        size=${#BASH_REMATCH}
        text=${BASH_REMATCH[2]//[\\\'\"]/}
        [[ $text == "${BASH_REMATCH[2]}" ]] && head='<' || head=\'
        ends+=("$head${BASH_REMATCH[1]:-=}$text")
      fi
      ;;
  esac
  seen+=${line:0:size} line=${line:size}
}
