/** This check tells if a command line that a document shows is one that the programs would take. */
import { UsageError } from '../../cli/shell/errors.ts';
import { findNode } from '../../cli/shell/find.ts';
import { splitGlobals } from '../../cli/shell/globals.ts';
import { parseCommand } from '../../cli/shell/parse.ts';
import { commandTree } from '../../cli/shell/tree.ts';
import type { Command } from '../../runner/commands/command-io.ts';
import { parseFlags, UsageError as RunnerUsageError, type FlagSpec } from '../../runner/commands/flags.ts';

/**
 * In a block a command line is whole; in a sentence it may be the beginning of one, and name a group of
 * commands alone.
 */
export interface Shown {
  readonly words: readonly string[];
  readonly whole: boolean;
}

/**
 * Returns what is wrong with a command. It is undefined for one that is fine, and for every other program.
 */
export async function problemOf({ words, whole }: Shown): Promise<string | undefined> {
  const [program, ...rest] = words;
  // An ellipsis stands for what the reader knows.
  const args = rest.filter((word) => word !== '…');
  const complete = whole && args.length === rest.length;
  try {
    if (program === 'svc') return await problemOfSvc(args, complete);
    if (program === 'svc-runner') return await problemOfRunner(args, complete);
    return undefined;
  } catch (error) {
    if (error instanceof UsageError) return [error.message, ...error.hints].join('; ');
    if (error instanceof RunnerUsageError) return error.message;
    throw error;
  }
}

async function problemOfSvc(args: readonly string[], complete: boolean): Promise<string | undefined> {
  const line = splitGlobals(args);
  const { node, tokens } = await findNode(commandTree(), line.tokens);
  if (line.globals.help || line.globals.version) return undefined;
  if (node.load === undefined) return complete ? `"svc ${args.join(' ')}" names no command` : undefined;
  const { spec } = await node.load();
  const { missing, args: own } = parseCommand(spec, tokens, line.rest);
  if (!complete || 'data' in own || missing.length === 0) return undefined;
  return `"${node.meta.name}" needs ${missing.map(({ flag }) => `--${flag}`).join(', ')}`;
}

const RUNNER_COMMANDS: Readonly<Record<string, () => Promise<Command>>> = {
  database: async () => (await import('../../runner/commands/database.ts')).database,
  doctor: async () => (await import('../../runner/commands/doctor.ts')).doctor,
  enroll: async () => (await import('../../runner/commands/enroll.ts')).enroll,
  hosting: async () => (await import('../../runner/commands/hosting.ts')).hosting,
  run: async () => (await import('../../runner/commands/run.ts')).run,
  service: async () => (await import('../../runner/commands/service.ts')).service,
  status: async () => (await import('../../runner/commands/status.ts')).status,
};

/** First words of commands; an app's name may follow. */
const WORDS: Readonly<Record<string, readonly string[]>> = {
  database: ['list', 'shell', 'backup', 'restore'],
  service: ['print', 'install'],
};

async function problemOfRunner(args: readonly string[], complete: boolean): Promise<string | undefined> {
  const [name, ...rest] = args;
  if (name === undefined) return complete ? 'svc-runner needs a command' : undefined;
  const load = Object.hasOwn(RUNNER_COMMANDS, name) ? RUNNER_COMMANDS[name] : undefined;
  if (load === undefined && !name.startsWith('-')) return `unknown command "svc-runner ${name}"`;
  if (load === undefined) return await problemOfAnyCommand(args);
  const known = WORDS[name]?.includes(rest[0] ?? '') === true;
  const flags = known ? rest.slice(1).filter((word, at) => at > 0 || word.startsWith('-')) : rest;
  parseFlags(await flagsOf(await load()), flags, {});
  return undefined;
}

/** A sentence may name a flag without its command: `svc-runner --metrics-file`. */
async function problemOfAnyCommand(args: readonly string[]): Promise<string | undefined> {
  const all = await Promise.all(Object.values(RUNNER_COMMANDS).map(async (load) => flagsOf(await load())));
  parseFlags(all.flat(), args, {});
  return undefined;
}

/** Read off the help, which is printed from the flags themselves. */
async function flagsOf(command: Command): Promise<readonly FlagSpec[]> {
  let help = '';
  const print = (text: string): void => void (help += text);
  await command({ args: ['--help'], env: {}, print, note: print, onStopSignal: () => undefined });
  return [...help.matchAll(/^ {2}--([a-z-]+)(?: <([^>]+)>)?/gm)].map(([, name = '', value]) => ({
    name,
    help: '',
    repeated: true,
    ...(value === undefined ? {} : { value }),
  }));
}
