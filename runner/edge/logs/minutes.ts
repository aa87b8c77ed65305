/**
 * Counts requests by minute. The times go into steps that are fixed, so that the counters of a minute have
 * the same size however many requests it has, and can be written to the disk.
 */
import type { AccessLine } from './line.ts';

/** Upper ends in milliseconds; a percentile is given as the end of its step. */
const STEPS_MS = [
  1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100, 150, 200, 300, 500, 700, 1_000, 1_500, 2_000, 3_000, 5_000,
  7_000, 10_000, 15_000, 20_000, 30_000, 60_000, 120_000, 300_000, 3_600_000,
];
/**
 * Minutes that may still grow: nginx writes a line when its answer is complete, so that lines are in order.
 */
const OPEN_MINUTES = 3;
const MINUTE_MS = 60_000;

export interface Minute {
  /** RFC 3339 time at which it begins. What is said of a minute later takes the place of what was said. */
  minute: string;
  requests: number;
  s2xx: number;
  s3xx: number;
  s4xx: number;
  s5xx: number;
  p50Ms: number;
  p95Ms: number;
  bytes: number;
}

interface Counters {
  requests: number;
  /** Numbers of 2xx to 5xx. */
  classes: number[];
  bytes: number;
  /** Numbers of requests in each step, without the empty ones at the end. */
  steps: number[];
}

/** Counters by environment and minute, as they are kept on the disk. */
export type OpenMinutes = Record<string, Record<string, Counters>>;

export function countMinutes(open: OpenMinutes) {
  const counted = structuredClone(open);
  const touched = new Map<string, Set<string>>();
  return {
    add(environmentId: string, line: AccessLine): void {
      const minute = new Date(Math.floor(Date.parse(line.at) / MINUTE_MS) * MINUTE_MS).toISOString();
      const own = (counted[environmentId] ??= {});
      const counters = (own[minute] ??= { requests: 0, classes: [0, 0, 0, 0], bytes: 0, steps: [] });
      counters.requests += 1;
      counters.bytes += line.bytes;
      const kind = Math.floor(line.status / 100) - 2;
      if (kind >= 0 && kind < 4) counters.classes[kind] = (counters.classes[kind] ?? 0) + 1;
      const found = STEPS_MS.findIndex((end) => line.durationMs <= end);
      const step = found === -1 ? STEPS_MS.length - 1 : found;
      while (counters.steps.length <= step) counters.steps.push(0);
      counters.steps[step] = (counters.steps[step] ?? 0) + 1;
      touched.set(environmentId, (touched.get(environmentId) ?? new Set()).add(minute));
    },
    /** Gives the minutes of an environment that have grown. */
    grown: (environmentId: string): Minute[] =>
      [...(touched.get(environmentId) ?? [])].toSorted().flatMap((minute) => {
        const counters = counted[environmentId]?.[minute];
        return counters === undefined ? [] : [shown(minute, counters)];
      }),
    environments: () => [...touched.keys()],
    /** Gives the counters of minutes that may still grow. */
    open: (): OpenMinutes =>
      Object.fromEntries(
        Object.entries(counted).map(([id, minutes]) => [
          id,
          Object.fromEntries(Object.entries(minutes).toSorted(byMinute).slice(-OPEN_MINUTES)),
        ]),
      ),
  };
}

const byMinute = ([a]: [string, unknown], [b]: [string, unknown]): number => (a < b ? -1 : 1);

function shown(minute: string, { requests, classes, bytes, steps }: Counters): Minute {
  const [s2xx = 0, s3xx = 0, s4xx = 0, s5xx = 0] = classes;
  const [p50Ms, p95Ms] = [percentile(steps, 0.5 * requests), percentile(steps, 0.95 * requests)];
  return { minute, requests, s2xx, s3xx, s4xx, s5xx, p50Ms, p95Ms, bytes };
}

function percentile(steps: readonly number[], rank: number): number {
  let sum = 0;
  const at = steps.findIndex((count) => (sum += count) >= rank);
  return STEPS_MS[at] ?? 0;
}
