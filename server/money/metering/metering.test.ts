/**
 * This file tests what is metered of work that ended: whatever is deleted before its event is published,
 * whoever publishes it, and whatever the server's time zone.
 */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createBuildWorld, type BuildWorld } from '../../../test/setup/builds/build-world.ts';
import { publishAll } from '../../../test/setup/money/months.ts';
import { picked } from '../../../test/setup/money/picked.ts';
import { report, type Reported } from '../../../test/setup/money/reports.ts';
import { has } from '../../../test/setup/needs.ts';
import { announce } from '../../engine/work/sql.ts';
import { systemScope } from '../../kit/authorise.ts';
import { openDatabase, type SqlTag } from '../../base/db/index.ts';
import { newId } from '../../base/ids.ts';
import { meteredDays } from './index.ts';

interface Ended extends Omit<Reported, 'at' | 'ms'> {
  readonly claimed: string;
  readonly finished: string;
}

/** The event that the engine writes of such a run; its item is gone already. */
async function write(sql: SqlTag, { claimed, finished, ...run }: Ended): Promise<string> {
  return await report(sql, { ...run, at: finished, ms: Date.parse(finished) - Date.parse(claimed) });
}

describe.skipIf(!(await has('postgres')))('metering', () => {
  let world: BuildWorld;
  let sql: SqlTag;
  let runnerId: string;
  beforeAll(async () => {
    world = await createBuildWorld();
    sql = world.db.sql;
    runnerId = await world.runner(world.teamId, { name: 'box' });
  });
  afterAll(async () => await world?.drop());
  afterEach(async () => {
    // Each day is the sum of its events, whatever a test did.
    const differing = await sql`
      with events as (
        select team_id, period, (reported_at at time zone 'UTC')::date as day, kind || '.' || executed_by as meter, price_id,
          coalesce(project_id, '') as project_id, coalesce(environment_id, '') as environment_id, runner_id,
          count(*) as events, sum(metered_ms) as metered_ms, coalesce(sum(self_reported_ms), 0) as self_reported_ms, count(self_reported_ms) as self_reported_count
        from usage_events group by 1, 2, 3, 4, 5, 6, 7, 8
      ), days as (select team_id, period, day, meter, price_id, project_id, environment_id, runner_id, events, metered_ms, self_reported_ms, self_reported_count from cost_days)
      (table events except table days) union all (table days except table events)`;
    expect(differing).toEqual([]);
    const misrated = await sql`
      select e.work_id from usage_events e left join prices p on p.id = e.price_id and p.from_at <= e.claimed_at
      where e.rated is distinct from e.metered_ms::numeric * p.nanos_per_second`;
    expect(misrated).toEqual([]);
  });

  const eventOf = async (workId: string) => {
    const rows = await sql`select * from usage_events where work_id = ${workId}`;
    expect(rows).toHaveLength(1);
    return rows[0]!;
  };
  const total = async (teamId: string) => {
    const [row] = await sql<Array<{ events: number; ms: number }>>`
      select coalesce(sum(events), 0)::int as events, coalesce(sum(metered_ms), 0)::float8 as ms from cost_days where team_id = ${teamId}`;
    return row;
  };
  const usage = async (teamId: string, from: string, to: string) =>
    await meteredDays({ db: world.db, teams: systemScope(teamId) }, { teamId, from, to });
  /** A build that was executed and reported; its event waits. */
  const built = async (environmentId: string, by = runnerId) => {
    const buildId = await world.submitBuild(environmentId);
    const grant = await world.pollBuild(by);
    const lease = { id: grant!.workId, epoch: grant!.epoch };
    await world.beatBuild(by, lease);
    await world.reportBuild(by, { ...lease, durationMs: 1 });
    return { buildId, workId: lease.id, item: await world.item(lease.id) };
  };
  const ran = async (environment?: string) => {
    const id = await world.submit(world.teamId);
    if (environment !== undefined)
      await sql`update work_items set labels = ${sql.json({ environment })} where id = ${id}`;
    const grant = await world.poll(runnerId);
    await world.report(runnerId, { id, epoch: grant!.epoch });
    return { id, item: await world.item(id) };
  };

  it('has one event of a build: the times of its lease, its place, its price, and what its runner says beside', async () => {
    const environmentId = await world.environment();
    const { buildId, workId, item } = await built(environmentId);
    await publishAll(sql);
    const event = await eventOf(workId);
    const [environment] = await sql<Array<{ project: string; name: string }>>`
      select project_id as project, name from environments where id = ${environmentId}`;
    expect(event).toMatchObject({
      team_id: world.teamId,
      kind: 'build',
      executed_by: 'runner',
      epoch: 1,
      runner_id: runnerId,
      build_id: buildId,
      environment_id: environmentId,
      project_id: environment!.project,
      claimed_at: item['claimed_at'],
      reported_at: item['finished_at'],
      metered_ms: item['metered_ms'],
      self_reported_ms: 1,
      price_id: 'prc_00000000000000000000000003',
      rated: String(Number(item['metered_ms']) * 100_000),
    });
    const names = await sql`select id, name from cost_names where team_id = ${world.teamId}`;
    expect(new Map(names.map(({ id, name }) => [id, name]))).toEqual(
      new Map([
        [world.teamId, 'team'],
        [environment!.project, 'web'],
        [environmentId, environment!.name],
        [runnerId, 'box'],
      ]),
    );
    await sql`update environments set name = 'renamed' where id = ${environmentId}`;
    // Names are looked up with the first work of a place on a day, and a place has its runner.
    await built(environmentId, await world.runner(world.teamId));
    await publishAll(sql);
    const [renamed] =
      await sql`select name from cost_names where team_id = ${world.teamId} and id = ${environmentId}`;
    expect(renamed).toEqual({ name: 'renamed' });
  });

  it('loses no time of a build whose environment is deleted before its event is published', async () => {
    const before = await total(world.teamId);
    const environmentId = await world.environment();
    const { buildId, workId, item } = await built(environmentId);
    await sql`delete from environments where id = ${environmentId}`;
    expect(await sql`select from work_items where id = ${workId}`).toHaveLength(0);
    await publishAll(sql);
    expect(await eventOf(workId)).toMatchObject({
      build_id: buildId,
      environment_id: null,
      project_id: null,
      metered_ms: item['metered_ms'],
    });
    expect(await total(world.teamId)).toEqual({
      events: before!.events + 1,
      ms: before!.ms + Number(item['metered_ms']),
    });
  });

  it('loses no time of a team that is deleted before its events are published, and nobody else’s event waits for it', async () => {
    const gone = await world.team();
    const its = await world.runner(gone);
    const id = await world.submit(gone);
    const grant = await world.poll(its);
    await world.report(its, { id, epoch: grant!.epoch });
    const item = await world.item(id);
    const { id: other } = await ran();
    await sql`delete from teams where id = ${gone}`;
    await publishAll(sql);
    expect(await eventOf(id)).toMatchObject({
      team_id: gone,
      executed_by: 'runner',
      runner_id: its,
      metered_ms: item['metered_ms'],
    });
    expect(await total(gone)).toEqual({ events: 1, ms: item['metered_ms'] });
    expect(await eventOf(other)).toMatchObject({ team_id: world.teamId });
  });

  it('is of the service where its pool did the work, without the name of its runner', async () => {
    const customer = await world.team('service');
    const pool = await world.runner(world.poolTeamId, { name: 'secret machine' });
    const id = await world.submit(customer);
    const grant = await world.poll(pool);
    await world.report(pool, { id, epoch: grant!.epoch });
    await publishAll(sql);
    expect(await eventOf(id)).toMatchObject({
      executed_by: 'service',
      price_id: 'prc_00000000000000000000000002',
    });
    expect(await sql`select name from cost_names where team_id = ${customer}`).toEqual([{ name: 'team' }]);
  });

  it('takes a label for an environment where it names one of the run’s own team', async () => {
    const environmentId = await world.environment();
    const other = await world.team();
    const [project] = await sql<Array<{ id: string }>>`
      insert into projects (id, team_id, name, slug, created_at) values (${newId('prj')}, ${other}, 'other', ${newId('prj')}, now()) returning id`;
    const [foreign] = await sql<Array<{ id: string }>>`
      insert into environments (id, team_id, project_id, name, created_at, updated_at) values (${newId('env')}, ${other}, ${project!.id}, 'foreign', now(), now()) returning id`;
    const runs = [await ran(environmentId), await ran(foreign!.id), await ran('production'), await ran()];
    await publishAll(sql);
    const places = await Promise.all(runs.map(async ({ id }) => (await eventOf(id))['environment_id']));
    expect(places).toEqual([environmentId, null, null, null]);
    expect(
      await sql`select name from cost_names where team_id = ${world.teamId} and name = 'foreign'`,
    ).toEqual([]);
  });

  it('counts an event once that is published twice, and by many workers at once', async () => {
    const teamId = await world.team();
    const events = Array.from({ length: 60 }, (_, n) => ({
      id: newId('run'),
      teamId,
      runnerId: `rnr_${n % 7}`,
      claimed: '2026-05-04T10:00:00.000Z',
      finished: `2026-05-0${4 + (n % 3)}T11:00:00.000Z`,
    }));
    const expected = {
      events: 60,
      ms: events.reduce((sum, { claimed, finished }) => sum + Date.parse(finished) - Date.parse(claimed), 0),
    };
    for (const round of [events, events.toReversed(), events]) {
      for (const event of round) await write(sql, event);
      await Promise.all(Array.from({ length: 5 }, async () => await publishAll(sql, { batch: 7 })));
      expect(await total(teamId)).toEqual(expected);
    }
    // A worker that dies before its commit has counted nothing.
    const torn = { ...events[0]!, id: newId('run'), finished: '2026-05-04T10:00:01.000Z' };
    await write(sql, torn);
    const died = world.db.transact(async (tx) => {
      await publishAll(tx.sql);
      throw new Error('killed');
    });
    await expect(died).rejects.toThrow('killed');
    expect(await total(teamId)).toEqual(expected);
    await publishAll(sql);
    expect(await total(teamId)).toEqual({ events: 61, ms: expected.ms + 1_000 });
  });

  it('puts a report into the UTC day and month of its millisecond', async () => {
    const teamId = await world.team();
    const claimed = '2026-03-31T23:59:58.000Z';
    const last = await write(sql, { teamId, runnerId, claimed, finished: '2026-03-31T23:59:59.999Z' });
    const first = await write(sql, { teamId, runnerId, claimed, finished: '2026-04-01T00:00:00.000Z' });
    await publishAll(sql);
    const placed = await sql`
      select e.work_id as id, e.period::text, d.day::text, d.metered_ms::int as ms
      from usage_events e join cost_days d on d.team_id = e.team_id and d.period = e.period where e.team_id = ${teamId} order by e.reported_at`;
    expect(placed).toEqual([
      { id: last, period: '2026-03-01', day: '2026-03-31', ms: 1_999 },
      { id: first, period: '2026-04-01', day: '2026-04-01', ms: 2_000 },
    ]);
    expect((await usage(teamId, '2026-03-31', '2026-03-31')).map(({ meteredMs }) => meteredMs)).toEqual([
      1_999,
    ]);
    expect((await usage(teamId, '2026-04-01', '2026-04-01')).map(({ meteredMs }) => meteredMs)).toEqual([
      2_000,
    ]);
    expect((await usage(teamId, '2026-03-01', '2026-04-30')).map(({ day }) => day)).toEqual([
      '2026-03-31',
      '2026-04-01',
    ]);
  });

  it('is the same on a server in a zone whose clocks change', async () => {
    const teamId = await world.team();
    const name = new URL(world.url).pathname.slice(1);
    await sql.unsafe(`alter database ${name} set timezone to 'America/Juneau'`);
    const juneau = openDatabase({ url: world.url, max: 1 });
    try {
      expect(await juneau.sql`show timezone`).toEqual([{ TimeZone: 'America/Juneau' }]);
      // 2 o'clock is left out on March 8, and comes twice on November 1: the two ends read 01:30 there.
      const spans = [
        ['2026-03-08T10:59:59.500Z', '2026-03-08T11:00:00.500Z'],
        ['2026-11-01T09:00:00.000Z', '2026-11-01T09:30:00.000Z'],
        ['2026-11-01T09:00:00.000Z', '2026-11-01T10:30:00.000Z'],
        ['2026-10-31T23:59:00.000Z', '2026-11-01T00:00:00.000Z'],
        ['2026-10-31T23:59:00.000Z', '2026-10-31T23:59:59.999Z'],
      ] as const;
      for (const [claimed, finished] of spans)
        await write(juneau.sql, { teamId, runnerId, claimed, finished });
      await publishAll(juneau.sql);
    } finally {
      await juneau.close(1_000);
      await sql.unsafe(`alter database ${name} reset timezone`);
    }
    const events = await sql<Array<{ claimed: Date; finished: Date; ms: number }>>`
      select claimed_at as claimed, reported_at as finished, metered_ms as ms from usage_events where team_id = ${teamId}`;
    expect(events).toHaveLength(5);
    for (const { claimed, finished, ms } of events) expect(finished.getTime() - claimed.getTime()).toBe(ms);
    const days = await usage(teamId, '2026-01-01', '2026-12-31');
    expect(picked(days, 'day', 'count', 'meteredMs')).toEqual([
      ['2026-03-08', 1, 1_000],
      ['2026-10-31', 1, 59_999],
      ['2026-11-01', 3, 1_800_000 + 5_400_000 + 60_000],
    ]);
  });

  it('rates work by the price that was in force when it was claimed', async () => {
    const teamId = await world.team();
    const [row] = await sql<Array<{ at: Date }>>`
      insert into prices (id, meter, currency, nanos_per_second, from_at) values ('prc_later', 'run.runner', 'usd', 7, date_trunc('milliseconds', now()) + interval '1 hour')
      returning from_at as at`;
    const at = (ms: number) => new Date(row!.at.getTime() + ms).toISOString();
    const before = await write(sql, { teamId, runnerId, claimed: at(-1), finished: at(9_999) });
    const since = await write(sql, { teamId, runnerId, claimed: at(0), finished: at(3) });
    await publishAll(sql);
    expect(await eventOf(before)).toMatchObject({ metered_ms: 10_000, rated: '1000000000' });
    expect(await eventOf(since)).toMatchObject({ metered_ms: 3, rated: '21' });
    await expect(
      sql`insert into prices (id, meter, currency, nanos_per_second, from_at) values ('prc_past', 'run.runner', 'usd', 7, now() - interval '1 second')`,
    ).rejects.toThrow('prices_not_retroactive');
  });

  it('takes nothing of work that ended without a report', async () => {
    const teamId = await world.team();
    const id = await world.submit(teamId);
    await sql`
      with ended as (
        update work_items set state = 'cancelled', finished_at = now(), route_id = null where id = ${id} returning *
      ), ${announce(sql, 'ended')} select 1`;
    await publishAll(sql);
    expect(await sql`select from outbox where dedupe_key = ${id}`).toHaveLength(0);
    expect(await total(teamId)).toEqual({ events: 0, ms: 0 });
  });
});
