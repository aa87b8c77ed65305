/** The common parts of `runs logs` and `builds logs`. */
import type { Context, OwnArgs } from '../shell/command.ts';
import { EXIT } from '../shell/exit.ts';

export const FOLLOW_ARGS = {
  exitStatus: {
    type: 'boolean',
    description:
      'End with 8 when it is not over, instead of 0. What is over ends as it ended: 0 when it succeeded, 1 otherwise.',
  },
  timestamps: {
    type: 'boolean',
    description: 'Put the time at which the control plane stored it in front of every line.',
  },
} satisfies OwnArgs;

/** The code that `logs` ends with, of the one that the work itself has. */
export function exitCodeOfLogs(
  ended: number,
  { exitStatus }: { readonly exitStatus?: boolean | undefined },
): number {
  return ended === EXIT.pending && exitStatus !== true ? EXIT.ok : ended;
}

/** Says at the end what is not there, once, because the line about it may have scrolled away. */
export async function noteMissing({ output }: Pick<Context, 'output'>, bytes: number): Promise<void> {
  if (bytes > 0) await output.note(`warning: ${bytes} bytes of this output are missing`);
}
