/** Destructive commands ask a person at a terminal, and nobody else. */
import { commandLine, type Spec } from './command.ts';
import { CliError, UsageError } from './errors.ts';
import type { Globals } from './globals.ts';
import type { Io } from './io.ts';
import type { Json } from './paths.ts';
import { neutraliseLine } from './text.ts';

export function canAsk(io: Io, globals: Pick<Globals, 'noInput'>): boolean {
  return io.stdin.isTerminal && io.stderr.isTerminal && !globals.noInput;
}

export interface Asking {
  readonly io: Io;
  readonly globals: Pick<Globals, 'noInput' | 'yes'>;
}

export async function confirm(
  asking: Asking,
  spec: Spec,
  { typed, input }: { readonly typed: Json; readonly input: Json },
): Promise<void> {
  if (asking.globals.yes || !canAsk(asking.io, asking.globals)) return;
  const targets = spec.positionals
    .filter(({ sensitive }) => !sensitive)
    .map(({ name }) => [typed[name], input[name]])
    .filter(([, id]) => typeof id === 'string')
    .map(([name, id]) => (name === id || name === undefined ? id : `${String(name)} (${String(id)})`));
  const what = neutraliseLine([commandLine(spec), ...targets].join(' '));
  await ask(asking, `${what}: ${spec.summary}. Go on?`);
}

/** Throws unless the person says yes; `refusal` where there is nobody to ask. */
export async function agree(
  { io, globals }: Asking,
  { refusal, hint, question }: { readonly refusal: string; readonly hint: string; readonly question: string },
): Promise<void> {
  if (!canAsk(io, globals)) throw new UsageError(refusal, { hints: [hint] });
  await ask({ io }, question);
}

async function ask({ io }: Pick<Asking, 'io'>, question: string): Promise<void> {
  const answer = await io.stdin.ask(`${question} [y/N] `);
  if (!/^\s*y(es)?\s*$/i.test(answer)) throw new CliError('declined', 'nothing was done');
}
