/**
 * Finds the command that the first words of the command line name, by citty; what it would pass over in
 * silence is refused here.
 */
import { runCommand, type CommandDef, type SubCommandsDef } from 'citty';
import { UsageError } from './errors.ts';
import { GLOBAL_FLAGS, isFlag, type Token } from './globals.ts';
import { meantHints } from './suggest.ts';
import type { Leaf, Node } from './tree.ts';

/** `tokens` is what stands behind the words that led to the node. */
export interface FoundNode<N extends Node = Node> {
  readonly node: N;
  readonly tokens: readonly Token[];
}

/** Finds as much of a command as was named. Throws for words that name nothing. */
export function findNode(tree: Node, tokens: readonly Token[]): Promise<FoundNode> {
  return route(tree, tokens, async (found) => found);
}

/** Throws where longer commands only begin. */
export function commandAt({ node, tokens }: FoundNode): FoundNode<Leaf> {
  const { load, meta } = node;
  if (load !== undefined) return { node: { ...node, load }, tokens };
  const which = meta.name === 'svc' ? 'which command?' : `which command of "${meta.name}"?`;
  throw new UsageError(which, { listing: meta.name });
}

/** Has citty go to the node that the first words name, and do there what `arrive` does. */
export async function route<T>(
  tree: Node,
  tokens: readonly Token[],
  arrive: (found: FoundNode) => Promise<T>,
): Promise<T> {
  const words = leadingWords(tokens);
  let outcome: { readonly value: T } | undefined;
  const commandOf = (node: Node): CommandDef => {
    let found: FoundNode = { node, tokens };
    return {
      meta: node.meta,
      setup: ({ rawArgs }) => {
        found = { node, tokens: tokens.slice(words.length - rawArgs.length) };
        refuseUnknown(node, rawArgs[0]);
      },
      // The word may be an argument of a command that longer ones begin with, too.
      subCommands: () => (isArgument(node, found.tokens[0]?.text) ? {} : below(node, commandOf)),
      run: async () => {
        // citty comes by a parent again when its child is done.
        outcome ??= { value: await arrive(found) };
      },
    };
  };
  await runCommand(commandOf(tree), { rawArgs: [...words] });
  if (outcome === undefined) throw new Error('citty has run no command');
  return outcome.value;
}

/** Returns the commands one word further, without a prototype, in which citty would find `constructor`. */
function below({ subCommands }: Node, commandOf: (node: Node) => CommandDef): SubCommandsDef {
  const commands: SubCommandsDef = Object.create(null);
  for (const [name, node] of Object.entries(subCommands)) commands[name] = () => commandOf(node);
  return commands;
}

function isArgument({ subCommands, load }: Node, word: string | undefined): boolean {
  return load !== undefined && word !== undefined && !Object.hasOwn(subCommands, word);
}

/**
 * Throws for a word that names no command where one must be named. citty would pass over it when it begins
 * with a dash, and look behind it.
 */
function refuseUnknown({ meta: { name }, subCommands, load }: Node, typed: string | undefined): void {
  if (load !== undefined || typed === undefined || Object.hasOwn(subCommands, typed)) return;
  throw new UsageError(`unknown command "${name} ${typed}"`, {
    hints: [
      ...meantHints(typed, Object.keys(subCommands), (meant) => `"${name} ${meant}"`),
      name === 'svc' ? 'run "svc --help" for all commands' : `run "${name} --help" for its commands`,
    ],
  });
}

/**
 * It returns the words before the first flag of a command; a flag in front of everything belongs to no
 * command.
 */
function leadingWords(tokens: readonly Token[]): readonly string[] {
  const [first] = tokens;
  if (first !== undefined && isFlag(first.text)) {
    const name = first.text.split('=')[0] ?? first.text;
    const known = GLOBAL_FLAGS.map(({ flag }) => `--${flag}`);
    throw new UsageError(`unknown flag ${name} before the command`, {
      hints: [
        ...meantHints(name, known),
        'the flags of a command stand behind it; run "svc --help" for all commands',
      ],
    });
  }
  const end = tokens.findIndex(({ text }) => isFlag(text));
  return (end === -1 ? tokens : tokens.slice(0, end)).map(({ text }) => text);
}
