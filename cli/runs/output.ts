/** The output of a run, written where it was written to: standard output or standard error. */
import { SandboxRuns, SvcAbortError, type LogEvent, type SandboxRunsStreamLogsParams } from '@svc/sdk';
import { noteMissing } from '../follow/flags.ts';
import { persistently } from '../follow/persist.ts';
import { createStamper, type Stamper } from '../follow/stamps.ts';
import type { Context } from '../shell/command.ts';
import type { Patience } from '../follow/watch.ts';

export interface OutputOptions {
  readonly params: SandboxRunsStreamLogsParams;
  /** Stream for standard output: standard error when ours holds a JSON result. */
  readonly stdoutTo: 'stdout' | 'stderr';
  /** Put the time at which the control plane stored it in front of every line. */
  readonly timestamps?: boolean;
}

/** Copies the output until the run ends, or the patience does. */
export async function copyOutput(
  context: Context,
  runId: string,
  { params, stdoutTo, timestamps, patient }: OutputOptions & { readonly patient: Patience },
): Promise<void> {
  const { output } = context;
  const client = await context.client();
  const stamper = timestamps === true ? createStamper() : undefined;
  const { tailBytes: _onlyAtFirst, ...rest } = params;
  const events = persistently(context, patient.signal, (after) =>
    new SandboxRuns(client).streamLogs(runId, after === undefined ? params : { ...rest, after }, {
      signal: patient.signal,
    }),
  );
  let epoch: number | undefined;
  let missing = 0;
  try {
    for await (const event of events) {
      // The lost attempt's output stays where it is; without a word it would read as one output with a repetition.
      if (epoch !== undefined && event.epoch > epoch)
        await output.note('the run was started again; its output begins anew');
      epoch = event.epoch;
      missing += event.missingBytes ?? 0;
      await writeEvent(context, event, { stdoutTo, stamper });
    }
    await noteMissing(context, missing);
  } catch (error) {
    if (!(error instanceof SvcAbortError && patient.isOver())) throw error;
  }
}

async function writeEvent(
  { output }: Context,
  { stream, text, at }: LogEvent,
  { stdoutTo, stamper }: Pick<OutputOptions, 'stdoutTo'> & { readonly stamper: Stamper | undefined },
): Promise<void> {
  await output.log(stream === 'stdout' ? stdoutTo : 'stderr', stamper?.stamp(stream, text, at) ?? text);
}
