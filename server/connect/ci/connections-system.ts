/**
 * Connections and pipelines as workers, the intake of webhooks and the recording of runs read and make them. They act for no caller: the connection was
 * found within the teams of the call, by its webhook, or by its job.
 */
// No TeamScope: records runs of a connection, which a webhook has, or was found within the teams of the call.
import type { Database } from '../../base/db/index.ts';
import { newId } from '../../base/ids.ts';
import { connectionColumns } from './connections-store.ts';
import type { Connection } from './model/connection.ts';
import type { Recording } from './model/recording.ts';
import type { ConnectionStatus } from './words.ts';

/** Returns the status, which stays so until the end of the transaction. Undefined: it was deleted. Others may ask for the same, so that reports do not wait for each other. */
export async function holdStatus(
  { sql }: Database,
  { id }: Pick<Connection, 'id'>,
): Promise<ConnectionStatus | undefined> {
  const [row] = await sql<
    Array<Pick<Connection, 'status'>>
  >`select status from ci_connections where id = ${id} for share`;
  return row?.status;
}

/** Finds a connection of any team: for background work, and for jobs of CI systems, which belong to no team before their connection is known. */
export async function readConnection({ sql }: Database, id: string): Promise<Connection | undefined> {
  const [row] = await sql<
    Connection[]
  >`select ${connectionColumns(sql)} from ci_connections where id = ${id}`;
  return row;
}

/** No request is sent to the connection's host before this time. */
export async function keepQuiet(
  { sql }: Database,
  { id }: Pick<Connection, 'id'>,
  until: Date,
): Promise<void> {
  await sql`update ci_connections set quiet_until = greatest(quiet_until, ${until}) where id = ${id}`;
}

/** Any fixed number that nothing else seeds its locks with. */
const PIPELINES_LOCK_SEED = 1754;

/** Nobody else makes pipelines of this connection until the end of the transaction; two that made two each, in other orders, would wait for each other. */
export async function lockPipelines({ sql }: Database, connectionId: string): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${connectionId}, ${PIPELINES_LOCK_SEED}))`;
}

/** Returns the id of the file's pipeline if the file is known here, else of the name's; makes one when there is none. */
export async function ensurePipeline(
  { db, connection: { teamId, id: connectionId }, now }: Recording,
  { name, path }: { readonly name: string; readonly path: string },
): Promise<string> {
  const { sql } = db;
  const find = async (): Promise<string | undefined> => {
    const [row] = await sql<Array<{ id: string }>>`
      select id from ci_pipelines
      where connection_id = ${connectionId} and (
        (path = ${path} and path <> '')
        -- Two files may give one name; whose file is not known goes by the name.
        or (name = ${name} and (path = '' or ${path} = '' or path = ${path})))
      order by (path = ${path}) desc, (name = ${name}) desc, id limit 1`;
    return row?.id;
  };
  const known = await find();
  if (known !== undefined) return known;
  await lockPipelines(db, connectionId);
  const theirs = await find(); // of whoever held the lock
  if (theirs !== undefined) return theirs;
  const pipelineId = newId('cip', now.getTime());
  await sql`
    insert into ci_pipelines (id, team_id, connection_id, name, path, created_at)
    values (${pipelineId}, ${teamId}, ${connectionId}, ${name}, ${path}, ${now})`;
  return pipelineId;
}
