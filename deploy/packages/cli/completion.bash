# bash completion for telltale: asks the program itself, so that it knows what this version knows.
_telltale() {
  local word=${COMP_WORDS[COMP_CWORD]} command='' i
  for ((i = 1; i < COMP_CWORD; i++)); do
    [[ ${COMP_WORDS[i]} == -* ]] || { command=${COMP_WORDS[i]}; break; }
  done
  local words
  if [[ -z $command && $word != -* ]]; then
    words=$("${COMP_WORDS[0]}" --help 2>/dev/null | awk '/^Subcommands:/ { on = 1; next } on && NF { print $1 }
      on && !NF { exit }')
  elif [[ $word == -* ]]; then
    # Word by word: only a command's name may stand before --help.
    words=$("${COMP_WORDS[0]}" ${command:+"$command"} --help 2>/dev/null | grep -oE -- '--[a-z][a-z-]*' | sort -u)
  fi
  if [[ -n ${words:-} ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
  else
    mapfile -t COMPREPLY < <(compgen -f -- "$word")
  fi
}
complete -o filenames -F _telltale telltale
