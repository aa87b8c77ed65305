/**
 * The leases that this process holds, and when each must be given up: pure state of the heartbeat thread,
 * without timers or calls.
 *
 * A lease counts from the moment when the request that renewed it was sent, on the monotonic clock, so it
 * never outlives the control plane's. It is given up a margin before its end, so that the task is dead before
 * anybody else may start it: 5 s, or a sixth of a lease shorter than 30 s. An offer counts from its arrival:
 * its poll was sent long before, and the heartbeat that accepts it is checked over there.
 */
import type { EnteredPhase, WireLease } from './wire.ts';
import { refKey, type WorkRef } from './work-ref.ts';

export const LEASE_MARGIN_MS = 5_000;

/** Most leases in one call, by contract. Results that wait after a long outage may be more. */
export const LEASES_MAX = 256;

export function leaseMarginMs(leaseMs: number): number {
  return Math.min(LEASE_MARGIN_MS, leaseMs / 6);
}

export interface HeldLease extends WorkRef {
  /**
   * The lease is given up at this time. It is Infinity when the work has ended and only its report is
   * outstanding, so that nothing is left to be killed.
   */
  giveUpAtMs: number;
  /** It is an offer that no heartbeat has accepted yet. */
  offered: boolean;
  /** The phase that a build is in, or is about to enter. */
  entered?: EnteredPhase;
}

export function createLeaseBook() {
  const leases = new Map<string, HeldLease>();
  return {
    /** A fresh offer, or (leaseMs undefined) finished work whose report is outstanding. */
    hold(ref: WorkRef, leaseMs: number | undefined, nowMs: number) {
      const giveUpAtMs = leaseMs === undefined ? Number.POSITIVE_INFINITY : nowMs + leaseMs;
      leases.set(refKey(ref), { id: ref.id, epoch: ref.epoch, giveUpAtMs, offered: leaseMs !== undefined });
    },
    /**
     * Only moves the end later: an answer that was overtaken changes nothing. The first renewal replaces the
     * end of the offer.
     */
    renew(ref: WorkRef, sentAtMs: number, leaseMs: number) {
      const lease = leases.get(refKey(ref));
      if (lease === undefined || leaseMs <= 0) return;
      const giveUpAtMs = sentAtMs + leaseMs - leaseMarginMs(leaseMs);
      lease.giveUpAtMs = lease.offered ? giveUpAtMs : Math.max(lease.giveUpAtMs, giveUpAtMs);
      lease.offered = false;
    },
    /** The build is about to enter this phase: every beat from now on names it. */
    enter(ref: WorkRef, entered: EnteredPhase) {
      const lease = leases.get(refKey(ref));
      if (lease !== undefined) lease.entered = entered;
    },
    /** The task is dead; the lease is kept alive for the report. */
    finish(ref: WorkRef) {
      const lease = leases.get(refKey(ref));
      if (lease === undefined) return;
      lease.giveUpAtMs = Number.POSITIVE_INFINITY;
      lease.offered = false;
    },
    release: (ref: WorkRef) => void leases.delete(refKey(ref)),
    holds: (ref: WorkRef) => leases.has(refKey(ref)),
    /** The leases for one call, at most LEASES_MAX of them; those with a running task come first. */
    refs: (): WireLease[] =>
      [...leases.values()]
        .sort(
          (a, b) =>
            Number(a.giveUpAtMs === Number.POSITIVE_INFINITY) -
            Number(b.giveUpAtMs === Number.POSITIVE_INFINITY),
        )
        .slice(0, LEASES_MAX)
        .map(({ id, epoch, entered }) => ({ id, epoch, ...entered })),
    /** Removes and returns the leases that must be given up now. */
    takeLost(nowMs: number) {
      const lost = [...leases.values()].filter((lease) => lease.giveUpAtMs <= nowMs);
      for (const lease of lost) leases.delete(refKey(lease));
      return lost.map(({ id, epoch }) => ({ id, epoch }));
    },
    /** It is Infinity when there is none. */
    nextGiveUpAtMs: () =>
      Math.min(Number.POSITIVE_INFINITY, ...[...leases.values()].map((lease) => lease.giveUpAtMs)),
  };
}

export type LeaseBook = ReturnType<typeof createLeaseBook>;
