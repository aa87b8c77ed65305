/**
 * This file tests the database handle against a real PostgreSQL: values, transactions, waiting, listening, a
 * database that goes away.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { and, arrayContains, eq, gt, sql as fragment } from 'drizzle-orm';
import { bigint, jsonb, pgTable, text } from 'drizzle-orm/pg-core';
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { ApiError } from '@svc/proto/http/errors.ts';
import { createEmptyDatabase, createMigratedDatabase } from '../../../test/setup/database.ts';
import { has } from '../../../test/setup/needs.ts';
import { startTcpProxy } from '../../../test/setup/tcp-proxy.ts';
import { bytes, instant } from './columns.ts';
import { isUniqueViolation, mapDatabaseError, migrate, openDatabase, type Database } from './index.ts';
import { MIGRATION_LOCK } from './migrate.ts';
import { TIMED } from '../../../test/setup/timed.ts';
import { waitFor } from '../../../test/setup/wait-for.ts';
import { useDatabase } from '../../../test/setup/use-database.ts';

const postgresHere = await has('postgres');

const things = pgTable('things', {
  id: text('id').primaryKey(),
  at: instant('at').notNull(),
  data: bytes('data').notNull(),
  spec: jsonb('spec').$type<Record<string, unknown>>().notNull(),
});

const marks = pgTable('marks', {
  id: text('id').primaryKey(),
  kind: text('kind', { enum: ['high', 'low'] }).notNull(),
  tags: text('tags').array().notNull(),
  size: bigint('size', { mode: 'number' }),
  closedAt: instant('closed_at'),
});

const at = new Date('2026-05-01T10:20:30.456Z');
const thing = (id: string) => ({
  id,
  at,
  data: Buffer.from([0, 255, 10]),
  spec: { a: [1, 'x', null], 'quo"te': true },
});

describe.skipIf(!postgresHere)('openDatabase()', () => {
  const test = useDatabase({ max: 3, poolWaitMs: 300 });

  beforeAll(async () => {
    await test.db
      .sql`create table things (id text primary key, at timestamptz not null, data bytea not null, spec jsonb not null)`;
    await test.db
      .sql`create table marks (id text primary key, kind text not null, tags text[] not null, size bigint, closed_at timestamptz)`;
  });

  it('gives back what it took, over both ways in and both ways out', async () => {
    const { sql, orm } = test.db;
    await orm.insert(things).values(thing('orm'));
    const { id, data, spec } = thing('sql');
    await sql`insert into things values (${id}, ${at}, ${data}, ${sql.json(spec as never)})`;
    const viaOrm = await orm.select().from(things).orderBy(things.id);
    expect(viaOrm).toEqual([thing('orm'), thing('sql')]);
    const viaSql = await sql`select * from things order by id`;
    expect([...viaSql]).toEqual([thing('orm'), thing('sql')]);
    expect(
      await orm.execute(fragment`select count(*)::int as n from things where spec->>'quo"te' = 'true'`),
    ).toMatchObject([{ n: 2 }]);
  });

  it('runs typed queries alike inside and outside of a transaction, and leaves dates to everybody else as they are', async () => {
    const rows = [
      { id: 'a', kind: 'high' as const, tags: ['x', 'y "z"', ''], size: 5_000_000_000, closedAt: at },
      { id: 'b', kind: 'low' as const, tags: [], size: null, closedAt: null },
    ];
    const work = async ({ orm, sql }: Database): Promise<void> => {
      expect(await orm.insert(marks).values(rows).returning()).toEqual(rows);
      const both = await orm
        .select()
        .from(marks)
        .leftJoin(things, eq(things.id, marks.id))
        .where(and(gt(marks.closedAt, new Date(0)), arrayContains(marks.tags, ['x'])));
      expect(both).toEqual([{ marks: rows[0], things: null }]);
      const [closed] = await orm
        .update(marks)
        .set({ closedAt: at, size: fragment`coalesce(${marks.size}, 0) + 1` })
        .where(eq(marks.id, 'b'))
        .returning({ at: marks.closedAt, size: marks.size });
      expect(closed).toEqual({ at, size: 1 });
      expect(await orm.delete(marks).returning({ id: marks.id, kind: marks.kind })).toHaveLength(2);
      expect(await sql`select ${at}::timestamptz as at`).toMatchObject([{ at }]);
    };
    await work(test.db);
    await test.db.transact(work);
    const names = await test.db.sql`select 1 from pg_prepared_statements where statement like '%"marks"%'`;
    expect(names.length, 'prepared statements of the builder').toBeGreaterThan(0);
  });

  it('reads bigint as number while that is exact', async () => {
    const [row] = await test.db
      .sql`select 9007199254740991::bigint as safe, 9007199254740993::bigint as beyond`;
    expect(row).toEqual({ safe: 9007199254740991, beyond: 9007199254740993n });
  });

  it('commits all or nothing, with nested transactions in one', async () => {
    const { db } = test;
    await expect(
      db.transact(async (outer) => {
        await outer.orm.insert(things).values(thing('outer'));
        await outer.transact(async (inner) => {
          expect(inner).toBe(outer);
          await inner.sql`insert into things select 'inner', at, data, spec from things where id = 'outer'`;
        });
        throw new Error('no');
      }),
    ).rejects.toThrow('no');
    expect(await db.sql`select 1 from things where id in ('outer', 'inner')`).toHaveLength(0);
  });

  it('does not call committed what a failed statement has undone, unless that was up to a savepoint', async () => {
    const { db } = test;
    const failing = db.transact(async ({ sql }) => {
      await sql`insert into things select 'half', ${at}, ''::bytea, '{}'::jsonb`;
      await sql`select 1 / ${0}::int`.catch(() => undefined);
    });
    await expect(failing).rejects.toMatchObject({ code: '22012' });
    await db.transact(async ({ sql }) => {
      await sql`insert into things select 'whole', ${at}, ''::bytea, '{}'::jsonb`;
      await sql`savepoint before`;
      await sql`select 1 / ${0}::int`.catch(() => undefined);
      await sql`rollback to savepoint before`;
    });
    expect(await db.sql`delete from things where id in ('half', 'whole') returning id`).toEqual([
      { id: 'whole' },
    ]);
  });

  it('runs what waits for the commit after it, and drops it on a rollback', async () => {
    const seen: string[] = [];
    await test.db.transact(async (db) => {
      db.afterCommit(() => seen.push('after'));
      await db.sql`select 1`;
      seen.push('in');
    });
    await test.db
      .transact(async (db) => {
        db.afterCommit(() => seen.push('never'));
        await db.sql`select 1`;
        throw new Error('no');
      })
      .catch(() => seen.push('rolled back'));
    test.db.afterCommit(() => seen.push('at once'));
    expect(seen).toEqual(['in', 'after', 'rolled back', 'at once']);
  });

  it('does what must stay of a rollback behind it, when the connection is free again, and before the error is told', async () => {
    const onError = vi.fn<(error: unknown) => void>();
    const small = openDatabase({ url: test.url, max: 2, poolWaitMs: 300, onError });
    try {
      const seen: string[] = [];
      const refusal = small.transact(async (outer) => {
        await outer.transact(async (db) => {
          db.afterRollback(async () => {
            // It is the only connection for transactions, so that this would wait in vain if it were still
            // held.
            await small.transact(async ({ sql }) => void (await sql`select 1`));
            seen.push('first');
          });
          db.afterRollback(async () => await Promise.reject(new Error('not kept')));
          db.afterRollback(async () => void seen.push('last'));
        });
        throw new Error('refused');
      });
      await expect(refusal).rejects.toThrow('refused');
      expect(seen).toEqual(['first', 'last']);
      expect(onError.mock.calls).toEqual([[new Error('not kept')]]);
      await small.transact(async (db) => db.afterRollback(async () => void seen.push('never')));
      small.afterRollback(async () => void seen.push('never'));
      expect(seen).toEqual(['first', 'last']);
    } finally {
      await small.close();
    }
  });

  it('refuses a transaction that finds no connection in time, while plain statements go on', async () => {
    const { db } = test;
    let release = (): void => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    const holders = [1, 2].map(async () => await db.transact(async () => await released));
    const waiting = await db.transact(async () => 'in').catch((error: unknown) => error);
    expect(waiting).toBeInstanceOf(ApiError);
    expect((waiting as ApiError).code).toBe('unavailable');
    expect(await db.sql`select 1 as one`).toMatchObject([{ one: 1 }]);
    release();
    await Promise.all(holders);
    expect(await db.transact(async () => 'in')).toBe('in');
  });

  it('tells a unique violation by its constraint, through the mapper too', async () => {
    await test.db.orm.insert(things).values(thing('twice'));
    const error = await test.db.orm
      .insert(things)
      .values(thing('twice'))
      .catch((caught: unknown) => caught);
    expect(isUniqueViolation(error)).toBe(true);
    expect(isUniqueViolation(error, 'things_pkey')).toBe(true);
    expect(isUniqueViolation(error, 'other')).toBe(false);
    const nul = await test.db.sql`select ${'a\u0000b'}::text`.catch((caught: unknown) => caught);
    expect(mapDatabaseError(nul)).toMatchObject({ code: 'validation_failed', status: 400 });
    const slow = await test.db
      .transact(async ({ sql }) => {
        await sql`set local statement_timeout = 20`;
        await sql`select pg_sleep(1)`;
      })
      .catch((caught: unknown) => caught);
    expect(mapDatabaseError(slow)).toMatchObject({ code: 'unavailable', status: 503 });
  });

  it('takes the first host that answers', async () => {
    const gone = await startTcpProxy([test.url]);
    await gone.close();
    const url = new URL(test.url);
    const [dead] = [new URL(gone.urlOf(test.url)).host];
    const db = openDatabase({ url: test.url.replace(url.host, `${dead},${url.host}`) });
    expect(await db.sql`select 1 as one`).toEqual([{ one: 1 }]);
    await db.close(500);
  });

  it('applies migrations once, whoever starts first', async () => {
    const { url, drop } = await createEmptyDatabase();
    const applied = (await Promise.all([1, 2, 3].map(async () => await migrate(url)))).flat();
    expect(applied.toSorted()).toEqual([...new Set(applied)].toSorted());
    expect(applied).toContain('0000_init');
    await drop();
  });

  it('lets the one that migrates build an index concurrently while others wait for their turn', async () => {
    const { url, drop } = await createEmptyDatabase();
    const first = openDatabase({ url, max: 1, name: 'svc-first' });
    const watcher = openDatabase({ url, max: 1, name: 'svc-watcher' });
    await first.sql`create table things (id int)`;
    await first.sql`select pg_advisory_lock(${MIGRATION_LOCK})`;
    const others = Promise.all([1, 2].map(async () => await migrate(url)));
    const waiting = async () =>
      (
        await watcher.sql`
          select from pg_stat_activity where datname = current_database() and application_name = 'svc-migrate'
            and query like '%advisory_lock%'`
      ).length;
    await waitFor('two that wait for their turn', waiting, { holds: (count) => count === 2 });
    await first.sql.unsafe('create index concurrently things_id on things (id)');
    await first.sql`select pg_advisory_unlock(${MIGRATION_LOCK})`;
    expect((await others).flat()).toContain('0000_init');
    for (const each of [first, watcher]) await each.close(0);
    await drop();
  });

  describe('with migrations outside of a transaction', () => {
    let folder: string;
    let empty: Awaited<ReturnType<typeof createEmptyDatabase>>;
    const write = (files: ReadonlyArray<readonly [tag: string, sql: string]>): void => {
      mkdirSync(join(folder, 'meta'), { recursive: true });
      const entries = files.map(([tag], idx) => ({
        idx,
        version: '7',
        when: idx + 1,
        tag,
        breakpoints: true,
      }));
      const journal = { version: '7', dialect: 'postgresql', entries };
      writeFileSync(join(folder, 'meta', '_journal.json'), JSON.stringify(journal));
      for (const [tag, sql] of files) writeFileSync(join(folder, `${tag}.sql`), sql);
    };
    const indexes = async (): Promise<string[]> => {
      const db = openDatabase({ url: empty.url, max: 2 });
      const rows = await db.sql<Array<{ name: string }>>`
        select i.indexrelid::regclass::text as name from pg_index i join pg_class c on c.oid = i.indrelid
        where c.relname = 'things' and i.indisvalid order by 1`;
      await db.close(500);
      return rows.map(({ name }) => name);
    };
    beforeEach(async () => {
      folder = mkdtempSync(join(tmpdir(), 'svc-migrations-'));
      empty = await createEmptyDatabase();
    });
    afterEach(async () => {
      rmSync(folder, { recursive: true });
      await empty.drop();
    });

    const TABLE = ['0000_init', 'create table things (id text primary key, name text)'] as const;
    const INDEX = [
      '0001_expand_names',
      '-- svc: outside a transaction\ncreate index concurrently things_name on things (name)',
    ] as const;
    const FAILS = [
      '0002_expand_more',
      'create table more (id text);\n--> statement-breakpoint\nselect 1 / 0',
    ] as const;

    it('applies each once, and those before one that fails stay', async () => {
      write([TABLE, INDEX, FAILS]);
      await expect(migrate(empty.url, { folder })).rejects.toThrow(/division by zero/);
      expect(await indexes()).toEqual(['things_name', 'things_pkey']);
      write([TABLE, INDEX]);
      expect(await migrate(empty.url, { folder })).toEqual([]);
    });

    it('builds an index anew whose build was cut off', async () => {
      write([TABLE]);
      expect(await migrate(empty.url, { folder })).toEqual(['0000_init']);
      const db = openDatabase({ url: empty.url, max: 2 });
      await db.sql`insert into things values ('1', 'one'), ('2', 'one')`;
      // One that cannot be built leaves what a cut one does.
      await expect(
        db.sql.unsafe('create unique index concurrently things_name on things (name)'),
      ).rejects.toThrow();
      await db.close(500);
      expect(await indexes()).toEqual(['things_pkey']);
      write([TABLE, INDEX]);
      expect(await migrate(empty.url, { folder })).toEqual(['0001_expand_names']);
      expect(await indexes()).toEqual(['things_name', 'things_pkey']);
    });

    it('lets go of a table that is in use, so that nobody waits long behind it', TIMED, async () => {
      write([TABLE]);
      await migrate(empty.url, { folder });
      write([TABLE, ['0001_expand_size', 'alter table things add column size int']]);
      const db = openDatabase({ url: empty.url, max: 3 });
      let migrating: Promise<readonly string[]> | undefined;
      let applied: readonly string[] | undefined;
      try {
        await db.transact(async (tx) => {
          await tx.sql`select from things`;
          migrating = migrate(empty.url, { folder });
          await waitFor('the migration to wait', async () => {
            const rows = await db.sql`
              select from pg_stat_activity
              where datname = current_database() and application_name = 'svc-migrate' and wait_event_type = 'Lock'`;
            return rows.count === 1;
          });
          // It would be refused after its lock_timeout, which is twice the migration's.
          expect((await db.sql`select from things`).count).toBe(0);
        });
      } finally {
        applied = await migrating;
      }
      expect(applied).toEqual(['0001_expand_size']);
      await db.close(500);
    });

    it('is refused by what it lacks where nothing is to be applied', async () => {
      write([TABLE, INDEX]);
      await expect(migrate(empty.url, { folder, applies: false })).rejects.toThrow(
        'the database lacks 0000_init, 0001_expand_names, and MIGRATE is off',
      );
    });
  });

  describe('whose migrations this version does not know', () => {
    const trying = async (change: string): Promise<string> => {
      const other = await createMigratedDatabase();
      await migrate(other.url);
      const db = openDatabase({ url: other.url, max: 1 });
      await db.sql.unsafe(change);
      await db.close(500);
      const outcome = await migrate(other.url).then(
        ({ length }) => `${length} applied`,
        (error: unknown) => String(error),
      );
      await other.drop();
      return outcome;
    };

    it('is refused by the name of one that was applied with another text', async () => {
      const changed =
        "update schema_migrations set hash = 'f00' where at = (select min(at) from schema_migrations)";
      expect(await trying(changed)).toMatch(
        /the migration 0000_init was applied .* with another text \(f00\)/,
      );
    });

    it('is refused when a newer version took something away, and not when that only added', async () => {
      const newer = (tag: string) =>
        `insert into schema_migrations (at, hash, tag) values (99999999999999, 'f00', '${tag}')`;
      expect(await trying(newer('0042_contract_builds'))).toMatch(/has applied 0042_contract_builds/);
      expect(await trying(newer('0042_expand_builds'))).toBe('0 applied');
      const between = "insert into schema_migrations (at, hash, tag) values (1, 'f00', '0000_other')";
      expect(await trying(between)).toMatch(/another line of versions/);
    });

    it('is opened when an earlier version kept no names of them', async () => {
      expect(await trying('alter table schema_migrations drop column tag')).toBe('0 applied');
    });
  });

  describe('when the database goes away', () => {
    it('refuses at once, and works again when it is back', TIMED, async () => {
      const proxy = await startTcpProxy([test.url]);
      const db = openDatabase({ url: proxy.urlOf(test.url), max: 3 });
      expect(await db.sql`select 1 as one`).toMatchObject([{ one: 1 }]);
      proxy.impair({ how: 'refused' });
      const began = performance.now();
      const error = await db.sql`select 1`.catch((caught: unknown) => caught);
      const transaction = await db
        .transact(async ({ sql }) => await sql`select 1`)
        .catch((caught: unknown) => caught);
      expect(performance.now() - began).toBeLessThan(3_000);
      expect(mapDatabaseError(error)).toMatchObject({ code: 'unavailable' });
      expect(mapDatabaseError(transaction)).toMatchObject({ code: 'unavailable' });
      proxy.heal();
      const back = performance.now();
      expect(await db.sql`select 1 as one`.catch(async () => await db.sql`select 1 as one`)).toMatchObject([
        { one: 1 },
      ]);
      expect(await db.transact(async ({ sql }) => await sql`select 2 as two`)).toMatchObject([{ two: 2 }]);
      expect(performance.now() - back).toBeLessThan(3_000);
      await db.close(500);
      await proxy.close();
    });

    it('listens again when it is back, and says that it missed something', async () => {
      const proxy = await startTcpProxy([test.url]);
      const db = openDatabase({ url: proxy.urlOf(test.url), max: 2 });
      const heard: string[] = [];
      let ready = 0;
      const listener = await db.listen(
        'news',
        (payload) => heard.push(payload),
        () => (ready += 1),
      );
      await test.db.sql`select pg_notify('news', 'one')`;
      await waitFor('the first notice', () => heard.length === 1);
      proxy.impair({ how: 'refused' });
      await waitFor('two tries in vain', () => proxy.refused() >= 2);
      await test.db.sql`select pg_notify('news', 'lost')`;
      proxy.heal();
      await waitFor('a new connection', () => ready === 2);
      await test.db.sql`select pg_notify('news', 'two')`;
      await waitFor('the next notice', () => heard.length === 2);
      expect(heard).toEqual(['one', 'two']);
      await listener.stop();
      await db.close(500);
      await proxy.close();
    });
  });
});
