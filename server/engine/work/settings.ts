/**
 * Every time and bound of dispatch; work.settings.ts says which of them an operator sets. Tests shorten the
 * times.
 */

export const defaultWorkSettings = {
  /** An offer stands so long without a heartbeat that names it. */
  offerMs: 15_000,
  /** Length of a lease from the renewing call. */
  leaseMs: 60_000,
  /** A lease is left alone for so long after its end, so that a call already on its way still counts. */
  graceMs: 2_000,
  sweepEveryMs: 2_000,
  /** Items that one sweep or relay statement takes. */
  batch: 200,
  /** Grants of one item, answered or not, before it is given up. */
  offersMax: 20,
  relayEveryMs: 1_000,
  /** A fresh item is hinted again after this time. Its submitter hints at once, and this is the net. */
  hintFirstMs: 2_000,
  /** Doubles with each hint of the same item up to `hintMaxMs`. */
  hintAgainMs: 60_000,
  hintMaxMs: 600_000,
  heartbeatMs: 15_000,
  pollWaitMs: 30_000,
  /** No call for longer: the runner counts as silent. */
  silentMs: 60_000,
  /** Work that waited longer than this with nobody to take it degrades its team. */
  stuckMs: 60_000,
  /** Teams and runners are looked at this often for what only time changes. */
  watchEveryMs: 5_000,
  /** A team that becomes degraded again within this time is not told of again. */
  notifyAgainMs: 600_000,
  /** Runners below it are given no new work; empty: any version is. */
  minVersion: '',
  /** Runners below it are advised to upgrade; empty: none. */
  recommendedVersion: '',
  /**
   * A poll writes `last_seen_at` only when it is older: heartbeats do it anyway, and a thousand polls a
   * second must not queue up on one row.
   */
  seenEveryMs: 20_000,
  /** Output of an ended run is accepted for this long. */
  lateLogsMs: 300_000,
  /** Added to a run's own limit before the server ends it, so that its runner normally does. */
  deadlineSlackMs: 30_000,
  /** At this many strikes a runner is refused new work. */
  strikesMax: 3,
  /**
   * Strike when the two durations differ by more than max(this, `divergenceShare` of the longer) + one
   * heartbeat.
   */
  divergenceMs: 5_000,
  divergenceShare: 0.1,
  /** A report that waited longer than this in its runner's outbox is never held against it. */
  outboxWaitMs: 1_000,
  /** Queued runs of one team. */
  queuedMax: 10_000,
  /** True feeds the service's own pool (JOB_RUNNER_ENABLED). */
  feedServicePool: false,
  /** Returns whether runners are served at this moment (`host.runners`). */
  runnersOn: (): boolean => true,
};

export type WorkSettings = Readonly<typeof defaultWorkSettings>;

/** Throws when the values contradict each other. */
export function checkWorkSettings(settings: WorkSettings): WorkSettings {
  const { heartbeatMs, leaseMs } = settings;
  if (leaseMs < 3 * heartbeatMs) {
    throw new RangeError(
      `lease of ${leaseMs} ms is shorter than three heartbeats of ${heartbeatMs} ms: one lost call would end it`,
    );
  }
  return settings;
}
