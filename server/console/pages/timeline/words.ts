/** Says what the page tells about an entry, in plain words: what it is, how it stands, how long it took. */
import type { CiProvider, CiRun, CiStatus, TimelineEntry } from '@svc/sdk';
import { counted, duration } from '../../words.ts';
import type { StateWord } from '../../fact.tsx';
import { STATE } from '../builds/words.ts';

export const PROVIDER: Readonly<Record<CiProvider, string>> = {
  github: 'GitHub Actions',
  gitlab: 'GitLab CI',
  bitbucket: 'Bitbucket Pipelines',
  jenkins: 'Jenkins',
  circleci: 'CircleCI',
  buildkite: 'Buildkite',
  drone: 'Drone',
  azure: 'Azure Pipelines',
  generic: 'Other CI',
};

const STATUS: Readonly<Record<CiStatus, StateWord>> = {
  queued: ['Waiting', 'quiet'],
  running: ['Running', 'busy'],
  success: ['Succeeded', 'good'],
  failed: ['Failed', 'bad'],
  cancelled: ['Cancelled', 'quiet'],
  unknown: ['Unknown', 'warn'],
};

/** Returns where an entry comes from, which is `build` or the CI system. */
export const sourceOf = ({ kind, provider }: TimelineEntry): string =>
  kind === 'build' ? 'build' : (provider ?? 'generic');

export const sourceName = (source: string): string =>
  source === 'build' ? 'Built here' : (PROVIDER[source as CiProvider] ?? source);

export function statusOf({ buildState, ciStatus, status, blocked }: TimelineEntry): StateWord {
  const known = buildState !== undefined ? STATE[buildState] : STATUS[ciStatus ?? 'unknown'];
  return standing(known, { status, blocked });
}

export const statusOfRun = ({ status, blocked }: CiRun): StateWord =>
  standing(STATUS[status], { status, blocked });

/** A word that a newer server knows is shown as it is. */
function standing(
  known: StateWord | undefined,
  { status, blocked }: Pick<TimelineEntry, 'status' | 'blocked'>,
): StateWord {
  const [word, tone] = known ?? [status, 'quiet'];
  return [word, blocked ? 'warn' : tone];
}

/** The classes that people look for; builds and runs have words of their own for them. */
export type Outcome = 'open' | 'succeeded' | 'failed' | 'cancelled' | 'unknown';

export function outcomeOf({ status }: TimelineEntry): Outcome {
  switch (status) {
    case 'success':
    case 'succeeded':
      return 'succeeded';
    case 'failed':
    case 'cancelled':
    case 'unknown':
      return status;
    default:
      return 'open';
  }
}

const REASON: Readonly<Record<string, string>> = {
  exit: '',
  timeout: 'took too long',
  timed_out: 'took too long',
  memory: 'ran out of memory',
  lost: 'nothing was heard of it for too long',
  lease_lost: 'its runner was lost',
  engine_error: 'its runner could not run it',
  queue_timeout: 'no runner began it in time',
  approval: 'needs an approval',
  startup: 'could not start',
  script_failure: 'a script failed',
};

/** Why it stands as it does; empty where the word for it says all. */
export function reasonOf(entry: TimelineEntry): string {
  const { reason } = entry;
  if (reason === undefined || outcomeOf(entry) === 'succeeded') return '';
  return REASON[reason] ?? reason.replaceAll('_', ' ');
}

export interface Times {
  /** Time from when it began to wait until it ran, or until now. It is undefined where that was not told. */
  readonly waitedMs: number | undefined;
  /** Time from when it began to run until its end, or until now. */
  readonly ranMs: number | undefined;
  /** One of the two goes on. */
  readonly goesOn: boolean;
}

export function timesOf(entry: TimelineEntry, nowMs: number): Times {
  const [queued, started, finished] = [entry.queuedAt, entry.startedAt, entry.finishedAt].map((at) =>
    at === undefined ? undefined : Date.parse(at),
  );
  // One that lost its runner waits again; when it began to run before says nothing any more.
  const begun = entry.status === 'queued' ? undefined : started;
  // What stopped for a person does not run meanwhile.
  const goesOn = outcomeOf(entry) === 'open' && (!entry.blocked || begun === undefined);
  const end = finished ?? (goesOn ? nowMs : undefined);
  return {
    waitedMs: between(queued, begun ?? end),
    ranMs: entry.durationMs ?? between(begun, end),
    goesOn,
  };
}

function between(from: number | undefined, to: number | undefined): number | undefined {
  return from === undefined || to === undefined ? undefined : Math.max(0, to - from);
}

/** Waiting of less than this is not worth a word. */
const WAIT_SAID_MS = 1_000;

/** Returns words such as `waited 12 s, ran 4 min 3 s`, and an empty text when nothing is known. */
export function timesWords({ waitedMs, ranMs, goesOn }: Times): string {
  const waits = goesOn && ranMs === undefined;
  const parts = [
    waitedMs !== undefined &&
      (waits || waitedMs >= WAIT_SAID_MS) &&
      `${waits ? 'waiting for' : 'waited'} ${duration(whole(waitedMs, waits))}`,
    ranMs !== undefined && `${goesOn ? 'running for' : 'ran'} ${duration(whole(ranMs, goesOn))}`,
  ];
  return parts.filter(Boolean).join(', ');
}

/** What goes on is counted in seconds. */
const whole = (ms: number, goesOn: boolean): number => (goesOn ? Math.floor(ms / 1_000) * 1_000 : ms);

const SCALE_MIN_MS = 10_000;
const TIMES_MEDIAN = 4;

/**
 * Returns how long a full bar is. It is the longest, unless that would make slivers of the others; what is
 * longer is cut.
 */
export function scaleOf(all: readonly Times[]): number {
  const lengths = all
    .map(({ waitedMs = 0, ranMs = 0 }) => waitedMs + ranMs)
    .filter((ms) => ms > 0)
    .toSorted((a, b) => a - b);
  const median = lengths[Math.floor(lengths.length / 2)] ?? 0;
  return Math.max(SCALE_MIN_MS, Math.min(lengths.at(-1) ?? 0, median * TIMES_MEDIAN));
}

/** `2 succeeded, 1 failed`, in the order in which somebody wants to know. */
export function commitWords(entries: readonly TimelineEntry[]): string {
  const words: ReadonlyArray<readonly [Outcome, string]> = [
    ['failed', 'failed'],
    ['open', 'under way'],
    ['unknown', 'unknown'],
    ['cancelled', 'cancelled'],
    ['succeeded', 'succeeded'],
  ];
  if (entries.length === 1) return '';
  const counts = words.map(([outcome, word]) => {
    const count = entries.filter((entry) => outcomeOf(entry) === outcome).length;
    return count > 0 && `${count} ${word}`;
  });
  return counts.filter(Boolean).join(', ');
}

/** Returns words that tell what came at once to who cannot see it: the first two and how many more. */
export function newsWords(changed: readonly TimelineEntry[]): string {
  const named = changed.slice(0, 2).map((entry) => `${entry.name}: ${statusOf(entry)[0].toLowerCase()}`);
  const more = changed.length - named.length;
  return [...named, more > 0 && `${counted(more, 'more change', 'more changes')}`].filter(Boolean).join('; ');
}

/** Page of a commit at the hosts whose addresses are known. */
export function commitUrl(repository: string | undefined, sha: string): string | undefined {
  if (repository === undefined || !URL.canParse(repository)) return undefined;
  const { protocol, host, pathname } = new URL(repository);
  const part = new Map([
    ['github.com', 'commit'],
    ['gitlab.com', '-/commit'],
    ['bitbucket.org', 'commits'],
  ]).get(host);
  if (protocol !== 'https:' || part === undefined) return undefined;
  return `https://${host}${pathname.replace(/\/$|\.git$/, '')}/${part}/${sha}`;
}
