/** Copies the output of a run or a build, each piece to the stream that it was written to. */
import {
  SvcAbortError,
  type BuildEvent,
  type BuildsStreamLogsParams,
  type Client,
  type LogEvent,
} from '@svc/sdk';
import { colorOfState } from '../shell/color.ts';
import type { Context } from '../shell/command.ts';
import { persistently } from './persist.ts';
import { createStamper, type Stamper } from './stamps.ts';
import type { Patience } from './watch.ts';

/** Parameters of a stream; those of a run's stream are the same. */
export type OutputParams = BuildsStreamLogsParams;

/** A piece of it, or of a build a step. */
export type OutputEvent = Pick<LogEvent, 'position'> & Partial<Omit<LogEvent & BuildEvent, 'position'>>;

export interface WorkOutput {
  readonly what: 'run' | 'build';
  readonly open: (
    client: Client,
    params: OutputParams,
    options: { readonly signal: AbortSignal },
  ) => AsyncIterable<OutputEvent>;
}

export interface CopyOptions {
  readonly params: OutputParams;
  /** Stream for standard output: standard error, and no headings, when ours holds a JSON result. */
  readonly stdoutTo: 'stdout' | 'stderr';
  /** Put the time in front of every line. */
  readonly timestamps?: boolean;
  readonly patient: Patience;
}

interface Showing extends Pick<CopyOptions, 'stdoutTo'> {
  readonly stamper: Stamper | undefined;
}

/** Copies the output until the work ends, or the patience does. */
export async function copyOutput(
  context: Context,
  from: WorkOutput,
  { params, stdoutTo, timestamps, patient }: CopyOptions,
): Promise<void> {
  const { output } = context;
  const { signal } = patient;
  const stamper = timestamps === true ? createStamper() : undefined;
  const client = await context.client();
  const { tailBytes: _onlyAtFirst, ...rest } = params;
  const events = persistently(context, signal, (after) =>
    from.open(client, after === undefined ? params : { ...rest, after }, { signal }),
  );
  let missing = 0;
  let attempt = Number.POSITIVE_INFINITY;
  try {
    for await (const event of events) {
      // The lost attempt's output stays where it is; without a word it would read as one output with a
      // repetition.
      const current = event.attempt ?? event.epoch ?? attempt;
      if (current > attempt) await output.note(`the ${from.what} was started again; its output begins anew`);
      attempt = current;
      missing += event.missingBytes ?? 0;
      await show(context, event, { stdoutTo, stamper });
    }
    await noteMissing(context, missing);
  } catch (error) {
    if (!(error instanceof SvcAbortError && patient.isOver())) throw error;
  }
}

/** Says at the end what is not there, once, because the line about it may have scrolled away. */
async function noteMissing({ output }: Context, bytes: number): Promise<void> {
  if (bytes > 0) await output.note(`warning: ${bytes} bytes of this output are missing`);
}

async function show(
  { output, io }: Context,
  { phase, state, stream, text, at }: OutputEvent,
  { stdoutTo, stamper }: Showing,
): Promise<void> {
  if (io.stdout.isTerminal && stdoutTo === 'stdout') {
    const { paint } = output;
    const time = stamper === undefined || at === undefined ? '' : `${at} `;
    // A heading holds words of the contract alone, and nothing that comes from the build itself.
    if (phase !== undefined) await output.raw(`${time}${paint('bold', `==> ${phase}`)}\n`);
    if (phase === undefined && state !== undefined)
      await output.raw(`${paint(colorOfState(state) ?? 'dim', `--- ${state}`)}\n`);
  }
  if (text === undefined || text === '' || stream === undefined) return;
  // A server that is older than this command says no time.
  const shown = stamper === undefined || at === undefined ? text : stamper.stamp(stream, text, at);
  await output.log(stream === 'stdout' ? stdoutTo : 'stderr', shown);
}
