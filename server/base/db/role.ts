/**
 * The role that the running server works under. It may read and write every table, except those that are
 * append-only, where it may insert and read, and nothing else: a statement that got in somewhere cannot
 * change history even if it gets past the tables' triggers. A table is append-only when it has an enabled
 * trigger whose name ends with `_append_only`; the migration that makes such a table says so there, once.
 * Rows of a table whose trigger ends with `_kept` change, and cannot be deleted.
 *
 * The role has no login: the pool logs in as the user of DATABASE_URL, who owns the tables, and takes the
 * role before its first statement. So it holds against statements of ours that are wrong, not against
 * somebody who may send any statement and takes it off again: against that one there are the signed
 * checkpoints (server/delivery/audit). Roles belong to the whole cluster, so all databases of a cluster share
 * the one; what it may do is granted in each.
 */
import type { Database } from './database.ts';
import type { SqlTag } from './statement.ts';
import { isConnectionError } from './errors.ts';

export const WORK_ROLE = 'svc_work';

/** `problem`: why the server must work as the user itself, in words for an operator. */
export type WorkRole =
  | { readonly role: string; readonly problem?: undefined }
  | { readonly role: undefined; readonly problem: string };

/**
 * Makes the role where it is missing. Needs no transaction of its own; any number of servers and databases
 * may do it at once.
 */
export async function prepareWorkRole(db: Database, role: string = WORK_ROLE): Promise<WorkRole> {
  if (await isUsable(db, role)) return { role };
  let why = 'it may not be taken';
  try {
    await db.sql.unsafe(`do $$
      begin
        if not exists (select from pg_roles where rolname = '${role}') then
          begin
            create role ${role} nologin;
          exception when duplicate_object or unique_violation then
            null; -- another database of this cluster was faster
          end;
        end if;
        if not (select rolsuper from pg_roles where rolname = session_user) then
          execute format('grant ${role} to %I', session_user);
        end if;
      end $$`);
  } catch (error) {
    if (isConnectionError(error)) throw error;
    why = error instanceof Error ? error.message : String(error);
  }
  // This is looked at after an error too: two that grant the same to one user at the same moment may both go
  // on when one of them was heard.
  if (await isUsable(db, role)) return { role };
  return {
    role: undefined,
    problem:
      `the database user may not work under the role ${role} (${why}); triggers alone keep the audit ledger append-only. ` +
      `Let a superuser run: CREATE ROLE ${role} NOLOGIN; GRANT ${role} TO <the user of DATABASE_URL>;`,
  };
}

/**
 * Tries to take the role, because the question whether a member may take it differs from one PostgreSQL to
 * the next.
 */
async function isUsable(db: Database, role: string): Promise<boolean> {
  try {
    await db.transact(async ({ sql }) => void (await sql.unsafe(`set local role ${role}`)));
    return true;
  } catch (error) {
    if (isConnectionError(error)) throw error;
    return false; // not there, or not for this user
  }
}

interface TableRights {
  readonly name: string;
  readonly appendOnly: boolean;
  /** Nobody deletes rows. */
  readonly kept: boolean;
  /** A partition that is emptied in rotation. */
  readonly emptied: boolean;
  /** The rights of the role, as far as they matter here. */
  readonly held: readonly string[];
}

const RIGHTS = ['SELECT', 'INSERT', 'UPDATE', 'DELETE', 'TRUNCATE'] as const;

/**
 * Gives the role what it needs on the tables that are there and takes what it must not have. It runs
 * behind the migrations and under their lock: the server never works on a table that is not settled yet. It
 * changes nothing where nothing is to be changed.
 */
export async function grantToWorkRole(sql: SqlTag): Promise<void> {
  const tables = await sql<TableRights[]>`
    select c.relname as name, c.relname ~ '^nonces_[0-7]$' as emptied,
      exists (select from pg_trigger t where t.tgrelid = c.oid and t.tgname ~ '_append_only$' and t.tgenabled <> 'D') as "appendOnly",
      exists (select from pg_trigger t where t.tgrelid = c.oid and t.tgname ~ '_kept$' and t.tgenabled <> 'D') as kept,
      array(select r from unnest(${[...RIGHTS]}::text[]) r where has_table_privilege(${WORK_ROLE}, c.oid, r)) as held
    from pg_class c where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') order by c.relname`;
  const statements = tables.flatMap((table) => {
    const wanted = new Set(wantedRights(table));
    const missing = RIGHTS.filter((right) => wanted.has(right) && !table.held.includes(right));
    const beyond = RIGHTS.filter((right) => !wanted.has(right) && table.held.includes(right));
    return [
      ...(missing.length === 0 ? [] : [`grant ${missing.join(', ')} on "${table.name}" to ${WORK_ROLE}`]),
      ...(beyond.length === 0 ? [] : [`revoke ${beyond.join(', ')} on "${table.name}" from ${WORK_ROLE}`]),
    ];
  });
  if (statements.length === 0) return;
  await sql.unsafe(
    [
      `grant usage on schema public to ${WORK_ROLE}`,
      `grant usage, select on all sequences in schema public to ${WORK_ROLE}`,
      // This is for tables that are made by hand or by a test between two migrations.
      `alter default privileges in schema public grant select, insert, update, delete on tables to ${WORK_ROLE}`,
      ...statements,
    ].join('; '),
  );
}

function wantedRights({ name, appendOnly, kept, emptied }: TableRights): readonly string[] {
  if (appendOnly) return ['SELECT', 'INSERT'];
  if (name === 'schema_migrations') return ['SELECT'];
  if (kept) return ['SELECT', 'INSERT', 'UPDATE'];
  return ['SELECT', 'INSERT', 'UPDATE', 'DELETE', ...(emptied ? ['TRUNCATE'] : [])];
}
