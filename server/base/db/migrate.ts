/**
 * Applies server/migrations in order, all or nothing, under an advisory lock: any number of servers may start
 * at once.
 */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readMigrationFiles } from 'drizzle-orm/migrator';
import type { Database } from './database.ts';
import { grantToWorkRole, prepareWorkRole } from './role.ts';

/** Any fixed number that nothing else in this database locks. */
const LOCK_KEY = 7_205_759_403;

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

/**
 * This runs as the tables' owner. It also makes the role of the running server and settles its rights.
 * Returns how many were applied.
 */
export async function migrate(db: Database, folder: string = migrationsFolder()): Promise<number> {
  const migrations = readMigrations(folder);
  const { role } = await prepareWorkRole(db);
  return await db.transact(async ({ sql }) => {
    await sql.unsafe("set local statement_timeout = '10min'; set local lock_timeout = '2min'");
    await sql`select pg_advisory_xact_lock(${LOCK_KEY})`;
    await sql`create table if not exists schema_migrations (at bigint primary key, hash text not null, tag text, applied_at timestamptz not null default now())`;
    // Databases of earlier versions have no names.
    await sql`alter table schema_migrations add column if not exists tag text`;
    const applied = await sql<Applied[]>`select at, hash, tag from schema_migrations order by at`;
    refuseOthers(migrations, applied);
    const done = new Set(applied.map(({ at }) => at));
    const due = migrations.filter(({ at }) => !done.has(at));
    for (const { at, hash, tag, statements } of due) {
      for (const statement of statements) await sql.unsafe(statement);
      await sql`insert into schema_migrations (at, hash, tag) values (${at}, ${hash}, ${tag})`;
    }
    if (role !== undefined) await grantToWorkRole(sql);
    return due.length;
  });
}
