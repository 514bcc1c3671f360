# Loading and saving what bash keeps from run to run: `. state.sh [--background | --restart | --ahead]`
# before user code (profiles/bash.json), which is read from descriptor 3.
#
# The state is the working directory, variables, functions, aliases, options, traps of signals (but of SIGCHLD, which
# our own children would fire), and which processes of
# earlier runs go on (jobs.sh). It is in the newer of
# two files that is whole, whose first and last line is its number: the older one is written when the
# code ends, however it ends, so that a run that is killed leaves the state of the run before. With
# --background it is read and not written, with --restart written and not read. With --ahead the code
# is there once descriptor 4 says so.
#
# The text of `bash -c` sources this, loads the state and evaluates the code as one compound command: no
# alias that the state brings can get into it. It is no function: `declare` in the state and in the code
# must not make locals. Messages begin with "bash: line N:", where N is the line of the code.
#
# Nothing here starts a process where it can be helped: that takes longer than all else.
#
# Names that begin with __hutch are ours. Commands here carry `builtin` or `command`: the user may
# have functions and aliases of any name.

__hutch_state=${HUTCH_STATE_DIR:-/run/hutch/state}/bash
# Where builtins print what is to be read again: in memory, where opening a file costs nothing.
__hutch_listed=${HUTCH_STATE_DIR:-/dev/shm}/.bash
__hutch_run_env=" ${HUTCH_RUN_ENV:-} "
__hutch_mode=${2:-}
__hutch_user_trap=
__hutch_user_interrupt=-
__hutch_traps=
__hutch_trapped=
__hutch_locals=
__hutch_carried=()
__hutch_text=
# What a script sets to be strict or chatty is for that script. A later run would end without a word at the first grep
# that finds nothing.
__hutch_for_one_run=errexit:nounset:pipefail:xtrace:verbose:noexec:onecmd:monitor:interactive:privileged:posix
__hutch_left=() # "NUMBER PID STARTED COMMAND" of each job that earlier runs have left
__hutch_last=   # $! of an earlier run

# What bash sets itself, and what belongs to this process alone.
declare -A __hutch_never=([BASH]=1 [BASHOPTS]=1 [BASHPID]=1 [BASH_ALIASES]=1 [BASH_ARGC]=1 [BASH_ARGV]=1 [BASH_ARGV0]=1
  [BASH_CMDS]=1 [BASH_COMMAND]=1 [BASH_EXECUTION_STRING]=1 [BASH_LINENO]=1 [BASH_MONOSECONDS]=1 [BASH_REMATCH]=1
  [BASH_SOURCE]=1 [BASH_SUBSHELL]=1 [BASH_TRAPSIG]=1 [BASH_VERSINFO]=1 [BASH_VERSION]=1 [BASH_XTRACEFD]=1 [COMP_CWORD]=1
  [COMP_KEY]=1 [COMP_LINE]=1 [COMP_POINT]=1 [COMP_TYPE]=1 [COMP_WORDBREAKS]=1 [COMP_WORDS]=1 [EPOCHREALTIME]=1
  [EPOCHSECONDS]=1 [OPTARG]=1 [OPTERR]=1 [OPTIND]=1 [_]=1 [DIRSTACK]=1 [EUID]=1 [FUNCNAME]=1 [GROUPS]=1 [HISTCMD]=1
  [HOSTNAME]=1 [HOSTTYPE]=1 [LINENO]=1 [MACHTYPE]=1 [OSTYPE]=1 [PIPESTATUS]=1 [PPID]=1 [RANDOM]=1 [SECONDS]=1
  [SHELLOPTS]=1 [SHLVL]=1 [SRANDOM]=1 [UID]=1)

__hutch_own=("${!__hutch_never[@]}")
__hutch_never[PWD]=1
# Those whose traps last: all but SIGINT, of which the EXIT trap has made its own, and SIGCHLD, which our own children
# would fire. The C library has the two before the real-time ones for itself.
__hutch_signals=({1..31} {34..64})
unset -v '__hutch_signals[1]' '__hutch_signals[16]'
# The environment as the host gave it. What the code leaves as it is need not be saved, so that a
# later change of the host's is seen.
declare -A __hutch_given=()
mapfile -d '' -t __hutch_entries </proc/self/environ
for __hutch_name in "${__hutch_entries[@]}"; do
  case ${__hutch_name%%=*} in
    HUTCH_*) unset -v "${__hutch_name%%=*}" ;;
    *[!A-Za-z0-9_]* | [0-9]* | '') ;;
    *) __hutch_given[${__hutch_name%%=*}]=${__hutch_name#*=} ;;
  esac
done
# That, and what bash sets itself, as `declare -p` has it: what is still the same then needs no second look. Of values
# of several lines nothing.
declare -A __hutch_same=()
if { [ "$__hutch_mode" != --background ] && [ -d "${__hutch_listed%/*}" ] && declare -p >|"$__hutch_listed"; } 2>/dev/null; then
  mapfile -t __hutch_entries <"$__hutch_listed"
  for __hutch_name in "${__hutch_entries[@]}"; do
    [[ $__hutch_name != 'declare -'*@([!\\]\"|\)) ]] || __hutch_same[$__hutch_name]=1
  done
fi
unset -v __hutch_name __hutch_entries
set --

# Which file has the newest whole state, and its text.
__hutch_find() {
  local first text number
  __hutch_number=0 __hutch_target=$__hutch_state.0 __hutch_text=
  for number in 0 1; do
    IFS= builtin read -r first 2>/dev/null <"$__hutch_state.$number" || continue
    [[ $first == '#'+([0-9]) && ${first#?} -gt $__hutch_number ]] || continue
    IFS= builtin read -r -d '' text <"$__hutch_state.$number"
    [[ $text == *$'\n'"$first"$'\n' ]] || continue
    __hutch_number=${first#?} __hutch_target=$__hutch_state.$((1 - number)) __hutch_text=$text
  done
  [ "$__hutch_mode" != --restart ] || __hutch_text=
  # Before the state: no alias that it brings may get into that, and a function of the user's goes before ours.
  if [[ $__hutch_text == *$'\n__hutch_last='* ]]; then
    IFS= builtin read -r -d '' text <"${BASH_SOURCE[0]%/*}/jobs.sh"
    __hutch_text=$text$__hutch_text
  fi
}

# The other options are those of bash itself, so that only what differs is said.
__hutch_set_options() {
  local name IFS=:
  for name in $__hutch_own_shopt; do [[ :$2: == *:$name:* ]] || builtin shopt -u "$name"; done
  for name in $2; do [[ :$__hutch_own_shopt: == *:$name:* ]] || builtin shopt -s "$name"; done
  for name in $__hutch_own_set; do [[ :$1: == *:$name:* ]] || builtin set +o "$name"; done
  for name in $1; do
    [[ :$__hutch_for_one_run:$__hutch_own_set: == *:$name:* ]] || builtin set -o "$name"
  done
}

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

# Of a bash that was started ahead: the code, once it is there.
__hutch_await() {
  local before=${OLDPWD-} had=${OLDPWD+x}
  local REPLY
  IFS= builtin read -r -u 4 || { builtin echo "bash: the code of this run did not come" >&2; builtin exit 125; }
  exec 4<&-
  SECONDS=0
  [[ . -ef $PWD ]] && builtin return
  builtin cd -- "$PWD" 2>/dev/null || __hutch_gone=$PWD
  [ -z "$had" ] || OLDPWD=$before
}

# What is left to do when the state has been loaded.
__hutch_enter() {
  [ "$__hutch_mode" != --ahead ] || __hutch_await
  IFS= builtin read -r -d '' -u 3 __hutch_code
  exec 3<&-
  # Under `set -a`, which lasts: code is nothing that programs are to have in their environment.
  builtin export -n __hutch_code
  [ -z "$__hutch_last" ] || __hutch_mean_earlier
  if [ -n "${__hutch_gone:-}" ]; then
    builtin echo "bash: the working directory $__hutch_gone is gone: starting in /workspace" >&2
    builtin cd /workspace 2>/dev/null || builtin cd /
    unset -v __hutch_gone
  fi
  __hutch_enter_run_env
  # Its first lines are silent even under `set -x`, and see the locals of the function that exits. The
  # traps of the user on ERR, DEBUG and RETURN are for the code of the user, which is the EXIT trap here.
  # It finds the status of the script in $?: what sets it again, after them, fires none of them.
  # A run that is stopped gets SIGINT again while it keeps its state: of ours that ends nothing.
  builtin trap '{
    __hutch_status=$? __hutch_set=$- __hutch_shellopts=$SHELLOPTS __hutch_bashopts=$BASHOPTS
    builtin trap "" INT
    builtin set +T
    [[ -z $__hutch_trapped && $__hutch_code != *builtin* && $__hutch_code != *command* ]] || __hutch_traps="builtin $(builtin trap -p ERR)
      builtin $(builtin trap -p RETURN)
      builtin $(builtin trap -p DEBUG)"
    builtin trap - ERR DEBUG RETURN
    [[ $__hutch_set != *T* ]] || builtin set -T
    builtin set +eux
    [ ${#FUNCNAME[@]} -eq 0 ] || __hutch_locals=$(builtin local -p)
  } >/dev/null 2>&1
  [[ -n $__hutch_user_trap && $__hutch_user_trap$__hutch_traps == *exit* ]] && __hutch_save && __hutch_find
  [ -z "$__hutch_user_trap" ] || builtin eval "builtin trap -- ${__hutch_user_interrupt@Q} INT
    $__hutch_traps
    { (builtin exit $__hutch_status) && (builtin exit); } >/dev/null 2>&1
$__hutch_user_trap"
  { builtin trap - ERR DEBUG RETURN; } >/dev/null 2>&1
  __hutch_leave' EXIT
  # What the code finds as $?.
  builtin return "${__hutch_before:-0}"
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

# Puts the variables of this run's own `env` back over the loaded state, and remembers what the
# state had for them: they are undone with the run.
__hutch_enter_run_env() {
  local __hutch_name IFS=' '
  for __hutch_name in $__hutch_run_env; do
    [[ -v __hutch_given[$__hutch_name] ]] || continue
    if [[ ! -v $__hutch_name || ${!__hutch_name} != "${__hutch_given[$__hutch_name]}" ]]; then
      [[ -v $__hutch_name ]] && __hutch_carried+=("$(builtin declare -p "$__hutch_name")")
      builtin export "$__hutch_name=${__hutch_given[$__hutch_name]}"
    fi
  done
}

# What of the lines of `declare -p` and `declare -F` in `__hutch_all` is to be saved: `__hutch_names`; those that the
# code has made read-only apart, since loaded as such they would make the same code fail the second time; and
# `__hutch_functions`. A line may also be one of another's value: then there is no such variable, or it is one anyway.
__hutch_choose() {
  local __hutch_line __hutch_flags __hutch_name
  local -A __hutch_seen=()
  for __hutch_line in "${__hutch_all[@]}"; do
    [[ ${__hutch_line:9:10} == *' __hutch'* || -n ${__hutch_same[$__hutch_line]-} || $__hutch_line != 'declare -'* ]] && continue
    # Of long lines the beginning: patterns take the square of what they look at.
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
      -n ${__hutch_never[$__hutch_name]-} ]] && continue
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

# Of a function that the user may have replaced.
__hutch_is_ours() {
  local text
  builtin declare -f "$1" >|"$__hutch_listed"
  IFS= builtin read -r -d '' text <"$__hutch_listed"
  [[ $text == *__hutch_* ]]
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

# Prints when a process was started, which no other of the same number was; nothing when it has ended.
__hutch_started() {
  local text
  local -a fields
  IFS= builtin read -r text 2>/dev/null <"/proc/$1/stat" || builtin return 0
  IFS=' ' builtin read -r -a fields <<<"${text##*) }"
  [[ ${fields[0]} == [ZX] ]] || builtin echo "${fields[19]}"
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
    builtin printf ')\n'
  fi
  builtin printf '\\builtin shopt -u extglob\n__hutch_set_options %q %q\n%s#%s\n' "$__hutch_shellopts" "$__hutch_bashopts" "$__hutch_is_plain" "$1"
}

__hutch_save() {
  [ "$__hutch_mode" != --background ] || return 0
  # No local may have the name of something that is saved, least of all PATH.
  local -a __hutch_all=() __hutch_functions=() __hutch_names=() __hutch_frozen=()
  { [ -d "${__hutch_state%/*}" ] || PATH=/usr/bin:/bin command mkdir -p "${__hutch_state%/*}"; } &&
    { builtin declare -p; builtin declare -F; } >|"$__hutch_listed" && builtin mapfile -t __hutch_all <"$__hutch_listed" &&
    __hutch_choose && __hutch_print_state "$((__hutch_number + 1))" >|"$__hutch_target" ||
    builtin echo "bash: working directory and variables of this run could not be kept" >&2
}

# The end of the EXIT trap. The user's own trap has run; one that ends with `exit` ends the whole,
# which is why the state was saved before it.
__hutch_leave() {
  builtin trap "" INT
  builtin set +eu
  builtin shopt -u nocasematch extdebug
  # An exit inside a function: its locals are no variables of the session. Unset from here, a local
  # shows what it hid.
  local __hutch_line
  while IFS= builtin read -r __hutch_line; do
    __hutch_line=${__hutch_line#declare -* }
    [ -z "$__hutch_line" ] || builtin unset -v "${__hutch_line%%=*}"
  done <<<"$__hutch_locals"
  [[ -z $!$__hutch_last ]] || __hutch_find_left 2>/dev/null
  # What bash sets itself is not looked through, name by name.
  builtin unset -v "${__hutch_own[@]}" 2>/dev/null
  __hutch_save
  __hutch_explain_paths
  builtin exit "$__hutch_status"
}

# Says of code that failed where a file is that it names, and of code that looked where a chat has its files how they come
# here: whatever came after that.
__hutch_explain_paths() {
  [[ ${#__hutch_code} -lt 20000 && $__hutch_status != 130 ]] || builtin return 0
  if [[ $__hutch_status != 0 && $__hutch_code == *.[[:alnum:]]* && $__hutch_code != *'<<'* ]]; then
    builtin . "${BASH_SOURCE[0]%/*}/near_files.sh" && ! __hutch_explain_near "$__hutch_code" || builtin return 0
  fi
  case $__hutch_code in
    */mnt/* | */Users/* | */home/* | *'~/D'* | *:[/\\]Users*) ;;
    *) builtin return 0 ;;
  esac
  local __hutch_before=$'(^|[[:space:]"\'=(<>])' __hutch_part=$'[^][:space:]"\';&|()<>[/$*?{]+'
  local __hutch_chat="$__hutch_before((/mnt/user-data/outputs|/mnt/user-data|/mnt/data|/mnt/skills|/home/claude)(/$__hutch_part)*)([^[:alnum:]_.-]|\$)"
  local __hutch_machine="$__hutch_before((/Users|/home/$__hutch_part|/mnt/c|[A-Za-z]:[/\\\\]Users|~/(Desktop|Documents|Downloads))([/\\\\]$__hutch_part)+)"
  if [[ $__hutch_code =~ $__hutch_chat && ($__hutch_status != 0 || $__hutch_code != *'<<'*) ]]; then
    [[ ! -e ${BASH_REMATCH[3]} ]] || builtin return 0
    builtin set -- "${BASH_REMATCH[3]}"
  elif [[ $__hutch_status != 0 && $__hutch_code =~ $__hutch_machine ]]; then
    builtin set -- "${BASH_REMATCH[2]/#'~'/"$HOME"}"
    [[ $1 != /home/user/* || $1 == /home/user/@(Desktop|Documents|Downloads)/* ]] && [[ ! -e $1 ]] || builtin return 0
  else
    builtin return 0
  fi
  builtin . "${BASH_SOURCE[0]%/*}/explain.sh" && __hutch_explain_path "$1" >&2
}

# Stands in for the builtin, so that a trap of the user's on EXIT does not replace ours.
trap() {
  local last=${!#} signal
  local -a others=()
  if [ $# -eq 0 ] || [[ $1 == -p ]]; then
    # Shows the user's trap where ours is.
    while IFS= builtin read -r signal; do
      [[ $signal == *__hutch_* || $signal == [\ }]* ]] || builtin printf '%s\n' "$signal"
    done < <(builtin trap -p | command grep -v -e '^ ' -e '^}' -e __hutch)
    [ -z "$__hutch_user_trap" ] || builtin printf 'trap -- %q EXIT\n' "$__hutch_user_trap"
    return
  fi
  if [ $# -lt 2 ] || [ "$BASHPID" != $$ ] || [[ $1 == -[lp] ]]; then
    builtin trap "$@"
    return
  fi
  local action=$1
  shift
  [ "$action" = -- ] && action=$1 && shift
  for signal in "$@"; do
    case ${signal^^} in
      EXIT | 0) if [ "$action" = - ]; then __hutch_user_trap=; else __hutch_user_trap=$action; fi ;;
      *)
        others+=("$signal")
        case ${signal^^} in
          INT | SIGINT | 2) __hutch_user_interrupt=$action ;;
          ERR | DEBUG | RETURN) __hutch_trapped=true ;;
        esac
        ;;
    esac
  done
  [ ${#others[@]} -eq 0 ] || builtin trap -- "$action" "${others[@]}"
}

# Bash's own words, and how things are in a session.
command_not_found_handle() {
  # In a process of its own, where nothing of the script's strictness may show.
  { builtin set +exE; builtin trap - ERR DEBUG RETURN; } 2>/dev/null
  case ${BASH_SOURCE[1]-} in
    '' | environment | */state.sh) builtin printf 'bash: ' ;;
    *) builtin printf '%s: ' "${BASH_SOURCE[1]}" ;;
  esac >&2
  builtin printf 'line %s: %s: command not found\n' "${BASH_LINENO[0]}" "$1" >&2
  builtin . /run/hutch/runners/bash/explain.sh && __hutch_explain "$1" >&2 || builtin :
  builtin return 127
}

__hutch_own_set=$SHELLOPTS
shopt -s expand_aliases
__hutch_own_shopt=$BASHOPTS
__hutch_find
