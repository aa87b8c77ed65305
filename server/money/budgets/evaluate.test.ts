/** Spending held against budgets and plans: who is told, whose new work is refused, and until when. */
import { BudgetsService } from '@svc/proto/gen/svc/budgets/v1/budgets_pb.ts';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createBuildWorld, type BuildWorld } from '../../../test/setup/builds/build-world.ts';
import { held } from '../../../test/setup/money/held.ts';
import { publishAll } from '../../../test/setup/money/months.ts';
import { has } from '../../../test/setup/needs.ts';
import { waitFor } from '../../../test/setup/wait-for.ts';
import { callUnary } from '../../../test/setup/work/ctx.ts';
import { openDatabase, type Database, type SqlTag } from '../../base/db/index.ts';
import { OF_NO_PLACE, seedDays } from '../costs/testing/days.ts';
import { metered } from '../metering/index.ts';
import { createBudgets, evaluate, evaluateAll, markDirty, percentUsed, spendDirtied } from './index.ts';

/** A cent is a hundred seconds at the first price. */
const CENT_MS = 100_000;

describe.skipIf(!(await has('postgres')))('spending', () => {
  let world: BuildWorld;
  let sql: SqlTag;
  let teamId: string;
  let now = new Date();
  const clock = { now: () => now, monotonicMs: () => 0 };
  beforeAll(async () => {
    world = await createBuildWorld();
    ({ sql } = world.db);
  });
  afterAll(async () => await world?.drop());
  beforeEach(async () => {
    now = new Date('2026-05-20T12:00:00Z');
    await sql`truncate spend_dirty, spend_gates, budget_notices, outbox`;
    teamId = await world.team();
  });

  const pricing = { currency: 'usd', charges: false };
  const deps = (db: Database = world.db) => ({
    db,
    clock,
    ...pricing,
    onError: (error: unknown) => {
      throw error;
    },
  });
  const set = async (request: {
    monthlyLimit: number;
    hold?: boolean;
    enabled?: boolean;
    id?: string;
    projectId?: string;
  }) => {
    const { hold, ...rest } = request;
    const handlers = createBudgets(deps());
    const enforcement = hold === undefined ? {} : { enforcement: hold ? 2 : 1 };
    return await callUnary(handlers, BudgetsService.method.set, {
      request: { teamId, ...rest, ...enforcement },
      options: { db: world.db, userId: world.userId, teamIds: [teamId] },
    });
  };
  const remove = async (budgetId: string) =>
    await callUnary(createBudgets(deps()), BudgetsService.method.delete, {
      request: { teamId, budgetId },
      options: { db: world.db, userId: world.userId, teamIds: [teamId] },
    });
  const spend = async (cents: number, day = now.toISOString().slice(0, 10)) => {
    await seedDays(sql, [{ ...OF_NO_PLACE, teamId, day, ms: cents * CENT_MS }]);
    await markDirty(sql, [teamId]);
  };
  const pass = async (more: object = {}) => {
    while (await evaluate({ ...deps(), ...more }));
  };
  const texts = (rows: readonly Record<string, unknown>[]) => rows.map(({ text }) => String(text));
  const told = async () =>
    texts(
      await sql<Array<{ text: string }>>`
      select kind || ' ' || (payload ->> 'threshold') as text from outbox where team_id = ${teamId} and kind <> 'work.finished' order by id`,
    );
  const gates = async (of = teamId) =>
    texts(
      await sql`
      select trim(cause || ' ' || scope) as text from spend_gates where team_id = ${of} order by 1`,
    );
  const ledger = async () =>
    texts(
      await sql`
      select action as text from audit_entries where chain = ${teamId} and action like 'spend.%' order by seq`,
    );

  it('is told of once, whoever looks, of several thresholds the highest, and anew of a changed limit', async () => {
    const { id } = await set({ monthlyLimit: 1, hold: false });
    await spend(50);
    await Promise.all([pass(), pass(), pass()]);
    expect(await told()).toContain('budget.threshold 50');
    await spend(60);
    const other = openDatabase({ url: world.url, max: 2 });
    await Promise.all([pass(), pass({ db: other }), pass(), pass({ db: other })]);
    await other.close(1_000);
    await spend(1);
    await pass();
    const threshold = (texts: readonly string[]) =>
      texts.filter((text) => text.startsWith('budget.threshold'));
    expect(threshold(await told())).toEqual(['budget.threshold 50', 'budget.threshold 100']);
    const [row] =
      await sql`select payload from outbox where team_id = ${teamId} and payload ->> 'threshold' = '100' and kind = 'budget.threshold'`;
    expect(row!['payload']).toMatchObject({
      budgetId: id,
      month: '2026-05-01',
      monthlyLimit: 1,
      spent: '1.100000000000',
      percentUsed: 110,
      title: expect.stringContaining('110 % of the budget of 1.00 USD for the team') as string,
    });
    await set({ monthlyLimit: 1 });
    expect(threshold(await told())).toHaveLength(2);
    await set({ monthlyLimit: 1.2 });
    expect(threshold(await told())).toEqual([
      'budget.threshold 50',
      'budget.threshold 100',
      'budget.threshold 80',
    ]);
    expect(await gates()).toEqual([]);
  });

  it('is held against the budgets of all teams but one on which that fails, and on which it waits', async () => {
    const poisoned = teamId;
    await set({ monthlyLimit: 1, hold: true });
    await spend(150);
    teamId = await world.team();
    await set({ monthlyLimit: 1, hold: true });
    await spend(150);
    await sql.unsafe(`create function refuse() returns trigger language plpgsql as $$ begin raise exception 'not this one'; end $$;
      create trigger refusing before insert on spend_gates for each row when (new.team_id = '${poisoned}') execute function refuse()`);
    const errors: unknown[] = [];
    const evaluated = async () =>
      await evaluateAll({ ...deps(), onError: (error: unknown) => void errors.push(error) });
    await evaluated();
    expect(await gates()).toEqual(['budget']);
    expect(await gates(poisoned)).toEqual([]);
    expect(errors).toMatchObject([{ message: 'not this one' }]);
    await sql.unsafe('drop trigger refusing on spend_gates; drop function refuse()');
    await evaluated();
    expect(await gates(poisoned)).toEqual(['budget']);
  });

  it('is told of when the forecast passes the limit, before the limit is', async () => {
    for (let day = 1; day < 20; day += 1) await spend(1, `2026-05-${String(day).padStart(2, '0')}`);
    await set({ monthlyLimit: 0.3 });
    expect((await told()).toSorted()).toEqual(['budget.forecast 100', 'budget.threshold 50']);
    await markDirty(sql, [teamId]);
    await pass();
    expect(await told()).toHaveLength(2);
    const [row] =
      await sql`select payload from outbox where team_id = ${teamId} and kind = 'budget.forecast'`;
    expect(row!['payload']).toMatchObject({ forecast: '0.310000000000', spent: '0.190000000000' });
  });

  it('of a budget that is made in mid-month is all of the month', async () => {
    await spend(99, '2026-05-01');
    await spend(500, '2026-04-30');
    expect(await set({ monthlyLimit: 1, hold: true })).toMatchObject({
      percentUsed: 99,
      spent: '0.990000000000',
    });
    expect(await gates()).toEqual([]);
  });

  it('beyond a budget that holds refuses new work until the limit is raised, it is switched off, or it is gone', async () => {
    const { id } = await set({ monthlyLimit: 1, hold: true });
    await spend(100);
    await pass();
    expect(await gates()).toEqual(['budget']);
    await expect(world.submit(teamId)).rejects.toMatchObject({
      code: 'spend_refused',
      status: 402,
      details: {
        cause: 'budget',
        budgetId: id,
        monthlyLimit: 1,
        currency: 'usd',
        spent: '1.000000000000',
        percentUsed: 100,
        resetsAt: '2026-06-01T00:00:00.000Z',
        changedBy: 'admins and owners of the team',
      },
    });
    await set({ monthlyLimit: 2 });
    await world.submit(teamId);
    await set({ monthlyLimit: 1 });
    expect(await gates()).toEqual(['budget']);
    await set({ monthlyLimit: 1, enabled: false });
    expect(await gates()).toEqual([]);
    await set({ monthlyLimit: 1, enabled: true });
    await set({ monthlyLimit: 1, hold: false });
    expect(await gates()).toEqual([]);
    await set({ monthlyLimit: 1, hold: true });
    expect(await gates()).toEqual(['budget']);
    await remove(id);
    await waitFor('the gate to go', async () => (await gates()).length === 0);
    expect(await ledger()).toEqual(
      Array.from({ length: 8 }, (_one, n) => (n % 2 === 0 ? 'spend.held' : 'spend.released')),
    );
  });

  it('of a new month is none: gates go by themselves, and stay where that month is spent too', async () => {
    await set({ monthlyLimit: 1, hold: true });
    await spend(150);
    await pass();
    now = new Date('2026-05-31T23:59:59.999Z');
    await pass();
    expect(await gates()).toEqual(['budget']);
    now = new Date('2026-06-01T00:00:00.000Z');
    await pass();
    expect(await gates()).toEqual([]);
    await spend(100);
    await pass();
    now = new Date('2026-07-01T00:00:00.000Z');
    await spend(100);
    await pass();
    const [row] =
      await sql`select since, details ->> 'resetsAt' as until from spend_gates where team_id = ${teamId}`;
    expect(row).toEqual({ since: now, until: '2026-08-01T00:00:00.000Z' });
    expect(await ledger()).toEqual(['spend.held', 'spend.released', 'spend.held']);
    expect(await told()).toEqual(['budget.threshold 100', 'budget.threshold 100', 'budget.threshold 100']);
  });

  it('that is published while an evaluation runs is seen by it or by the next one', async () => {
    await set({ monthlyLimit: 1, hold: true });
    await markDirty(sql, [teamId]);
    // Costs whose statement found the mark there, and is not committed.
    const publishing = held(world.db, async (tx) => {
      await seedDays(tx.sql, [{ ...OF_NO_PLACE, teamId, day: '2026-05-20', ms: 100 * CENT_MS }]);
      await markDirty(tx.sql, [teamId]);
    });
    await publishing.began;
    await pass();
    expect(await gates()).toEqual([]);
    await publishing.end();
    await pass();
    expect(await gates()).toEqual(['budget']);
  });

  it('that is published behind an evaluation waits for it and is marked again', async () => {
    await set({ monthlyLimit: 1, hold: true });
    await markDirty(sql, [teamId]);
    await world.db.transact(async (tx) => {
      await tx.sql`delete from spend_dirty`; // As an evaluation does first.
      const publishing = spend(100);
      await waitFor('the mark to wait', async () => {
        const [row] =
          await sql`select count(*)::int as count from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
        return row!['count'] === 1;
      });
      tx.afterCommit(() => void publishing);
    });
    await waitFor('the mark', async () => (await sql`select from spend_dirty`).count === 1);
    await pass();
    expect(await gates()).toEqual(['budget']);
  });

  it('is looked at again when its worker dies in the middle', async () => {
    await set({ monthlyLimit: 1, hold: true });
    await spend(100);
    const dying = openDatabase({ url: world.url, max: 2, name: 'svc-dying' });
    // The head of the chain is what an evaluation locks last: everything else is written.
    await world.db.transact(async (tx) => {
      await tx.sql`select from audit_heads where chain = ${teamId} for update`;
      const lost = evaluate(deps(dying)).catch(() => 'lost');
      await waitFor('the evaluation to wait', async () => {
        const { count } =
          await sql`select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'svc-dying' and wait_event_type = 'Lock'`;
        return count === 1;
      });
      expect(await lost).toBe('lost');
    });
    await dying.close(100);
    expect([await told(), await gates(), await ledger()]).toEqual([[], [], []]);
    await pass();
    expect([await told(), await gates(), await ledger()]).toEqual([
      ['budget.threshold 100'],
      ['budget'],
      ['spend.held'],
    ]);
  });

  it('meets the last limit, whatever is set while evaluations run', async () => {
    const { id } = await set({ monthlyLimit: 1, hold: true });
    await spend(150);
    for (const limit of [2, 1, 3, 1.4, 1.6]) {
      await Promise.all([set({ id, monthlyLimit: limit }), pass(), spend(0).then(() => pass())]);
      await pass();
      expect([limit, await gates()]).toEqual([limit, limit > 1.5 ? [] : ['budget']]);
    }
  });

  it('of a team that is gone leaves no gate', async () => {
    await set({ monthlyLimit: 1, hold: true });
    await spend(100);
    await pass();
    await sql`delete from teams where id = ${teamId}`;
    await markDirty(sql, [teamId]);
    await pass();
    expect(await gates()).toEqual([]);
  });

  it('marks teams with budgets when their work is published, and all teams of an installation that charges', async () => {
    const runnerId = await world.runner(teamId);
    const ran = async (charges: boolean) => {
      const id = await world.submit(teamId);
      const grant = await world.poll(runnerId);
      await world.report(runnerId, { id, epoch: grant!.epoch });
      await publishAll(sql, { effects: [metered('usd'), spendDirtied({ charges })] });
      return (await sql`delete from spend_dirty where team_id = ${teamId} returning 1`).count;
    };
    expect([await ran(false), await ran(true)]).toEqual([0, 1]);
    const { id } = await set({ monthlyLimit: 5 });
    expect([await ran(false), await ran(true)]).toEqual([1, 1]);
    await set({ id, monthlyLimit: 5, enabled: false });
    expect(await ran(false)).toBe(0);
  });

  it('of a team is the greatest of its budgets in percent, and of one without a budget nothing', async () => {
    const other = await world.team();
    const whole = await set({ monthlyLimit: 10 });
    const [row] =
      await sql`insert into projects (id, team_id, name, slug, created_at) values (${`prj_${teamId}`}, ${teamId}, 'p', ${teamId}, now()) returning id`;
    const project = await set({ monthlyLimit: 1, projectId: String(row!['id']) });
    const place = { ...OF_NO_PLACE, projectId: String(row!['id']) };
    await seedDays(sql, [{ ...place, teamId, day: '2026-05-03', ms: 50 * CENT_MS }]);
    const used = async () => await percentUsed(sql, { ...pricing, now, teamIds: [teamId, other] });
    expect(await used()).toEqual(new Map([[teamId, { budgetId: project.id, percentUsed: 50 }]]));
    await set({ id: project.id, monthlyLimit: 1, enabled: false });
    expect(await used()).toEqual(new Map([[teamId, { budgetId: whole.id, percentUsed: 5 }]]));
  });
});
