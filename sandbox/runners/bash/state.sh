# Loading and saving what bash keeps from run to run: `. state.sh [--background | --restart | --ahead]`
# before user code (profiles/bash.json), which is read from descriptor 3.
#
# The state is the working directory, variables, functions, aliases, options, traps of signals (but of SIGCHLD, which
# our own children would fire), and which processes of earlier runs go on (jobs.sh). It is in the newer of two files
# that is whole, whose first and last line is its number: the older one is written when the code ends, however it ends
# (keeping.sh), so that a run that is killed leaves the state of the run before. With --background it is read and not
# written, with --restart written and not read. With --ahead the code is there once descriptor 4 says so.
#
# The text of `bash -c` sources this, loads the state and evaluates the code as one compound command: no
# alias that the state brings can get into it. It is no function: `declare` in the state and in the code
# must not make locals. Messages begin with "bash: line N:", where N is the line of the code.
#
# Nothing here starts a process where it can be helped: that takes longer than all else. The next that takes time is to
# read functions, which is why those that few runs need are in files of their own.
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
# A script sets these to be strict or chatty, for itself alone. A later run would end without a word at the first grep
# that finds nothing.
__hutch_for_one_run=errexit:nounset:pipefail:xtrace:verbose:noexec:onecmd:monitor:interactive:privileged:posix
__hutch_left=() # "NUMBER PID STARTED COMMAND" of each job that earlier runs have left
__hutch_last=   # $! of an earlier run

# The environment as the host gave it. What the code leaves as it is need not be saved, so that a
# later change of the host's is seen.
declare -A __hutch_given=()
if [[ $__hutch_mode != --background || $__hutch_run_env != '  ' ]]; then
  mapfile -d '' -t __hutch_entries </proc/self/environ
  for __hutch_name in "${__hutch_entries[@]}"; do
    case ${__hutch_name%%=*} in
      HUTCH_*) ;;
      *[!A-Za-z0-9_]* | [0-9]* | '') ;;
      *) __hutch_given[${__hutch_name%%=*}]=${__hutch_name#*=} ;;
    esac
  done
fi
# This bash has been given none (profiles/bash.json): it has the function of script.sh from below, and reads one file less.
if [[ -z ${BASH_ENV-} && $__hutch_run_env != *' BASH_ENV '* ]]; then
  export BASH_ENV=${BASH_SOURCE[0]%/*}/script.sh
  __hutch_given[BASH_ENV]=$BASH_ENV
fi
[ "$__hutch_mode" = --background ] || . "${BASH_SOURCE[0]%/*}/keeping.sh"
unset -v __hutch_name __hutch_entries "${!HUTCH_@}"
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

# Waits, in a bash that was started ahead, until the code is there.
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

# Does what is left to do when the state has been loaded.
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
  [[ $__hutch_mode != --background && -n $__hutch_user_trap && $__hutch_user_trap$__hutch_traps == *exit* ]] && __hutch_save && __hutch_find
  [ -z "$__hutch_user_trap" ] || builtin eval "builtin trap -- ${__hutch_user_interrupt@Q} INT
    $__hutch_traps
    { (builtin exit $__hutch_status) && (builtin exit); } >/dev/null 2>&1
$__hutch_user_trap"
  { builtin trap - ERR DEBUG RETURN; } >/dev/null 2>&1
  __hutch_leave' EXIT
  # The code finds this as $?.
  builtin return "${__hutch_before:-0}"
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

# Prints when a process was started, which no other of the same number was; nothing when it has ended.
__hutch_started() {
  local text
  local -a fields
  IFS= builtin read -r text 2>/dev/null <"/proc/$1/stat" || builtin return 0
  IFS=' ' builtin read -r -a fields <<<"${text##*) }"
  [[ ${fields[0]} == [ZX] ]] || builtin echo "${fields[19]}"
}

# The end of the EXIT trap. The user's own trap has run; one that ends with `exit` ends the whole,
# which is why the state was saved before it.
__hutch_leave() {
  builtin trap "" INT
  builtin set +euv
  builtin shopt -u nocasematch extdebug expand_aliases
  [ "$__hutch_mode" = --background ] || __hutch_keep
  case $__hutch_status$__hutch_code in
    [!0]* | */mnt/* | */Users/* | */home/* | *'~/D'* | *:[/\\]Users*)
      builtin . "${BASH_SOURCE[0]%/*}/paths.sh" && __hutch_explain_paths
      ;;
  esac
  builtin exit "$__hutch_status"
}

# Stands in for the builtin, so that a trap of the user's on EXIT does not replace ours.
trap() {
  local signal shown status=0
  local -a others=()
  if [ $# -eq 0 ] || [[ $1 == -p ]]; then
    [ $# -eq 0 ] || shift
    [[ ${1-} != -- ]] || shift
    if [ $# -eq 0 ]; then
      for ((signal = 1; signal < 65; ++signal)); do [[ $signal == 3[23] ]] || others+=("$signal"); done
      set -- EXIT "${others[@]}" DEBUG ERR RETURN
    fi
    for signal in "$@"; do
      case ${signal^^} in
        EXIT | 0)
          # The trap of the user is shown where ours is; a subshell may have one of its own.
          shown=__hutch_
          [ "$BASHPID" = $$ ] || shown=$(builtin trap -p EXIT)
          if [[ -n $shown && $shown != *__hutch_* ]]; then
            builtin printf '%s\n' "$shown"
          elif [ -n "$__hutch_user_trap" ]; then
            builtin printf 'trap -- %s EXIT\n' "${__hutch_user_trap@Q}"
          fi
          ;;
        *) builtin trap -p "$signal" || status=1 ;;
      esac
    done
    return "$status"
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

# As scripts have it that the code starts (script.sh).
command_not_found_handle() {
  builtin . "${BASH_SOURCE[0]%/*}/not_found.sh"
}

__hutch_own_set=$SHELLOPTS
shopt -s expand_aliases
__hutch_own_shopt=$BASHOPTS
__hutch_find
