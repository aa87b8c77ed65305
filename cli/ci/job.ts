/** The CI job that a command runs in, as the variables of its CI system tell it. */
import { readFileSync } from 'node:fs';
import type { ContextOf, OwnArgs, ShellField } from '../shell/command.ts';
import { UsageError } from '../shell/errors.ts';
import { detectCi, PROVIDERS, type Detected } from './detect.ts';
import { AUDIENCE } from './id-token.ts';

/** Arguments of every command that reports from a job. */
export const JOB_ARGS = {
  provider: {
    type: 'enum',
    options: [...PROVIDERS],
    description: 'CI system, when its variables do not tell it.',
  },
  audience: {
    type: 'string',
    description: `Audience of the id_tokens that are asked for at GitHub. Default: ${AUDIENCE}, else the base URL.`,
  },
} satisfies OwnArgs;

/** Fields of a request that need not be given: what stands for them is said behind their descriptions. */
export const withDefaults = (
  fields: readonly ShellField[],
  defaults: Readonly<Record<string, string>>,
): readonly ShellField[] =>
  fields.map((field) => {
    const without = defaults[field.name];
    if (without === undefined) return field;
    return { ...field, required: false, description: `${field.description} ${without}` };
  });

/**
 * Returns undefined where no CI system is told. Of several one is chosen and the choice is told, unless
 * `strict` refuses that.
 */
export async function detectJob(
  { io, args, output }: ContextOf<typeof JOB_ARGS>,
  { strict }: { readonly strict: boolean },
): Promise<Detected | undefined> {
  const detected = detectCi(io.env, readText, args.provider);
  if (detected === undefined || detected.also.length === 0) return detected;
  const both = `variables of ${[detected.provider, ...detected.also].join(', ')} are set`;
  if (strict)
    throw new UsageError(`${both}, expected one CI system`, {
      hints: ['give --provider without --strict'],
    });
  await output.note(`${both}: it is reported as ${detected.provider}`);
  return detected;
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined; // The event's file is a help, not a need.
  }
}
