/**
 * Waits for runs and builds in one way and in the same words: `create --wait`, `create --follow` and `wait`.
 */
import { SvcApiError, type Client } from '@svc/sdk';
import {
  defineOwn,
  type Context,
  type ContextOf,
  type GeneratedSpec,
  type Own,
  type OwnArgs,
} from '../shell/command.ts';
import { answerOf } from '../shell/operation.ts';
import { isJson } from '../shell/output.ts';
import { copyOutput, type WorkOutput } from './output.ts';
import { tellMeanwhile, waitingTeller, type Waits, type WaitingTeller } from './waiting.ts';
import { patience, watch, type Patience } from './watch.ts';

/** Describes work that is waited for; it is found by a reference of the type `R`. */
export interface Work<T extends Waits, R = T> {
  readonly what: 'run' | 'build';
  readonly get: (client: Client, reference: R, signal: AbortSignal) => Promise<T>;
  readonly isOver: (value: T) => boolean;
  readonly describe: (value: T) => string;
  readonly exitCode: (value: T) => number;
  /** Words that stand behind `svc runs wait` and `svc runs cancel`. */
  readonly reference: (value: T) => string;
  readonly output: (reference: R) => WorkOutput;
}

const argsOf = (what: string) =>
  ({
    wait: { type: 'boolean', alias: 'w', description: `Wait for the ${what} to end, then print it.` },
    follow: {
      type: 'boolean',
      alias: 'f',
      description: `Wait, and write the output of the ${what} as it comes. With --json it goes to standard error, before the ${what} as JSON.`,
    },
  }) satisfies OwnArgs;

type Submitting = ContextOf<ReturnType<typeof argsOf>>;

export function createCommand<T extends Waits>(
  generated: GeneratedSpec,
  work: Work<T>,
  example: { readonly title: string; readonly cli: string },
): Own {
  const { what } = work;
  return defineOwn({
    description: `${generated.description}\n\nWith --wait or --follow it ends with 0 only when the ${what} succeeded, with 8 when it is not over within --timeout, and with 1 otherwise. While it waits, it says why. Interrupting it leaves the ${what} running.`,
    args: argsOf(what),
    examples: [...generated.examples, example],
    waits: true,
    run: async (context: Submitting) => await submit(context, work),
  });
}

export function waitCommand<T extends Waits>(work: Work<T>, example: string): Own {
  const { what } = work;
  return {
    description: `Waits for a ${what} to end and prints it. Ends with 0 when the ${what} succeeded, with 1 when it ended otherwise, and with 8 when it is not over within --timeout. While it waits, it says why. The ${what} itself is not touched.`,
    examples: [{ title: 'At most ten minutes', cli: example }],
    waits: true,
    run: async (context) => await waitFor(context, work),
  };
}

async function submit<T extends Waits>(context: Submitting, work: Work<T>): Promise<number> {
  const { input, args, output, io } = context;
  const follow = args.follow === true;
  const patient = patience(context);
  const made = await answerOf<T>(context, input, { signal: io.interrupted });
  if (!follow && args.wait !== true) {
    await output.value(made);
    return 0;
  }
  const tell = waitingTeller(context, work.what, patient.signal);
  const at = { work, patient, tell };
  try {
    const last = follow ? await followWork(context, made, at) : await watchWork(context, made, at);
    await printOutcome(context, last, { follow, work });
    if (!work.isOver(last)) await noteGoesOn(context, last, work);
    return work.exitCode(last);
  } catch (error) {
    // The id may not have been shown yet, and it is what everything else needs.
    await noteGoesOn(context, made, work);
    throw error;
  }
}

async function waitFor<T extends Waits>(context: Context, work: Work<T>): Promise<number> {
  const { input, output, io } = context;
  const patient = patience(context);
  const start = await answerOf<T>(context, input, { signal: io.interrupted });
  const tell = waitingTeller(context, work.what, patient.signal);
  const last = await watchWork(context, start, { work, patient, tell });
  await output.value(last);
  await output.progress(work.describe(last));
  if (!work.isOver(last)) await noteGoesOn(context, last, work);
  return work.exitCode(last);
}

interface Watching<T extends Waits> {
  readonly work: Work<T>;
  readonly patient: Patience;
  readonly tell: WaitingTeller;
}

async function watchWork<T extends Waits>(context: Context, start: T, at: Watching<T>): Promise<T> {
  const { work, patient, tell } = at;
  const client = await context.client();
  const get = async (signal: AbortSignal): Promise<T> => await work.get(client, start, signal);
  const { isOver, describe } = work;
  const stage = ({ state }: T): string => state;
  return await watch(context, { start, get, isOver, stage, describe, tell }, patient);
}

async function followWork<T extends Waits>(context: Context, made: T, at: Watching<T>): Promise<T> {
  const { work, patient, tell } = at;
  const { output, io } = context;
  await output.progress(work.describe(made));
  const client = await context.client();
  const look = async (signal: AbortSignal): Promise<T> => await work.get(client, made, signal);
  const stdoutTo = isJson(output) ? 'stderr' : 'stdout';
  try {
    await tellMeanwhile(context, { tell, look }, async () => {
      await copyOutput(context, work.output(made), { params: {}, stdoutTo, patient });
    });
  } catch (error) {
    // A stream that broke for good costs the rest of the output, not the outcome.
    if (!(error instanceof SvcApiError) || !error.retryable) throw error;
    await output.note(`warning: the output broke off: ${error.message}`);
  }
  return await watchWork(context, await look(io.interrupted), at);
}

/** After its output the work itself would be noise on standard output, except as JSON that was asked for. */
async function printOutcome<T extends Waits>(
  context: Context,
  value: T,
  { follow, work }: { readonly follow: boolean; readonly work: Work<T> },
): Promise<void> {
  const { output } = context;
  if (follow && !isJson(output)) await output.note(work.describe(value));
  else await output.value(value);
}

/** Said when the waiting ends before the work, so that nobody believes it was stopped. */
async function noteGoesOn<T extends Waits>(
  { output }: Context,
  value: T,
  { what, reference }: Work<T>,
): Promise<void> {
  const of = reference(value);
  await output.note(
    `the ${what} goes on; "svc ${what}s wait ${of}" waits for it, "svc ${what}s cancel ${of}" ends it`,
  );
}
