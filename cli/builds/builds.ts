/** Serves `svc builds create`, `wait` and `logs`, and says in words and exit codes how a build ended. */
import { Builds, type Build, type BuildState } from '@svc/sdk';
import { exitCodeOfLogs, FOLLOW_ARGS, printLogs, type Following } from '../follow/logs.ts';
import { tellFailure } from '../failures/known.ts';
import { createCommand, waitCommand, type Work } from '../follow/work.ts';
import { defineOwn, type GeneratedSpec, type Own } from '../shell/command.ts';
import { EXIT } from '../shell/exit.ts';
import { formatDuration } from '../shell/time.ts';

const ENDED: ReadonlySet<BuildState> = new Set<BuildState>(['succeeded', 'failed', 'cancelled']);

const BUILD: Work<Build, Pick<Build, 'id' | 'environmentId'>> = {
  what: 'build',
  get: async (client, { id, environmentId }, signal) =>
    await new Builds(client).get(environmentId, id, { signal }),
  isOver: ({ state }) => ENDED.has(state),
  describe: describeBuild,
  exitCode: ({ state }) => (state === 'succeeded' ? EXIT.ok : ENDED.has(state) ? EXIT.failed : EXIT.pending),
  reference: ({ id, environmentId }) => `${id} --env ${environmentId}`,
  output: ({ id, environmentId }) => ({
    what: 'build',
    open: (client, params, options) => new Builds(client).streamLogs(environmentId, id, params, options),
  }),
};

/**
 * `build bld_1 failed while publishing: exit code 1 after 2m 10s via machine (cloning 2s, building 2m 8s)`
 */
function describeBuild(build: Build): string {
  const { id, state, phase, exitCode, message, meteredMs, runnerName, phases, address } = build;
  const where = state === 'failed' && phase !== undefined ? ` while ${phase}` : '';
  const why = [
    ...(exitCode !== undefined && exitCode !== 0 ? [`exit code ${exitCode}`] : []),
    ...(message === undefined ? [] : [message]),
  ].join(', ');
  const took = meteredMs === undefined ? '' : ` after ${formatDuration(meteredMs)}`;
  const by = runnerName === undefined ? '' : ` via ${runnerName}`;
  const times = phases.flatMap(({ phase: name, startedAt, finishedAt }) =>
    finishedAt === undefined
      ? []
      : [`${name} ${formatDuration(Date.parse(finishedAt) - Date.parse(startedAt))}`],
  );
  const parts = times.length === 0 ? '' : ` (${times.join(', ')})`;
  const at = address === undefined ? '' : `, deployed at ${address}`;
  return `build ${id} ${state}${where}${why === '' ? '' : `: ${why}`}${took}${by}${parts}${at}`;
}

export function create(generated: GeneratedSpec): Own {
  return createCommand(generated, BUILD, {
    title: 'See what it prints, and end as it ends',
    cli: 'builds create env_01 --follow',
  });
}

export const wait = (): Own => waitCommand(BUILD, 'builds wait bld_01 --env env_01 --timeout 10m');

export function logs(generated: GeneratedSpec): Own {
  return defineOwn({
    description: `${generated.description}\n\nOn a terminal each phase has a heading, and the end is told, with what is known of a failure; in a pipe there is the output alone, standard output and standard error each on its own. A connection that is cut is taken up again where it was. Ends with 1 when the build failed or was cancelled. With --json, every event is one line of JSON.`,
    args: FOLLOW_ARGS,
    examples: [
      ...generated.examples,
      { title: 'What there is so far', cli: 'builds logs bld_01 --env env_01 --no-follow' },
    ],
    exits: [EXIT.pending],
    run: logsOfBuild,
  });
}

async function logsOfBuild(context: Following): Promise<number> {
  const { output, input, args, io } = context;
  const { environmentId, buildId, ...params } = input;
  const reference = { environmentId: String(environmentId), id: String(buildId) };
  const build = await printLogs(context, BUILD, { reference, params });
  if (args.exitStatus === true || io.stdout.isTerminal) {
    await output.progress(BUILD.describe(build));
    if (build.state === 'failed') await tellFailure(context, build);
  }
  return exitCodeOfLogs(BUILD.exitCode(build), context);
}
