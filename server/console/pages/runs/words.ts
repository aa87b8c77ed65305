/** Says what the pages tell about a run. */
import { SandboxRuns, type RunState, type SandboxRun } from '@svc/sdk';
import { client } from '../../api.ts';

export const sandboxRuns = new SandboxRuns(client);

/** Time between two readings of what no stream tells. */
export const POLL_MS = 5_000;

/** States that one asks for together, by the word of the first. */
export const FILTERS: ReadonlyArray<readonly [RunState, ...RunState[]]> = [
  ['queued', 'offered'],
  ['running'],
  ['succeeded'],
  ['failed', 'dead'],
  ['cancelled'],
];

const OVER: readonly RunState[] = ['succeeded', 'failed', 'cancelled', 'dead'];

export const isOver = ({ state }: Pick<SandboxRun, 'state'>): boolean => OVER.includes(state);

export const hasFailed = ({ state }: Pick<SandboxRun, 'state'>): boolean =>
  state === 'failed' || state === 'dead';

/** Returns the time that it has been at work; undefined before. */
export function tookMs(
  { startedAt, claimedAt = startedAt, finishedAt, state }: SandboxRun,
  nowMs: number,
): number | undefined {
  if (claimedAt === undefined || state === 'queued') return undefined;
  return Math.max(0, (finishedAt === undefined ? nowMs : Date.parse(finishedAt)) - Date.parse(claimedAt));
}

/** Why it waits, or how it ended. */
export function wordsOf({ state, waiting, exitCode, reason, message }: SandboxRun): string {
  const parts = [
    waiting && `waits: ${waiting.reason.replaceAll('_', ' ')}`,
    exitCode === undefined || exitCode === 0 ? undefined : `exit code ${exitCode}`,
    // Beside an exit code or its own word it says nothing.
    exitCode === undefined && reason !== state ? reason?.replaceAll('_', ' ') : undefined,
    message,
  ];
  return parts.filter((each) => each !== undefined && each !== '').join(' · ');
}
