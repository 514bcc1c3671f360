# Says in bash's own words that the command $1 is not there, and how things are in a session: the body of
# command_not_found_handle.

# In a process of its own, where nothing of the script's strictness may show.
{ builtin set +exE; builtin trap - ERR DEBUG RETURN; } 2>/dev/null
local __hutch_place=${BASH_SOURCE[0]%/*}
# This file and the one that defines the function stand before the script that has called it.
case ${BASH_SOURCE[2]-} in
  '' | environment | */state.sh) builtin printf 'bash: ' ;;
  *) builtin printf '%s: ' "${BASH_SOURCE[2]}" ;;
esac >&2
builtin printf 'line %s: %s: command not found\n' "${BASH_LINENO[1]}" "$1" >&2
# npm puts the programs of packages where no PATH leads; npx finds them there.
local __hutch_folder
for __hutch_folder in "$PWD" /workspace; do
  [[ $1 == */* || ! -x $__hutch_folder/node_modules/.bin/$1 ]] || {
    [[ $__hutch_folder == "$PWD" ]] && __hutch_folder= || __hutch_folder=" in $__hutch_folder"
    builtin printf 'hutch: `npx %s` runs it%s\n' "$1" "$__hutch_folder" >&2
    builtin return 127
  }
done
builtin . "$__hutch_place/explain.sh" && __hutch_explain_call "$@" >&2 || builtin :
builtin return 127
