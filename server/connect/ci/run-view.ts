/** The columns of a run, made of its state: the status as settled, and times, where the time of receipt stands in for one that the provider did not report. */
import { isTerminal, settle } from './accept.ts';
import type { CiState, CiStatus } from './accept.ts';
import { baseOfQueue } from './merge-queue.ts';

export interface RunView {
  readonly status: CiStatus;
  readonly providerStatus: string | null;
  readonly providerConclusion: string | null;
  readonly blocked: boolean;
  readonly soft: boolean;
  readonly reason: string | null;
  readonly trigger: string | null;
  readonly commitSha: string | null;
  /** Of a merge queue's run, the base that it is merged into. */
  readonly branch: string | null;
  readonly mergeQueue: boolean;
  readonly tag: string | null;
  readonly externalUrl: string | null;
  readonly actor: string | null;
  readonly queuedAt: Date | null;
  readonly startedAt: Date | null;
  readonly finishedAt: Date | null;
  readonly durationMs: number | null;
  readonly occurredAt: Date;
}

/** The run before this event. */
type Before = Pick<RunView, 'startedAt' | 'finishedAt'> & { readonly createdAt: Date };

export function viewOf(state: CiState, now: Date, before?: Before): RunView {
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
