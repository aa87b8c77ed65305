/** Serves `svc runs create`, `wait` and `logs`, and says in words and exit codes how a run ended. */
import { SandboxRuns, type RunState, type SandboxRun } from '@svc/sdk';
import { exitCodeOfLogs, FOLLOW_ARGS, printLogs, type Following } from '../follow/logs.ts';
import { createCommand, waitCommand, type Work } from '../follow/work.ts';
import { defineOwn, type GeneratedSpec, type Own } from '../shell/command.ts';
import { EXIT } from '../shell/exit.ts';
import { formatDuration } from '../shell/time.ts';

const ENDED: ReadonlySet<RunState> = new Set<RunState>(['succeeded', 'failed', 'cancelled', 'dead']);

const RUN: Work<SandboxRun, Pick<SandboxRun, 'id'>> = {
  what: 'run',
  get: async (client, { id }, signal) => await new SandboxRuns(client).get(id, { signal }),
  isOver: ({ state }) => ENDED.has(state),
  describe: describeRun,
  exitCode: ({ state }) => (state === 'succeeded' ? EXIT.ok : ENDED.has(state) ? EXIT.failed : EXIT.pending),
  reference: ({ id }) => id,
  output: ({ id }) => ({
    what: 'run',
    open: (client, params, options) => new SandboxRuns(client).streamLogs(id, params, options),
  }),
};

/** `run run_1 failed: exit code 3, after 1.2s on machine` */
function describeRun(run: SandboxRun): string {
  const why = [
    ...(run.exitCode !== undefined && run.exitCode !== 0 ? [`exit code ${run.exitCode}`] : []),
    ...(run.reason !== undefined && run.reason !== 'exit' && run.reason !== run.state ? [run.reason] : []),
    ...(run.message === undefined ? [] : [run.message]),
  ].join(', ');
  const took = run.meteredMs === undefined ? '' : ` after ${formatDuration(run.meteredMs)}`;
  const where = run.runnerName === undefined ? '' : ` on ${run.runnerName}`;
  return `run ${run.id} ${run.state}${why === '' ? '' : ` (${why})`}${took}${where}`;
}

export function create(generated: GeneratedSpec): Own {
  return createCommand(generated, RUN, {
    title: 'See what it prints, and end as it ends',
    cli: 'runs create --team team_01 --follow -- sh -c "date; id"',
  });
}

export const wait = (): Own => waitCommand(RUN, 'runs wait run_01 --timeout 10m');

export function logs(generated: GeneratedSpec): Own {
  return defineOwn({
    description: `${generated.description} Standard output and standard error of the run come out on those of this command. A connection that is cut is taken up again where it was. Ends with 1 when the run did not succeed. With --json, every piece is one line of JSON.`,
    args: FOLLOW_ARGS,
    examples: [{ title: 'What there is so far', cli: 'runs logs run_01 --no-follow' }, ...generated.examples],
    exits: [EXIT.pending],
    run: logsOfRun,
  });
}

async function logsOfRun(context: Following): Promise<number> {
  const { runId, ...params } = context.input;
  const run = await printLogs(context, RUN, { reference: { id: String(runId) }, params });
  return exitCodeOfLogs(RUN.exitCode(run), context);
}
