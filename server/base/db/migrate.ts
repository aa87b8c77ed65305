/** Applies server/migrations in order, under an advisory lock: any number of servers may start at once. */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { readMigrationFiles } from 'drizzle-orm/migrator';
import { openDatabase, type Database } from './database.ts';
import { isRetryable } from './errors.ts';
import { SESSION_LIMITS } from './opening.ts';
import { grantToWorkRole, prepareWorkRole } from './role.ts';
import type { SqlTag } from './statement.ts';

/** A statement may build an index of a big table. */
const STATEMENT_MS = 3_600_000;
/** Any fixed number that nothing else in this database locks. */
export const MIGRATION_LOCK = 7_205_759_403;
const ASKED_EVERY_MS = 100;

/** Returns the folder of migrations, which is found from source as well as from a bundle. */
function migrationsFolder(): string {
  for (let at = dirname(fileURLToPath(import.meta.url)), depth = 0; depth < 6; at = dirname(at), depth += 1) {
    const folder = join(at, 'migrations');
    if (existsSync(join(folder, 'meta', '_journal.json'))) return folder;
  }
  throw new Error(`no migrations folder above ${fileURLToPath(import.meta.url)}: the package is incomplete`);
}

interface Migration {
  /** `0003_expand_contacts`: its name in the journal. */
  readonly tag: string;
  readonly at: number;
  readonly hash: string;
  readonly statements: readonly string[];
}

interface Applied {
  readonly at: number;
  readonly hash: string;
  /** It is null where a server applied it that did not keep names. */
  readonly tag: string | null;
}

function readMigrations(folder: string): readonly Migration[] {
  const { entries } = JSON.parse(readFileSync(join(folder, 'meta', '_journal.json'), 'utf8')) as {
    readonly entries: ReadonlyArray<{ readonly when: number; readonly tag: string }>;
  };
  const tags = new Map(entries.map(({ when, tag }) => [when, tag]));
  return readMigrationFiles({ migrationsFolder: folder }).map(({ folderMillis: at, hash, sql }) => ({
    tag: tags.get(at) ?? String(at),
    at,
    hash,
    statements: sql,
  }));
}

/**
 * Throws for a database that this version cannot work on: tables of another line of versions, migrations that
 * were applied with another text, and migrations of a newer version that took away what this one needs
 * (`NNNN_contract_…`). Others of a newer version only add (`NNNN_expand_…`): beside them this one works while
 * it is being replaced.
 */
function refuseOthers(migrations: readonly Migration[], applied: readonly Applied[]): void {
  const known = new Map(migrations.map((migration) => [migration.at, migration]));
  const newest = Math.max(...known.keys());
  for (const { at, hash, tag } of applied) {
    const own = known.get(at);
    if (own === undefined && at <= newest)
      throw new Error(
        'the tables of this database were made by migrations that this version does not have: it is of another line of versions; start with an empty database',
      );
    if (own === undefined && /^\d+_contract_/.test(tag ?? ''))
      throw new Error(
        `a newer version has applied ${tag} to this database, which takes away what this version needs; start that version, or restore a backup from before`,
      );
    if (own !== undefined && own.hash !== hash)
      throw new Error(
        `the migration ${own.tag} was applied to this database with another text (${hash.slice(0, 12)}) than this version has (${own.hash.slice(0, 12)}): its tables may differ from what this version expects; start the version that made it, or start with an empty database`,
      );
  }
}

/** Its statements run one by one, each by itself, as `create index concurrently` has to. */
const OUTSIDE = /^\s*-- svc: outside a transaction$/m;
/**
 * Others of the table wait behind whoever waits for its lock, so that one lets go soon and asks again: before
 * the first of them, which came later, has waited for as long as it does.
 */
const LOCK_MS = SESSION_LIMITS.lock_timeout / 2;
const LOCK_TRIES = 60;
const LOCK_PAUSE_MS = 1_000;

/** Migrations that were not applied yet. */
async function findDue(sql: SqlTag, migrations: readonly Migration[]): Promise<readonly Migration[]> {
  await sql`create table if not exists schema_migrations (at bigint primary key, hash text not null, tag text, applied_at timestamptz not null default now())`;
  // Databases of earlier versions have no names.
  await sql`alter table schema_migrations add column if not exists tag text`;
  const applied = await sql<Applied[]>`select at, hash, tag from schema_migrations order by at`;
  refuseOthers(migrations, applied);
  const done = new Set(applied.map(({ at }) => at));
  return migrations.filter(({ at }) => !done.has(at));
}

/** Puts migrations that can be applied in one transaction together, in their order. */
function partsOf(due: readonly Migration[]): ReadonlyArray<readonly Migration[]> {
  const parts: Migration[][] = [];
  for (const migration of due) {
    const last = parts.at(-1);
    if (last === undefined || isOutside(migration) || isOutside(last[0])) parts.push([migration]);
    else last.push(migration);
  }
  return parts;
}

const isOutside = (migration: Migration | undefined): boolean =>
  migration?.statements.some((statement) => OUTSIDE.test(statement)) === true;

async function apply(sql: SqlTag, part: readonly Migration[]): Promise<void> {
  for (const { at, hash, tag, statements } of part) {
    for (const statement of statements) await sql.unsafe(statement);
    await sql`insert into schema_migrations (at, hash, tag) values (${at}, ${hash}, ${tag})`;
  }
}

async function applyTogether(db: Database, part: readonly Migration[]): Promise<void> {
  for (let tries = 1; ; tries += 1)
    try {
      return await db.transact(async ({ sql }) => {
        await sql.unsafe(`set local lock_timeout = ${LOCK_MS}`);
        await apply(sql, part);
      });
    } catch (error) {
      if (!isRetryable(error) || tries === LOCK_TRIES) throw error;
      await setTimeout(LOCK_PAUSE_MS);
    }
}

/** An index whose build was cut off is there and used by nothing: it is built anew. */
async function applyOutside({ sql }: Database, part: readonly Migration[]): Promise<void> {
  const broken = await sql<Array<{ name: string }>>`
    select i.indexrelid::regclass::text as name from pg_index i join pg_class c on c.oid = i.indexrelid
    where not i.indisvalid and c.relnamespace = current_schema()::regnamespace`;
  for (const { name } of broken) await sql.unsafe(`drop index concurrently ${name}`);
  // It waits for transactions that are under way, and nobody waits for it.
  await withoutLockTimeout(sql, async () => await apply(sql, part));
}

/**
 * It asks again and again in place of waiting in a statement, which would keep a snapshot until it ends: an
 * index that the one before builds concurrently waits for all of those.
 */
async function takeTurn(sql: SqlTag): Promise<void> {
  for (;;) {
    const [row] = await sql<
      Array<{ isOurs: boolean }>
    >`select pg_try_advisory_lock(${MIGRATION_LOCK}) as "isOurs"`;
    if (row?.isOurs === true) return;
    await setTimeout(ASKED_EVERY_MS);
  }
}

async function withoutLockTimeout(sql: SqlTag, work: () => Promise<unknown>): Promise<void> {
  await sql`set lock_timeout = 0`;
  await work();
  // RESET would give the database's own, which is none.
  await sql.unsafe(`set lock_timeout = ${SESSION_LIMITS.lock_timeout}`);
}

export interface Migrating {
  /** The default is the folder of the server. */
  readonly folder?: string;
  /** A database that lacks a migration is refused where this is false. The default is true. */
  readonly applies?: boolean;
}

/**
 * Applies what is due as the tables' owner, one statement after the other and so on one connection, which
 * holds the lock. It also makes the role of the running server and settles its rights. Migrations are applied
 * all or none, but for those that say `-- svc: outside a transaction`: what stands before one is applied,
 * whatever becomes of it. Returns their names.
 */
export async function migrate(
  url: string,
  { folder = migrationsFolder(), applies = true }: Migrating = {},
): Promise<readonly string[]> {
  const migrations = readMigrations(folder);
  const db = openDatabase({ url, max: 1, name: 'svc-migrate', statementTimeoutMs: STATEMENT_MS });
  try {
    const { role } = await prepareWorkRole(db);
    const { sql } = db;
    await takeTurn(sql);
    const due = await findDue(sql, migrations);
    const tags = due.map(({ tag }) => tag);
    if (due.length > 0 && !applies)
      throw new Error(
        `the database lacks ${tags.join(', ')}, and MIGRATE is off: start one server with MIGRATE=only, which applies them and ends`,
      );
    for (const part of partsOf(due))
      await (isOutside(part[0]) ? applyOutside(db, part) : applyTogether(db, part));
    if (role !== undefined) await db.transact(async (tx) => await grantToWorkRole(tx.sql));
    return tags;
  } finally {
    await db.close(1_000);
  }
}
