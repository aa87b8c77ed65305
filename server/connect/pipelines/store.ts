/** The recording of runs, and searches for definitions, make the pipelines of a connection. */
// No TeamScope: records runs of a connection, which a webhook has, or was found within the teams of the call.
import { asc, eq, inArray } from 'drizzle-orm';
import type { Database } from '../../base/db/index.ts';
import { newId } from '../../base/ids.ts';
import { rowsOf, type RowOf } from '../../kit/resource/index.ts';
import type { Connection } from '../connections/index.ts';
import type { FoundPipeline } from '../providers/index.ts';
import { joinPipelines, type SeenPipelines } from './join.ts';
import { ciPipelines } from './schema.ts';

export type Pipeline = RowOf<typeof ciPipelines>;

export const pipelineRows = rowsOf(ciPipelines);

/** It is the transaction in which something of a connection is recorded, and the time of its receipt. */
export interface Recording {
  readonly db: Database;
  readonly connection: Connection;
  readonly now: Date;
}

/** Any fixed number that nothing else seeds its locks with. */
const LOCK_SEED = 1754;

/**
 * Nobody else makes pipelines of this connection until the end of the transaction; two that made two each, in
 * other orders, would wait for each other.
 */
async function lockPipelines({ sql }: Database, connectionId: string): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${connectionId}, ${LOCK_SEED}))`;
}

/**
 * Returns the id of the file's pipeline if the file is known here, else of the name's; makes one when there
 * is none.
 */
export async function ensurePipeline(
  recording: Recording,
  { name, path }: { readonly name: string; readonly path: string },
): Promise<string> {
  const {
    db,
    connection: { id: connectionId },
  } = recording;
  const find = async (): Promise<string | undefined> => {
    const [row] = await db.sql<Array<{ id: string }>>`
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
  return theirs ?? (await insert(recording, { name, path }));
}

/** Pipelines of a connection take what a search found, all in one transaction. */
export async function definePipelines(recording: Recording, seen: SeenPipelines): Promise<void> {
  const {
    db,
    db: { orm },
    connection,
  } = recording;
  await lockPipelines(db, connection.id);
  const { id, createdAt, connectionId } = ciPipelines;
  const known = await orm
    .select()
    .from(ciPipelines)
    .where(eq(connectionId, connection.id))
    .orderBy(asc(createdAt), asc(id))
    .for('no key update');
  const { matched, made, gone } = joinPipelines(known, seen);
  if (gone.length > 0) {
    const undefinedNow = { defined: false, jobs: [], triggers: [], deployDetected: false };
    await orm
      .update(ciPipelines)
      .set(undefinedNow)
      .where(inArray(id, [...gone]));
  }
  for (const { id: matchedId, name, found } of matched)
    await orm
      .update(ciPipelines)
      .set({ ...defined(found), name })
      .where(eq(id, matchedId));
  for (const found of made) await insert(recording, defined(found));
}

function defined({ name, path, jobs, triggers, deployDetected }: FoundPipeline) {
  return { name, path, jobs, triggers, deployDetected, defined: true };
}

async function insert(
  { db: { orm }, connection: { id: connectionId, teamId }, now }: Recording,
  pipeline: Pick<Pipeline, 'name' | 'path'> & Partial<Pipeline>,
): Promise<string> {
  const id = newId('cip', now.getTime());
  await orm.insert(ciPipelines).values({ id, teamId, connectionId, createdAt: now, ...pipeline });
  return id;
}
