/** Shows the output of a build with headings of its phases, each piece on the stream that it was written to. */
import { Builds, SvcAbortError, type BuildEvent, type BuildsStreamLogsParams } from '@svc/sdk';
import { noteMissing } from '../follow/flags.ts';
import { persistently } from '../follow/persist.ts';
import { createStamper, type Stamper } from '../follow/stamps.ts';
import type { Patience } from '../follow/watch.ts';
import { colorOfState } from '../shell/color.ts';
import type { Context } from '../shell/command.ts';

export interface BuildOutputOptions {
  readonly params: BuildsStreamLogsParams;
  /** Stream for standard output: standard error, and no headings, when ours holds a JSON result. */
  readonly stdoutTo: 'stdout' | 'stderr';
  /** Put the time at which the control plane stored it in front of every line. */
  readonly timestamps: boolean;
  readonly patient: Patience;
}

interface Showing extends Pick<BuildOutputOptions, 'stdoutTo'> {
  readonly stamper: Stamper | undefined;
}

/** Copies the output until the build ends, or the patience does. */
export async function copyBuild(
  context: Context,
  which: readonly [environmentId: string, buildId: string],
  { params, stdoutTo, timestamps, patient }: BuildOutputOptions,
): Promise<void> {
  const { output } = context;
  const { signal } = patient;
  const stamper = timestamps ? createStamper() : undefined;
  const client = await context.client();
  const { tailBytes: _onlyAtFirst, ...rest } = params;
  const events = persistently(context, signal, (after) =>
    new Builds(client).streamLogs(...which, after === undefined ? params : { ...rest, after }, { signal }),
  );
  let missing = 0;
  let attempt: number | undefined;
  try {
    for await (const event of events) {
      if (attempt !== undefined && event.attempt > attempt)
        await output.note('the build was started again; its output begins anew');
      attempt = event.attempt;
      missing += event.missingBytes ?? 0;
      await show(context, event, { stdoutTo, stamper });
    }
    await noteMissing(context, missing);
  } catch (error) {
    if (!(error instanceof SvcAbortError && patient.isOver())) throw error;
  }
}

async function show(
  { output, io }: Context,
  { phase, state, stream, text, at }: BuildEvent,
  { stdoutTo, stamper }: Showing,
): Promise<void> {
  if (io.stdout.isTerminal && stdoutTo === 'stdout') {
    const { paint } = output;
    const time = stamper === undefined || at === undefined ? '' : `${at} `;
    // Words of the contract only: nothing in a heading comes from the build itself.
    if (phase !== undefined) await output.raw(`${time}${paint('bold', `==> ${phase}`)}\n`);
    if (phase === undefined && state !== undefined)
      await output.raw(`${paint(colorOfState(state) ?? 'dim', `--- ${state}`)}\n`);
  }
  if (text === undefined || text === '' || stream === undefined) return;
  // A server that is older than this command says no time.
  const shown = stamper === undefined || at === undefined ? text : stamper.stamp(stream, text, at);
  await output.log(stream === 'stdout' ? stdoutTo : 'stderr', shown);
}
