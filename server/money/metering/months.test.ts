/**
 * Into which month a report is metered: its own, or the oldest open one, whoever publishes and closes at the
 * same moment.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { held } from '../../../test/setup/money/held.ts';
import { createMoneyWorld, publishAll, type MoneyWorld } from '../../../test/setup/money/months.ts';
import { picked } from '../../../test/setup/money/picked.ts';
import { has } from '../../../test/setup/needs.ts';
import { waitFor } from '../../../test/setup/wait-for.ts';
import type { SqlTag } from '../../base/db/index.ts';
import { newId } from '../../base/ids.ts';

describe.skipIf(!(await has('postgres')))('the month of a report', () => {
  let world: MoneyWorld;
  let sql: SqlTag;
  let teamId: string;
  beforeAll(async () => {
    world = await createMoneyWorld();
    ({ sql } = world.db);
  });
  afterAll(async () => await world?.drop());
  beforeEach(async () => {
    teamId = newId('team');
    await world.openFrom('2026-01-01');
  });

  const openFrom = async (on: SqlTag, month: string): Promise<void> =>
    void (await on`update open_period set month = ${month}::date`);
  const placed = async () =>
    await sql`
      select e.period::text, d.day::text, e.metered_ms as ms, d.events
      from usage_events e join cost_days d on d.team_id = e.team_id and d.period = e.period and d.metered_ms = e.metered_ms
      where e.team_id = ${teamId} order by e.reported_at`;
  const waitingFor = async (what: string, like: string): Promise<void> =>
    void (await waitFor(what, async () => {
      const rows = await sql`
        select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like ${like}`;
      return rows.count > 0;
    }));

  it('is its own to the last millisecond, in months of 28, 29, 30 and 31 days', async () => {
    const last = ['2026-02-28', '2028-02-29', '2026-04-30', '2026-12-31'];
    for (const [n, day] of last.entries()) {
      await world.report({ teamId, at: `${day}T23:59:59.999Z`, ms: 1_000 + n });
      const next = new Date(Date.parse(`${day}T23:59:59.999Z`) + 1).toISOString();
      await world.report({ teamId, at: next, ms: 2_000 + n });
    }
    await world.publishAll();
    expect(picked(await placed(), 'period', 'day', 'ms')).toEqual([
      ['2026-02-01', '2026-02-28', 1_000],
      ['2026-03-01', '2026-03-01', 2_000],
      ['2026-04-01', '2026-04-30', 1_002],
      ['2026-05-01', '2026-05-01', 2_002],
      ['2026-12-01', '2026-12-31', 1_003],
      ['2027-01-01', '2027-01-01', 2_003],
      ['2028-02-01', '2028-02-29', 1_001],
      ['2028-03-01', '2028-03-01', 2_001],
    ]);
  });

  it('is the oldest open one once its own is closed: on the first day, once, with its own time', async () => {
    await world.openFrom('2026-07-01');
    const late = { id: newId('run'), teamId, at: '2026-05-31T23:59:59.999Z', ms: 5_000 };
    for (let n = 0; n < 3; n += 1) {
      await world.report(late);
      await world.publishAll();
    }
    await world.report({ teamId, at: '2026-07-14T12:00:00.000Z', ms: 6_000 });
    await world.publishAll();
    expect(await placed()).toEqual([
      { period: '2026-07-01', day: '2026-07-01', ms: 5_000, events: 1 },
      { period: '2026-07-01', day: '2026-07-14', ms: 6_000, events: 1 },
    ]);
    const [event] = await sql`select reported_at as at from usage_events where work_id = ${late.id}`;
    expect(event).toEqual({ at: new Date(late.at) });
  });

  it('is the new one for a publisher that waited for the closing', async () => {
    await world.report({ teamId, at: '2026-01-31T23:00:00.000Z', ms: 1_000 });
    const closing = held(world.db, async (db) => await openFrom(db.sql, '2026-02-01'));
    await closing.began;
    const published = world.publishAll();
    await waitingFor('the publisher that waits', '%delete from outbox%');
    await closing.end();
    await published;
    expect(await placed()).toEqual([{ period: '2026-02-01', day: '2026-02-01', ms: 1_000, events: 1 }]);
  });

  it('is the old one for a publisher that began before, and the closing waits for it', async () => {
    await world.report({ teamId, at: '2026-01-31T23:00:00.000Z', ms: 1_000 });
    const publishing = held(world.db, async (db) => await publishAll(db.sql));
    await publishing.began;
    const closed = openFrom(sql, '2026-02-01');
    await waitingFor('the closing that waits', '%update open_period%');
    await publishing.end();
    await closed;
    expect(await placed()).toEqual([{ period: '2026-01-01', day: '2026-01-31', ms: 1_000, events: 1 }]);
  });
});
