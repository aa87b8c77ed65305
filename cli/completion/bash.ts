/** This file prints completion for bash 3.2 and later, without the bash-completion package. */
import {
  choiceFlags,
  choiceWords,
  flagWords,
  knownPaths,
  nextWords,
  quote,
  spellings,
  valueFlags,
  type CompletionTree,
} from './completion-tree.ts';

export function bashScript(tree: CompletionTree): string {
  return `# bash completion of svc
_svc() {
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
${valueCases(tree).join('\n')}
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
  fi
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
_svc_known() {
  case $1 in
    ${knownPaths(tree).map(quote).join('|')}) return 0 ;;
  esac
  return 1
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
