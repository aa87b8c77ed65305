/**
 * The tree of all commands: the generated groups and the hand-written commands over them. Only names and summaries are
 * here at start; a group's table is loaded when one of its commands is asked for.
 */
import { runCommand, type CommandDef, type Resolvable } from 'citty';
import { handWritten, type HandWritten } from '../commands.ts';
import type { CommandSpec } from '../command.ts';
import { groups } from '../gen/index.ts';
import type { Command, Context, Spec } from './command.ts';
import { describeFlag } from './command.ts';
import { runOperation } from './operation.ts';

export interface CommandEntry {
  readonly words: readonly string[];
  readonly summary: string;
}

export interface GroupEntry {
  readonly group: string;
  /** Absent: the group is about this program itself. */
  readonly area?: string;
  readonly summary: string;
  readonly commands: readonly CommandEntry[];
}

/** Every group with its commands, sorted by name. */
export function listGroups(): readonly GroupEntry[] {
  const names = new Set([...groups.map(({ group }) => group), ...handWritten.map(({ group }) => group)]);
  return [...names].sort().map((group) => {
    const generated = groups.find((known) => known.group === group);
    const own = handWritten.filter((known) => known.group === group);
    const commands = [
      ...(generated?.commands ?? []).filter(
        ({ words }) => !own.some((known) => sameWords(known.words, words)),
      ),
      ...own.map(({ words, summary }) => ({ words, summary })),
    ].sort((a, b) => compare(a.words.join(' '), b.words.join(' ')));
    const area = generated?.area ?? own[0]?.groupArea;
    const summary = generated?.summary ?? own[0]?.groupSummary ?? '';
    return { group, ...(area === undefined ? {} : { area }), summary, commands };
  });
}

/** Loads the command; it must be one of `listGroups`. */
export async function loadCommand(group: string, words: readonly string[]): Promise<Command> {
  const own = handWritten.find((known) => known.group === group && sameWords(known.words, words));
  if (own !== undefined) return loadHandWritten(own);
  return generatedCommand(await generatedSpec(group, words));
}

/**
 * Runs the command as a citty leaf. citty is given no words to parse: unknown flags, lists, numbers, flags of the parent and
 * exit codes are what it lets through, so all of that is settled before.
 */
export async function runLeaf(command: Command, context: Context): Promise<number> {
  const leaf: Resolvable<CommandDef> = {
    meta: {
      name: ['svc', command.spec.group, ...command.spec.words].join(' '),
      description: command.spec.summary,
    },
    run: async () => (await command.run(context)) ?? 0,
  };
  const { result } = await runCommand(leaf, { rawArgs: [] });
  return typeof result === 'number' ? result : 0;
}

async function loadHandWritten(own: HandWritten): Promise<Command> {
  if (own.kind === 'alone') return own.load();
  const make = await own.load();
  return make(withShellFlags(await generatedSpec(own.group, own.from ?? own.words)));
}

async function generatedSpec(group: string, words: readonly string[]): Promise<CommandSpec> {
  const table = await groups.find((known) => known.group === group)?.load();
  const spec = table?.find((known) => sameWords(known.words, words));
  if (spec === undefined) throw new Error(`the tables hold no command "${[group, ...words].join(' ')}"`);
  return spec;
}

function generatedCommand(spec: CommandSpec): Command {
  return { spec: withShellFlags(spec), run: runOperation };
}

/** What the shell itself adds to a generated command. */
function withShellFlags(spec: CommandSpec): Spec & Pick<CommandSpec, 'operation'> {
  const { operation, page } = spec;
  const flags = spec.flags.map((field) =>
    page !== undefined && field.name === 'limit'
      ? { ...withoutDefault(field), description: 'At most this many in total. Default: all there are.' }
      : field,
  );
  const data = describeFlag({
    flag: 'data',
    type: 'string',
    placeholder: 'json|@file|-',
    description: 'Request body as JSON, from a file, or from standard input. Flags win over it.',
  });
  return { ...spec, flags, locals: operation.body === undefined ? [] : [data] };
}

function withoutDefault(field: Spec['flags'][number]): Spec['flags'][number] {
  const { default: _onlyOfThePage, ...rest } = field;
  return rest;
}

function sameWords(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((word, index) => word === b[index]);
}

function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
