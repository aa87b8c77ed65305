/** Applies server/migrations in order, all or nothing, under an advisory lock: any number of servers may start at once. */
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readMigrationFiles } from 'drizzle-orm/migrator';
import type { Database } from './database.ts';
import { grantToWorkRole, prepareWorkRole } from './role.ts';

/** Any fixed number that nothing else in this database locks. */
const LOCK_KEY = 7_205_759_403;

/** The folder beside this file's package, from source as well as from a bundle. */
function migrationsFolder(): string {
  for (let at = dirname(fileURLToPath(import.meta.url)), depth = 0; depth < 6; at = dirname(at), depth += 1) {
    const folder = join(at, 'migrations');
    if (existsSync(join(folder, 'meta', '_journal.json'))) return folder;
  }
  throw new Error(`no migrations folder above ${fileURLToPath(import.meta.url)}: the package is incomplete`);
}

/** As the tables' owner. Also makes the role of the running server and settles its rights. Returns how many were applied. */
export async function migrate(db: Database, folder: string = migrationsFolder()): Promise<number> {
  const migrations = readMigrationFiles({ migrationsFolder: folder });
  const { role } = await prepareWorkRole(db);
  return await db.transact(async ({ sql }) => {
    await sql.unsafe("set local statement_timeout = '10min'; set local lock_timeout = '2min'");
    await sql`select pg_advisory_xact_lock(${LOCK_KEY})`;
    await sql`create table if not exists schema_migrations (at bigint primary key, hash text not null, applied_at timestamptz not null default now())`;
    const applied = new Set(
      (await sql<Array<{ at: number }>>`select at from schema_migrations`).map((row) => row.at),
    );
    const known = new Set(migrations.map(({ folderMillis }) => folderMillis));
    const newest = Math.max(...known);
    // Later ones are of a newer server, with which this one works while it is being replaced.
    if ([...applied].some((at) => at <= newest && !known.has(at))) {
      throw new Error(
        'the tables of this database were made by migrations that this version does not have: it is of another line of versions; start with an empty database',
      );
    }
    const due = migrations.filter((migration) => !applied.has(migration.folderMillis));
    for (const migration of due) {
      for (const statement of migration.sql) await sql.unsafe(statement);
      await sql`insert into schema_migrations (at, hash) values (${migration.folderMillis}, ${migration.hash})`;
    }
    if (role !== undefined) await grantToWorkRole(sql);
    return due.length;
  });
}
