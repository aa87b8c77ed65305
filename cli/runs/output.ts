/** The output of a run, written where it was written to: standard output or standard error. */
import {
  SandboxRuns,
  SvcAbortError,
  type Client,
  type LogEvent,
  type SandboxRunsStreamLogsParams,
} from '@svc/sdk';
import type { Context } from '../shell/command.ts';
import type { Patience } from './watch.ts';

export interface OutputOptions {
  readonly params: SandboxRunsStreamLogsParams;
  /** Where standard output goes: to standard error when ours holds a JSON result. */
  readonly stdoutTo: 'stdout' | 'stderr';
}

/** Until the run ends, or the patience does. */
export async function copyOutput(
  context: Context,
  client: Client,
  runId: string,
  { params, stdoutTo, patient }: OutputOptions & { readonly patient: Patience },
): Promise<void> {
  const { output } = context;
  let epoch: number | undefined;
  try {
    for await (const event of new SandboxRuns(client).streamLogs(runId, params, { signal: patient.signal })) {
      // The lost attempt's output stays where it is; without a word it would read as one output with a repetition.
      if (epoch !== undefined && event.epoch > epoch)
        await output.note('the run was started again; its output begins anew');
      epoch = event.epoch;
      await writeEvent(context, event, stdoutTo);
    }
  } catch (error) {
    if (!(error instanceof SvcAbortError && patient.isOver())) throw error;
  }
}

async function writeEvent(
  { output }: Context,
  event: LogEvent,
  stdoutTo: 'stdout' | 'stderr',
): Promise<void> {
  await output.log(event.stream === 'stdout' ? stdoutTo : 'stderr', event.text);
}
