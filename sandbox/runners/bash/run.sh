# One run of bash: loads the session's state, evaluates the code, saves the state again.
#
#   bash --noprofile --norc run.sh [--background | --restart] 3< code
#
# A second bash does the work (state.sh), because messages of one started with -c begin with
# "bash: line N:", and N is the user's own line when `eval` stands on the first. It is one compound
# command: no alias that the state brings can get into it. And it is not in a function: `declare`
# of the user must not make locals.

exec -a bash "$BASH" --noprofile --norc -c \
  '{ . "$1"; $__hutch_loads && [ -r "$__hutch_state/state" ] && . "$__hutch_state/state" 2>/dev/null; __hutch_enter; \builtin eval "$__hutch_code"; }' \
  bash "${BASH_SOURCE[0]%/*}/state.sh" "$@"
