import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createEmptyDatabase } from '../../../test/setup/database.ts';
import { has } from '../../../test/setup/needs.ts';
import { openDatabase, type Database, type SqlTag, type SqlValue } from './index.ts';

const there = await has('postgres');

describe.skipIf(!there)('a template', () => {
  let db: Database;
  let sql: SqlTag;
  let drop: () => Promise<void>;
  beforeAll(async () => {
    const empty = await createEmptyDatabase();
    drop = empty.drop;
    db = openDatabase({ url: empty.url, max: 1 });
    ({ sql } = db);
  });
  afterAll(async () => {
    await db.close(1_000);
    await drop();
  });

  const between = (low: number, high: number, not = sql``) =>
    sql`n between ${low}::int and ${high}::int ${not}`;
  const rows = async (low: number, high: number, without?: number): Promise<number[]> => {
    const not = without === undefined ? sql`` : sql`and n <> ${without}::int`;
    const found =
      await sql`select n from generate_series(1, ${100}::int) n where ${between(low, high, not)} order by n`;
    return found.map((row) => row['n']);
  };

  it('binds each value where it stands, whatever is nested', async () => {
    expect(await rows(3, 5)).toEqual([3, 4, 5]);
    expect(await rows(3, 6, 4)).toEqual([3, 5, 6]);
    expect(await rows(7, 8)).toEqual([7, 8]);
  });

  it('has a text of its own where a part stands in the place of a value', async () => {
    const pair = (first: SqlValue, second: SqlValue) => sql`select ${first} as a, ${second} as b`;
    const [part, value] = [sql`1 + ${1}::int`, sql`${5}::int`];
    for (let round = 0; round < 2; round += 1) {
      expect((await pair(part, value))[0]).toEqual({ a: 2, b: 5 });
      expect((await pair(value, part))[0]).toEqual({ a: 5, b: 2 });
      expect((await pair('x', value))[0]).toEqual({ a: 'x', b: 5 });
      expect((await pair(value, 'x'))[0]).toEqual({ a: 5, b: 'x' });
    }
  });

  it('is prepared once for each way of nesting', async () => {
    const prepared = async () =>
      await db.sql`select from pg_prepared_statements where statement like 'select n from generate_series%'`;
    const { count: before } = await prepared();
    for (let i = 0; i < 20; i += 1) await rows(i, i + 1, i % 2 === 0 ? i : undefined);
    expect([before, (await prepared()).count]).toEqual([2, 2]);
  });

  it('takes every kind of value that statements use', async () => {
    const at = new Date('2026-11-20T12:00:00.000Z');
    const bytes = Uint8Array.from([0, 255]);
    const [row] = await sql`
      select ${"it's"}::text as text, ${at} as at, ${bytes} as bytes, ${true} as yes, ${null}::int as nothing, ${['a', 'b,"c']}::text[] as texts,
        ${[1, 2]}::bigint[] as numbers, ${sql.json({ a: ['"'] })}::jsonb as json`;
    expect({ ...row, bytes: [...(row!['bytes'] as Uint8Array)] }).toEqual({
      text: "it's",
      at,
      bytes: [0, 255],
      yes: true,
      nothing: null,
      texts: ['a', 'b,"c'],
      numbers: [1, 2],
      json: { a: ['"'] },
    });
  });

  it('quotes names, and counts changed rows', async () => {
    await sql`create temporary table odd (n int)`;
    const { count } = await sql`insert into ${sql('odd')} select generate_series(1, ${4}::int)`;
    expect(count).toBe(4);
    await expect(sql`select 1 from ${sql('o"dd; drop table odd')}`).rejects.toMatchObject({ code: '42P01' });
    expect((await sql`select from odd`).count).toBe(4);
  });

  it('names the place where it stands when it fails', async () => {
    const error = await sql`select 1 from nowhere where n = ${1}::int`.catch((caught: unknown) => caught);
    expect(error).toMatchObject({ code: '42P01', stack: expect.stringContaining('statement.test.ts') });
  });

  it('runs inside of a transaction and with it', async () => {
    await sql`create table kept (n int)`;
    await expect(
      db.transact(async (tx) => {
        await tx.sql`insert into kept values (${1}::int)`;
        throw new Error('no');
      }),
    ).rejects.toThrow('no');
    await db.transact(async (tx) => {
      await tx.sql`insert into kept values (${2}::int)`;
    });
    expect((await sql`select n from kept`).map((row) => row['n'])).toEqual([2]);
  });
});
