/**
 * The end of waiting for a run in words and exit codes; the same for `create --wait`, `create --follow` and
 * `wait`.
 */
import type { RunState, SandboxRun } from '@svc/sdk';
import { EXIT } from '../shell/exit.ts';
import { formatDuration } from '../shell/time.ts';

const ENDED: ReadonlySet<RunState> = new Set<RunState>(['succeeded', 'failed', 'cancelled', 'dead']);

export function isOver(run: SandboxRun): boolean {
  return ENDED.has(run.state);
}

/** 0 only for a run that succeeded. */
export function exitCodeOfRun(run: SandboxRun): number {
  if (!isOver(run)) return EXIT.pending;
  return run.state === 'succeeded' ? EXIT.ok : EXIT.failed;
}

/** `run run_1 failed: exit code 3, after 1.2s on machine` */
export function describeRun(run: SandboxRun): string {
  const why = [
    ...(run.exitCode !== undefined && run.exitCode !== 0 ? [`exit code ${run.exitCode}`] : []),
    ...(run.reason !== undefined && run.reason !== 'exit' && run.reason !== run.state ? [run.reason] : []),
    ...(run.message === undefined ? [] : [run.message]),
  ].join(', ');
  const took = run.meteredMs === undefined ? '' : ` after ${formatDuration(run.meteredMs)}`;
  const where = run.runnerName === undefined ? '' : ` on ${run.runnerName}`;
  return `run ${run.id} ${run.state}${why === '' ? '' : ` (${why})`}${took}${where}`;
}
