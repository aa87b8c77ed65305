/**
 * This file prints completion for fish: one `complete` line a word, under a condition on the command so far.
 */
import { knownPaths, nextWords, valueFlags, type CompletionTree, type Flag } from './completion-tree.ts';

export function fishScript(tree: CompletionTree): string {
  return `# fish completion of svc
function __svc_line --description 'The command so far: words that are neither flags nor the value of a flag'
    set -l line
    set -l skip 0
    for word in (commandline -opc)[2..-1]
        if test $skip = 1
            set skip 0
            continue
        end
        if contains -- $word ${valueFlags(tree).join(' ')}
            set skip 1
        else if not string match -q -- '-*' $word
            set -l longer (string join ' ' -- $line $word)
            if contains -- $longer ${knownPaths(tree).map(fishQuote).join(' ')}
                set -a line $word
            end
        end
    end
    string join ' ' -- $line
end
function __svc_at --description 'Whether the command so far is this one'
    test (__svc_line | string collect --allow-empty) = "$argv"
end
function __svc_names --description 'Names that the server knows'
    svc completion names $argv[1] (commandline -ct) 2>/dev/null
end
complete -c svc -f
${tree.globals.map((flag) => `complete -c svc ${flagOptions(flag)}`).join('\n')}
${wordLines(tree).join('\n')}
${tree.commands
  .flatMap(({ path, flags, choices, names }) => [
    ...flags.map((flag) => `complete -c svc ${condition(path.join(' '))} ${flagOptions(flag)}`),
    ...(choices.length === 0
      ? []
      : [`complete -c svc ${condition(path.join(' '))} -a ${fishQuote(choices.join(' '))}`]),
    ...(names === undefined
      ? []
      : [`complete -c svc ${condition(path.join(' '))} -a ${fishQuote(`(__svc_names ${names})`)}`]),
  ])
  .join('\n')}
`;
}

function wordLines(tree: CompletionTree): string[] {
  return [...nextWords(tree)].flatMap(([prefix, next]) =>
    next.map(
      ({ word, summary }) =>
        `complete -c svc ${condition(prefix)} -a ${fishQuote(word)} -d ${fishQuote(summary)}`,
    ),
  );
}

function condition(path: string): string {
  return `-n ${fishQuote(`__svc_at ${path}`.trimEnd())}`;
}

function flagOptions({ flag, short, takesValue, values, names, description }: Flag): string {
  return [
    `-l ${flag}`,
    ...(short === undefined ? [] : [`-s ${short}`]),
    ...(takesValue ? ['-r'] : []),
    ...(values.length === 0 ? [] : [`-a ${fishQuote(values.join(' '))}`]),
    ...(names === undefined ? [] : [`-a ${fishQuote(`(__svc_names ${names})`)}`]),
    `-d ${fishQuote(description)}`,
  ].join(' ');
}

/** fish knows two escapes in single quotes: of the quote and of the backslash. */
function fishQuote(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}
