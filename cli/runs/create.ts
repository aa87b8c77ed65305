/** `svc runs create` */
import { SandboxRuns, SvcApiError, type SandboxRun } from '@svc/sdk';
import { patience, type Patience } from '../follow/watch.ts';
import {
  defineOwn,
  type Context,
  type ContextOf,
  type GeneratedSpec,
  type Own,
  type OwnArgs,
} from '../shell/command.ts';
import { operationOf } from '../shell/operation.ts';
import { describeRun, exitCodeOfRun, isOver, noteGoesOn } from './outcome.ts';
import { copyOutput } from './output.ts';
import { watchRun } from './watch.ts';

const ARGS = {
  wait: { type: 'boolean', alias: 'w', description: 'Wait for the run to end, then print it.' },
  follow: {
    type: 'boolean',
    alias: 'f',
    description:
      'Wait, and write the output of the run as it comes. With --json it goes to standard error, before the run as JSON.',
  },
} satisfies OwnArgs;

export function create(generated: GeneratedSpec): Own {
  return defineOwn({
    description: `${generated.description}\n\nWith --wait or --follow it ends with 0 only when the run succeeded, with 8 when it is not over within --timeout, and with 1 otherwise. Interrupting it leaves the run running.`,
    args: ARGS,
    examples: [
      ...generated.examples,
      {
        title: 'See what it prints, and end as it ends',
        cli: 'runs create --team team_01 --follow -- sh -c "date; id"',
      },
    ],
    waits: true,
    run: submit,
  });
}

async function submit(context: ContextOf<typeof ARGS>): Promise<number> {
  const { input, args, output, io } = context;
  const follow = args.follow === true;
  const patient = patience(context);
  const client = await context.client();
  const run = await client.call<SandboxRun>(operationOf(context), input, { signal: io.interrupted });
  if (!follow && args.wait !== true) {
    await output.value(run);
    return 0;
  }
  try {
    const last = follow ? await followRun(context, run, patient) : await watchRun(context, run, patient);
    await printOutcome(context, last, follow);
    if (!isOver(last)) await noteGoesOn(context, run.id);
    return exitCodeOfRun(last);
  } catch (error) {
    // The id may not have been shown yet, and it is what everything else needs.
    await noteGoesOn(context, run.id);
    throw error;
  }
}

async function followRun(context: Context, run: SandboxRun, patient: Patience): Promise<SandboxRun> {
  await context.output.progress(describeRun(run));
  const stdoutTo = isJson(context) ? 'stderr' : 'stdout';
  try {
    await copyOutput(context, run.id, { params: {}, stdoutTo, patient });
  } catch (error) {
    // A stream that broke for good costs the rest of the output, not the outcome.
    if (!(error instanceof SvcApiError) || !error.retryable) throw error;
    await context.output.note(`warning: the output broke off: ${error.message}`);
  }
  const seen = await new SandboxRuns(await context.client()).get(run.id, { signal: context.io.interrupted });
  return watchRun(context, seen, patient);
}

/** After its output the run itself would be noise on standard output, except as JSON that was asked for. */
async function printOutcome(context: Context, run: SandboxRun, followed: boolean): Promise<void> {
  const { output } = context;
  if (followed && !isJson(context)) await output.note(describeRun(run));
  else await output.value(run);
}

function isJson({ output }: Context): boolean {
  return output.format === 'json' || output.format === 'jsonl';
}
