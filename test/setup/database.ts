/** A fresh database for one test file, on the PostgreSQL that `needs.ts` names. */
import { randomBytes } from 'node:crypto';
import postgres from 'postgres';
import { migrate, openDatabase } from '../../server/platform/db/index.ts';
import type { Database, DatabaseOptions } from '../../server/platform/db/index.ts';
import { DATABASE_URL } from './needs.ts';
import { startPooler } from './pooler.ts';
import type { Pooler } from './pooler.ts';

export interface TestDatabase {
  readonly url: string;
  readonly db: Database;
  /** Closes `db`, ends whoever is still connected, drops the database. */
  drop(): Promise<void>;
}

async function asAdmin(statement: string): Promise<void> {
  const admin = postgres(DATABASE_URL, { max: 1, onnotice: () => undefined });
  try {
    await admin.unsafe(statement);
  } finally {
    await admin.end();
  }
}

/** Set: every test database is reached through a pooler in session mode. */
const isPooled = (process.env['SVC_TEST_POOLER'] ?? '') !== '';
let pooler: Promise<Pooler> | undefined;
/** Ends with it. */
const poolerOfThisProcess = async (): Promise<Pooler> => await (pooler ??= startPooler('session'));

/** Empty, not migrated; for tests of the start. */
export async function createEmptyDatabase(): Promise<{ url: string; drop(): Promise<void> }> {
  const name = `svc_test_${randomBytes(6).toString('hex')}`;
  await asAdmin(`create database ${name}`);
  const direct = new URL(DATABASE_URL);
  direct.pathname = `/${name}`;
  const url = isPooled ? (await poolerOfThisProcess()).through(direct.href) : direct.href;
  return { url, drop: async () => await asAdmin(`drop database if exists ${name} with (force)`) };
}

/** Migrated and open. */
export async function createTestDatabase(options: Partial<DatabaseOptions> = {}): Promise<TestDatabase> {
  const { url, drop } = await createEmptyDatabase();
  const db = openDatabase({ url, max: 5, ...options });
  await migrate(db);
  return {
    url,
    db,
    drop: async () => {
      await db.close(1_000);
      await drop();
    },
  };
}
