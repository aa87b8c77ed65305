/**
 * Sums up a run of the fault test: counts, latencies, and how long each fault was felt. These figures are for
 * people; the checker judges.
 */
import type { History } from './history.ts';
import { seconds, type Verdict } from './scenario.ts';

const REST = { done: 'at rest', stuck: 'something is stuck', late: 'not at rest' } as const;

export function summarise({ history, rest, tookMs, violations, crashes }: Verdict): string[] {
  const states = count(history.items.map(({ state }) => state));
  const ends = count(history.leases.map(({ endReason }) => endReason ?? 'open'));
  const answers = count(
    [...history.runners.values()]
      .flat()
      .flatMap((entry) => (entry.event === 'report-answer' ? [entry.answer] : [])),
  );
  const outcomes = count(
    history.submits.flatMap((entry) => (entry.event === 'outcome' ? [entry.outcome] : [])),
  );
  const latencies = latenciesOf(history);
  return [
    `runs: ${history.items.length} (${states}); attempts to submit: ${outcomes}; projects: ${history.projects.length}`,
    `leases: ${history.leases.length} (${ends}); reports sent: ${answers}`,
    `submitted → reported: p50 ${seconds(quantile(latencies, 0.5))}, p99 ${seconds(quantile(latencies, 0.99))}, longest ${seconds(latencies.at(-1) ?? 0)}`,
    ...recoveries(history).map(
      ({ what, ms }) =>
        `  ${what}: ${ms === undefined ? 'nothing was begun after it' : `next run begun and done after ${seconds(ms)}`}`,
    ),
    `${REST[rest.how]} ${seconds(rest.ms)} after the last fault was healed; took ${seconds(tookMs)}; ${violations.length} violations, ${crashes.length} crashes`,
  ];
}

/**
 * Returns the times at which each run was first acknowledged, was first offered, and a runner first learned
 * that its report counts.
 */
function timesOf(history: History): {
  readonly submitted: ReadonlyMap<string, number>;
  readonly offered: ReadonlyMap<string, number>;
  readonly reported: ReadonlyMap<string, number>;
} {
  const submitted = new Map<string, number>();
  for (const entry of history.submits) {
    if (entry.event !== 'outcome' || entry.outcome !== 'ok' || entry.kind !== 'run' || entry.id === undefined)
      continue;
    submitted.set(entry.id, Math.min(submitted.get(entry.id) ?? Number.POSITIVE_INFINITY, entry.mono));
  }
  const offered = new Map<string, number>();
  const reported = new Map<string, number>();
  for (const entry of [...history.runners.values()].flat()) {
    if (entry.event === 'offered')
      offered.set(entry.work, Math.min(offered.get(entry.work) ?? Number.POSITIVE_INFINITY, entry.mono));
    if (entry.event !== 'report-answer' || (entry.answer !== 'accepted' && entry.answer !== 'repeated'))
      continue;
    reported.set(entry.work, Math.min(reported.get(entry.work) ?? Number.POSITIVE_INFINITY, entry.mono));
  }
  return { submitted, offered, reported };
}

/**
 * From the acknowledgement of each run until it was first offered: of those that came while a fault lasted,
 * and of the others. An offer can be there before the answer is.
 */
export function dispatches(history: History): { readonly during: number[]; readonly apart: number[] } {
  const { submitted, offered } = timesOf(history);
  const faults = history.rig.flatMap((entry) =>
    entry.event === 'undone' ? [{ from: entry.mono - entry.afterMs, to: entry.mono }] : [],
  );
  const all = [...submitted].flatMap(([id, at]) => {
    const ms = offered.get(id);
    const during = faults.some(({ from, to }) => at >= from && at <= to);
    return ms === undefined ? [] : [{ during, ms: Math.max(0, ms - at) }];
  });
  const of = (during: boolean): number[] => all.filter((one) => one.during === during).map(({ ms }) => ms);
  return { during: of(true), apart: of(false) };
}

function latenciesOf(history: History): number[] {
  const { submitted, reported } = timesOf(history);
  return [...submitted]
    .flatMap(([id, at]) => (reported.has(id) ? [(reported.get(id) ?? at) - at] : []))
    .toSorted((a, b) => a - b);
}

/**
 * Returns for each fault the time from it until a run that was begun after it was reported and accepted:
 * submitting, granting, heartbeats and reports work again. How long a run waits in the queue behind others
 * does not count.
 */
export function recoveries(history: History): Array<{
  readonly row: string;
  readonly what: string;
  /** It is false where the target was down already, or out of reach. */
  readonly done: boolean;
  readonly ms: number | undefined;
}> {
  const entries = [...history.runners.values()].flat();
  const begun = new Map<string, number>();
  for (const entry of entries)
    if (entry.event === 'start') begun.set(`${entry.work} ${entry.epoch}`, entry.mono);
  const done = entries.flatMap((entry) => {
    if (entry.event !== 'report-answer' || entry.answer !== 'accepted') return [];
    const at = begun.get(`${entry.work} ${entry.epoch}`);
    return at === undefined ? [] : [{ at, end: entry.mono }];
  });
  return history.rig.flatMap((entry) => {
    if (entry.event !== 'fault') return [];
    const ends = done.filter(({ at }) => at >= entry.mono).map(({ end }) => end);
    const ms = ends.length === 0 ? undefined : Math.min(...ends) - entry.mono;
    return [
      {
        row: entry.row ?? entry.kind,
        done: entry.leftOut !== true,
        what: `${entry.kind}${entry.detail === undefined ? '' : ` (${entry.detail})`}`,
        ms,
      },
    ];
  });
}

export function quantile(sorted: readonly number[], q: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? 0;
}

function count(words: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  return (
    [...counts]
      .toSorted(([a], [b]) => a.localeCompare(b))
      .map(([word, n]) => `${n} ${word}`)
      .join(', ') || 'none'
  );
}
