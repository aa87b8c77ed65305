/** The common parts of `runs logs` and `builds logs`. */
import type { Context, OwnArgs } from '../shell/command.ts';

export const FOLLOW_ARGS = {
  exitStatus: {
    type: 'boolean',
    description:
      'End as it ended: 0 only when it succeeded, 1 when it ended otherwise, 8 when it is not over. Without it, 0 as soon as all output was shown.',
  },
  timestamps: {
    type: 'boolean',
    description: 'Put the time at which the control plane stored it in front of every line.',
  },
} satisfies OwnArgs;

/** Says at the end what is not there, once, because the line about it may have scrolled away. */
export async function noteMissing({ output }: Pick<Context, 'output'>, bytes: number): Promise<void> {
  if (bytes > 0) await output.note(`warning: ${bytes} bytes of this output are missing`);
}
