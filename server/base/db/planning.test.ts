/**
 * A plan that was made while a table was nearly empty is good for when it is full: prepared statements keep
 * theirs.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createEmptyDatabase } from '../../../test/setup/database.ts';
import { has } from '../../../test/setup/needs.ts';
import { openDatabase, type Database } from './index.ts';

describe.skipIf(!(await has('postgres')))('a statement that is prepared while its table is empty', () => {
  let db: Database;
  let drop: () => Promise<void>;
  beforeAll(async () => {
    const database = await createEmptyDatabase();
    ({ drop } = database);
    db = openDatabase({ url: database.url, max: 1 });
    await db.sql`create table young (id text primary key, state text not null, due_at timestamptz)`;
    await db.sql`create index young_due on young (due_at) where due_at is not null`;
    await db.sql.unsafe(
      `prepare ends as update young y set state = e.state, due_at = null from unnest($1::text[], $2::text[]) as e (id, state) where y.id = e.id`,
    );
    await db.sql.unsafe(
      `prepare takes as select id from young where due_at <= now() order by due_at limit 100 for no key update skip locked`,
    );
    await db.sql.unsafe('set plan_cache_mode = force_generic_plan'); // what a few calls come to
  });
  afterAll(async () => {
    await db?.close();
    await drop?.();
  });

  it.each([
    ['writes rows by their keys', `ends('{a}', '{b}')`, 'young_pkey'],
    ['takes what is due', 'takes', 'young_due'],
  ])('%s by an index', async (_what, call, index) => {
    const rows = await db.sql.unsafe<Array<Record<string, string>>>(`explain execute ${call}`);
    const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
    expect(plan).not.toContain('Seq Scan');
    expect(plan).toContain(index);
  });

  it('is not compiled for what its plan seems to cost', async () => {
    expect(await db.sql`show jit`).toEqual([{ jit: 'off' }]);
  });
});
