/** Costs verified: intact after real work, and each row named that somebody with every right has changed. */
import { CostsService } from '@svc/proto/gen/svc/costs/v1/costs_pb.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createMoneyWorld, type MoneyWorld } from '../../../test/setup/money/months.ts';
import { moneyDifferences } from '../../../test/faults/money.ts';
import { has } from '../../../test/setup/needs.ts';
import { callUnary } from '../../../test/setup/work/ctx.ts';
import type { System } from '../../kit/feature.ts';
import { purchase, refund } from '../credits/index.ts';
import { createCosts } from './index.ts';

const PRICE = 'prc_00000000000000000000000001';

describe.skipIf(!(await has('postgres')))('verification', () => {
  let world: MoneyWorld;
  let teamId: string;
  let otherId: string;
  let statementId: string;
  let workId: string;
  const costs = createCosts({} as System, { currency: 'usd', charges: false });
  const verify = async (of = teamId, teamIds = [teamId, otherId]) =>
    await callUnary(costs, CostsService.method.verify, {
      request: { teamId: of },
      options: { db: world.db, userId: 'user_1', teamIds },
    });

  beforeAll(async () => {
    world = await createMoneyWorld();
    await world.openFrom('2026-10-01');
    [teamId, otherId] = [await world.team(), await world.team('other')];
    await world.pays('user_1', [teamId, otherId]);
    await world.plan('user_1', 'team', '2026-10-16T00:00:00Z');
    const at = new Date('2026-10-01T00:00:00Z');
    await purchase(world.db, { teamId, cents: 500, source: 'cs_1', at });
    const seconds = (count: number) => count * 1_000;
    const first = { teamId, at: '2026-10-20T00:00:00Z', runnerId: 'rnr_1' };
    workId = await world.report({ ...first, ms: seconds(300_000) });
    await world.report({ teamId, at: '2026-10-20T01:00:00Z', ms: 7_001, kind: 'build' });
    await world.report({ teamId: otherId, at: '2026-10-20T02:00:00Z', ms: seconds(200_001) });
    await world.publishAll();
    await world.report({ teamId, at: '2026-10-31T02:00:00Z', ms: 5_000 });
    await world.close('2026-11-01T06:00:00Z', { charges: true });
    await world.publishAll();
    await refund(world.db, { purchase: 'cs_1', totalCents: 400, at });
    await world.report({ teamId, at: '2026-11-20T00:00:00Z', ms: seconds(10) });
    await world.publishAll();
    await world.close('2026-12-01T01:00:00Z', { charges: true });
    const [row] = await world.db
      .sql`select id from statements where team_id = ${teamId} and period = '2026-10-01'`;
    statementId = String(row!['id']);
  });
  afterAll(async () => await world?.drop());

  it('finds a ledger intact that real work has made', async () => {
    expect(await verify()).toMatchObject({
      intact: true,
      events: 4,
      days: 4,
      statements: 2,
      differences: [],
    });
    expect(await verify(otherId)).toMatchObject({ intact: true, events: 1, days: 1, statements: 1 });
    expect(await moneyDifferences(world.db.sql.unsafe)).toEqual([]);
  });

  it('is not for another team', async () => {
    await expect(verify('team_other')).rejects.toMatchObject({ code: 'not_found' });
  });

  /** As the owner of the tables, past their triggers, and back again. */
  const tampered = async (table: string, change: string, back: string) => {
    const owner = async (statement: string) =>
      await world.db.transact(async ({ sql }) => {
        const guards = { cost_days: [], statements: ['kept', 'guarded'] }[table] ?? ['append_only'];
        for (const guard of guards)
          await sql.unsafe(`alter table ${table} disable trigger ${table}_${guard}`);
        await sql.unsafe(statement);
        for (const guard of guards)
          await sql.unsafe(`alter table ${table} enable always trigger ${table}_${guard}`);
      });
    await owner(change);
    try {
      const { intact, differences } = await verify();
      expect(intact).toBe(false);
      expect((await moneyDifferences(world.db.sql.unsafe)).length).toBeGreaterThan(0);
      return differences.map(({ table: of, row, problem }) => `${of} ${row}: ${problem}`);
    } finally {
      await owner(back);
      expect((await verify()).intact).toBe(true);
    }
  };
  const named = (start: string, end: string) =>
    expect.stringMatching(new RegExp(`^${start}.*${end}$`)) as string;

  it('names an event, and with it the day', async () => {
    const where = `where work_id = '${workId}'`;
    const day = `cost_days ${teamId} 2026-10-01 2026-10-20 run.runner ${PRICE} rnr_1: it has 1 events of 300000000 ms, themselves reported 0 ms of 0, expected 1 events of 299999999 ms, themselves reported 0 ms of 0`;
    expect(
      await tampered(
        'usage_events',
        `update usage_events set metered_ms = metered_ms - 1 ${where}`,
        `update usage_events set metered_ms = metered_ms + 1 ${where}`,
      ),
    ).toEqual([
      `usage_events ${workId} 2026-10-20T00:00:00.000Z: rated is 30000000000000, expected 29999999900000`,
      day,
    ]);
    const both = (by: string) =>
      `update usage_events set metered_ms = metered_ms ${by} 1, rated = rated ${by} 100000 ${where}`;
    expect(await tampered('usage_events', both('-'), both('+'))).toEqual([day]);
  });

  it('names an event whose price was not in force, and a price that was changed', async () => {
    const where = `where work_id = '${workId}'`;
    const found = await tampered(
      'usage_events',
      `update usage_events set price_id = 'prc_00000000000000000000000003' ${where}`,
      `update usage_events set price_id = '${PRICE}' ${where}`,
    );
    expect(found[0]).toBe(
      `usage_events ${workId} 2026-10-20T00:00:00.000Z: its price is of build.runner, expected run.runner`,
    );
    const set = (nanos: number) => `update prices set nanos_per_second = ${nanos} where id = '${PRICE}'`;
    expect(await tampered('prices', set(200_000), set(100_000))).toEqual(
      expect.arrayContaining([
        named(`usage_events ${workId}`, 'expected 60000000000000'),
        named(`statement_lines ${statementId} 2`, 'list 60000000000000, .*'),
      ]),
    );
  });

  it('names a day, and the line of the statement that it was settled on', async () => {
    const where = `where team_id = '${teamId}' and day = '2026-10-20' and meter = 'build.runner'`;
    const found = await tampered(
      'cost_days',
      `update cost_days set metered_ms = metered_ms + 1000 ${where}`,
      `update cost_days set metered_ms = metered_ms - 1000 ${where}`,
    );
    expect(found).toEqual(
      expect.arrayContaining([
        named('cost_days .* build.runner', 'expected 1 events of 7001 ms, .*'),
        named(`statement_lines ${statementId} 1: it has build.runner`, '8001 ms, .*'),
      ]),
    );
  });

  it('names a line, a statement, and one that is missing', async () => {
    const line = (by: string) =>
      `update statement_lines set net_cents = net_cents ${by} 1 where statement_id = '${statementId}' and n = 2`;
    expect(await tampered('statement_lines', line('-'), line('+'))).toEqual([
      named(`statements ${statementId}: list, net and due are \\d+\\.\\d\\d USD, `, 'credit paid 5.00 USD'),
      named(`statement_lines ${statementId} 2: it has run.runner`, 'net \\d+\\.\\d\\d USD'),
    ]);
    const head = (by: string) =>
      `update statements set list_cents = list_cents ${by} 5, net_cents = net_cents ${by} 5, due_cents = due_cents ${by} 5 where id = '${statementId}'`;
    expect(await tampered('statements', head('-'), head('+'))).toEqual([
      named(`statements ${statementId}: list, net and due are`, ''),
    ]);
    expect(
      await tampered(
        'statements',
        `update statements set period = '2026-08-01' where id = '${statementId}'`,
        `update statements set period = '2026-10-01' where id = '${statementId}'`,
      ),
    ).toEqual([
      `statements ${statementId}: it is of no month that was settled`,
      `statements ${statementId}: the statement of ${teamId} for 2026-10 is not there`,
      named(`statements ${statementId}: its plan is`, ''),
      named(`statement_lines ${statementId} 1: `, 'expected no such line'),
      named(`statement_lines ${statementId} 2: `, 'expected no such line'),
    ]);
  });

  it('lets nobody delete a statement, or change what it says, the owner of the tables neither', async () => {
    for (const statement of [
      'delete from statements',
      'truncate statements',
      'delete from settled_months',
      'update statements set due_cents = due_cents - 1, credit_cents = credit_cents + 1',
      `update statements set period = '2026-01-01'`,
      `update statements set state = 'settled'`,
    ])
      await expect(world.db.sql.unsafe(statement), statement).rejects.toMatchObject({ code: '42501' });
  });

  it('names the last closed month when its statement is missing', async () => {
    await world.db
      .sql`create table gone as select * from statements where team_id = ${teamId} and period = '2026-11-01'`;
    const [gone] = await world.db.sql<Array<{ id: string }>>`select id from gone`;
    const found = await tampered(
      'statements',
      `delete from statements where team_id = '${teamId}' and period = '2026-11-01'`,
      'insert into statements select * from gone',
    );
    expect(found).toContain(`statements ${gone?.id}: the statement of ${teamId} for 2026-11 is not there`);
  });

  it('names credit that no statement used, and entries that do not balance', async () => {
    const cents = (by: string) =>
      `update credit_transfers set cents = cents ${by} 1 where team_id = '${teamId}' and kind = 'usage'`;
    expect(await tampered('credit_transfers', cents('-'), cents('+'))).toEqual([
      named('credit_transfers crt_', `expected ${teamId} available -4.99 USD, ${teamId} consumed 4.99 USD`),
      named('statements stm_.*: credit is 5.00 USD and shortfall 0.00 USD; the ledger took 4.99 USD', ''),
    ]);
    await world.db
      .sql`create table kept as select * from credit_entries where team_id = ${teamId} and account = 'consumed'`;
    const found = await tampered(
      'credit_entries',
      `delete from credit_entries where team_id = '${teamId}' and account = 'consumed'`,
      `insert into credit_entries select * from kept`,
    );
    expect(found[0]).toMatch(`credit_entries ${teamId}: the entries of the team sum to`);
    expect(found.slice(1)).toEqual(expect.arrayContaining([named('credit_transfers crt_', '')]));
  });

  it('tells that the triggers are gone', async () => {
    await world.db.sql.unsafe('alter table prices disable trigger prices_append_only');
    expect((await verify()).differences).toMatchObject([
      {
        table: 'prices',
        row: 'prices_append_only',
        problem: 'the trigger that refuses changes is disabled or missing',
      },
    ]);
    await world.db.sql.unsafe('alter table prices enable always trigger prices_append_only');
  });

  it('shows at most 100 rows', async () => {
    for (let n = 0; n < 120; n += 1)
      await world.report({ teamId: otherId, at: '2026-12-20T00:00:00Z', ms: 1_000, runnerId: `rnr_${n}` });
    await world.publishAll();
    await world.db.sql`update cost_days set events = 2 where team_id = ${otherId} and period = '2026-12-01'`;
    expect((await verify(otherId)).differences).toHaveLength(100);
    await world.db.sql`update cost_days set events = 1 where team_id = ${otherId} and period = '2026-12-01'`;
  });
});
