/**
 * This file tests a primary and a standby, and one address with both hosts: who is dialled, what a promotion
 * does to who is connected, and the generation that it begins. Rows of test/faults do the same to whole
 * servers under load.
 */
import { sql as fragment } from 'drizzle-orm';
import postgres from 'postgres';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePorts } from '../../../test/faults/free-ports.ts';
import { createDatabase, startPostgres, type Cluster } from '../../../test/faults/postgres.ts';
import type { Pair } from '../../../test/faults/postgres-pair.ts';
import { DATABASE_URL, has } from '../../../test/setup/needs.ts';
import { waitFor } from '../../../test/setup/wait-for.ts';
import { useFolder } from '../../../test/setup/use-folder.ts';
import {
  assertOneDatabase,
  installationOf,
  isStandbyOnly,
  mapDatabaseError,
  migrate,
  nextEpoch,
  openDatabase,
  readSynchrony,
  WORK_ROLE,
  type Database,
} from './index.ts';

/** Time from the new primary's first answer to the first acknowledged write. */
const WITHIN_MS = 2_000;

describe.skipIf(!(await has('replication')))('a primary and its standby', () => {
  const folder = useFolder();
  let cluster: Cluster;
  let pair: Pair;
  let name = '';
  /** Nobody listens there. */
  let closed = 0;
  const open: Database[] = [];
  const generations: number[] = [];
  const addressOf = (ports: readonly number[], parameters = ''): string =>
    `postgres://postgres@${ports.map((port) => `127.0.0.1:${port}`).join(',')}/${name}${parameters}`;
  const database = (url: string, max = 4): Database => {
    const db = openDatabase({
      url,
      max,
      role: WORK_ROLE,
      onGeneration: (generation) => generations.push(generation),
    });
    open.push(db);
    return db;
  };
  const portOf = async ({ sql }: Database): Promise<number> => {
    const [row] = await sql<Array<{ port: number }>>`select inet_server_port() as port`;
    return row?.port ?? 0;
  };
  /** Tries until it is told that the row is there. Answers when that was. */
  const firstWrite = async ({ sql }: Database, id: string): Promise<number> => {
    for (;;) {
      try {
        // The one before may have come through, with its answer lost.
        await sql`insert into written values (${id}) on conflict do nothing`;
        return performance.now();
      } catch (error) {
        expect(mapDatabaseError(error), String(error)).toMatchObject({ code: 'unavailable' });
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    }
  };
  const generationOf = async ({ sql }: Database): Promise<object> => {
    const [row] =
      await sql`select g.generation, ${nextEpoch(sql, sql`4`)} as "nextEpoch" from database_generation g`;
    return { ...row };
  };

  beforeAll(async () => {
    cluster = await startPostgres(folder, 'pair');
    pair = cluster.pair!;
    [closed = 0] = await freePorts(1);
    name = new URL((await createDatabase(cluster)).url).pathname.slice(1);
    await migrate(addressOf(pair.ports));
    const owner = openDatabase({ url: addressOf(pair.ports), max: 2 });
    await owner.sql`create table written (id text primary key)`;
    await owner.close();
    // Commits wait until it has them, not until it shows them.
    const standby = openDatabase({ url: addressOf([pair.ports[1] ?? 0]), target: 'any', max: 2 });
    await waitFor('the standby to show the tables', async () => await standby.sql`select from written`);
    await standby.close();
  }, 60_000);
  afterAll(async () => {
    await Promise.all(open.map(async (db) => await db.close(0)));
    await cluster?.stop();
  });

  it('are told apart: the primary is taken, whichever comes first', async () => {
    const [a, b] = pair.ports as [number, number];
    expect(await portOf(database(addressOf([a, b])))).toBe(a);
    expect(await portOf(database(addressOf([b, a])))).toBe(a);
    expect(await portOf(database(addressOf([b, a], '?target_session_attrs=read-write')))).toBe(a);
    expect(await portOf(database(addressOf([b, a], '?target_session_attrs=any')))).toBe(b);
    expect(await portOf(database(addressOf([closed, b, a])))).toBe(a);
  });

  it('are one database by every way that leads there, and another cluster is none', async () => {
    const [a, b] = pair.ports as [number, number];
    const both = addressOf([closed, b, a]);
    await assertOneDatabase({ databaseUrl: both, replicaUrl: addressOf([b]), listenDatabaseUrl: both });
    const installation = await installationOf(database(both));
    const replica = { databaseUrl: both, replicaUrl: DATABASE_URL };
    await expect(assertOneDatabase(replica)).rejects.toThrow(/^REPLICA_URL leads to another database/);
    // A replica that is asked for its installation answers as soon as it has replayed it.
    const db = openDatabase({ url: both, replicaUrl: addressOf([b]), installation, max: 2 });
    open.push(db);
    await waitFor('a read from the standby', async () => await portOf({ ...db, sql: db.behind.sql }), {
      holds: (port) => port === b,
    });
  });

  it('of which only the standby is there are refused, with the reason', async () => {
    const [, b] = pair.ports as [number, number];
    const error: unknown = await database(addressOf([b, b])).sql`select 1`.catch((e: unknown) => e);
    expect(isStandbyOnly(error)).toBe(true);
    expect(String(error)).toContain(`127.0.0.1:${b}: the database is a standby`);
    const standby = database(addressOf([b], '?target_session_attrs=any'), 2);
    await expect(Promise.resolve(standby.sql`insert into written values ('no')`)).rejects.toMatchObject({
      code: '25006',
    });
    // That connection is over, and another one is opened: reads go on.
    expect(await portOf(standby)).toBe(b);
  });

  it('say whether a promotion would lose something', async () => {
    const { sql } = database(addressOf(pair.ports));
    expect(await readSynchrony(sql, false)).toEqual({ hasStandby: true, waits: true });
    await pair.commitsWait(false);
    await waitFor('commits not to wait', async () => !(await readSynchrony(sql, false)).waits);
    expect(await readSynchrony(sql, false)).toEqual({ hasStandby: true, waits: false });
    await pair.commitsWait(true);
  });

  it('share the reads that may be late, while the standby is close behind', async () => {
    const [a, b] = pair.ports as [number, number];
    const replicaUrl = addressOf([b]);
    const db = openDatabase({ url: addressOf([a]), replicaUrl, max: 2, role: WORK_ROLE });
    open.push(db);
    const reader = async (): Promise<number> => {
      const [row] = await db.behind.sql<Array<{ port: number }>>`select inet_server_port() as port`;
      return row?.port ?? 0;
    };
    await waitFor('the standby to be read', async () => (await reader()) === b);
    expect(await db.behind.orm.execute(fragment`select pg_is_in_recovery() as standby`)).toMatchObject([
      { standby: true },
    ]);
    expect(await portOf(db)).toBe(a);
    await db.transact(async (own) => expect(own.behind).toBe(own));
    // It gets everything and shows nothing of it.
    const admin = postgres(addressOf([b]), { max: 1 });
    await admin`select pg_wal_replay_pause()`;
    await db.sql`insert into written values ('not shown')`;
    await waitFor('the primary to be read', async () => (await reader()) === a);
    await admin`select pg_wal_replay_resume()`;
    await admin.end();
    await waitFor('the standby to be read again', async () => (await reader()) === b);
    await db.sql`delete from written where id = 'not shown'`;
    await db.close(0);
    const none = openDatabase({ url: addressOf([a]), replicaUrl: addressOf([closed]), max: 2 });
    open.push(none);
    expect(await none.behind.sql`select inet_server_port() as port`).toMatchObject([{ port: a }]);
  });

  it('change places: the first write is acknowledged soon, nothing is lost, and old epochs are over', async () => {
    const [a, b] = pair.ports as [number, number];
    const handles = [database(addressOf([a, b])), database(addressOf([b, a]))];
    for (const [at, db] of handles.entries()) await firstWrite(db, `before ${at}`);
    expect(await generationOf(handles[0]!)).toEqual({ generation: 0, nextEpoch: 5 });
    const direct = openDatabase({ url: addressOf([b], '?target_session_attrs=any'), max: 2 });
    let answeredAt = 0;
    const promoted = pair.promote();
    const written = Promise.all(handles.map(async (db, at) => await firstWrite(db, `after ${at}`)));
    await waitFor('the new primary to answer', async () => {
      const [row] = await direct.sql<Array<{ standby: boolean }>>`select pg_is_in_recovery() as standby`;
      answeredAt ||= row?.standby === false ? performance.now() : 0;
      return answeredAt > 0;
    });
    const lateMs = (await written).map((at) => Math.round(at - answeredAt));
    console.log(`first acknowledged writes ${lateMs.join(' and ')} ms after the new primary's first answer`);
    expect(Math.max(...lateMs)).toBeLessThan(WITHIN_MS);
    await promoted;
    await direct.close();
    for (const db of handles) {
      expect(await portOf(db)).toBe(b);
      const rows = await db.sql<Array<{ id: string }>>`select id from written order by id`;
      expect(rows.map(({ id }) => id)).toEqual(['after 0', 'after 1', 'before 0', 'before 1']);
      expect(await generationOf(db)).toEqual({ generation: 1, nextEpoch: 65_537 });
    }
    // However many connections met it.
    expect(generations).toEqual([1]);
    const [store] = await handles[0]!
      .sql`select since > now() - interval '1 minute' as anew from nonce_store`;
    expect(store).toEqual({ anew: true });
  });

  it('change places again, the old primary being the standby', async () => {
    await pair.rejoin();
    const [a, b] = pair.ports as [number, number];
    const db = database(addressOf([a, b]));
    expect(await portOf(db)).toBe(b);
    await pair.demote();
    await firstWrite(db, 'again');
    expect(await portOf(db)).toBe(a);
    expect(await generationOf(db)).toEqual({ generation: 2, nextEpoch: 131_073 });
  });
});
