import { beforeAll, describe, expect, it } from 'vitest';
import { createEmptyDatabase } from '../../../test/setup/database.ts';
import { has } from '../../../test/setup/needs.ts';
import { openDatabase } from './index.ts';

const CONNECTIONS = 5;

describe.skipIf(!(await has('postgres')))('statements', () => {
  let url = '';
  beforeAll(async () => {
    const database = await createEmptyDatabase();
    ({ url } = database);
    return database.drop;
  });

  it('are spread over the connections, and opened no more of them than were needed', async () => {
    const db = openDatabase({ url, max: CONNECTIONS, name: 'spread' });
    const pids = async (at: number): Promise<number> => {
      const rows = await Promise.all(
        Array.from(
          { length: at },
          () => db.sql<Array<{ pid: number }>>`select pg_backend_pid() as pid, pg_sleep(0.02)`,
        ),
      );
      return new Set(rows.map(([row]) => row?.pid)).size;
    };
    expect(await pids(1)).toBe(1);
    expect(await pids(2)).toBe(2);
    expect(await pids(20)).toBe(CONNECTIONS);
    expect(await pids(1)).toBe(1);
    const [open] = await db.sql<Array<{ n: number }>>`
      select count(*)::int as n from pg_stat_activity where application_name = 'spread'`;
    expect(open?.n).toBe(CONNECTIONS);
    await db.close();
  });

  it('by key share two connections of their own, which no slow one keeps busy', async () => {
    const db = openDatabase({ url, max: 2 * CONNECTIONS, name: 'keyed' });
    const slow = Array.from({ length: 20 }, async () => await db.sql`select pg_sleep(0.2)`);
    const rows = await Promise.all(
      Array.from({ length: 100 }, () => db.byKey.sql<Array<{ pid: number }>>`select pg_backend_pid() as pid`),
    );
    const [waiting] = await db.byKey.sql<Array<{ n: number }>>`
      select count(*)::int as n from pg_stat_activity where application_name = 'keyed' and wait_event = 'PgSleep'`;
    expect(new Set(rows.map(([row]) => row?.pid)).size).toBe(2);
    expect(waiting?.n).toBeGreaterThan(0);
    await Promise.all(slow);
    const [open] = await db.sql<Array<{ n: number }>>`
      select count(*)::int as n from pg_stat_activity where application_name = 'keyed'`;
    expect(open?.n).toBe(2 * CONNECTIONS);
    await db.transact(async (tx) => {
      await tx.sql`create temporary table mine on commit drop as select 1 as n`;
      expect(await tx.byKey.sql`select n from mine`).toHaveLength(1);
    });
    await db.close();
  });

  it('that run at closing are answered, and nothing is taken after it', async () => {
    const db = openDatabase({ url, max: CONNECTIONS });
    const running = Array.from({ length: 20 }, async (_, n) => {
      const [row] = await db.sql<Array<{ n: number }>>`select ${n}::int as n, pg_sleep(0.02)`;
      return row?.n;
    });
    let release = (): void => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    const transaction = db.transact(async ({ sql }) => {
      await sql`select 1`;
      await released;
      return [...(await sql`select 2 as two`)];
    });
    for (let turn = 0; turn < 5; turn += 1) await Promise.resolve();
    const closed = db.close(5_000);
    await expect(Promise.resolve(db.sql`select 3`)).rejects.toMatchObject({ code: 'CONNECTION_ENDED' });
    await expect(db.transact(async () => 'in')).rejects.toMatchObject({ code: 'CONNECTION_ENDED' });
    release();
    expect(await Promise.all(running)).toEqual(Array.from({ length: 20 }, (_, n) => n));
    expect(await transaction).toEqual([{ two: 2 }]);
    await closed;
  });

  it('that do not end in the time that closing has are rejected, and so is their transaction', async () => {
    const db = openDatabase({ url, max: CONNECTIONS });
    const outcomes = Promise.allSettled([
      db.sql`select pg_sleep(4)`,
      db.transact(async ({ sql }) => await sql`select pg_sleep(4)`),
      db.transact(async () => await new Promise(() => undefined)),
    ]);
    const began = performance.now();
    await db.close(50);
    expect((await outcomes).map((outcome) => outcome.status === 'rejected' && outcome.reason)).toMatchObject(
      Array.from({ length: 3 }, () => ({ code: 'CONNECTION_ENDED' })),
    );
    expect(performance.now() - began).toBeLessThan(3_000);
  });
});
