/**
 * The two ways in which postgres.js 3.4.9 leaks or loses writes, against a real PostgreSQL. Each runs twice:
 * as the server runs it, where nothing may be wrong, and as the driver comes, where the damage must show: so
 * that this test cannot go blind. When the second variant does no damage any more, the driver was fixed and
 * the protection may go.
 */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import postgres from 'postgres';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createEmptyDatabase } from '../../../test/setup/database.ts';
import { has } from '../../../test/setup/needs.ts';
import { openDatabase, type Database, type SqlTag } from './index.ts';

const postgresHere = await has('postgres');
const BARE = fileURLToPath(new URL('testing/driver-as-it-comes.mjs', import.meta.url));

describe.skipIf(!postgresHere)('acknowledged writes', () => {
  let database: Awaited<ReturnType<typeof createEmptyDatabase>>;
  let observer: postgres.Sql;

  beforeAll(async () => {
    database = await createEmptyDatabase();
    observer = postgres(database.url, { max: 1, onnotice: () => undefined });
    await observer`create table stray (label text not null, step int not null)`;
    await observer`create table burst (label text not null, n int not null)`;
  });
  afterAll(async () => {
    await observer.end();
    await database.drop();
  });

  /** Works with a handle that has one connection for transactions. */
  async function withDatabase(work: (db: Database) => Promise<void>): Promise<void> {
    const db = openDatabase({ url: database.url, max: 2 });
    try {
      await work(db);
    } finally {
      await db.close(1_000);
    }
  }

  async function driverAsItComes(scenario: 'terminate' | 'burst'): Promise<number> {
    const { stdout } = await promisify(execFile)(process.execPath, [BARE, scenario, database.url], {
      timeout: 100_000,
    });
    return (JSON.parse(stdout) as { wrong: number }).wrong;
  }

  const count = async (table: 'stray' | 'burst', label: string): Promise<number> =>
    (await observer`select from ${observer(table)} where label = ${label}`).count;

  const ways: ReadonlyArray<{ name: string; write: (label: string) => (sql: SqlTag) => Promise<unknown> }> = [
    { name: 'tagged', write: (label) => async (sql) => await sql`insert into stray values (${label}, 2)` },
    {
      name: 'unsafe',
      write: (label) => async (sql) => await sql.unsafe('insert into stray values ($1, 2)', [label]),
    },
  ];

  /** Ends the backend inside of a transaction, brings the connection back, lets the callback go on. */
  async function killInsideTransaction(
    db: Database,
    label: string,
    second: (sql: SqlTag) => Promise<unknown>,
  ): Promise<void> {
    let finished: Promise<unknown> = Promise.resolve();
    const outcome = db.transact(({ sql }) => {
      finished = (async () => {
        await sql`insert into stray values (${label}, 1)`;
        const [row] = await sql<Array<{ pid: number }>>`select pg_backend_pid() as pid`;
        const cut = sql`select pg_sleep(10)`.then(
          () => 'slept',
          () => 'cut',
        );
        await observer`select pg_terminate_backend(${row?.pid ?? 0})`;
        expect(await cut).toBe('cut');
        await Promise.allSettled(Array.from({ length: 8 }, () => db.sql`select 1`));
        await second(sql);
      })();
      return finished;
    });
    await expect(outcome).rejects.toThrow();
    await expect(finished).rejects.toMatchObject({ code: 'CONNECTION_CLOSED' });
  }

  for (const { name, write } of ways) {
    it(`leave no stray row when the backend dies inside of a transaction (${name})`, async () =>
      await withDatabase(async (db) => {
        for (let round = 0; round < 10; round += 1) {
          const label = `guarded-${name}-${round}`;
          await killInsideTransaction(db, label, write(label));
          expect(await count('stray', label), `stray rows of round ${round}`).toBe(0);
        }
      }));
  }

  it('leave a stray row with the driver as it comes, so the guard is needed', async () => {
    expect(await driverAsItComes('terminate')).toBe(1);
  }, 120_000);

  it('stay whole in the transaction that got the connection after a dead one', async () =>
    await withDatabase(async (db) => {
      for (let round = 0; round < 10; round += 1) {
        const label = `next-${round}`;
        let release = (): void => undefined;
        const released = new Promise<void>((resolve) => {
          release = resolve;
        });
        const dying = db.transact(async ({ sql }) => {
          const [row] = await sql<Array<{ pid: number }>>`select pg_backend_pid() as pid`;
          await observer`select pg_terminate_backend(${row?.pid ?? 0})`;
          await released; // settles while the next transaction is open
        });
        await expect(dying).rejects.toThrow();
        await db.transact(async ({ sql }) => {
          await sql`insert into stray values (${label}, 1)`;
          release();
          await sql`select pg_sleep(0.02)`;
          await sql`insert into stray values (${label}, 2)`;
        });
        expect(await count('stray', label), `rows of round ${round}`).toBe(2);
      }
    }));

  it('are refused when the statement was made inside of a transaction and is awaited after its end', async () =>
    await withDatabase(async (db) => {
      let late: PromiseLike<unknown> = Promise.resolve();
      await db.transact(({ sql }) => {
        late = sql`insert into stray values ('late', 1)`;
        return Promise.resolve();
      });
      await expect(Promise.resolve(late)).rejects.toThrow('its transaction has ended');
      expect(await count('stray', 'late')).toBe(0);
    }));

  it('all survive 1,000 queries in flight and 10 transactions', async () => {
    for (const round of [4, 7, 9, 10, 12]) {
      const db = openDatabase({ url: database.url, max: 10 });
      const label = `pipelined-${round}`;
      let acknowledged = 0;
      const plain = async (n: number): Promise<void> => {
        await db.sql`insert into burst values (${label}, ${n})`.execute(); // at once, so that it is ahead of BEGIN
        acknowledged += 1;
      };
      for (let warm = 0; warm < 5; warm += 1)
        await Promise.all(Array.from({ length: 200 }, (_, n) => plain(n)));
      const first = Array.from({ length: 990 + round }, (_, n) => plain(n));
      const transactions = Array.from(
        { length: 10 },
        async () => await db.transact(async ({ sql }) => await sql`select 1`),
      );
      for (let turn = 0; turn < 30; turn += 1) await Promise.resolve(); // BEGIN is on its way before what follows, and nothing has answered yet
      const second = Array.from({ length: 200 }, (_, n) => plain(n));
      await Promise.all([...first, ...transactions, ...second]);
      await db.close(1_000);
      expect(acknowledged).toBe(2_190 + round);
      expect(await count('burst', label), `rows of round ${round}`).toBe(acknowledged);
    }
  }, 120_000);

  it('all survive a transaction that begins while a fresh connection still has statements waiting', async () => {
    for (let round = 0; round < 10; round += 1) {
      const db = openDatabase({ url: database.url, max: 2 });
      const label = `fresh-${round}`;
      const plain = Array.from(
        { length: 40 },
        async (_, n) => await db.sql`insert into burst values (${label}, ${n})`,
      );
      // The driver sends a half of what has waited for its connection, and what comes next before the other
      // half.
      await Promise.race(plain);
      const failing = db.transact(async ({ sql }) => {
        await sql`insert into burst values (${label}, 1000)`;
        await Promise.all(plain);
        throw new Error('no');
      });
      await expect(failing).rejects.toThrow('no');
      expect(await count('burst', label), `rows of round ${round}`).toBe(40);
      await db.close(1_000);
    }
  });

  it('get lost with the driver as it comes, so max_pipeline is needed', async () => {
    expect(await driverAsItComes('burst')).toBeGreaterThan(0);
  }, 120_000);
});
