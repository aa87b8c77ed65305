/**
 * The pool does not pay for its past. The pool of postgres.js 3.4.9 searches a list that grows by one with each statement as long as
 * some connection is idle; seen here by watching which lists are searched for a connection. When the second test fails, the driver
 * was mended and its own pool may come back.
 */
import postgres from 'postgres';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createEmptyDatabase } from '../../../test/setup/database.ts';
import { has } from '../../../test/setup/needs.ts';
import { openDatabase } from './index.ts';
import type { Database } from './index.ts';

const STATEMENTS = 3_000;
const CONNECTIONS = 5;

const { indexOf } = Array.prototype;

/** Longest list that was searched for a connection of the driver while `work` ran. */
async function longestSearch(work: () => Promise<void>): Promise<number> {
  let longest = 0;
  Array.prototype.indexOf = function (this: unknown[], item: unknown, from?: number): number {
    if (typeof item === 'object' && item !== null && 'idleTimer' in item)
      longest = Math.max(longest, this.length);
    return indexOf.call(this, item, from);
  };
  try {
    await work();
  } finally {
    Array.prototype.indexOf = indexOf;
  }
  return longest;
}

describe.skipIf(!(await has('postgres')))('thousands of statements with a connection idle', () => {
  let url = '';
  let drop: () => Promise<void> = async () => undefined;
  beforeAll(async () => {
    const database = await createEmptyDatabase();
    ({ url } = database);
    drop = database.drop;
    return async () => await drop();
  });
  afterEach(() => expect(Array.prototype.indexOf).toBe(indexOf));

  it('leave nothing behind in the pool', async () => {
    const db = openDatabase({ url, max: CONNECTIONS });
    const longest = await longestSearch(async () => {
      await Promise.all(Array.from({ length: CONNECTIONS }, () => db.sql`select pg_sleep(0.05)`));
      for (let done = 0; done < STATEMENTS; done += 2)
        await Promise.all([db.sql`select 1`, db.transact(async ({ sql }) => await sql`select 2`)]);
    });
    await db.close();
    expect(longest).toBeGreaterThan(0);
    expect(longest).toBeLessThanOrEqual(CONNECTIONS);
  });

  it('would make the pool of the driver slower and slower', async () => {
    const sql = postgres(url, { max: CONNECTIONS, fetch_types: false });
    const longest = await longestSearch(async () => {
      await Promise.all(Array.from({ length: CONNECTIONS }, () => sql`select pg_sleep(0.05)`));
      for (let done = 0; done < STATEMENTS; done += 1) await sql`select 1`;
    });
    await sql.end();
    expect(longest).toBeGreaterThan(STATEMENTS / 2);
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

  describe('that are brief', () => {
    const options = { prepare: true, simple: false, brief: true } as never;
    const pid = async (db: Database, sleepS = 0): Promise<number> => {
      const [row] = (await db.sql.unsafe(
        'select pg_backend_pid() as pid, pg_sleep($1::float8)',
        [sleepS],
        options,
      )) as unknown as Array<{ pid: number }>;
      return row!.pid;
    };

    it('stay on few connections, which are warm', async () => {
      const db = openDatabase({ url, max: CONNECTIONS });
      for (let done = 0; done < 200; done += 1) await pid(db);
      const pids = await Promise.all(Array.from({ length: 4 }, async () => await pid(db)));
      expect(new Set(pids).size).toBeLessThan(4);
      await db.close();
    });

    it('go elsewhere when those before them take long, whether they are called brief or not', async () => {
      const db = openDatabase({ url, max: CONNECTIONS });
      for (let done = 0; done < 200; done += 1) await pid(db);
      const long = db.sql<Array<{ pid: number }>>`select pg_backend_pid() as pid, pg_sleep(0.5)`.execute();
      const beside = await Promise.all(Array.from({ length: 3 }, async () => await pid(db)));
      const [row] = await long;
      expect(beside).not.toContain(row!.pid);
      const stuck = pid(db, 0.5);
      await db.sql`select pg_sleep(0.03)`;
      const after = await Promise.all(Array.from({ length: 3 }, async () => await pid(db)));
      expect(after).not.toContain(await stuck);
      await db.close();
    });
  });
});
