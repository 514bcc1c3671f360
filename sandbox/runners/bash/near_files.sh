# Where a file is that code has looked for elsewhere, or under a name that is written otherwise. The same for Python:
# ../interpreter/near_files.py. It is read after code that has failed, at the end of state.sh's run.

# Says so of the first such name in code, $1; it fails where there is none.
__hutch_explain_near() {
  local __hutch_before=$'(^|[[:space:]"\'=(<>])' __hutch_suffix=$'\\.[[:alnum:]]{1,8}' __hutch_after=$'([[:space:]"\';&|)]|$)'
  local __hutch_word="[^][:space:]\"';&|()<>[\$*?{}\\]+$__hutch_suffix"
  local __hutch_words="$__hutch_before('([^'*?\$]+$__hutch_suffix)'|\"([^\"*?\$]+$__hutch_suffix)\"|($__hutch_word))$__hutch_after"
  local __hutch_rest=$1 __hutch_name='' __hutch_found=''
  local -i __hutch_count=0
  while [[ $__hutch_rest =~ $__hutch_words ]] && ((__hutch_count++ < 5)); do
    __hutch_name=${BASH_REMATCH[3]}${BASH_REMATCH[4]}${BASH_REMATCH[5]/#'~/'/"$HOME/"}
    __hutch_rest=${__hutch_rest#*"${BASH_REMATCH[2]}"}
    [[ ! -e $__hutch_name && $__hutch_name != *://* ]] || continue
    # In a folder that is not there something was to be made, but where the path is of another machine.
    [[ $__hutch_name != */* || -d ${__hutch_name%/*} || ($__hutch_name == /* && $__hutch_name != /workspace/*) ]] || continue
    __hutch_found=$(__hutch_near "${__hutch_name##*/}")
    [[ -n $__hutch_found ]] || continue
    builtin echo "hutch: there is $__hutch_found" >&2
    return 0
  done
  return 1
}

# Prints what is called so, or nearly so, of the 2,000 nearest.
__hutch_near() {
  local __hutch_path='' __hutch_found='' __hutch_other='' __hutch_folded=${1//[ -]/_}
  builtin shopt -s nocasematch
  while IFS= builtin read -r __hutch_path; do
    __hutch_other=${__hutch_path##*/}
    if builtin [ "$__hutch_other" = "$1" ]; then
      __hutch_found=$__hutch_path
      break
    fi
    [[ -n $__hutch_found || ${__hutch_other//[ -]/_} != "$__hutch_folded" ]] || __hutch_found=$__hutch_path
  done <<< "$(__hutch_entries 2>/dev/null | PATH=/usr/bin:/bin command head -n 2000)"
  builtin printf '%s\n' "$__hutch_found"
}

# The nearest first.
__hutch_entries() {
  PATH=/usr/bin:/bin
  command find "$PWD" -mindepth 1 -maxdepth 1
  command find /workspace -mindepth 1 -maxdepth 1
  command find /mnt -mindepth 2 -maxdepth 2
  command find /workspace -mindepth 2 -maxdepth 2 ! -path '/workspace/.*' ! -path '*/node_modules/*'
}
