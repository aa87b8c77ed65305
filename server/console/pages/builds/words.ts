/** Says what the page tells about a build, in plain words. */
import type { Build, BuildPhaseTimes, BuildState, Phase } from '@svc/sdk';
import type { StateWord } from '../../fact.tsx';

export const STATE: Readonly<Record<BuildState, StateWord>> = {
  queued: ['Waiting', 'quiet'],
  running: ['Building', 'busy'],
  publishing: ['Publishing', 'busy'],
  deploying: ['Deploying', 'busy'],
  awaiting_approval: ['Waits for approval', 'warn'],
  succeeded: ['Succeeded', 'good'],
  failed: ['Failed', 'bad'],
  cancelled: ['Cancelled', 'quiet'],
};

export const PHASE: Readonly<Record<Phase, string>> = {
  cloning: 'Cloning',
  building: 'Building',
  publishing: 'Publishing',
  deploying: 'Deploying',
};

const PHASE_LINE = new RegExp(`^==> (?:${Object.keys(PHASE).join('|')}): `);
const STEP_LINE = /^==> step \d+ of \d+: /;

/** The runner begins each phase with a line of its own, and within it each build step. */
export const levelOf = (line: string): 1 | 2 | undefined =>
  PHASE_LINE.test(line) ? 1 : STEP_LINE.test(line) ? 2 : undefined;

const ENDED: ReadonlySet<BuildState> = new Set(['succeeded', 'failed', 'cancelled']);

export const hasEnded = ({ state }: Pick<Build, 'state'>): boolean => ENDED.has(state);

/**
 * Returns the time that passed from the begin of its work to its end, or to now. It is undefined before,
 * and while a build that lost its runner waits for another one.
 */
export function tookMs(
  { state, startedAt, finishedAt }: Pick<Build, 'state' | 'startedAt' | 'finishedAt'>,
  nowMs: number,
): number | undefined {
  if (state === 'queued' || startedAt === undefined) return undefined;
  return Math.max(0, (finishedAt === undefined ? nowMs : Date.parse(finishedAt)) - Date.parse(startedAt));
}

export const shortCommit = (commit: string): string => commit.slice(0, 7);

/** An address that is safe to follow; every other one is only text. */
export function linkOf(address: string): string | undefined {
  return /^https?:\/\/[^\s/]/i.test(address) && URL.canParse(address) ? address : undefined;
}

export interface Step {
  readonly name: string;
  readonly status: 'done' | 'running' | 'failed' | 'stopped' | 'ahead' | 'waited' | 'skipped';
  /** Absent for what has not begun. */
  readonly fromMs?: number;
  readonly toMs?: number;
}

const ORDER: readonly Phase[] = ['cloning', 'building', 'publishing', 'deploying'];

/** Its waiting and its phases in order, and those that are still to come. */
export function stepsOf(build: Build, nowMs: number, deploys: boolean): Step[] {
  const created = Date.parse(build.createdAt);
  const ended = hasEnded(build);
  const end = build.finishedAt === undefined ? nowMs : Date.parse(build.finishedAt);
  const first = build.startedAt ?? build.phases[0]?.startedAt;
  const waited: Step = {
    name: 'Waiting for a runner',
    status: first !== undefined || ended ? 'waited' : 'running',
    fromMs: created,
    toMs: first === undefined ? end : Date.parse(first),
  };
  const begun = build.phases.map((times, index) => stepOf({ build, times, index, end }));
  const reached = build.phases.at(-1)?.phase;
  const planned = build.trigger !== 'manual' ? ORDER.slice(3) : deploys ? ORDER : ORDER.slice(0, 3);
  const ahead = ended
    ? []
    : planned.slice(reached === undefined ? 0 : planned.indexOf(reached) + 1).map((phase): Step => ({
        name: PHASE[phase],
        status: 'ahead',
      }));
  return [waited, ...begun, ...ahead];
}

interface Begun {
  readonly build: Build;
  readonly times: BuildPhaseTimes;
  readonly index: number;
  /** Moment at which an open phase ends for now. */
  readonly end: number;
}

function stepOf({ build, times, index, end }: Begun): Step {
  const last = index === build.phases.length - 1;
  const open = times.finishedAt === undefined;
  const status =
    last && build.state === 'failed'
      ? 'failed'
      : last && build.state === 'cancelled'
        ? 'stopped'
        : last && open && !hasEnded(build) && build.state !== 'awaiting_approval' && build.state !== 'queued'
          ? 'running'
          : 'done';
  return {
    name: PHASE[times.phase],
    status,
    fromMs: Date.parse(times.startedAt),
    toMs: times.finishedAt === undefined ? end : Date.parse(times.finishedAt),
  };
}

export const STATUS_LABELS: Readonly<Record<Step['status'], string>> = {
  done: 'done',
  running: 'running',
  failed: 'failed',
  stopped: 'stopped',
  ahead: 'to come',
  waited: 'done',
  skipped: 'left out',
};
