import { describe, expect, it } from 'vitest';
import type { CostPart, CostSummary } from '@svc/sdk';
import { barsOf, courseOf, daysOfMonth } from './chart.ts';

const part = (id: string | undefined, list: string): CostPart => ({
  ...(id !== undefined && { id, name: `name of ${id}` }),
  meteredSeconds: 1,
  list,
  included: '0.000000000000',
  net: list,
  netCents: 0,
});

const dayOf = (date: string, projects: readonly CostPart[]) => {
  const list = String(projects.reduce((sum, each) => sum + Number(each.list), 0));
  return { day: date, meteredSeconds: 1, list, included: '0', net: list, netCents: 0, projects };
};

const summary = (more: Partial<CostSummary>): CostSummary => ({
  currency: 'usd',
  since: '2026-11-01',
  until: '2026-11-11',
  asOf: '2026-11-10T12:00:00Z',
  usage: { meteredSeconds: 0, selfReportedSeconds: 0, events: 0 },
  list: '0',
  included: '0',
  net: '0',
  netCents: 0,
  byDay: [],
  byProject: [],
  byEnvironment: [],
  byRunner: [],
  byMeter: [],
  decimals: 2,
  ...more,
});

describe('daysOfMonth()', () => {
  it('knows the lengths of months', () => {
    expect(
      ['2026-02-01', '2028-02-01', '2026-11-01', '2026-12-01'].map((since) => daysOfMonth(since).length),
    ).toEqual([28, 29, 30, 31]);
    expect(daysOfMonth('2026-11-01').at(-1)).toBe('2026-11-30');
  });
});

describe('barsOf()', () => {
  it('stacks the greatest projects, and the rest in one, up to the highest day', () => {
    const ids = ['a', 'b', 'c', 'd', 'e', 'f'];
    const { bars, series, highest } = barsOf(
      summary({
        byProject: [...ids.map((id) => part(id, '6')), part(undefined, '1')],
        byDay: [
          dayOf('2026-11-02', [part('a', '6'), { ...part(undefined, '2'), others: 2 }]),
          dayOf('2026-11-03', [part('b', '3'), part(undefined, '1')]),
        ],
      }),
    );
    expect(series.map(({ id, others }) => id ?? others)).toEqual(['a', 'b', 'c', 'd', 'e', 2]);
    expect(highest).toBe(8);
    expect(bars).toHaveLength(30);
    expect(bars[0]!.segments).toEqual([]);
    expect(bars[1]!.segments).toEqual([
      { series: 0, from: 0, size: 0.75 },
      { series: 5, from: 0.75, size: 0.25 },
    ]);
    expect(bars[2]!.segments).toEqual([
      { series: 1, from: 0, size: 0.375 },
      { series: 5, from: 0.375, size: 0.125 },
    ]);
  });

  it('has no height without costs', () => {
    expect(barsOf(summary({})).bars.every(({ segments }) => segments.length === 0)).toBe(true);
  });
});

describe('courseOf()', () => {
  it('adds up the days until today, and goes on to the forecast', () => {
    const course = courseOf(
      summary({
        byDay: [dayOf('2026-11-01', [part('a', '1')]), dayOf('2026-11-10', [part('a', '1')])],
        forecast: { list: '4', net: '4', method: 'linear' },
      }),
    );
    expect(course.known).toHaveLength(11);
    expect(course.known.at(-1)).toEqual([10 / 30, 0.5]);
    expect(course.ahead).toEqual([
      [10 / 30, 0.5],
      [1, 1],
    ]);
  });

  it('ends today without a forecast', () => {
    expect(courseOf(summary({})).ahead).toEqual([]);
  });
});
