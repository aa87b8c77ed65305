/** Included time against budgets and gates, of an installation that charges. */
import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createMoneyWorld, type MoneyWorld } from '../../../test/setup/money/months.ts';
import { has } from '../../../test/setup/needs.ts';
import type { SqlTag } from '../../base/db/index.ts';
import { newId } from '../../base/ids.ts';
import { OF_NO_PLACE, seedDays } from '../costs/testing/days.ts';
import { paidMonth, paidMonths } from '../plans/index.ts';
import { usageLines } from '../statements/index.ts';
import { evaluate, markDirty } from './index.ts';
import { measure } from './measure.ts';

/** Included time of the free plan. */
const POOL_MS = 120_000_000;
const NOW = new Date('2026-05-20T12:00:00Z');

describe.skipIf(!(await has('postgres')))('included time', () => {
  let world: MoneyWorld;
  let sql: SqlTag;
  beforeAll(async () => {
    world = await createMoneyWorld();
    ({ sql } = world.db);
  });
  afterAll(async () => await world?.drop());
  beforeEach(async () => {
    now = NOW;
    await sql`truncate spend_dirty, spend_gates, budget_notices, outbox`;
  });

  let now = NOW;
  const pricing = { currency: 'usd', charges: true };
  const deps = () => ({ db: world.db, clock: { now: () => now, monotonicMs: () => 0 }, ...pricing });
  const pass = async () => {
    while (await evaluate(deps()));
  };
  const team = async (payerId?: string) => {
    const id = await world.team();
    if (payerId !== undefined) await world.pays(payerId, [id]);
    return id;
  };
  const budget = async (
    teamId: string,
    limitCents: number,
    more: { environmentId?: string; enforcement?: string } = {},
  ) => {
    const { environmentId = '', enforcement = 'hold' } = more;
    await sql`
      insert into budgets (id, team_id, environment_id, limit_cents, enforcement, created_at, updated_at)
      values (${newId('bdg')}, ${teamId}, ${environmentId}, ${limitCents}, ${enforcement}, now(), now())`;
  };
  const use = async (teamId: string, ms: number, more: { day?: string; environmentId?: string } = {}) => {
    await seedDays(sql, [{ ...OF_NO_PLACE, teamId, day: '2026-05-20', ms, ...more }]);
    await markDirty(sql, [teamId]);
  };
  const gates = async () =>
    await sql`select team_id as "teamId", cause from spend_gates order by team_id, cause`;
  const near = async (teamId: string) =>
    (
      await sql<Array<{ threshold: string }>>`
        select payload ->> 'threshold' as threshold from outbox where team_id = ${teamId} and kind = 'included_time.near' order by id`
    ).map(({ threshold }) => Number(threshold));

  it('is not blocked by a budget of 0, which holds what comes behind it', async () => {
    const payer = newId('user');
    const teamId = await team(payer);
    await world.plan(payer, 'team', '2026-01-01T00:00:00Z');
    await budget(teamId, 0);
    await use(teamId, 599_999_999);
    await pass();
    expect(await gates()).toEqual([]);
    await use(teamId, 2);
    await pass();
    expect(await gates()).toEqual([{ teamId, cause: 'budget' }]);
    const [held] = await sql`select details from spend_gates`;
    expect(held!['details']).toMatchObject({ spent: '0.000000100000', monthlyLimit: 0, percentUsed: 100 });
  });

  it('of a plan that ends with it holds all teams of the payer, who are told on the way, once', async () => {
    const payer = newId('user');
    const [one, two] = [await team(payer), await team(payer)];
    const alone = await team();
    await use(one, POOL_MS * 0.8);
    await pass();
    expect([await near(one), await near(two), await near(alone)]).toEqual([[75], [75], []]);
    await use(two, POOL_MS * 0.2 - 1);
    await pass();
    expect(await gates()).toEqual([]);
    expect([await near(one), await near(two)]).toEqual([
      [75, 90],
      [75, 90],
    ]);
    await use(two, 1);
    await Promise.all([pass(), pass()]);
    expect(await gates()).toEqual(
      [one, two].toSorted().map((teamId) => ({ teamId, cause: 'included_time' })),
    );
    expect([await near(one), await near(two)]).toEqual([
      [75, 90, 100],
      [75, 90, 100],
    ]);
    const [held] = await sql`select details from spend_gates limit 1`;
    expect(held!['details']).toEqual({
      plan: 'free',
      includedSeconds: 120_000,
      usedSeconds: 120_000,
      resetsAt: '2026-06-01T00:00:00.000Z',
      changedBy: 'the account that pays for the team',
    });
    now = new Date('2026-06-01T00:00:00Z');
    await pass();
    expect(await gates()).toEqual([]);
  });

  it('grows with the plan: its gate goes, and people are told of the new size anew', async () => {
    const payer = newId('user');
    const teamId = await team(payer);
    await use(teamId, POOL_MS);
    await pass();
    expect(await gates()).toHaveLength(1);
    await world.plan(payer, 'business', '2026-05-20T13:00:00Z');
    await markDirty(sql, [teamId]);
    await pass();
    expect(await gates()).toEqual([]);
    expect(await near(teamId)).toEqual([100]);
    await use(teamId, 1_100_000_000);
    await pass();
    expect(await near(teamId)).toEqual([100, 100]);
    expect(await gates()).toEqual([]);
  });

  it('is that of who pays now: a team that another account took over is let in without any work', async () => {
    const [poor, rich] = [newId('user'), newId('user')];
    const teamId = await team(poor);
    await world.plan(rich, 'business', '2026-01-01T00:00:00Z');
    await use(teamId, POOL_MS);
    await pass();
    expect(await gates()).toHaveLength(1);
    await world.pays(rich, [teamId], '2026-05-20T12:00:01Z');
    await pass();
    expect(await gates()).toEqual([]);
  });

  it('of many payers at once is what it is of each', async () => {
    const period = '2026-05-01';
    const part = fc.record({
      payer: fc.constantFrom(undefined, 'a', 'b', 'c'),
      plan: fc.constantFrom('free', 'team', 'business'),
      days: fc.array(
        fc.record({
          day: fc.integer({ min: 1, max: 20 }),
          ms: fc.integer({ min: 1, max: 90_000_000 }),
          environmentId: fc.constantFrom('', 'e1', 'e2'),
          runnerId: fc.constantFrom('rnr_1', 'rnr_2'),
        }),
        { maxLength: 12 },
      ),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(part, { minLength: 1, maxLength: 5 }), async (parts) => {
        const run = newId('user');
        const teamIds: string[] = [];
        for (const { payer, plan: name, days } of parts) {
          const payerId = payer === undefined ? undefined : `${run}${payer}`;
          const teamId = await team(payerId);
          teamIds.push(teamId);
          if (payerId !== undefined) await world.plan(payerId, name, '2026-05-05T00:00:00Z');
          await budget(teamId, 1);
          for (const { day, ms, environmentId, runnerId } of days) {
            const used = { teamId, projectId: '', environmentId, runnerId, ms };
            await seedDays(sql, [{ ...used, day: `2026-05-${String(day).padStart(2, '0')}` }]);
          }
        }
        const { budgets } = await measure(sql, { ...pricing, now, teamIds });
        for (const each of budgets) expect((each.forecast() ?? 0n) <= each.forecastMax).toBe(true);
        const many = await paidMonths({ sql }, { teamIds, period, charges: true });
        for (const teamId of teamIds) {
          const one = await paidMonth({ sql }, { teamId, period, charges: true });
          expect(many.find((each) => each.teamIds.includes(teamId))).toEqual(one);
          const lines = await usageLines(sql, { teamId, period, coverage: one.coverage, currency: 'usd' });
          const net = lines.reduce((sum, { list, included }) => sum + list - included, 0n);
          expect(budgets.find((each) => each.teamId === teamId)!.spent).toBe(net);
        }
      }),
      { numRuns: 15 },
    );
  });
});
