/**
 * The columns of a run, made of its state: the status as settled, and times, where the time of receipt stands
 * in for one that the provider did not report.
 */
import { isTerminal, settle, type CiState } from './accept.ts';
import type { ciRuns } from './schema.ts';

type Before = Pick<typeof ciRuns.$inferSelect, 'startedAt' | 'finishedAt' | 'createdAt'>;

export function viewOf(state: CiState, now: Date, before?: Before) {
  const { facts, ...settled } = settle(state);
  const createdAt = before?.createdAt ?? now;
  const queuedAt = dateOf(facts.queuedAt);
  const ended = isTerminal(settled.status);
  const branch = textOf(facts.branch);
  const base = textOf(facts.mergeQueueOf) ?? baseOfQueue(branch);
  const reportedStart = dateOf(facts.startedAt);
  const startedAt = reportedStart ?? before?.startedAt ?? (settled.status === 'running' ? now : null);
  const finishedAt = ended ? (dateOf(facts.finishedAt) ?? before?.finishedAt ?? now) : null;
  return {
    trigger: textOf(facts.event),
    ...settled,
    commitSha: textOf(facts.commitSha),
    branch: base ?? branch,
    mergeQueue: base !== null,
    tag: textOf(facts.tag),
    externalUrl: textOf(facts.url),
    actor: textOf(facts.actor),
    queuedAt,
    startedAt,
    finishedAt,
    durationMs: typeof facts.durationMs === 'number' ? facts.durationMs : span(startedAt, finishedAt),
    // A provider's clock that runs ahead must not put its runs on top of the timeline.
    occurredAt: earlier(queuedAt ?? reportedStart ?? createdAt, createdAt),
  };
}

export type RunView = ReturnType<typeof viewOf>;

const earlier = (a: Date, b: Date): Date => (a.getTime() < b.getTime() ? a : b);

function span(from: Date | null, to: Date | null): number | null {
  if (from === null || to === null) return null;
  const ms = to.getTime() - from.getTime();
  return ms >= 0 && ms <= DURATION_MAX_MS ? ms : null;
}

/** The most that the contract's field holds. */
const DURATION_MAX_MS = 4_000_000_000;

export function dateOf(value: string | number | undefined): Date | null {
  if (typeof value !== 'string') return null;
  const date = new Date(value);
  return Number.isNaN(date.getTime()) ? null : date;
}

export function textOf(value: string | number | undefined): string | null {
  return typeof value === 'string' ? value : null;
}

// Merge queues build what a branch would be once a pull request is merged, on a branch of their own: the run
// is one of that base.

/**
 * The base that is in the name of GitHub's branches of a merge queue, whichever system builds them; null: the
 * branch is none of a queue.
 */
export function baseOfQueue(branch: string | null): string | null {
  return /^gh-readonly-queue\/(.+)\/pr-\d+-[0-9a-f]{7,64}$/.exec(branch ?? '')?.[1] ?? null;
}
