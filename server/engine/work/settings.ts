/** Every time and bound of dispatch. Tests shorten the times; the relations at the end must hold for any values. */

export interface WorkSettings {
  /** How long an offer stands without a heartbeat that names it. */
  readonly offerMs: number;
  /** Length of a lease from the renewing call. */
  readonly leaseMs: number;
  /** How long after its end a lease is left alone, so that a call already on its way still counts. */
  readonly graceMs: number;
  readonly sweepEveryMs: number;
  /** Items that one sweep or relay statement takes. */
  readonly batch: number;
  /** Grants of one item, answered or not, before it is given up. */
  readonly offersMax: number;
  readonly relayEveryMs: number;
  /** When a fresh item is hinted again: its submitter hints at once, this is the net. */
  readonly hintFirstMs: number;
  /** Doubles with each hint of the same item up to `hintMaxMs`. */
  readonly hintAgainMs: number;
  readonly hintMaxMs: number;
  readonly heartbeatMs: number;
  readonly pollWaitMs: number;
  /** No call for longer: the runner counts as silent. */
  readonly silentMs: number;
  /** Work that waited longer than this with nobody to take it degrades its team. */
  readonly stuckMs: number;
  /** How often teams and runners are looked at for what only time changes. */
  readonly watchEveryMs: number;
  /** A team that becomes degraded again within this time is not told of again. */
  readonly notifyAgainMs: number;
  /** Runners below it are given no new work; empty: any version is. */
  readonly minVersion: string;
  /** Runners below it are advised to upgrade; empty: none. */
  readonly recommendedVersion: string;
  /** A poll writes `last_seen_at` only when it is older: heartbeats do it anyway, and a thousand polls a second must not queue up on one row. */
  readonly seenEveryMs: number;
  /** Output of an ended run is accepted for this long. */
  readonly lateLogsMs: number;
  /** Added to a run's own limit before the server ends it, so that its runner normally does. */
  readonly deadlineSlackMs: number;
  /** At this many strikes a runner is refused new work. */
  readonly strikesMax: number;
  /** Strike when the two durations differ by more than max(this, `divergenceShare` of the longer) + one heartbeat. */
  readonly divergenceMs: number;
  readonly divergenceShare: number;
  /** A report that waited longer than this in its runner's outbox is never held against it. */
  readonly outboxWaitMs: number;
  /** Queued runs of one team. */
  readonly queuedMax: number;
  /** Whether the service's own pool is fed (JOB_RUNNER_ENABLED). */
  readonly feedServicePool: boolean;
}

export const defaultWorkSettings: WorkSettings = {
  offerMs: 15_000,
  leaseMs: 60_000,
  graceMs: 2_000,
  sweepEveryMs: 2_000,
  batch: 200,
  offersMax: 20,
  relayEveryMs: 1_000,
  hintFirstMs: 2_000,
  hintAgainMs: 60_000,
  hintMaxMs: 600_000,
  heartbeatMs: 15_000,
  pollWaitMs: 30_000,
  silentMs: 60_000,
  stuckMs: 60_000,
  watchEveryMs: 5_000,
  notifyAgainMs: 600_000,
  minVersion: '',
  recommendedVersion: '',
  seenEveryMs: 20_000,
  lateLogsMs: 300_000,
  deadlineSlackMs: 30_000,
  strikesMax: 3,
  divergenceMs: 5_000,
  divergenceShare: 0.1,
  outboxWaitMs: 1_000,
  queuedMax: 10_000,
  feedServicePool: false,
};

/** Throws when the values contradict each other. */
export function checkWorkSettings(settings: WorkSettings): WorkSettings {
  const { heartbeatMs, leaseMs, offerMs, sweepEveryMs, graceMs } = settings;
  if (leaseMs < 3 * heartbeatMs) {
    throw new RangeError(
      `lease of ${leaseMs} ms is shorter than three heartbeats of ${heartbeatMs} ms: one lost call would end it`,
    );
  }
  for (const [name, ms] of Object.entries({ offerMs, sweepEveryMs, graceMs, heartbeatMs })) {
    if (!Number.isSafeInteger(ms) || ms < 1)
      throw new RangeError(`${name} is ${ms}, expected a whole number of milliseconds from 1`);
  }
  return settings;
}
