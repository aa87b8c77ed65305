/**
 * Builds the tree of all commands: the generated ones, and the hand-written ones over them. Only names and
 * summaries are here at start; a command and its table are loaded when it is asked for. find.ts has citty
 * walk it.
 */
import { groupSummaries, handWritten, type HandWritten } from '../commands.ts';
import { groups } from '../gen/index.ts';
import type { CommandSpec } from '../command.ts';
import { argFields, BLANK, describeFlag, type Command, type GeneratedSpec } from './command.ts';
import { dataFlag } from './data.ts';
import { withNames } from './kinds.ts';
import { secretFlags } from './secret.ts';
import { ROWS_USUAL, runOperation } from './operation.ts';

export interface Node {
  readonly meta: { readonly name: string; readonly description: string };
  /** Area of a group; absent where it is about this program itself. */
  readonly area?: string;
  /** Sorted by name. */
  readonly subCommands: Readonly<Record<string, Node>>;
  /** Says in other words what another command is; it is left out of lists. */
  readonly isAlias?: true;
  /** It is for programs, and in no list. */
  readonly isHidden?: true;
  /** Absent where longer commands only begin. */
  readonly load?: () => Promise<Command>;
}

interface Line {
  readonly words: readonly string[];
  readonly summary: string;
  readonly load: () => Promise<Command>;
  readonly isAlias?: true;
  readonly isHidden?: true;
}

/** Builds the node of `svc` itself. */
export function commandTree(): Node {
  const lines = new Map<string, Line>();
  for (const { group, commands } of groups) {
    for (const { words: rest, summary } of commands) {
      const words = [group, ...rest];
      lines.set(words.join(' '), { words, summary, load: () => loadGenerated(words) });
    }
  }
  for (const [line, own] of Object.entries(handWritten)) {
    const words = line.split(' ');
    const { summary, isHidden } = own;
    lines.set(line, { words, summary, load: () => loadOwn(words, own), ...(isHidden && { isHidden }) });
  }
  for (const { group, verbs } of groups) {
    for (const [main, other] of Object.entries(verbs)) {
      const alias = `${group} ${other}`;
      const line = lines.get(alias);
      if (line === undefined) continue;
      const words = [group, ...main.split(' ')];
      lines.set(alias, { ...line, isAlias: true });
      lines.set(words.join(' '), { ...line, words, load: () => loadRenamed(words, line) });
    }
  }
  return nodeOf([], [...lines.values()]);
}

/** Builds the node of the `lines`, which begin with `words`. */
function nodeOf(words: readonly string[], lines: readonly Line[]): Node {
  const depth = words.length;
  const own = lines.find((line) => line.words.length === depth);
  const [name = ''] = words;
  const group =
    depth === 1 ? (groups.find((known) => known.group === name) ?? groupSummaries[name]) : undefined;
  const names = [...new Set(lines.flatMap((line) => line.words[depth] ?? []))].sort();
  return {
    meta: { name: ['svc', ...words].join(' '), description: group?.summary ?? own?.summary ?? '' },
    ...(group?.area === undefined ? {} : { area: group.area }),
    subCommands: Object.fromEntries(
      names.map((next) => [
        next,
        nodeOf(
          [...words, next],
          lines.filter((line) => line.words[depth] === next),
        ),
      ]),
    ),
    ...(own && { load: own.load }),
    ...(own?.isAlias && { isAlias: true }),
    ...(own?.isHidden && { isHidden: true }),
  };
}

export type Leaf = Node & Required<Pick<Node, 'load'>>;

/** It returns every command at or below the node, in order; other words for one when asked for. */
export function leavesOf(node: Node, also: { readonly aliases?: true } = {}): readonly Leaf[] {
  const { load, isAlias, isHidden } = node;
  const below = Object.values(node.subCommands).flatMap((inner) => leavesOf(inner, also));
  const isLeftOut = isHidden === true || (isAlias === true && also.aliases !== true);
  return load === undefined || isLeftOut ? below : [{ ...node, load }, ...below];
}

async function loadGenerated(words: readonly string[]): Promise<Command> {
  return { spec: await generatedSpec(words), answer: words.join(' '), run: runOperation };
}

/** Loads a command by the words of its one verb, which its examples have, too. */
async function loadRenamed([group = '', ...words]: readonly string[], line: Line): Promise<Command> {
  const command = await line.load();
  const alias = line.words.join(' ');
  const examples = command.spec.examples.map(({ title, cli }) => ({
    title,
    cli: cli.startsWith(`${alias} `) ? [group, ...words].join(' ') + cli.slice(alias.length) : cli,
  }));
  return { ...command, spec: { ...command.spec, group, words, examples, aliases: [`svc ${alias}`] } };
}

/** A hand-written command takes what it does not say from the generated one that it stands over. */
async function loadOwn(line: readonly string[], { summary, from, load }: HandWritten): Promise<Command> {
  const [group = '', ...words] = line;
  const loaded = await load();
  const isOver = typeof loaded === 'function';
  const over = from?.split(' ') ?? line;
  const base = isOver ? await generatedSpec(over) : BLANK;
  const {
    args,
    answer = isOver ? over.join(' ') : '*',
    run,
    waits,
    wraps,
    exits,
    advice,
    ...shown
  } = isOver ? loaded(base as GeneratedSpec) : loaded;
  const fields = argFields(args ?? {});
  const { page, ...unpaged } = base;
  // A command without the flags of pages shows one thing of a list.
  const hasPages = (shown.flags ?? base.flags).some(({ name }) => name === 'cursor');
  const spec = withNames({
    ...unpaged,
    ...(hasPages && page !== undefined && { page }),
    description: `${summary}.`,
    ...(isOver && { description: base.description }),
    ...shown,
    group,
    words,
    summary,
    positionals: [...(shown.positionals ?? base.positionals), ...fields.positionals],
    locals: [...(shown.locals ?? base.locals), ...fields.flags],
  });
  return {
    spec,
    answer,
    run,
    ...(waits && { waits }),
    ...(exits && { exits }),
    ...(wraps && { wraps }),
    ...(advice && { advice }),
  };
}

async function generatedSpec([group = '', ...words]: readonly string[]): Promise<GeneratedSpec> {
  const table = await groups.find((known) => known.group === group)?.load();
  const spec = table?.find((known) => known.words.join(' ') === words.join(' '));
  if (spec === undefined) throw new Error(`the tables hold no command "${[group, ...words].join(' ')}"`);
  return withNames(withShellFlags(spec));
}

const ALL = describeFlag({ flag: 'all', type: 'boolean', description: 'All there are.' });

/** Adds to a generated command what the shell itself knows. */
function withShellFlags(spec: CommandSpec): GeneratedSpec {
  const { operation, page, bodyBytesMax = 0 } = spec;
  const flags = spec.flags.map((field) => {
    if (page === undefined || field.name !== 'limit') return field;
    return { ...field, description: `At most this many in total. Default: ${ROWS_USUAL}.` };
  });
  const secrets = [...spec.positionals, ...flags].filter(({ sensitive }) => sensitive).flatMap(secretFlags);
  return {
    ...spec,
    flags,
    locals: [
      ...(operation.body === undefined ? [] : [dataFlag(bodyBytesMax)]),
      ...(page === undefined ? [] : [ALL]),
      ...secrets,
    ],
  };
}
