# Keeps state for the next run of bash: state.sh reads this unless the run is in the background, and calls __hutch_keep
# at the end of the code. The file of the state and its other end are told there.

# Names that bash sets itself, or that belong to this process alone. In one text: lists of variables are read often, and
# an array would be printed in each, name by name.
__hutch_own="\
BASH BASHOPTS BASHPID BASH_ALIASES BASH_ARGC BASH_ARGV BASH_ARGV0 BASH_CMDS BASH_COMMAND BASH_EXECUTION_STRING \
BASH_LINENO BASH_MONOSECONDS BASH_REMATCH BASH_SOURCE BASH_SUBSHELL BASH_TRAPSIG BASH_VERSINFO BASH_VERSION \
BASH_XTRACEFD COMP_CWORD COMP_KEY COMP_LINE COMP_POINT COMP_TYPE COMP_WORDBREAKS COMP_WORDS EPOCHREALTIME \
EPOCHSECONDS OPTARG OPTERR OPTIND _ DIRSTACK EUID FUNCNAME GROUPS HISTCMD HOSTNAME HOSTTYPE LINENO MACHTYPE \
OSTYPE PIPESTATUS PPID RANDOM SECONDS SHELLOPTS SHLVL SRANDOM UID"
# Their traps last: all but SIGINT, of which the EXIT trap has made its own, and SIGCHLD, which our own children
# would fire. The C library has the two before the real-time ones for itself.
__hutch_signals=({1..31} {34..64})
unset -v '__hutch_signals[1]' '__hutch_signals[16]'
# The lines of `declare -p` before the code: what is still the same at its end needs no second look. Values of several
# lines are left out, as each line would count by itself.
declare -A __hutch_same=()
if { [ -d "${__hutch_listed%/*}" ] && declare -p >|"$__hutch_listed"; } 2>/dev/null; then
  mapfile -t __hutch_entries <"$__hutch_listed"
  for __hutch_name in "${__hutch_entries[@]}"; do
    case $__hutch_name in
      'declare -a __hutch'* | 'declare -A __hutch'*) ;;
      'declare -'*) __hutch_same[$__hutch_name]=1 ;;
      *) __hutch_are_lines=true ;;
    esac
  done
  if [ -n "${__hutch_are_lines-}" ]; then
    __hutch_same=()
    for __hutch_name in "${__hutch_entries[@]}"; do
      [[ $__hutch_name != 'declare -'*@([!\\]\"|\)) ]] || __hutch_same[$__hutch_name]=1
    done
  fi
fi
unset -v __hutch_entries

# Adds options that end with this run to __hutch_dropped; __hutch_is_plain is empty where others are not as in a new shell.
__hutch_look_at_options() {
  local name IFS=:
  for name in $__hutch_shellopts; do
    if [[ :$__hutch_own_set: == *:$name:* ]]; then
      continue
    elif [[ :$__hutch_for_one_run: == *:$name:* ]]; then
      __hutch_dropped+=("$name")
    else
      __hutch_is_plain=
    fi
  done
  for name in $__hutch_own_set; do [[ :$__hutch_shellopts: == *:$name:* ]] || __hutch_is_plain=; done
  [[ $__hutch_bashopts == "$__hutch_own_shopt" ]] || __hutch_is_plain=
}

# Where the shell is, and the mask of new files, are no state that somebody would come back for.
__hutch_look_at_state() {
  local __hutch_name
  __hutch_look_at_options
  for __hutch_name in "${__hutch_names[@]}"; do
    [[ $__hutch_name == OLDPWD || $__hutch_name == IFS && $IFS == $' \t\n' ]] || __hutch_is_plain=
  done
  for __hutch_name in "${__hutch_frozen[@]}"; do __hutch_dropped+=("readonly of $__hutch_name"); done
  for __hutch_name in "${!__hutch_given[@]}"; do
    [[ -v $__hutch_name || $__hutch_run_env == *" $__hutch_name "* ]] || __hutch_is_plain=
  done
  [[ ${#__hutch_frozen[@]} -eq 0 && ${#__hutch_carried[@]} -eq 0 && ${#__hutch_functions[@]} -eq 0 &&
    $__hutch_user_interrupt == - ]] || __hutch_is_plain=
  [[ -n $__hutch_is_plain ]] || builtin return 0
  { builtin alias -p; builtin trap -p "${__hutch_signals[@]}"; } >|"$__hutch_listed"
  [[ ! -s $__hutch_listed ]] || __hutch_is_plain=
}

# Chooses what is saved of the lines of `declare -p` and `declare -F` in `__hutch_all`: `__hutch_names`; those that the
# code has made read-only apart, since loaded as such they would make the same code fail the second time; and
# `__hutch_functions`. A line may also be one of another's value: then there is no such variable, or it is one anyway.
__hutch_choose() {
  local __hutch_line __hutch_flags __hutch_name
  local -A __hutch_seen=()
  for __hutch_line in "${__hutch_all[@]}"; do
    case $__hutch_line in
      'declare -'?' __hutch'* | 'declare -'??' __hutch'* | 'declare -'???' __hutch'* | 'declare -'????' __hutch'*) continue ;;
      'declare -'*) [[ -z ${__hutch_same[$__hutch_line]-} ]] || continue ;;
      *) continue ;;
    esac
    # The beginning of a long line is enough: patterns take the square of what they look at.
    __hutch_name=${__hutch_line:9:250}
    __hutch_flags=${__hutch_name%% *}
    __hutch_name=${__hutch_name#* }
    __hutch_name=${__hutch_name%%=*}
    if [[ $__hutch_flags == f* ]]; then
      case $__hutch_name in
        trap) ;;
        command_not_found_handle | jobs | kill | wait | disown)
          __hutch_is_ours "$__hutch_name" || __hutch_functions+=("$__hutch_line")
          ;;
        *) __hutch_functions+=("$__hutch_line") ;;
      esac
      continue
    fi
    [[ $__hutch_name == *[!A-Za-z0-9_]* || -z $__hutch_name ||
      " $__hutch_own PWD " == *" $__hutch_name "* ]] && continue
    [[ $__hutch_flags == x && -n ${__hutch_given[$__hutch_name]-} && ${!__hutch_name-} == "${__hutch_given[$__hutch_name]}" &&
      ${!__hutch_name@a} == x ]] && continue
    [[ $__hutch_name == HUTCH_* || $__hutch_run_env == *" $__hutch_name "* || -n ${__hutch_seen[$__hutch_name]-} ]] && continue
    builtin declare -p "$__hutch_name" >/dev/null 2>&1 || continue
    __hutch_seen[$__hutch_name]=1
    if [[ ${!__hutch_name@a} == *r* ]]; then
      __hutch_frozen+=("$__hutch_name")
    elif [[ -v $__hutch_name || $__hutch_flags != *[rn]* ]]; then
      __hutch_names+=("$__hutch_name")
    fi
  done
  builtin return 0
}

# Succeeds unless the user has replaced this function.
__hutch_is_ours() {
  local text
  builtin declare -f "$1" >|"$__hutch_listed"
  IFS= builtin read -r -d '' text <"$__hutch_listed"
  [[ $text == *__hutch_* || $text == *'/not_found.sh"'* ]]
}

# Adds what this run leaves to __hutch_left, without those that have ended.
__hutch_find_left() {
  local line number pid status command last=$!
  local -a before=("${__hutch_left[@]}")
  __hutch_left=()
  for line in "${before[@]}"; do
    IFS=' ' builtin read -r number pid status command <<<"$line"
    [[ $(__hutch_started "$pid") != "$status" ]] || __hutch_left+=("$line")
  done
  [ -z "$last" ] || __hutch_last=$last
  builtin jobs -lr >|"$__hutch_listed"
  while IFS=' ' builtin read -r number pid status command; do
    [[ $number == '['+([0-9])']'* ]] || continue # the further processes of a pipeline
    number=${number#'['}
    __hutch_left+=("${number%%']'*} $pid $(__hutch_started "$pid") ${command% &}")
  done <"$__hutch_listed"
}

__hutch_print_state() {
  local __hutch_name __hutch_text __hutch_flags __hutch_is_plain=$'# plain\n'
  local -a __hutch_dropped=()
  __hutch_look_at_state
  builtin printf '#%s\n' "$1"
  # For whoever puts this into another box (kept_shell.cc), and whoever looks whether it is worth keeping.
  if [[ ${#__hutch_dropped[@]} -gt 0 ]]; then
    builtin printf -v __hutch_text ', %s' "${__hutch_dropped[@]}"
    builtin printf '# not kept: %s\n' "${__hutch_text#, }"
  fi
  # Functions may hold its patterns, which are syntax errors without it. The options come last: some of
  # them would change how the rest is read.
  builtin printf '\\builtin shopt -s extglob\n__hutch_before=%s\n' "$__hutch_status"
  builtin printf 'cd -- %q || __hutch_gone=%q\n' "$PWD" "$PWD"
  builtin umask -p
  for __hutch_name in "${!__hutch_given[@]}"; do
    [[ -v $__hutch_name || $__hutch_run_env == *" $__hutch_name "* ]] || builtin printf 'unset -v %s\n' "$__hutch_name"
  done
  [[ ${#__hutch_names[@]} -eq 0 ]] || builtin declare -p "${__hutch_names[@]}"
  for __hutch_name in "${__hutch_frozen[@]}"; do
    __hutch_text=$(builtin declare -p "$__hutch_name")
    __hutch_flags=${__hutch_text#declare -}
    __hutch_flags=${__hutch_flags%% *}
    __hutch_text=${__hutch_text#declare -"$__hutch_flags" }
    __hutch_flags=${__hutch_flags//r/}
    builtin printf 'declare -%s %s\n' "${__hutch_flags:--}" "$__hutch_text"
  done
  [[ ${#__hutch_carried[@]} -eq 0 ]] || builtin printf '%s\n' "${__hutch_carried[@]}"
  for __hutch_text in "${__hutch_functions[@]}"; do
    __hutch_name=${__hutch_text##* }
    builtin declare -f "$__hutch_name" 2>/dev/null || continue
    [[ ${__hutch_text% *} == *-*x* ]] && builtin printf 'export -f %s\n' "$__hutch_name"
  done
  builtin alias -p
  builtin trap -p "${__hutch_signals[@]}"
  [[ $__hutch_user_interrupt == - ]] || builtin printf 'trap -- %q INT\n' "$__hutch_user_interrupt"
  if [ -n "$__hutch_last" ]; then
    builtin printf '__hutch_last=%q\n__hutch_left=(' "$__hutch_last"
    [ ${#__hutch_left[@]} -eq 0 ] || builtin printf '%q ' "${__hutch_left[@]}"
    # In another sandbox its number may be another process'.
    builtin printf ')\n\\builtin test -z "$(__hutch_started %s)" || \\builtin test "$(__hutch_started %s)" = %q || __hutch_last=\n' \
      "$__hutch_last" "$__hutch_last" "$(__hutch_started "$__hutch_last")"
  fi
  builtin printf '\\builtin shopt -u extglob\n__hutch_set_options %q %q\n%s#%s\n' "$__hutch_shellopts" "$__hutch_bashopts" "$__hutch_is_plain" "$1"
}

__hutch_save() {
  # No local may have the name of something that is saved, least of all PATH.
  local -a __hutch_all=() __hutch_functions=() __hutch_names=() __hutch_frozen=()
  { [ -d "${__hutch_state%/*}" ] || PATH=/usr/bin:/bin command mkdir -p "${__hutch_state%/*}"; } &&
    { builtin declare -p; builtin declare -F; } >|"$__hutch_listed" && builtin mapfile -t __hutch_all <"$__hutch_listed" &&
    __hutch_choose && __hutch_print_state "$((__hutch_number + 1))" >|"$__hutch_target" ||
    builtin echo "bash: working directory and variables of this run could not be kept" >&2
}

__hutch_forget_own() {
  local IFS=' ' 2>/dev/null
  builtin unset -v $__hutch_own 2>/dev/null
}

# An exit inside a function: its locals are no variables of the session. Unset from here, a local shows what it hid.
__hutch_keep() {
  local __hutch_line
  while IFS= builtin read -r __hutch_line; do
    __hutch_line=${__hutch_line#declare -* }
    [ -z "$__hutch_line" ] || builtin unset -v "${__hutch_line%%=*}"
  done <<<"$__hutch_locals"
  [[ -z $!$__hutch_last ]] || __hutch_find_left 2>/dev/null
  # Variables that bash sets itself are not looked through, name by name.
  __hutch_forget_own
  __hutch_save
}
