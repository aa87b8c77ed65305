/** Waits for a run to end. */
import { SandboxRuns, type SandboxRun } from '@svc/sdk';
import { watch, type Patience } from '../follow/watch.ts';
import type { Context } from '../shell/command.ts';
import { describeRun, isOver } from './outcome.ts';

export async function watchRun(context: Context, start: SandboxRun, patient: Patience): Promise<SandboxRun> {
  const runs = new SandboxRuns(await context.client());
  const watched = {
    start,
    get: async (signal: AbortSignal) => await runs.get(start.id, { signal }),
    isOver,
    stage: ({ state }: SandboxRun) => state,
    describe: describeRun,
  };
  return await watch(context, watched, patient);
}
