/**
 * This file reads command-line flags strictly: an unknown flag, a missing value or a stray argument is an
 * error with a suggestion.
 */

import { editDistance } from '@svc/proto/process/edit-distance.ts';
import type { CommandIo } from './command-io.ts';

export interface FlagSpec {
  /** Long name without dashes. */
  readonly name: string;
  /** The placeholder of its value in the help; absent for a switch. */
  readonly value?: string;
  /** May be given several times. */
  readonly repeated?: boolean;
  /** The flag's meaning; its bounds and its default are printed behind it. */
  readonly help: string;
  /** Least and largest number. */
  readonly bounds?: readonly [min: number, max: number];
  /** The default as it would be written, or a text about the behaviour without the flag. */
  readonly fallback?: string;
  /** Its value is shown to nobody, nor is a word that may be one. */
  readonly secret?: boolean;
  /** Environment variable that is read when the flag is absent. */
  readonly env?: string;
}

export interface Flags {
  /** The flag's value, else that of its environment variable. */
  text(name: string): string | undefined;
  list(name: string): readonly string[];
  on(name: string): boolean;
}

/** The command line itself is wrong: exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

export function parseFlags(
  specs: readonly FlagSpec[],
  args: readonly string[],
  env: NodeJS.ProcessEnv,
): Flags {
  const values = new Map<string, string[]>();
  for (let at = 0; at < args.length; at += 1) {
    const word = args[at] ?? '';
    const [, name, inline] = /^--([^=]+)(?:=(.*))?$/s.exec(word) ?? [];
    const isSecret = specs.some(({ secret }) => secret);
    const hidden = `number ${at + 1}, which is not shown because it may be a secret`;
    if (name === undefined)
      throw new UsageError(
        `unexpected argument ${isSecret ? hidden : JSON.stringify(word)}; all options are flags like --name value`,
      );
    const spec = specs.find((known) => known.name === name);
    if (spec === undefined) {
      const names = specs.map((known) => known.name);
      const meant = suggestion(name, names, '--');
      throw new UsageError(`unknown flag ${isSecret && meant === '' ? hidden : `--${name}${meant}`}`);
    }
    if (spec.value === undefined) {
      if (inline !== undefined) throw new UsageError(`--${name} is a switch and takes no value`);
      values.set(name, ['true']);
      continue;
    }
    const value = inline ?? args[(at += 1)];
    if (value === undefined || (inline === undefined && value.startsWith('--')))
      throw new UsageError(`--${name} needs a value: --${name} <${spec.value}>`);
    const earlier = values.get(name);
    if (earlier !== undefined && spec.repeated !== true) throw new UsageError(`--${name} is given twice`);
    values.set(name, [...(earlier ?? []), value]);
  }
  const fromEnv = (name: string): string | undefined => {
    const variable = specs.find((spec) => spec.name === name)?.env;
    return variable === undefined ? undefined : env[variable] || undefined;
  };
  return {
    text: (name) => values.get(name)?.[0] ?? fromEnv(name),
    list: (name) => values.get(name) ?? fromEnv(name)?.split(',') ?? [],
    on: (name) => values.has(name) || ['1', 'true', 'yes'].includes(fromEnv(name) ?? ''),
  };
}

/** Reads the flags of a command. After `--help`, whose text it prints, there are none. */
export function readFlags(
  specs: readonly FlagSpec[],
  help: string,
  { args, env, print }: Pick<CommandIo, 'args' | 'env' | 'print'>,
): Flags | undefined {
  const flags = parseFlags(specs, args, env);
  if (!flags.on('help')) return flags;
  print(help);
  return undefined;
}

/** `; did you mean --slots?` for the nearest name, if any is near. */
export function suggestion(word: string, known: readonly string[], prefix = ''): string {
  const near = known
    .map((name) => ({
      name,
      distance: name.startsWith(word) || word.startsWith(name) ? 1 : editDistance(word, name),
    }))
    .sort((a, b) => a.distance - b.distance)[0];
  return near !== undefined && near.distance <= Math.max(2, Math.floor(near.name.length / 3))
    ? `; did you mean ${prefix}${near.name}?`
    : '';
}

export function flagsHelp(specs: readonly FlagSpec[]): string {
  const rows = specs.map((spec) => {
    const left = `--${spec.name}${spec.value === undefined ? '' : ` <${spec.value}>`}`;
    const bounds = spec.bounds === undefined ? '' : ` (${spec.bounds.join(' to ')})`;
    const fallback = spec.fallback === undefined ? '' : `; default ${spec.fallback}`;
    const env = spec.env === undefined ? '' : ` [env ${spec.env}]`;
    return [left, `${spec.help}${bounds}${fallback}${env}`] as const;
  });
  const width = Math.max(...rows.map(([left]) => left.length));
  return rows.map(([left, help]) => `  ${left.padEnd(width)}  ${help}`).join('\n');
}
