/**
 * This file tests rows of a plain resource over a real PostgreSQL: whose they are, pages, limits, transitions
 * and names.
 */
import { eq, sql } from 'drizzle-orm';
import { integer, text, uniqueIndex } from 'drizzle-orm/pg-core';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { IncidentState, IncidentStateSchema } from '@svc/proto/gen/svc/incidents/v1/incidents_pb.ts';
import { has } from '../../../test/setup/needs.ts';
import { testCtx } from '../../../test/setup/work/ctx.ts';
import { useDatabase } from '../../../test/setup/use-database.ts';
import type { Ctx } from '../context.ts';
import { rowsOf, transition, unlessTaken } from './index.ts';
import { enumColumn, teamTable } from './team-table.ts';

const things = teamTable(
  { name: 'things', kind: 'thing', prefix: 'thg' },
  {
    name: text('name').notNull(),
    size: integer('size').notNull().default(0),
    state: enumColumn('state', IncidentState, IncidentStateSchema).notNull().default('open'),
  },
  (t) => [uniqueIndex('things_name').on(t.teamId, t.name)],
);
const rows = rowsOf(things);

const codeOf = async (work: Promise<unknown>): Promise<string> => {
  const error = await work.catch((problem: unknown) => problem);
  return String((error as { code?: unknown } | undefined)?.code ?? error);
};

describe.skipIf(!(await has('postgres')))('rowsOf()', () => {
  const test = useDatabase();
  const as = (teamIds: readonly string[]): Ctx =>
    testCtx('svc.incidents.v1.IncidentsService/List', { db: test.db, userId: 'user_1', teamIds });
  let mine: Ctx;
  let theirs: Ctx;

  beforeAll(async () => {
    const { sql: run } = test.db;
    await run`
      create table things (id text primary key, team_id text not null references teams (id), created_at timestamptz not null,
        name text not null, size integer not null default 0, state text not null default 'open')`;
    await run`create unique index things_name on things (team_id, name)`;
    await run`insert into regions (id, name, operator) values ('reg_1', 'r', 'service')`;
    for (const id of ['team_1', 'team_2'])
      await run`insert into teams (id, name, region_id, created_at) values (${id}, ${id}, 'reg_1', now())`;
    await run`insert into users (id, email, username, password_hash, created_at) values ('user_1', 'a@example.com', 'a', 'none', now())`;
  });
  beforeEach(async () => {
    await test.db.sql`delete from things`;
    mine = as(['team_1']);
    theirs = as(['team_2']);
  });
  const add = async (name: string, size = 0) => await rows.insert(mine, { teamId: 'team_1', name, size });

  it('keep another team away from a row, whatever it does', async () => {
    const { id } = await add('a');
    expect(await codeOf(rows.find(theirs, id))).toBe('not_found');
    expect(await codeOf(rows.lock(theirs, id))).toBe('not_found');
    expect(await rows.list(theirs, {})).toEqual([]);
    expect(await rows.update(theirs, id, { set: { name: 'b' } })).toBeUndefined();
    expect(await rows.remove(theirs, id)).toBeUndefined();
    expect(await codeOf(rows.insert(theirs, { teamId: 'team_1', name: 'x' }))).toBe('not_found');
    expect(await rows.find(mine, id)).toMatchObject({ id, name: 'a', state: 'open' });
  });

  it('change what is set, also to what the database makes of it, and stay as they are when nothing is', async () => {
    const { id } = await add('a', 4);
    expect(await rows.update(mine, id, { set: { size: sql`${things.size} + 1` } })).toMatchObject({
      size: 5,
    });
    expect(await rows.update(mine, id, { set: {} })).toMatchObject({ id, name: 'a', size: 5 });
    expect(await rows.update(mine, id, { set: {}, where: eq(things.size, 4) })).toBeUndefined();
    expect(await rows.update(theirs, id, { set: {} })).toBeUndefined();
  });

  it('page by id, newest first, and by a column either way, through ties', async () => {
    for (let n = 0; n < 7; n += 1) await add(`thing ${n}`, n % 2);
    const through = async (query: Parameters<typeof rows.page>[2]): Promise<string[]> => {
      const names: string[] = [];
      for (let cursor: string | undefined; ;) {
        const page = await rows.page(mine, { of: 'all', limit: 2, cursor }, query);
        names.push(...page.items.map(({ name }) => name.slice(6)));
        if (page.nextCursor === undefined) return names;
        cursor = page.nextCursor;
      }
    };
    expect((await through({})).join('')).toBe('6543210');
    expect((await through({ by: things.name })).join('')).toBe('0123456');
    expect((await through({ by: things.size, descending: true })).join('')).toBe('5316420');
    expect((await through({ where: eq(things.size, 1) })).join('')).toBe('531');
  });

  it('refuse a cursor of another list', async () => {
    for (let n = 0; n < 3; n += 1) await add(`thing ${n}`);
    const { nextCursor } = await rows.page(mine, { of: 'one', limit: 1 }, {});
    expect(await codeOf(rows.page(mine, { of: 'two', limit: 1, cursor: nextCursor }, {}))).toBe(
      'validation_failed',
    );
  });

  it('hold a limit when many are added at once', async () => {
    const made = await Promise.allSettled(
      Array.from({ length: 8 }, async (_, n) =>
        mine.db.transact(async (db) => {
          const tx = { ...mine, db };
          await rows.atMost(tx, { teamId: 'team_1', max: 3 });
          return await rows.insert(tx, { teamId: 'team_1', name: `n${n}` });
        }),
      ),
    );
    expect(made.filter(({ status }) => status === 'fulfilled')).toHaveLength(3);
    expect(await rows.list(mine, {})).toHaveLength(3);
    expect(await codeOf(rows.atMost(mine, { teamId: 'team_1', max: 3 }))).toBe('limit_reached');
    await rows.atMost(mine, { teamId: 'team_1', max: 1, where: sql`${things.name} = 'none'` });
  });

  it('say that a name is taken, of that index alone', async () => {
    await add('a');
    const taken = { index: 'things_name', resource: 'thing', field: 'name', value: 'a' };
    expect(await codeOf(unlessTaken(add('a'), taken))).toBe('name_taken');
    const other = codeOf(unlessTaken(add('a'), { ...taken, index: 'others_name' }));
    expect(await other).not.toBe('name_taken');
  });

  it('follow an arrow once, say nothing twice, and keep to the states that it begins from', async () => {
    const { id } = await add('a');
    const arrow = { rows, id, from: ['open'], to: 'mitigated', action: 'thing.mitigated' } as const;
    const answers = await Promise.all(Array.from({ length: 6 }, async () => transition(mine, arrow)));
    expect(new Set(answers.map((row) => row['state']))).toEqual(new Set(['mitigated']));
    expect(await codeOf(transition(mine, { ...arrow, to: 'dismissed', action: 'thing.dismissed' }))).toBe(
      'state_conflict',
    );
    expect(await codeOf(transition(theirs, arrow))).toBe('not_found');
    const entries = await test.db.sql`select action from audit_entries where target = ${id}`;
    expect(entries).toEqual([{ action: 'thing.mitigated' }]);
  });
});
