/**
 * Runs jobs, in any number of processes at once:
 *
 *     waiting ──claimed──> running ──done──> (no row)
 *        ^                    │ │
 *        └── failed, not yet ─┘ └── failed for good, or once too often ──> dead
 *
 * A claim ends by itself within a minute unless it is renewed (leases.ts), so that a worker that dies loses
 * time and no job; what it says later changes nothing, because another claim has another epoch. State: the
 * jobs at work in this process.
 */
import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../../base/db/index.ts';
import { startLoop, type Loop } from '../../base/loop.ts';
import { JobFailed, JobNotYet, type Job, type JobKind } from './kind.ts';
import { createLeases, LEASE_MS, RENEW_EVERY_MS } from './leases.ts';
import {
  buryJob,
  claimJobs,
  finishJobs,
  isAnyDue,
  onWake,
  returnJob,
  type Claimed,
  type JobClaim,
} from './store.ts';

/** Jobs of other processes, and those that became due. */
const EVERY_MS = 1_000;
/** Jobs that end meanwhile are ended, and replaced, by one pass. */
const BUSY_PAUSE_MS = 20;
/** The time that a job may take to end after its time limit. */
const GRACE_MS = 30_000;
/** Waits are shorter by up to so much, so that what failed together does not come again together. */
const JITTER = 0.1;

export type Outcome = 'done' | 'failed';

export interface WorkerDeps {
  readonly db: Database;
  readonly kinds: readonly JobKind[];
  /** It is told of every failure but JobFailed. */
  onError(error: unknown): void;
  /** How long a job is its worker's without a renewal. Default 45 s. */
  readonly leaseMs?: number;
  /** An attempt has ended. */
  onEnd?(kind: string, outcome: Outcome): void;
}

export interface WorkerOptions {
  /** Jobs at work are given back then. */
  readonly signal: AbortSignal;
  /** The work of a job has ended. */
  readonly onFree?: () => void;
}

export function createWorker(deps: WorkerDeps, { signal, onFree }: WorkerOptions) {
  const { sql } = deps.db;
  setMaxListeners(0, signal); // Each job at work listens.
  const lines = new Map(deps.kinds.map((kind) => [kind.kind, { kind, atWork: new Set<Promise<void>>() }]));
  const { leaseMs = LEASE_MS } = deps;
  const leases = createLeases(sql, leaseMs);
  let done: JobClaim[] = [];
  /** The pass before found jobs, so that there are more, most likely. */
  let isBusy = false;
  const finish = async (): Promise<void> => {
    const ended = done;
    done = [];
    try {
      if (ended.length > 0) await finishJobs(sql, ended);
    } catch (error) {
      done.push(...ended);
      throw error;
    }
  };
  const start = (job: Claimed, askedAt: number): void => {
    const line = lines.get(job.kind);
    if (line === undefined) throw new Error(`job ${job.id} of kind ${job.kind} was not asked for`);
    const lease = leases.add(job, { askedAt, limitMs: line.kind.timeoutMs + GRACE_MS });
    const work = runJob(deps, line.kind, { job, stopping: signal, lost: lease.lost }).then((isDone) => {
      lease.end();
      if (isDone) done.push(job);
      line.atWork.delete(work);
      onFree?.();
    });
    line.atWork.add(work);
  };
  return {
    /**
     * Ends the jobs that are done, claims as many as there is room for, and begins them. Returns how many
     * were claimed.
     */
    pass: async (): Promise<number> => {
      await finish();
      const free = [...lines.values()].filter(({ kind, atWork }) => atWork.size < kind.concurrency);
      if (free.length === 0) return 0;
      const kinds = free.map(({ kind }) => kind.kind);
      if (!isBusy && !(await isAnyDue(sql, kinds))) return 0;
      isBusy = false;
      const claims = free.map(({ kind: { kind, concurrency, perTeam }, atWork }) => ({
        kind,
        take: concurrency - atWork.size,
        perTeam,
        leaseMs,
      }));
      const askedAt = performance.now();
      const claimed = await claimJobs(deps.db, claims);
      for (const job of claimed) start(job, askedAt);
      isBusy = claimed.length > 0;
      return claimed.length;
    },
    /** Keeps those that are at work. */
    renew: leases.renew,
    /** Resolves when those that were begun have ended. */
    settled: async (): Promise<void> => {
      await Promise.all([...lines.values()].flatMap(({ atWork }) => [...atWork]));
      await finish();
    },
  };
}

export function startWorker(deps: WorkerDeps): Loop {
  const stopping = new AbortController();
  // There is room again, and the lane is free.
  const worker = createWorker(deps, { signal: stopping.signal, onFree: () => loop.wake() });
  const loop = startLoop({
    everyMs: EVERY_MS,
    onError: deps.onError,
    run: async () => {
      if ((await worker.pass()) === 0) return false;
      await sleep(BUSY_PAUSE_MS);
      return true;
    },
  });
  const renewing = startLoop({ everyMs: RENEW_EVERY_MS, onError: deps.onError, run: worker.renew });
  const forget = onWake(loop.wake);
  return {
    wake: loop.wake,
    stop: async () => {
      forget();
      stopping.abort();
      await loop.stop();
      await worker.settled();
      await renewing.stop();
    },
  };
}

interface AtWork {
  readonly job: Claimed;
  readonly stopping: AbortSignal;
  readonly lost: AbortSignal;
}

/**
 * Resolves with true when the job is done. Never rejects: a job that cannot even be given back comes back
 * with the end of its claim.
 */
async function runJob(deps: WorkerDeps, kind: JobKind, { job: claimed, stopping, lost }: AtWork) {
  const { onError, onEnd } = deps;
  const waitMs = kind.backoff(claimed.attempts) * (1 - JITTER * Math.random());
  const job: Job = { ...claimed, retryInMs: claimed.attempts < kind.attempts ? waitMs : undefined };
  try {
    // Whoever had the last attempt was lost with it, perhaps by it.
    if (job.attempts > kind.attempts)
      throw new Error(`${kind.kind}: ${job.lastError ?? 'no attempt is left'}`);
    const ending = AbortSignal.any([stopping, lost]);
    await withTimeLimit(kind, ending, async (signal) => await kind.run(job, signal));
    onEnd?.(kind.kind, 'done');
    return true;
  } catch (error) {
    if (lost.aborted) {
      // Whoever has it now says how it ends.
      onEnd?.(kind.kind, 'failed');
      onError(new Error(`job ${job.id} of kind ${job.kind} was lost: its lease was not renewed in time`));
      return false;
    }
    const reason = stopping.aborted ? new JobNotYet(0) : error;
    if (!(reason instanceof JobNotYet)) onEnd?.(kind.kind, 'failed');
    await endFailed({ ...deps, kind }, job, reason).catch(onError);
    return false;
  }
}

async function endFailed(
  { db: { sql }, kind, onError }: WorkerDeps & { readonly kind: JobKind },
  job: Job,
  reason: unknown,
): Promise<void> {
  if (reason instanceof JobNotYet) return await returnJob(sql, job, reason);
  const failed = reason instanceof JobFailed ? reason : undefined;
  if (failed === undefined) onError(reason);
  const error = reason instanceof Error ? reason.message : String(reason);
  const inMs = job.retryInMs === undefined ? undefined : (failed?.retryInMs ?? job.retryInMs);
  if (inMs !== undefined && inMs <= (kind.patienceMs ?? Infinity) && failed?.isFinal !== true)
    return await returnJob(sql, job, { error, inMs });
  try {
    await kind.gaveUp?.(job, reason);
  } catch (second) {
    onError(second);
    return await returnJob(sql, job, { error, inMs: kind.backoff(job.attempts) });
  }
  await buryJob(sql, job, error);
}

async function withTimeLimit(
  { kind, timeoutMs }: JobKind,
  stopping: AbortSignal,
  work: (signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const limit = new AbortController();
  const abort = (): void => limit.abort();
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    abort();
  }, timeoutMs);
  stopping.addEventListener('abort', abort);
  try {
    stopping.throwIfAborted();
    await work(limit.signal);
  } catch (cause) {
    if (isLate && !(cause instanceof JobFailed))
      throw new Error(`${kind}: no end within ${timeoutMs} ms`, { cause });
    throw cause;
  } finally {
    clearTimeout(timer);
    stopping.removeEventListener('abort', abort);
  }
}
