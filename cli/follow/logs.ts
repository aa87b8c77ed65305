/** This file holds the common parts of `runs logs` and `builds logs`. */
import type { ContextOf, OwnArgs } from '../shell/command.ts';
import { EXIT } from '../shell/exit.ts';
import { runOperation } from '../shell/operation.ts';
import { isJson } from '../shell/output.ts';
import { copyOutput, type OutputParams } from './output.ts';
import type { Waits } from './waiting.ts';
import type { Work } from './work.ts';

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

export type Following = ContextOf<typeof FOLLOW_ARGS>;

/** Prints the output, and resolves with the work as it is then. */
export async function printLogs<T extends Waits, R>(
  context: Following,
  work: Work<T, R>,
  { reference, params }: { readonly reference: R; readonly params: OutputParams },
): Promise<T> {
  const { output, args, signal } = context;
  if (isJson(output)) await runOperation(context);
  else {
    const patient = { signal, isOver: () => false };
    const timestamps = args.timestamps === true;
    await copyOutput(context, work.output(reference), { params, stdoutTo: 'stdout', timestamps, patient });
  }
  return await work.get(await context.client(), reference, signal);
}

/** The code that `logs` ends with, of the one that the work itself has. */
export function exitCodeOfLogs(ended: number, { args }: Following): number {
  return ended === EXIT.pending && args.exitStatus !== true ? EXIT.ok : ended;
}
