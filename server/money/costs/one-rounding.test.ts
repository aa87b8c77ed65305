/** A month in minor units is the same in the summary, in what is pending, and on the statement. */
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { askSummary, costsCtx } from '../../../test/setup/money/asked.ts';
import { createMoneyWorld, pricing, type MoneyWorld } from '../../../test/setup/money/months.ts';
import { has } from '../../../test/setup/needs.ts';
import { payableStep } from '../amounts/index.ts';
import { openNets, pendingCents } from '../statements/index.ts';
import { seedDays } from './testing/days.ts';

describe.skipIf(!(await has('postgres')))('minor units', () => {
  let world: MoneyWorld;
  beforeAll(async () => (world = await createMoneyWorld()));
  afterAll(async () => await world?.drop());

  const figures = async (teamId: string, currency: string) => {
    const prices = pricing(false, currency);
    const asking = { db: world.db, teamId, now: new Date('2026-11-01T00:00:00Z') };
    const all = await askSummary(asking, { since: '2026-09-01', until: '2026-11-01' }, prices);
    const pending = pendingCents(await openNets(costsCtx('Summary', asking), { teamId, ...prices }));
    return { summary: all.netCents, parts: all.byDay.reduce((sum, day) => sum + day.netCents, 0), pending };
  };
  const METERS = ['run.runner', 'run.service', 'build.runner', 'build.service'] as const;

  it('of lines that are half a cent each are a cent each, everywhere', async () => {
    await world.openFrom('2026-09-01');
    const teamId = await world.team();
    // Each line is 0.005, and the sum of them is 0.02.
    for (const meter of METERS)
      await seedDays(world.db.sql, [{ teamId, day: '2026-10-05', meter, ms: 50_000 }]);
    expect(await figures(teamId, 'usd')).toEqual({ summary: 4, parts: 4, pending: 4 });
    const { months } = await world.close('2026-11-01T01:00:00Z');
    expect(months.at(-1)).toMatchObject({ netCents: 4 });
  });

  it('are the same whatever was used, over months too', async () => {
    const row = fc.record({
      day: fc.constantFrom('2026-09-30', '2026-10-01', '2026-10-31'),
      meter: fc.constantFrom(...METERS),
      ms: fc.integer({ min: 1, max: 90_000_000 }),
    });
    const currencies = fc.constantFrom('usd', 'kwd', 'isk', 'jpy');
    await fc.assert(
      fc.asyncProperty(fc.array(row, { minLength: 1, maxLength: 12 }), currencies, async (rows, currency) => {
        await world.openFrom('2026-09-01');
        const teamId = await world.team();
        await seedDays(
          world.db.sql,
          rows.map((each) => ({ teamId, ...each })),
        );
        const said = await figures(teamId, currency);
        await world.close('2026-11-01T01:00:00Z', { currency });
        const [stated] = await world.db.sql<Array<{ net: number }>>`
          select sum(net_cents)::bigint as net from statements where team_id = ${teamId}`;
        expect(said).toEqual({ summary: stated?.net, parts: stated?.net, pending: stated?.net });
        expect(said.summary % payableStep(currency)).toBe(0);
      }),
      { numRuns: 16 },
    );
  });
});
