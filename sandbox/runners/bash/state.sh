# Loading and saving what bash keeps from run to run. Sourced by run.sh, before user code.
#
# The state is the working directory, variables, functions, aliases and options. It is written
# beside the old one and renamed when the code ends, however it ends: a run that is killed leaves
# the state of the run before. With --background it is read and not written, with --restart it is
# written and not read.
#
# Names that begin with __hutch are ours. Commands here carry `builtin` or `command`: the user may
# have functions and aliases of any name.

__hutch_state=${HUTCH_STATE_DIR:-/run/hutch/state}/bash
__hutch_run_env=" ${HUTCH_RUN_ENV:-} "
__hutch_saves=true
__hutch_loads=true
[ "${2:-}" = --background ] && __hutch_saves=false
[ "${2:-}" = --restart ] && __hutch_loads=false
__hutch_user_trap=
__hutch_user_interrupt=-
__hutch_carried=()

# The environment as the host gave it. What the code leaves as it is need not be saved, so that a
# later change of the host's is seen.
declare -A __hutch_given=()
while IFS= read -r __hutch_name; do
  case $__hutch_name in HUTCH_*) unset -v "$__hutch_name" ;; *) __hutch_given[$__hutch_name]=${!__hutch_name-} ;; esac
done < <(compgen -e)
unset -v __hutch_name
set --

# What is left to do when the state has been loaded.
__hutch_enter() {
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
    __hutch_status=$? __hutch_set=$-
    builtin trap "" INT
    builtin set +T
    __hutch_traps="builtin $(builtin trap -p ERR)
      builtin $(builtin trap -p RETURN)
      builtin $(builtin trap -p DEBUG)"
    builtin trap - ERR DEBUG RETURN
    [[ $__hutch_set != *T* ]] || builtin set -T
    __hutch_options=$(builtin set +o; builtin shopt -p)
    builtin set +eux
    __hutch_locals=$(builtin local -p)
  } >/dev/null 2>&1
  [[ -n $__hutch_user_trap && $__hutch_user_trap$__hutch_traps == *exit* ]] && __hutch_save
  [ -z "$__hutch_user_trap" ] || builtin eval "builtin trap -- ${__hutch_user_interrupt@Q} INT
    $__hutch_traps
    { (builtin exit $__hutch_status) && (builtin exit); } >/dev/null 2>&1
$__hutch_user_trap"
  { builtin trap - ERR DEBUG RETURN; } >/dev/null 2>&1
  __hutch_leave' EXIT
  # What the code finds as $?.
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

# Names of the variables to save, as the array `__hutch_names`; those the code has made read-only
# apart: loaded as such, they would make the same code fail the second time.
__hutch_choose_variables() {
  local __hutch_name
  while IFS= builtin read -r __hutch_name; do
    case $__hutch_name in
      # What bash sets itself, and what belongs to this process alone.
      __hutch* | HUTCH_* | BASH | BASHOPTS | BASHPID | BASH_ALIASES | BASH_ARGC | BASH_ARGV | BASH_ARGV0 | BASH_CMDS | \
        BASH_COMMAND | BASH_EXECUTION_STRING | BASH_LINENO | BASH_MONOSECONDS | BASH_REMATCH | BASH_SOURCE | \
        BASH_SUBSHELL | BASH_TRAPSIG | BASH_VERSINFO | BASH_VERSION | BASH_XTRACEFD | COMP_CWORD | COMP_KEY | \
        COMP_LINE | COMP_POINT | COMP_TYPE | COMP_WORDBREAKS | COMP_WORDS | EPOCHREALTIME | EPOCHSECONDS | OPTARG | \
        OPTERR | OPTIND | _ | DIRSTACK | EUID | FUNCNAME | GROUPS | HISTCMD | HOSTNAME | HOSTTYPE | LINENO | MACHTYPE | \
        OSTYPE | PIPESTATUS | PPID | PWD | RANDOM | SECONDS | SHELLOPTS | SHLVL | SRANDOM | UID) continue ;;
    esac
    [[ $__hutch_run_env == *" $__hutch_name "* ]] && continue
    if [[ -v __hutch_given[$__hutch_name] && -v $__hutch_name && ${!__hutch_name} == "${__hutch_given[$__hutch_name]}" &&
      ${!__hutch_name@a} == x ]]; then
      continue
    fi
    if [[ ${!__hutch_name@a} == *r* ]]; then __hutch_frozen+=("$__hutch_name"); else __hutch_names+=("$__hutch_name"); fi
  done < <(builtin compgen -v)
}

__hutch_print_state() {
  local -a __hutch_names=() __hutch_frozen=()
  local __hutch_name __hutch_text __hutch_flags
  __hutch_choose_variables
  # Functions may hold its patterns, which are syntax errors without it. The options come last: some of
  # them would change how the rest is read.
  builtin printf 'shopt -s extglob\n__hutch_before=%s\n' "$__hutch_status"
  builtin printf 'cd -- %q || __hutch_gone=%q\n' "$PWD" "$PWD"
  builtin umask -p
  for __hutch_name in "${!__hutch_given[@]}"; do
    [[ -v $__hutch_name || $__hutch_run_env == *" $__hutch_name "* ]] || builtin printf 'unset -v %s\n' "$__hutch_name"
  done
  [ ${#__hutch_names[@]} -eq 0 ] || builtin declare -p "${__hutch_names[@]}"
  for __hutch_name in "${__hutch_frozen[@]}"; do
    __hutch_text=$(builtin declare -p "$__hutch_name")
    __hutch_flags=${__hutch_text#declare -}
    __hutch_flags=${__hutch_flags%% *}
    __hutch_text=${__hutch_text#declare -"$__hutch_flags" }
    __hutch_flags=${__hutch_flags//r/}
    builtin printf 'declare -%s %s\n' "${__hutch_flags:--}" "$__hutch_text"
  done
  [ ${#__hutch_carried[@]} -eq 0 ] || builtin printf '%s\n' "${__hutch_carried[@]}"
  while IFS=' ' builtin read -r _ __hutch_flags __hutch_name; do
    [[ $__hutch_name == __hutch_* || $__hutch_name == trap ]] && continue
    builtin declare -f "$__hutch_name"
    [[ $__hutch_flags == *x* ]] && builtin printf 'export -f %s\n' "$__hutch_name"
  done < <(builtin declare -F)
  builtin alias -p
  # What a script sets to be strict or chatty is for that script. A later run would end without a
  # word at the first grep that finds nothing.
  while IFS= builtin read -r __hutch_text; do
    case $__hutch_text in
      *errexit | *nounset | *pipefail | *xtrace | *verbose | *noexec | *monitor | *interactive* | \
        *restricted* | *login_shell) ;;
      *) builtin printf '%s\n' "$__hutch_text" ;;
    esac
  done <<<"$__hutch_options"
}

__hutch_save() {
  $__hutch_saves || return 0
  # No local may have the name of something that is saved, least of all PATH.
  local __hutch_new=$__hutch_state/state.$$
  { [ -d "$__hutch_state" ] || PATH=/usr/bin:/bin command mkdir -p "$__hutch_state"; } &&
    __hutch_print_state >"$__hutch_new" &&
    PATH=/usr/bin:/bin command mv -f "$__hutch_new" "$__hutch_state/state" ||
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
  __hutch_save
  builtin exit "$__hutch_status"
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
        case ${signal^^} in INT | SIGINT | 2) __hutch_user_interrupt=$action ;; esac
        ;;
    esac
  done
  [ ${#others[@]} -eq 0 ] || builtin trap -- "$action" "${others[@]}"
}

IFS= read -r -d '' -u 3 __hutch_code || true
exec 3<&-
shopt -s expand_aliases
