/**
 * Here it is tested what runs where, from events that come in any order, twice, and in pieces of any size.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eq } from 'drizzle-orm';
import { createTestDatabase, type TestDatabase } from '../../../test/setup/database.ts';
import { has } from '../../../test/setup/needs.ts';
import { publish } from '../../kit/events/index.ts';
import { systemScope } from '../../kit/authorise.ts';
import { deployed } from './deployed.ts';
import { deployments } from './schema.ts';
import { rowsOf } from '../../kit/resource/index.ts';

const ENVIRONMENTS = 500;
const BUILDS = 5;
const TEAM = 'team_1';
/** The factor is Knuth's; any order that is the same in each run does. */
const random = (seed: number): (() => number) => {
  let state = seed;
  return () => (state = (state * 1_103_515_245 + 12_345) % 2_147_483_648) / 2_147_483_648;
};
const digestOf = (number: number): string => `sha256:${String(number).padStart(64, '0')}`;

describe.skipIf(!(await has('postgres')))('deployments', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await createTestDatabase();
    await database.db.sql`insert into regions (id, name, operator) values ('reg_1', 'here', 'customer')`;
    await database.db
      .sql`insert into teams (id, name, region_id, created_at) values (${TEAM}, 'acme', 'reg_1', now())`;
  });
  afterAll(async () => await database?.drop());

  const eventOf = (environment: number, number: number, more: object = {}) => ({
    kind: 'work.finished',
    environment,
    build: {
      id: `bld_${environment}_${number}`,
      number,
      environmentId: `env_${environment}`,
      environmentName: `e${environment}`,
      projectId: 'prj_1',
      trigger: 'manual',
      digest: digestOf(number),
      address: `http://10.0.0.1:${number}`,
      deployed: true,
      finishedAt: '2026-11-20T12:00:00.000Z',
      runner: { id: 'rnr_1' },
      region: { id: 'reg_1' },
      ...more,
    },
  });
  type Event = ReturnType<typeof eventOf>;

  /** They are in the order of the list. */
  async function write(events: readonly Event[], teamId = TEAM): Promise<void> {
    const { sql } = database.db;
    const rows = events.map(({ kind, build }, n) => ({ n, kind, build }));
    await sql`
      insert into outbox (id, team_id, kind, dedupe_key, payload, created_at)
      select 'evt_' || gen_random_uuid(), ${teamId}, r.kind, gen_random_uuid()::text, jsonb_build_object('build', r.build), now() + r.n * interval '1 microsecond'
      from json_to_recordset(${sql.json(rows)}::json) as r(n int, kind text, build jsonb)`;
  }
  const publishAll = async (batch: number): Promise<void> => {
    while ((await publish({ sql: database.db.sql, effects: [deployed], batch })) > 0);
  };
  const deploymentsOf = async (digest: string) =>
    await rowsOf(deployments).list(
      { db: database.db, teams: systemScope(TEAM) },
      { where: eq(deployments.digest, digest) },
    );

  it('end alike in five hundred environments with five hundred orders of events, each event twice', async () => {
    const next = random(20_261_120);
    const events = Array.from({ length: ENVIRONMENTS }, (_, environment) =>
      Array.from({ length: BUILDS * 2 }, (_each, n) => eventOf(environment, (n % BUILDS) + 1)),
    )
      .flat()
      .map((event) => ({ event, place: next() }))
      .toSorted((a, b) => a.place - b.place)
      .map(({ event }) => event);
    await write(events);
    await Promise.all([publishAll(97), publishAll(61)]);
    const heads = await database.db.sql<Array<{ number: number; digest: string; count: number }>>`
      select number, digest, count(*)::int as count from deployment_heads group by number, digest`;
    expect(heads).toEqual([{ number: BUILDS, digest: digestOf(BUILDS), count: ENVIRONMENTS }]);
    const all = await database.db.sql<
      Array<{ count: number }>
    >`select count(*)::int as count from deployments`;
    expect(all).toEqual([{ count: ENVIRONMENTS * BUILDS }]);
  });

  it('are those of an artifact, and of them the ones that run now', async () => {
    await write([eventOf(1_000, 11), eventOf(1_000, 12), eventOf(1_001, 11)]);
    await publishAll(500);
    const digest = digestOf(11);
    const ever = await deploymentsOf(digest);
    expect(ever.map(({ buildId }) => buildId).toSorted()).toEqual(['bld_1000_11', 'bld_1001_11']);
    const heads = await database.db
      .sql`select environment_id as id from deployment_heads where digest = ${digest}`;
    expect(heads).toEqual([{ id: 'env_1001' }]);
    expect(ever.find(({ environmentId }) => environmentId === 'env_1001')).toMatchObject({
      environmentName: 'e1001',
      number: 11,
      digest,
      runnerId: 'rnr_1',
      regionId: 'reg_1',
      address: 'http://10.0.0.1:11',
      how: 'direct',
      promotionId: null,
      deployedAt: new Date('2026-11-20T12:00:00.000Z'),
    });
  });

  it('say how they came', async () => {
    await write([
      eventOf(2_000, 21, { approvedBy: 'user_1' }),
      eventOf(2_001, 21, { trigger: 'rollback', approvedBy: 'user_1' }),
      eventOf(2_002, 21, { trigger: 'promotion' }),
      eventOf(2_003, 21),
      { ...eventOf(2_004, 21), kind: 'build.reported_late' },
    ]);
    await publishAll(500);
    const all = await deploymentsOf(digestOf(21));
    const how = Object.fromEntries(all.map((each) => [each.environmentId, each.how]));
    expect(how).toEqual({
      env_2000: 'approved',
      env_2001: 'rollback',
      env_2002: 'promotion',
      env_2003: 'direct',
      env_2004: 'direct',
    });
  });

  it('are none where nothing was deployed, and where the team is gone no event is held up', async () => {
    await write([eventOf(3_000, 31, { deployed: false })]);
    await write([eventOf(3_001, 31)], 'team_gone');
    await publishAll(500);
    expect(await deploymentsOf(digestOf(31))).toEqual([]);
    expect(await database.db.sql`select 1 from outbox`).toEqual([]);
  });
});
