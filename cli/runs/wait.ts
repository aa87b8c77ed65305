/** `svc runs wait` */
import type { SandboxRun } from '@svc/sdk';
import { patience } from '../follow/watch.ts';
import type { Context, Own } from '../shell/command.ts';
import { operationOf } from '../shell/operation.ts';
import { describeRun, exitCodeOfRun, isOver, noteGoesOn } from './outcome.ts';
import { watchRun } from './watch.ts';

export function wait(): Own {
  return {
    description:
      'Waits for a run to end and prints it. Ends with 0 when the run succeeded, with 1 when it ended otherwise, and with 8 when it is not over within --timeout. The run itself is not touched.',
    examples: [{ title: 'At most ten minutes', cli: 'runs wait run_01 --timeout 10m' }],
    waits: true,
    run: waitForRun,
  };
}

async function waitForRun(context: Context): Promise<number> {
  const { input, output } = context;
  const patient = patience(context);
  const client = await context.client();
  const start = await client.call<SandboxRun>(operationOf(context), input, {
    signal: context.io.interrupted,
  });
  const run = await watchRun(context, start, patient);
  await output.value(run);
  await output.progress(describeRun(run));
  if (!isOver(run)) await noteGoesOn(context, run.id);
  return exitCodeOfRun(run);
}
