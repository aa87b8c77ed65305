/** From the first words of the command line to a place in the tree. Pure: works on names alone. */
import { UsageError } from './errors.ts';
import { GLOBAL_FLAGS, isFlag, type Token } from './globals.ts';
import { nearest } from './suggest.ts';
import type { Leaf, Node } from './tree.ts';

/** `tokens` is what stands behind the words that led to the node. */
export interface Found<N extends Node = Node> {
  readonly node: N;
  readonly tokens: readonly Token[];
}

export function findCommand(tree: Node, tokens: readonly Token[]): Found<Leaf> {
  const { node, tokens: rest } = findNode(tree, tokens);
  const { load } = node;
  if (load !== undefined) return { node: { ...node, load }, tokens: rest };
  const which = node === tree ? 'which command?' : `which command of "${node.meta.name}"?`;
  throw new UsageError(which, { listing: node.meta.name });
}

/** As much of a command as was named. Throws for words that name nothing. */
export function findNode(tree: Node, tokens: readonly Token[]): Found {
  let node = tree;
  let depth = 0;
  for (const word of leadingWords(tokens)) {
    const next = Object.hasOwn(node.subCommands, word) ? node.subCommands[word] : undefined;
    if (next === undefined) {
      // The word may be an argument of a command; where none is yet, it should have named one.
      if (node.load === undefined) throw unknown(node, word);
      break;
    }
    node = next;
    depth += 1;
  }
  return { node, tokens: tokens.slice(depth) };
}

/** Words before the first flag of a command; a flag in front of everything belongs to no command. */
function leadingWords(tokens: readonly Token[]): readonly string[] {
  const [first] = tokens;
  if (first !== undefined && isFlag(first.text)) {
    const name = first.text.split('=')[0] ?? first.text;
    const meant = nearest(
      name,
      GLOBAL_FLAGS.map(({ flag }) => `--${flag}`),
    );
    throw new UsageError(`unknown flag ${name} before the command`, {
      hints: [
        ...(meant === undefined ? [] : [`did you mean ${meant}?`]),
        'the flags of a command stand behind it; run "svc --help" for all commands',
      ],
    });
  }
  const end = tokens.findIndex(({ text }) => isFlag(text));
  return (end === -1 ? tokens : tokens.slice(0, end)).map(({ text }) => text);
}

function unknown({ meta: { name }, subCommands }: Node, typed: string): UsageError {
  const meant = nearest(typed, Object.keys(subCommands));
  return new UsageError(`unknown command "${name} ${typed}"`, {
    hints: [
      ...(meant === undefined ? [] : [`did you mean "${name} ${meant}"?`]),
      name === 'svc' ? 'run "svc --help" for all commands' : `run "${name} --help" for its commands`,
    ],
  });
}
