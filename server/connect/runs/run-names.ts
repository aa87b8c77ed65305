/**
 * This file resolves names of runs. Some providers have several for the same run: Drone's job knows the
 * number of its build and its webhook the id, Bitbucket's has a number and a UUID. A name that is known to be
 * another one of a run leads to the name that the run is stored under, in one step.
 */
// No TeamScope: records runs of a connection, which a webhook has, or was found within the teams of the call.
import type { Database } from '../../base/db/index.ts';
import type { Connection } from '../connections/index.ts';
import type { CiProvider, RunName } from '../providers/index.ts';

/**
 * Providers whose webhooks have other names than their jobs. Everywhere else nobody has to wait for names to
 * settle.
 */
const SEVERAL: ReadonlySet<CiProvider> = new Set(['bitbucket', 'drone', 'jenkins']);

/** Any fixed numbers that nothing else seeds its locks with. */
const LOCK_SEED = 1752;
const RUN_LOCK_SEED = 1753;

/**
 * Until the end of the transaction nobody learns that two names of this connection are one; otherwise a run
 * could be made under the lesser one.
 */
export async function holdNames(
  { sql }: Database,
  { id, provider }: Pick<Connection, 'id' | 'provider'>,
): Promise<void> {
  if (!SEVERAL.has(provider)) return;
  await sql`select pg_advisory_xact_lock_shared(hashtextextended(${id}, ${LOCK_SEED}))`;
}

/**
 * Nobody else looks up or learns names of this connection until the end of the transaction. It must not be
 * called after holdNames.
 */
export async function lockNames({ sql }: Database, { id }: Pick<Connection, 'id'>): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${id}, ${LOCK_SEED}))`;
}

/** The name under which the run is stored, when this is another one of it. */
export async function realId(
  { sql }: Database,
  connectionId: string,
  externalRunId: string,
): Promise<string> {
  const [row] = await sql<Array<{ id: string }>>`
    select external_run_id as id from ci_run_aliases where connection_id = ${connectionId} and alias = ${externalRunId}`;
  return row?.id ?? externalRunId;
}

/**
 * Locks the name, so that nobody else records anything about this run until the end of the transaction, and
 * returns the name under which the run is stored. The lock is taken before anything of the run is read or
 * made, also when it is not there yet: transactions of one run then take turns, and none waits for another
 * one's run with a pipeline in its hands.
 */
export async function lockRun(
  { sql }: Database,
  connectionId: string,
  { externalRunId, externalAttempt }: RunName,
): Promise<string> {
  const [row] = await sql<Array<{ id: string }>>`
    with stored as materialized (
      select coalesce((select external_run_id from ci_run_aliases where connection_id = ${connectionId} and alias = ${externalRunId}), ${externalRunId}) as id
    )
    select id, pg_advisory_xact_lock(hashtextextended(${`${connectionId}:${externalAttempt}:`} || id, ${RUN_LOCK_SEED})) from stored`;
  return row?.id ?? externalRunId;
}

/** Finds the names among these that lead nowhere yet. */
export async function unknownNames(
  { sql }: Database,
  connectionId: string,
  names: readonly string[],
): Promise<readonly string[]> {
  const rows = await sql<Array<{ alias: string }>>`
    select alias from ci_run_aliases where connection_id = ${connectionId} and alias = any(${[...names]})`;
  const known = new Set(rows.map(({ alias }) => alias));
  return names.filter((name) => !known.has(name));
}

/** Has `alias` lead to `externalRunId`, and with it every name that led to `alias`. */
export async function addName(
  { sql }: Database,
  connectionId: string,
  { alias, externalRunId }: { readonly alias: string; readonly externalRunId: string },
): Promise<void> {
  await sql`
    update ci_run_aliases set external_run_id = ${externalRunId} where connection_id = ${connectionId} and external_run_id = ${alias}`;
  await sql`
    insert into ci_run_aliases (connection_id, alias, external_run_id) values (${connectionId}, ${alias}, ${externalRunId})`;
}
