/**
 * This file tests the role of the running server: what it may do to tables that are append-only, and what is
 * said where there can be no such role.
 */
import { randomBytes } from 'node:crypto';
import postgres from 'postgres';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createEmptyDatabase } from '../../../test/setup/database.ts';
import { DATABASE_URL, has } from '../../../test/setup/needs.ts';
import { startTestServer } from '../../../test/setup/server.ts';
import { useDatabase } from '../../../test/setup/use-database.ts';
import { createLog } from '@svc/proto/process/log.ts';
import { openDatabase, type Database } from './database.ts';
import { migrate } from './migrate.ts';
import { grantToWorkRole, prepareWorkRole, WORK_ROLE } from './role.ts';

const postgresHere = await has('postgres');

async function codeOf(db: Database, statement: string): Promise<string> {
  try {
    await db.sql.unsafe(statement);
    return 'done';
  } catch (error) {
    return String((error as { code?: string }).code);
  }
}

describe.skipIf(!postgresHere)('the role of the running server', () => {
  const test = useDatabase();
  let server: Database;

  beforeAll(() => {
    server = openDatabase({ url: test.url, role: WORK_ROLE, max: 2 });
  });
  afterAll(async () => await server?.close(1_000));

  /** Column of each table, by the table's name. */
  const history = {
    audit_entries: 'actor_id',
    platform_feature_changes: 'actor_id',
    prices: 'currency',
    usage_events: 'team_id',
  };

  it('is taken by every connection', async () => {
    const [row] = await server.sql<Array<{ user: string }>>`select current_user as user`;
    expect(row?.user).toBe(WORK_ROLE);
  });

  it('may add to history and read it, and nothing else', async () => {
    for (const [table, column] of Object.entries(history)) {
      const asked = ['select', 'insert', 'update', 'delete', 'truncate', 'references', 'trigger'];
      const [held] = await server.sql<Array<{ rights: string[] }>>`
        select array(select r from unnest(${asked}::text[]) r where has_table_privilege(${table}, r)) as rights`;
      expect([table, held?.rights]).toEqual([table, ['select', 'insert']]);
      for (const statement of [
        `update ${table} set ${column} = ''`,
        `delete from ${table}`,
        `truncate ${table}`,
        `alter table ${table} disable trigger all`,
        `drop table ${table}`,
      ])
        expect([statement, await codeOf(server, statement)]).toEqual([statement, '42501']);
    }
  });

  it('finds history closed even as the owner of the tables, also where it is empty', async () => {
    for (const [table, column] of Object.entries(history)) {
      for (const statement of [
        `update ${table} set ${column} = ''`,
        `delete from ${table}`,
        `truncate ${table} cascade`,
        `set session_replication_role = replica; delete from ${table}`,
      ])
        expect([statement, await codeOf(test.db, statement)]).toEqual([statement, '42501']);
    }
    await test.db.sql.unsafe('reset session_replication_role');
  });

  it('may do all that the server does to other tables, those made later too', async () => {
    await test.db.sql`create table later (n int)`;
    for (const table of ['settings', 'work_items', 'runners', 'audit_heads', 'later']) {
      const [held] = await server.sql<Array<{ all: boolean }>>`
        select has_table_privilege(${table}, 'select') and has_table_privilege(${table}, 'insert')
          and has_table_privilege(${table}, 'update') and has_table_privilege(${table}, 'delete') as all`;
      expect([table, held?.all]).toEqual([table, true]);
    }
    expect(await codeOf(server, 'select nonces_rotate()')).toBe('done');
    expect(await codeOf(server, 'truncate nonces_0')).toBe('done');
    expect(await codeOf(server, 'create table public.mine (n int)')).toBe('42501');
  });

  it('loses what it must not have with the next start', async () => {
    await test.db.sql.unsafe(`grant update, truncate on audit_entries to ${WORK_ROLE}`);
    await test.db.transact(async ({ sql }) => await grantToWorkRole(sql));
    expect(await codeOf(server, 'truncate audit_entries')).toBe('42501');
    expect(await codeOf(server, `update audit_entries set actor_id = ''`)).toBe('42501');
  });

  it('is made once, however many databases of a cluster ask for it at the same moment', async () => {
    const role = `svc_test_${randomBytes(6).toString('hex')}`;
    const empty = await Promise.all(Array.from({ length: 6 }, async () => await createEmptyDatabase()));
    const databases = empty.map(({ url }) => openDatabase({ url, max: 1 }));
    await Promise.all(databases.map(async ({ sql }) => await sql`select 1`)); // connected, so that they are equally fast
    const made = await Promise.all(databases.map(async (db) => await prepareWorkRole(db, role)));
    expect(made).toEqual(databases.map(() => ({ role })));
    await Promise.all(databases.map(async (db) => await db.close(1_000)));
    await Promise.all(empty.map(async ({ drop }) => await drop()));
    await test.db.sql.unsafe(`drop role ${role}`);
  });
});

describe.skipIf(!postgresHere)('a user of the database who', () => {
  const name = `svc_test_${randomBytes(6).toString('hex')}`;
  const admin = postgres(DATABASE_URL, { max: 1, onnotice: () => undefined });

  afterAll(async () => {
    await admin.unsafe(`drop role if exists ${name}`);
    await admin.end();
  });

  /** Runs with a database that belongs to a user with these attributes. */
  async function owned<T>(attributes: string, work: (db: Database, url: string) => Promise<T>): Promise<T> {
    const { url, drop } = await createEmptyDatabase();
    await admin.unsafe(`create role ${name} login password 'secret' ${attributes}`);
    await admin.unsafe(`alter database ${new URL(url).pathname.slice(1)} owner to ${name}`);
    const own = Object.assign(new URL(url), { username: name, password: 'secret' }).href;
    const db = openDatabase({ url: own, max: 2 });
    try {
      return await work(db, own);
    } finally {
      await db.close(1_000);
      await drop();
      await admin.unsafe(`drop role ${name}`);
    }
  }

  it('may make roles gets one and works under it', async () => {
    await owned('nosuperuser createrole', async (db, url) => {
      await migrate(url);
      expect(await prepareWorkRole(db)).toEqual({ role: WORK_ROLE });
      const server = openDatabase({ url, role: WORK_ROLE, max: 1 });
      expect(await codeOf(server, 'delete from audit_entries')).toBe('42501');
      expect(await codeOf(server, 'delete from settings')).toBe('done');
      await server.close(1_000);
    });
  });

  it('may make none is told what to do, and works without', async () => {
    await owned('nosuperuser nocreaterole', async (db, url) => {
      await migrate(url);
      const { role, problem } = await prepareWorkRole(db);
      expect(role).toBeUndefined();
      expect(problem).toContain(`GRANT ${WORK_ROLE} TO`);
      expect(await codeOf(db, 'delete from audit_entries')).toBe('42501'); // by the trigger
      expect(await codeOf(db, 'delete from settings')).toBe('done');
    });
  });

  it('may make none finds it in the log, and the server works', async () => {
    await owned('nosuperuser nocreaterole', async (_db, databaseUrl) => {
      const lines: string[] = [];
      const log = createLog({ level: 'warn', write: (line) => void lines.push(line) });
      const server = await startTestServer({ databaseUrl, log });
      const { apiKey, teamId } = server.first;
      const made = await server.call('POST /projects', { as: apiKey, body: { name: 'shop', teamId } });
      await server.stop();
      expect([made.status, made.text]).toEqual([201, made.text]);
      expect(lines.filter((line) => line.includes(`GRANT ${WORK_ROLE} TO`))).toHaveLength(1);
    });
  });
});
