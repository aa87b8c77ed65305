/** Each nonce is good once, at every server, also when the store was emptied by a crash. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../../test/setup/database.ts';
import { has } from '../../../test/setup/needs.ts';
import { startEmbeddedPostgres } from '../../base/db/embedded.ts';
import { migrate, openDatabase, type SqlTag } from '../../base/db/index.ts';
import { asked, freshness, notFresh, type Freshness, type Nonce } from './nonces.ts';

const there = await has('postgres');

const agoS = (seconds: number): Date => new Date((Math.floor(Date.now() / 1_000) - seconds) * 1_000);
const fresh = (more: Partial<Nonce> = {}): Nonce => ({
  keyId: 'key-a',
  nonce: randomBytes(16).toString('base64url'),
  created: agoS(0),
  ...more,
});

/** Does as a statement that acts for a call. Rejects when that cannot be known any more. */
function createStore(sql: SqlTag) {
  return {
    use: async (nonce: Nonce): Promise<boolean> => {
      const columns = () => ({ key_id: nonce.keyId });
      const [row] = await sql<Freshness[]>`
        with ${asked(sql, [{ nonce }], { columns, types: sql`key_id text` })}
        select ${freshness(sql)} from asked a`;
      if (row!.fresh) return true;
      const error = await notFresh(sql, row!, nonce);
      if (error.code !== 'replayed') throw error;
      return false;
    },
  };
}

describe.skipIf(!there)('a nonce', () => {
  let test: TestDatabase;
  let store: ReturnType<typeof createStore>;
  let elsewhere: ReturnType<typeof createStore>;
  beforeAll(async () => {
    test = await createTestDatabase();
    store = createStore(test.db.sql);
    elsewhere = createStore(test.db.sql);
  });
  afterAll(async () => await test.drop());

  it('is fresh once, also at another server', async () => {
    const nonce = fresh();
    expect(await store.use(nonce)).toBe(true);
    expect(await store.use(nonce)).toBe(false);
    expect(await elsewhere.use(nonce)).toBe(false);
    expect(await store.use({ ...nonce, keyId: 'key-b' })).toBe(true);
  });

  it('is fresh for one of 1,000 calls at two servers at once', async () => {
    const nonces = Array.from({ length: 100 }, () => fresh());
    const answers = await Promise.all(
      Array.from(
        { length: 1_000 },
        async (_, i) => await (i % 2 === 0 ? store : elsewhere).use(nonces[(i * 7) % 100]!),
      ),
    );
    expect(answers.filter(Boolean)).toHaveLength(100);
  });

  it.each([
    ['two and a half minutes old', 151, false],
    ['90 s old', 90, true],
    ['30 s ahead', -30, true],
    ['61 s ahead', -62, false],
  ])('of a signature that is %s is judged by the window', async (_name, seconds, expected) => {
    expect(await store.use(fresh({ created: agoS(seconds) }))).toBe(expected);
  });

  it('survives the rotation as long as its signature could be used', async () => {
    const used = [0, 40, 90].map((seconds) => fresh({ created: agoS(seconds) }));
    for (const nonce of used) await store.use(nonce);
    await test.db.sql`select nonces_rotate()`;
    for (const nonce of used) expect(await store.use(nonce)).toBe(false);
  });

  it('leaves no row behind: the buckets ahead are emptied and no other', async () => {
    await test.db
      .sql`insert into nonces (bucket, id) select b, gen_random_uuid() from generate_series(0, 7) b`;
    await test.db.sql`select nonces_rotate()`;
    const [row] = await test.db.sql<Array<{ minute: number; filled: number[] }>>`
      select (floor(extract(epoch from clock_timestamp()) / 60)::bigint % 8)::int as minute,
        (select array_agg(distinct bucket::int) from nonces) as filled`;
    const emptied = [2, 3, 4].map((ahead) => (row!.minute + ahead) % 8);
    expect(row!.filled.toSorted((a, b) => a - b)).toEqual(
      [0, 1, 2, 3, 4, 5, 6, 7].filter((bucket) => !emptied.includes(bucket)),
    );
  });

  it('is refused when the store cannot be asked', async () => {
    const gone = openDatabase({ url: 'postgres://postgres@127.0.0.1:9/none', max: 1 });
    await expect(createStore(gone.sql).use(fresh())).rejects.toThrow();
    await gone.close(0);
  });
});

describe.skipIf(!there)('a store that lost its memory', () => {
  it('begins anew, and knows nothing from before', async () => {
    const test = await createTestDatabase();
    const { sql } = test.db;
    const store = createStore(sql);
    await sql`truncate nonces, nonce_store`; // as after a crash
    await expect(store.use(fresh())).rejects.toMatchObject({ code: 'unavailable' });
    expect(await store.use(fresh({ created: agoS(10) }))).toBe(false);
    expect(await store.use(fresh({ created: agoS(-5) }))).toBe(true);
    await test.drop();
  });
});

describe('after a crash of the database', () => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-nonces-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it('what was signed before is refused, what is signed after is fresh', { timeout: 120_000 }, async () => {
    const postgres = await startEmbeddedPostgres(folder);
    const db = openDatabase({ url: postgres.url, max: 2 });
    try {
      await migrate(postgres.url);
      const store = createStore(db.sql);
      const used = fresh();
      expect(await store.use(used)).toBe(true);
      const [backend] = await db.sql<Array<{ pid: number }>>`select pg_backend_pid() as pid`;
      // The postmaster lives on and its start time stays: unlogged tables are emptied all the same.
      process.kill(backend!.pid, 'SIGKILL');
      const outcomes: string[] = [];
      for (let i = 0; i < 500 && outcomes.at(-1) !== 'true'; i += 1) {
        const outcome = await store
          .use(fresh())
          .then(String, (error: { code?: string }) => error.code ?? 'error');
        expect(await store.use(used).catch(() => false)).toBe(false);
        if (outcomes.at(-1) !== outcome) outcomes.push(outcome);
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      expect(outcomes.at(-1)).toBe('true');
      expect(await store.use(used)).toBe(false);
      const [left] = await db.sql<
        Array<{ crashed: boolean }>
      >`select since > '-infinity' as crashed from nonce_store`;
      expect(left).toEqual({ crashed: true });
    } finally {
      await db.close(1_000);
      await postgres.stop();
    }
  });
});
