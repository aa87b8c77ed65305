/** Makes the chart of an hour: the requests of each minute by the class of their answers. */
import type { NginxMinute } from '@svc/sdk';
import type { ChartData } from '../../parts/chart-data.ts';

const MINUTES = 60;
const MINUTE_MS = 60_000;

const CLOCK = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' });

const CLASSES = [
  { name: '2xx', colour: 1, of: ({ s2xx }: NginxMinute) => s2xx },
  { name: '3xx', colour: 'rest', of: ({ s3xx }: NginxMinute) => s3xx },
  { name: '4xx', colour: 2, of: ({ s4xx }: NginxMinute) => s4xx },
  { name: '5xx', colour: 5, of: ({ s5xx }: NginxMinute) => s5xx },
] as const;

export interface Hour {
  readonly data: ChartData;
  /** Times within which most requests were answered, a text a point. */
  readonly slow: readonly string[];
  readonly requests: number;
  readonly failures: number;
}

export function hourOf(minutes: readonly NginxMinute[], nowMs: number): Hour {
  const last = Math.floor(nowMs / MINUTE_MS) * MINUTE_MS;
  const byTime = new Map(minutes.map((each) => [Date.parse(each.minute), each]));
  const times = Array.from({ length: MINUTES }, (_, n) => last - (MINUTES - 1 - n) * MINUTE_MS);
  const known = times.map((time) => byTime.get(time));
  return {
    data: {
      kind: 'bars',
      points: times.map((time) => ({ name: CLOCK.format(time), tick: CLOCK.format(time) })),
      series: CLASSES.map(({ name, colour, of }) => ({
        name,
        colour,
        values: known.map((each) => (each === undefined ? 0 : of(each))),
      })),
    },
    slow: known.map((each) => (each === undefined ? '–' : `${each.p95Ms} ms`)),
    requests: minutes.reduce((sum, each) => sum + each.requests, 0),
    failures: minutes.reduce((sum, each) => sum + each.s5xx, 0),
  };
}
