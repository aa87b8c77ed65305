import { describe, expect, it } from 'vitest';
import { hourOf } from './requests.ts';

const minute = (at: string, s2xx: number, s5xx: number) => ({
  minute: `2026-01-02T${at}:00Z`,
  requests: s2xx + s5xx,
  s2xx,
  s3xx: 0,
  s4xx: 0,
  s5xx,
  p50Ms: 5,
  p95Ms: 20,
  bytes: 1,
});

describe('the requests of an hour', () => {
  it('are bars of 60 minutes, of which those without requests have none', () => {
    const hour = hourOf([minute('03:01', 5, 0), minute('03:59', 7, 2)], Date.parse('2026-01-02T03:59:30Z'));
    expect(hour).toMatchObject({ requests: 14, failures: 2 });
    expect(hour.data.points).toHaveLength(60);
    const [ok, , , failed] = hour.data.series;
    expect([ok?.values[0], ok?.values[1], ok?.values[59], failed?.values[59]]).toEqual([0, 5, 7, 2]);
    expect([hour.slow[0], hour.slow[1]]).toEqual(['–', '20 ms']);
  });
});
