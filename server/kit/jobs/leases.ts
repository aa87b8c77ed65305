/**
 * Leases of the jobs at work in one process. A lease is short, so that the jobs of a process that dies are
 * free within a minute, and renewed while its job runs, with one statement for all. Whoever cannot renew
 * gives up before others may begin, on a clock of its own: its connection may be gone, and nobody would tell
 * it. State: the leases, owned by this closure.
 */
import type { SqlTag } from '../../base/db/index.ts';
import { renewJobs, type Claimed } from './store.ts';

/** Four renewals: a process may stand still for as long as three of them. */
export const LEASE_MS = 45_000;
export const RENEW_EVERY_MS = 11_000;
/** Part of a lease that is left when a worker gives up: longer than until its next renewal. */
const LEFT = 0.3;

interface Claim {
  /** The value of `performance.now()` before the database was asked. */
  readonly askedAt: number;
  /** It is not renewed for longer. */
  readonly limitMs: number;
}

interface Lease {
  readonly job: Claimed;
  /** Time by `performance.now()`, as the next one. */
  readonly endsAt: number;
  goodUntil: number;
  readonly loss: AbortController;
}

export function createLeases(sql: SqlTag, leaseMs: number) {
  const leases = new Set<Lease>();
  const lose = (lease: Lease): void => {
    if (leases.delete(lease)) lease.loss.abort();
  };
  const ask = async (): Promise<void> => {
    const askedAt = performance.now();
    const asked = [...leases].filter(({ endsAt }) => askedAt < endsAt);
    if (asked.length === 0) return;
    const jobs = asked.map(({ job }) => job);
    const kept = await renewJobs(sql, jobs, leaseMs);
    for (const lease of asked)
      if (kept.has(lease.job.id)) lease.goodUntil = askedAt + leaseMs;
      else lose(lease);
  };
  return {
    /** The signal is aborted when the job is not this worker's any more. */
    add: (job: Claimed, { askedAt, limitMs }: Claim) => {
      const [endsAt, goodUntil] = [askedAt + limitMs, askedAt + leaseMs];
      const lease = { job, endsAt, goodUntil, loss: new AbortController() };
      leases.add(lease);
      return { lost: lease.loss.signal, end: () => void leases.delete(lease) };
    },
    renew: async (): Promise<void> => {
      try {
        await ask();
      } finally {
        const until = performance.now() + LEFT * leaseMs;
        for (const lease of leases) if (until >= lease.goodUntil) lose(lease);
      }
    },
  };
}
