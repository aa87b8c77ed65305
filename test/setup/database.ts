/** A fresh database for one test file, on the PostgreSQL that `needs.ts` names. */
import { randomBytes } from 'node:crypto';
import postgres from 'postgres';
import { migrate, openDatabase, type DatabaseOptions } from '../../server/base/db/index.ts';
import { answers, DATABASE_URL } from './needs.ts';
import { startPooler, type Pooler } from './pooler.ts';

export type TestDatabase = Awaited<ReturnType<typeof createTestDatabase>>;

/** Runs statements as the owner of everything, past every right. */
export async function asAdmin(
  statement: string,
  url = DATABASE_URL,
): Promise<readonly Record<string, unknown>[]> {
  const admin = postgres(url, { max: 1, onnotice: () => undefined });
  try {
    return await admin.unsafe(statement);
  } finally {
    await admin.end();
  }
}

/** Drops every database whose name begins so. Does nothing where there is no PostgreSQL. */
export async function dropDatabases(prefix: string): Promise<void> {
  if (!(await answers(DATABASE_URL))) return;
  const found = await asAdmin(`select datname from pg_database where starts_with(datname, '${prefix}')`);
  for (const { datname } of found) await asAdmin(`drop database ${String(datname)} with (force)`);
}

/** Set: every test database is reached through a pooler in session mode. */
const isPooled = (process.env['SVC_TEST_POOLER'] ?? '') !== '';
let pooler: Promise<Pooler> | undefined;
/** Ends with it. */
const poolerOfThisProcess = async (): Promise<Pooler> => await (pooler ??= startPooler('session'));

interface NewDatabase {
  readonly url: string;
  drop(): Promise<void>;
}

/** Empty, not migrated; for tests of the start. */
export const createEmptyDatabase = async (prefix = 'svc_test'): Promise<NewDatabase> =>
  await createDatabase(prefix);

/** Names the database that a run migrates once and copies for each test, and is inherited by its workers. */
const TEMPLATE = 'SVC_TEST_TEMPLATE';

/** Migrates a database and makes it the one that `createMigratedDatabase` copies. */
export async function makeTemplate(prefix: string): Promise<void> {
  if (process.env[TEMPLATE] !== undefined || !(await answers(DATABASE_URL))) return;
  const name = `${prefix}_template`;
  await asAdmin(`create database ${name}`);
  // It goes past the pooler, which would keep a connection: a database that is in use cannot be copied.
  await migrate(addressOf(name));
  process.env[TEMPLATE] = name;
}

/**
 * A copy of the template as if it were migrated itself; empty outside of a run, where whoever opens it
 * migrates it.
 */
export async function createMigratedDatabase(prefix = 'svc_test'): Promise<NewDatabase> {
  const template = process.env[TEMPLATE];
  const made = await createDatabase(prefix, template);
  if (template !== undefined)
    // It is an installation of its own, and no later generation of the template.
    await asAdmin(
      `update settings set value = 'ins_' || replace(gen_random_uuid()::text, '-', '') where key = 'installation.id';
       update database_generation set made_for = database_origin()`,
      made.url,
    );
  return made;
}

function addressOf(name: string): string {
  const address = new URL(DATABASE_URL);
  address.pathname = `/${name}`;
  return address.href;
}

async function createDatabase(prefix: string, template?: string): Promise<NewDatabase> {
  const name = `${prefix}_${randomBytes(6).toString('hex')}`;
  await asAdmin(`create database ${name}${template === undefined ? '' : ` template ${template}`}`);
  const direct = addressOf(name);
  const url = isPooled ? (await poolerOfThisProcess()).through(direct) : direct;
  return { url, drop: async () => void (await asAdmin(`drop database if exists ${name} with (force)`)) };
}

/** Migrated and open. */
export async function createTestDatabase(options: Partial<DatabaseOptions> = {}) {
  const { url, drop } = await createMigratedDatabase();
  // Without a template it is empty.
  if (process.env[TEMPLATE] === undefined) await migrate(url);
  const db = openDatabase({ url, max: 5, ...options });
  return {
    url,
    db,
    /** Closes `db`, ends whoever is still connected, drops the database. */
    drop: async (): Promise<void> => {
      await db.close(1_000);
      await drop();
    },
  };
}
