/** The end of a build in words and exit codes. */
import type { Build, BuildState } from '@svc/sdk';
import { EXIT } from '../shell/exit.ts';
import { formatDuration } from '../shell/time.ts';

const ENDED: ReadonlySet<BuildState> = new Set<BuildState>(['succeeded', 'failed', 'cancelled']);

export function isOver({ state }: Pick<Build, 'state'>): boolean {
  return ENDED.has(state);
}

/** 0 only for a build that succeeded. */
export function exitCodeOfBuild(build: Pick<Build, 'state'>): number {
  const { state } = build;
  if (!isOver(build)) return EXIT.pending;
  return state === 'succeeded' ? EXIT.ok : EXIT.failed;
}

/**
 * `build bld_1 failed while publishing: exit code 1 after 2m 10s via machine (cloning 2s, building 2m 8s)`
 */
export function describeBuild(build: Build): string {
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
