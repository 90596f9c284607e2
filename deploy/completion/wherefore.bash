# bash completion for wherefore. Verbs and flags are read from the program's own --help, so this cannot fall behind.
_wherefore() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} verb=
  local word
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case $word in
      -*) ;;
      *) verb=$word; break ;;
    esac
  done

  case $previous in
    --store | --config | -o | --output) compopt -o default; COMPREPLY=(); return ;;
    --format) COMPREPLY=($(compgen -W "json text" -- "$current")); return ;;
    --clock) COMPREPLY=($(compgen -W "aligned raw" -- "$current")); return ;;
    --sync) COMPREPLY=($(compgen -W "on off" -- "$current")); return ;;
  esac
  if [[ $current == -* ]]; then
    COMPREPLY=($(compgen -W "$("$1" $verb --help 2>/dev/null | grep -oE -- '--[a-z][a-z-]+' | sort -u)" -- "$current"))
  elif [[ -z $verb ]]; then
    COMPREPLY=($(compgen -W "$("$1" --help 2>/dev/null | sed -n '/^[Ss]ubcommands:\|^[Vv]erbs:/,$p' |
      sed -nE 's/^ +([a-z][a-z-]*) .*/\1/p')" -- "$current"))
  elif [[ $verb == import ]]; then
    compopt -o default
    COMPREPLY=()
  fi
}
complete -F _wherefore wherefore
