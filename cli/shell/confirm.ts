/** Destructive commands ask; where nobody can answer they need `--yes`. */
import { commandLine, type Spec } from './command.ts';
import { CliError, UsageError } from './errors.ts';
import type { Globals } from './globals.ts';
import type { Io } from './io.ts';
import { neutraliseLine } from './text.ts';

export function canAsk(io: Io, globals: Pick<Globals, 'noInput'>): boolean {
  return io.stdin.isTerminal && io.stderr.isTerminal && !globals.noInput;
}

export async function confirm(
  io: Io,
  spec: Spec,
  globals: Pick<Globals, 'noInput' | 'yes'>,
  input: Readonly<Record<string, unknown>>,
): Promise<void> {
  if (globals.yes) return;
  const targets = spec.positionals
    .map(({ name }) => input[name])
    .filter((value) => typeof value === 'string');
  const what = neutraliseLine([commandLine(spec), ...targets].join(' '));
  if (!canAsk(io, globals)) {
    throw new UsageError(`"${what}" needs confirmation, and there is no terminal to ask on`, {
      hints: ['add --yes to run it without asking'],
    });
  }
  const answer = await io.stdin.ask(`${what}: ${spec.summary}. Go on? [y/N] `);
  if (!/^\s*y(es)?\s*$/i.test(answer)) throw new CliError('declined', 'nothing was done');
}
