/** This file prints completion for zsh: words and flags with their descriptions. */
import {
  choiceFlags,
  choiceWords,
  knownPaths,
  nameFlags,
  nameWords,
  nextWords,
  quote,
  spellings,
  valueFlags,
  type CompletionTree,
  type Flag,
} from './completion-tree.ts';

export function zshScript(tree: CompletionTree): string {
  return `#compdef svc
# zsh completion of svc
_svc() {
  local line='' word skip='' prev=\${words[CURRENT-1]}
  local -a flags next
  local -A known
  known=(${knownPaths(tree)
    .map((path) => `${quote(path)} 1`)
    .join(' ')})
  # The command so far: words that are neither flags nor the value of a flag.
  for word in "\${(@)words[2,CURRENT-1]}"; do
    if [[ -n $skip ]]; then skip=''; continue; fi
    case $word in
      --) _files; return ;;
      ${valueFlags(tree).join('|')}) skip=1 ;;
      -*) ;;
      *) if (( \${+known[\${line:+$line }$word]} )); then line="\${line:+$line }$word"; fi ;;
    esac
  done
  case "$line:$prev" in
${[...valueCases(tree), ...nameCases(tree)].join('\n')}
  esac
  if [[ -n $skip ]]; then _files; return; fi
  flags=(${tree.globals.map(described).join(' ')})
  case $line in
${tree.commands
  .filter(({ flags }) => flags.length > 0)
  .map(({ path, flags }) => `    ${quote(path.join(' '))}) flags+=(${flags.map(described).join(' ')}) ;;`)
  .join('\n')}
  esac
  case $line in
${wordCases(tree).join('\n')}
  esac
  # Names of the first argument, which follows the command.
  if [[ $PREFIX != -* && $prev == "\${line##* }" ]] && ! (( $#next )); then
    case $line in
${nameWords(tree)
  .map(([path, names]) => `      ${quote(path)}) _svc_names ${names}; return ;;`)
  .join('\n')}
    esac
  fi
  if [[ $PREFIX == -* ]]; then _describe -t flags flag flags; else (( $#next )) && _describe -t commands command next; fi
}
# Names may hold anything: they are read as they are, and quoted when they are put in.
_svc_names() {
  local name
  local -a names places
  for name in "\${(@f)$(svc completion names $1 "\${(Q)PREFIX}" 2> /dev/null)}"; do
    if [[ $name == */ ]]; then places+=("$name"); elif [[ -n $name ]]; then names+=("$name"); fi
  done
  compadd -a names
  compadd -S '' -a places
}
if [[ $funcstack[1] == _svc ]]; then _svc "$@"; else compdef _svc svc; fi
`;
}

/** Writes `'--team:Team id'`; a colon in the word itself is escaped. */
function described({ flag, description }: Flag): string {
  return quote(`--${flag}:${description.replaceAll('\\', '\\\\')}`);
}

function valueCases(tree: CompletionTree): string[] {
  return choiceFlags(tree).map(([prefix, flag]) => {
    const names = spellings(flag).map((name) => prefix + name);
    return `    ${names.join('|')}) compadd -- ${flag.values.map(quote).join(' ')}; return ;;`;
  });
}

function nameCases(tree: CompletionTree): string[] {
  return nameFlags(tree).map(
    ({ pattern, names }) => `    ${pattern}) ${names === undefined ? '' : `_svc_names ${names}; return `};;`,
  );
}

function wordCases(tree: CompletionTree): string[] {
  const words = [...nextWords(tree)].map(
    ([prefix, next]) =>
      [prefix, next.map(({ word, summary }) => `${word}:${summary.replaceAll('\\', '\\\\')}`)] as const,
  );
  return [...words, ...choiceWords(tree)].map(
    ([prefix, values]) => `    ${quote(prefix)}) next=(${values.map(quote).join(' ')}) ;;`,
  );
}
