/**
 * The graph must find the runs of a label by its index: walking a team's history to find that there are none
 * takes as long as the history.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../../test/setup/database.ts';
import { has } from '../../../test/setup/needs.ts';
import { systemScope } from '../../kit/authorise.ts';
import type { Database } from '../../base/db/index.ts';
import { readNeighbours, runsOfCommit, STEPS } from './store.ts';

const HISTORY = 20_000;
const TAKE = 51;

describe.skipIf(!(await has('postgres')))('with a long history', () => {
  let database: TestDatabase;
  const scope = { ...systemScope('team_1'), teamIds: ['team_1', 'team_2'] };

  beforeAll(async () => {
    database = await createTestDatabase();
    const { sql } = database.db;
    await sql`insert into regions (id, name, operator) values ('reg_1', 'r', 'service')`;
    await sql`insert into teams (id, name, region_id, created_at) values ('team_1', 't', 'reg_1', now())`;
    // Half of the runs are labelled, all values alike: what the planner expects of a value that nobody has.
    await sql`
      insert into work_items (id, team_id, kind, pool_id, state, spec, run_after, hint_due_at, created_by, created_at, finished_at, labels)
      select 'run_' || lpad(n::text, 26, '0'), 'team_1', 'run', 'team_1', 'succeeded', '{"command": ["x"]}', now(), now(), 'user_x',
        now() - n * interval '1 s', now(),
        case when n % 2 = 0 then jsonb_build_object('commit', 'c' || n % 40, 'environment', 'env_' || n % 40) else '{}'::jsonb end
      from generate_series(1, ${HISTORY}::int) n`;
    await sql`analyze work_items`;
  });
  afterAll(async () => await database.drop());

  /** Rows of the table that the statements of `work` looked at. */
  const rowsLookedAt = async (work: (db: Database) => Promise<readonly unknown[]>) =>
    await database.db.transact(async (db) => {
      const count = async () => {
        const [row] = await db.sql<Array<{ n: number }>>`
          select (coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0))::int as n
          from pg_stat_xact_user_tables where relname = 'work_items'`;
        return row?.n ?? 0;
      };
      const before = await count();
      const found = await work(db);
      return { found: found.length, lookedAt: (await count()) - before };
    });

  const runsOf = (ids: readonly string[]) => async (db: Database) => {
    const step = STEPS.environment.find(({ kind }) => kind === 'run') ?? expect.fail('there is no such step');
    return await readNeighbours(db, scope, { read: step.read, teamId: 'team_1', ids, take: TAKE });
  };

  it('counts what is looked at', async () => {
    const all = async (db: Database) => await db.sql`select id from work_items`;
    expect(await rowsLookedAt(all)).toEqual({ found: HISTORY, lookedAt: HISTORY });
  });

  it.each([
    ['one environment', ['env_2'], TAKE, TAKE],
    ['environments without a run', ['env_x', 'env_y', 'env_z'], 0, 0],
    ['one with and one without', ['env_2', 'env_x'], TAKE, TAKE],
    ['two', ['env_2', 'env_4'], TAKE, 2 * TAKE],
  ])('reads no more than it shows of %s', async (_what, ids, found, most) => {
    const seen = await rowsLookedAt(runsOf(ids));
    expect(seen.found).toBe(found);
    expect(seen.lookedAt).toBeLessThanOrEqual(most);
  });

  it('reads no more than it shows of a commit', async () => {
    const runs = (sha: string) => async (db: Database) => await runsOfCommit(db, scope, { sha, take: TAKE });
    expect(await rowsLookedAt(runs('c2'))).toEqual({ found: TAKE, lookedAt: TAKE });
    expect(await rowsLookedAt(runs('nobody'))).toEqual({ found: 0, lookedAt: 0 });
  });
});
