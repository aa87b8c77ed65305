/**
 * A month is closed once, by whoever comes first, and loses nothing: not by late reports, not by a crash, not
 * by what is deleted.
 */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createMoneyWorld, pricing, type MoneyWorld } from '../../../test/setup/money/months.ts';
import { picked } from '../../../test/setup/money/picked.ts';
import { has } from '../../../test/setup/needs.ts';
import { openDatabase, type SqlTag } from '../../base/db/index.ts';
import { moveOn } from './close.ts';
import { purchase } from '../credits/index.ts';
import { closeDue, openMonth, rehearse } from './index.ts';

/** An hour after the end of October, and right before. */
const DUE = '2026-11-01T01:00:00.000Z';
const TOO_SOON = '2026-11-01T00:59:59.999Z';

describe.skipIf(!(await has('postgres')))('closing', () => {
  let world: MoneyWorld;
  let sql: SqlTag;
  let teamId: string;
  beforeAll(async () => {
    world = await createMoneyWorld();
    ({ sql } = world.db);
  });
  afterAll(async () => await world?.drop());
  beforeEach(async () => {
    await world.openFrom('2026-10-01');
    teamId = await world.team();
  });
  afterEach(async () => {
    world.errors.length = 0;
    await sql`delete from outbox`;
    // A month that another test opens again is closed again; what it holds by then is settled.
    await world.close('2026-12-20T00:00:00Z');
  });

  const statements = async (of = teamId) =>
    await sql`
      select period::text, list_cents as list, net_cents as net, due_cents as due, state from statements where team_id = ${of} order by period`;
  const audited = async (of = teamId) =>
    (await sql<Array<{ action: string }>>`select action from audit_entries where chain = ${of}`).map(
      ({ action }) => action,
    );

  it('waits for an hour, makes a statement of each team that used something, and tells of it', async () => {
    const idle = await world.team('idle');
    await world.report({ teamId, at: '2026-10-31T23:59:59.999Z', ms: 90_500_000 });
    await world.report({ teamId, at: '2026-11-01T00:00:00.000Z', ms: 1_000 });
    await world.publishAll();
    expect(await world.close(TOO_SOON)).toEqual({ months: [], waiting: undefined });
    expect(await openMonth(world.db)).toBe('2026-10-01');
    const { months } = await world.close(DUE);
    expect(months).toEqual([{ period: '2026-10-01', statements: 1, netCents: 905, dueCents: 905 }]);
    expect(await openMonth(world.db)).toBe('2026-11-01');
    expect(await statements()).toEqual([
      { period: '2026-10-01', list: 905, net: 905, due: 905, state: 'closed' },
    ]);
    expect(await statements(idle)).toEqual([]);
    expect(await audited()).toEqual(['statement.closed']);
    const [event] =
      await sql`select payload from outbox where kind = 'statement.closed' and team_id = ${teamId}`;
    expect(event?.['payload']).toMatchObject({
      period: '2026-10',
      dueCents: 905,
      title: 'The statement of acme for 2026-10 is there',
      body: `It comes to 9.05 USD. 9.05 USD is due. svc teams billing ${teamId} shows its lines.`,
    });
    expect(await world.close(DUE)).toEqual({ months: [], waiting: undefined });
  });

  it('closes months oldest first, also those that nobody used', async () => {
    await world.openFrom('2026-01-01');
    await world.report({ teamId, at: '2026-02-28T12:00:00.000Z', ms: 10_000_000 });
    await world.report({ teamId, at: '2026-04-30T12:00:00.000Z', ms: 20_000_000 });
    await world.publishAll();
    const { months } = await world.close('2026-06-15T00:00:00Z');
    expect(picked(months, 'period', 'netCents')).toEqual([
      ['2026-01-01', 0],
      ['2026-02-01', 100],
      ['2026-03-01', 0],
      ['2026-04-01', 200],
      ['2026-05-01', 0],
    ]);
    expect((await statements()).map(({ period }) => period)).toEqual(['2026-02-01', '2026-04-01']);
  });

  it('waits for reports that are not published, for six hours; what comes later counts in the next month, once', async () => {
    await world.report({ teamId, at: '2026-10-20T12:00:00.000Z', ms: 50_000_000 });
    await world.publishAll();
    const late = { id: 'run_late', teamId, at: '2026-10-31T23:59:59.999Z', ms: 70_000_000 };
    await world.report(late);
    await sql`update outbox set created_at = '2026-11-01T00:00:00.004Z' where dedupe_key = 'run_late'`;
    const waiting = { period: '2026-10-01', reports: 1 };
    expect(await world.close(DUE)).toEqual({ months: [], waiting });
    expect(await world.close('2026-11-01T05:59:59.999Z')).toEqual({ months: [], waiting });
    expect(world.errors).toEqual([]);
    await world.close('2026-11-01T06:00:00.000Z');
    expect(world.errors.map(({ message }) => message)).toEqual([
      '1 reports of 2026-10 are not published 6 h after its end: it is closed without them, and they count in the next month',
    ]);
    await world.publishAll();
    await world.report(late);
    await world.publishAll();
    await world.close('2026-12-01T01:00:00Z');
    expect(picked(await statements(), 'period', 'net')).toEqual([
      ['2026-10-01', 500],
      ['2026-11-01', 700],
    ]);
  });

  it('is done once by closers at once, over months and teams', async () => {
    const teams = await Promise.all(Array.from({ length: 6 }, async (_, n) => await world.team(`t${n}`)));
    for (const id of teams)
      for (const at of ['2026-10-05T00:00:00Z', '2026-11-05T00:00:00Z'])
        await world.report({ teamId: id, at, ms: 10_000_000 });
    await world.publishAll();
    const closed = await Promise.all(
      Array.from({ length: 3 }, async () => await world.close('2026-12-01T01:00:00Z')),
    );
    expect(world.errors).toEqual([]);
    const made = closed.flatMap(({ months }) => months).reduce((sum, month) => sum + month.statements, 0);
    expect(made).toBe(12);
    for (const id of teams) {
      expect((await statements(id)).map(({ net }) => net)).toEqual([100, 100]);
      expect(await audited(id)).toEqual(['statement.closed', 'statement.closed']);
    }
  });

  it('goes on where a closer was killed: between the mark and the statements, and in the middle of one', async () => {
    const other = await world.team('other');
    for (const id of [teamId, other])
      await world.report({ teamId: id, at: '2026-10-05T00:00:00Z', ms: 30_000_000 });
    await world.publishAll();
    await moveOn(world.db, '2026-10-01');
    let left = 1;
    const dying: typeof world.db = {
      ...world.db,
      transact: async (work) =>
        await world.db.transact(async (tx) => {
          const result = await work(tx);
          if ((left -= 1) < 0) throw new Error('killed');
          return result;
        }),
    };
    const onError = (error: unknown) => void world.errors.push(error as Error);
    const closing = { db: dying, pricing: pricing(), onError };
    await expect(closeDue(closing, new Date(DUE))).rejects.toThrow(
      '1 statements of 2026-10 are missing: the next month stays open until they are made',
    );
    expect(world.errors.map(({ cause }) => (cause as Error).message)).toEqual(['killed']);
    expect((await statements()).length + (await statements(other)).length).toBe(1);
    await world.close(DUE);
    for (const id of [teamId, other]) {
      expect(await statements(id)).toMatchObject([{ period: '2026-10-01', net: 300 }]);
      expect(await audited(id)).toEqual(['statement.closed']);
    }
  });

  it('makes no second statement of a month that had one, whatever became of that, and uses no credit again', async () => {
    await purchase(world.db, { teamId, cents: 500, source: `cs_${teamId}`, at: new Date(DUE) });
    await world.report({ teamId, at: '2026-10-05T00:00:00Z', ms: 30_000_000 });
    await world.publishAll();
    await world.close(DUE);
    expect(await statements()).toMatchObject([{ net: 300, due: 0, state: 'settled' }]);
    await expect(sql`delete from statements where team_id = ${teamId}`).rejects.toThrow('append-only');
    await world.db.transact(async (tx) => {
      await tx.sql`alter table statements disable trigger statements_kept`;
      await tx.sql`delete from statements where team_id = ${teamId}`;
      await tx.sql`alter table statements enable always trigger statements_kept`;
    });
    await sql`update open_period set settled_month = null`;
    expect(await world.close(DUE)).toEqual({ months: [], waiting: undefined });
    expect(await statements()).toEqual([]);
    expect(
      (await sql`select from credit_transfers where team_id = ${teamId} and kind = 'usage'`).length,
    ).toBe(1);
  });

  it('has a last statement of a team that is gone, with what was not published when it went', async () => {
    await world.report({ teamId, at: '2026-10-05T00:00:00Z', ms: 30_000_000 });
    await world.publishAll();
    await world.report({ teamId, at: '2026-10-06T00:00:00Z', ms: 40_000_000 });
    await sql`delete from teams where id = ${teamId}`;
    await world.publishAll();
    await world.close(DUE);
    expect(await statements()).toMatchObject([{ period: '2026-10-01', net: 700, state: 'closed' }]);
    expect(await audited()).toEqual(['statement.closed']);
    expect(await sql`select from outbox where team_id = ${teamId}`).toHaveLength(0);
  });

  it('is the same on a server in a zone whose clocks change', async () => {
    await world.report({ teamId, at: '2026-10-31T23:59:59.999Z', ms: 10_000_000 });
    await world.report({ teamId, at: '2026-11-01T00:00:00.000Z', ms: 20_000_000 });
    await world.publishAll();
    const name = new URL(world.url).pathname.slice(1);
    await sql.unsafe(`alter database ${name} set timezone to 'America/Juneau'`);
    const juneau = openDatabase({ url: world.url, max: 2 });
    try {
      expect(await juneau.sql`show timezone`).toEqual([{ TimeZone: 'America/Juneau' }]);
      const closing = { db: juneau, pricing: pricing(), onError: () => undefined };
      expect((await closeDue(closing, new Date(TOO_SOON))).months).toEqual([]);
      expect((await closeDue(closing, new Date(DUE))).months).toMatchObject([{ period: '2026-10-01' }]);
      expect((await closeDue(closing, new Date('2026-12-01T01:00:00Z'))).months).toMatchObject([
        { period: '2026-11-01' },
      ]);
    } finally {
      await juneau.close(1_000);
      await sql.unsafe(`alter database ${name} reset timezone`);
    }
    expect(picked(await statements(), 'period', 'net')).toEqual([
      ['2026-10-01', 100],
      ['2026-11-01', 200],
    ]);
  });

  it('is rehearsed with the same figures, and nothing of it stays', async () => {
    for (const at of ['2026-10-05T00:00:00Z', '2026-11-05T00:00:00Z'])
      await world.report({ teamId, at, ms: 30_000_000 });
    await world.publishAll();
    const now = new Date('2026-12-01T01:00:00Z');
    const rehearsed = await rehearse({ db: world.db, pricing: pricing() }, now);
    expect(picked(rehearsed.months, 'period', 'statements', 'netCents')).toEqual([
      ['2026-10-01', 1, 300],
      ['2026-11-01', 1, 300],
    ]);
    expect(await openMonth(world.db)).toBe('2026-10-01');
    expect(await statements()).toEqual([]);
    expect(await audited()).toEqual([]);
    expect(await world.close('2026-12-01T01:00:00Z')).toEqual(rehearsed);
    expect(await rehearse({ db: world.db, pricing: pricing() }, now)).toEqual({
      months: [],
      waiting: undefined,
    });
  });
});
