/** This file prints completion for bash 3.2 and later, without the bash-completion package. */
import {
  choiceFlags,
  choiceWords,
  flagWords,
  knownPaths,
  nameFlags,
  nameWords,
  nextWords,
  quote,
  spellings,
  valueFlags,
  type CompletionTree,
} from './completion-tree.ts';

export function bashScript(tree: CompletionTree): string {
  return `# bash completion of svc
_svc() {
  COMPREPLY=()
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD-1]} path='' words='' word skip='' i
  # The command so far: words that are neither flags nor the value of a flag.
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=\${COMP_WORDS[i]}
    if [[ -n $skip ]]; then skip=''; continue; fi
    case $word in
      --) return ;;
      ${valueFlags(tree).join('|')}) skip=1 ;;
      -*|=*) ;;
      *) if _svc_known "\${path:+$path }$word"; then path="\${path:+$path }$word"; fi ;;
    esac
  done
  case "$path:$prev" in
${[...valueCases(tree), ...nameCases(tree)].join('\n')}
  esac
  if [[ -n $words ]]; then
    COMPREPLY=($(compgen -W "$words" -- "$cur"))
    return
  fi
  case $prev in
    ${valueFlags(tree).join('|')}) return ;;
  esac
  if [[ $cur == -* ]]; then
    words=${quote(flagWords(tree.globals).join(' '))}
    case $path in
${flagCases(tree).join('\n')}
    esac
  else
    case $path in
${wordCases(tree).join('\n')}
    esac
    # Names of the first argument, which follows the command.
    if [[ -z $words && $prev == "\${path##* }" ]]; then
      case $path in
${nameWords(tree)
  .map(([path, names]) => `        ${quote(path)}) _svc_names ${names}; return ;;`)
  .join('\n')}
      esac
    fi
  fi
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
_svc_known() {
  case $1 in
    ${knownPaths(tree).map(quote).join('|')}) return 0 ;;
  esac
  return 1
}
# Names may hold anything: they are read as they are, and never expanded.
_svc_names() {
  local name
  while IFS= read -r name; do
    name=$(printf '%q' "$name")
    if [[ $name == "$cur"* ]]; then COMPREPLY+=("$name"); fi
  done < <(svc completion names "$1" "\${cur//\\\\/}" 2> /dev/null)
  if [[ \${#COMPREPLY[@]} == 1 && \${COMPREPLY[0]} == */ ]]; then compopt -o nospace 2> /dev/null; fi
}
complete -F _svc svc
`;
}

function valueCases(tree: CompletionTree): string[] {
  return choiceFlags(tree).map(([prefix, flag]) => {
    const names = spellings(flag).map((name) => prefix + name);
    return `    ${names.join('|')}) words=${quote(flag.values.join(' '))} ;;`;
  });
}

function nameCases(tree: CompletionTree): string[] {
  return nameFlags(tree).map(
    ({ pattern, names }) => `    ${pattern}) ${names === undefined ? '' : `_svc_names ${names}; return `};;`,
  );
}

function flagCases({ commands }: CompletionTree): string[] {
  return commands
    .filter(({ flags }) => flags.length > 0)
    .map(
      ({ path, flags }) =>
        `      ${quote(path.join(' '))}) words="$words "${quote(flagWords(flags).join(' '))} ;;`,
    );
}

function wordCases(tree: CompletionTree): string[] {
  const words = [...nextWords(tree)].map(([prefix, next]) => [prefix, next.map(({ word }) => word)] as const);
  return [...words, ...choiceWords(tree)].map(
    ([prefix, values]) => `      ${quote(prefix)}) words=${quote(values.join(' '))} ;;`,
  );
}
