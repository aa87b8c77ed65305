import { describe, expect, it } from 'vitest';
import type { CostPart, CostSummary } from '@svc/sdk';
import { courseChart, daysChart, daysOfMonth } from './chart.ts';

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

const hrefOf = (day: string): string => `/${day}`;

describe('daysChart()', () => {
  const ids = ['a', 'b', 'c', 'd', 'e', 'f'];
  const month = summary({
    byProject: [...ids.map((id) => part(id, '6')), part(undefined, '1')],
    byDay: [
      dayOf('2026-11-02', [part('a', '6'), { ...part(undefined, '2'), others: 2 }]),
      dayOf('2026-11-03', [part('b', '3'), part(undefined, '1')]),
    ],
  });

  it('has a series for the greatest projects, and one for the rest', () => {
    const { series, points } = daysChart(month, { anomalies: [], hrefOf });
    expect(series.map(({ name }) => name)).toEqual([
      ...ids.slice(0, 5).map((id) => `name of ${id}`),
      '2 others',
    ]);
    expect(points).toHaveLength(30);
    expect(points.map(({ href }) => href).slice(0, 4)).toEqual([
      undefined,
      '/2026-11-02',
      '/2026-11-03',
      undefined,
    ]);
    expect(series.map(({ values }) => values.slice(0, 3))).toEqual([
      [undefined, 6, 0],
      [undefined, 0, 3],
      ...[0, 0, 0].map(() => [undefined, 0, 0]),
      [undefined, 2, 1],
    ]);
  });

  it('leaves a project its colour when ranks change', () => {
    const colours = (of: CostSummary) =>
      Object.fromEntries(
        daysChart(of, { anomalies: [], hrefOf }).series.map(({ name, colour }) => [name, colour]),
      );
    const before = colours(month);
    const after = colours({ ...month, byProject: month.byProject.toReversed() });
    expect(Object.keys(after)).toContain('name of f');
    for (const id of ['b', 'c', 'd', 'e'])
      expect(after[`name of ${id}`] ?? before[`name of ${id}`]).toBe(before[`name of ${id}`]);
    expect(before['2 others']).toBe('rest');
  });

  it('has no values without costs', () => {
    expect(daysChart(summary({}), { anomalies: [], hrefOf }).series).toEqual([]);
  });
});

describe('courseChart()', () => {
  const valuesOf = (more: Partial<CostSummary>) =>
    courseChart(summary(more)).series.map(({ values }) => values.map((each, n) => [n, each] as const));

  it('adds up the days until today, and goes on to the forecast', () => {
    const [known, ahead] = valuesOf({
      byDay: [dayOf('2026-11-01', [part('a', '1')]), dayOf('2026-11-10', [part('a', '1')])],
      forecast: { list: '4', net: '4', method: 'linear' },
    });
    expect(known?.filter(([, value]) => value !== undefined)).toEqual([
      ...Array.from({ length: 9 }, (_, n) => [n, 1]),
      [9, 2],
    ]);
    expect(ahead?.filter(([, value]) => value !== undefined)).toEqual([[29, 4]]);
  });

  it('ends today without a forecast', () => {
    expect(valuesOf({})).toHaveLength(1);
  });

  it('has no forecast of a month that is over', () => {
    expect(
      valuesOf({ asOf: '2026-12-02T00:00:00Z', forecast: { list: '4', net: '4', method: 'linear' } }),
    ).toHaveLength(1);
  });
});
