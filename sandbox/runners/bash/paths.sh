# This says where a file is that code has looked for elsewhere, or under a name that is written otherwise, as
# ../interpreter/near_files.py does for Python, and how files of other machines come here. It is read after code that
# has failed or names such a place, at the end of state.sh's run.

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

# Says of code that failed where a file is that it names, and of code that looked where a chat has its files how they come
# here: whatever came after that.
__hutch_explain_paths() {
  [[ ${#__hutch_code} -lt 20000 && $__hutch_status != 130 ]] || builtin return 0
  if [[ $__hutch_status != 0 && $__hutch_code == *.[[:alnum:]]* && $__hutch_code != *'<<'* ]]; then
    ! __hutch_explain_near "$__hutch_code" || builtin return 0
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
