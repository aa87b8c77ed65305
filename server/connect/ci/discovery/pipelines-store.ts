/** Pipelines of a connection take what a search found, all in one transaction. */
// No TeamScope: called by gateways, workers and the outbox, which act for no caller.
import type { Database } from '../../../base/db/index.ts';
import { newId } from '../../../base/ids.ts';
import { lockPipelines } from '../connections-system.ts';
import type { Recording } from '../model/recording.ts';
import { joinPipelines } from './join.ts';
import type { Joined, KnownPipeline, Seen } from './join.ts';
import type { FoundPipeline } from './snapshot.ts';

export async function definePipelines(recording: Recording, seen: Seen): Promise<void> {
  const { db, connection } = recording;
  const { sql } = db;
  await lockPipelines(db, connection.id);
  const known = await sql<KnownPipeline[]>`
    select id, name, path, defined from ci_pipelines where connection_id = ${connection.id} order by created_at, id for no key update`;
  const { matched, made, gone } = joinPipelines(known, seen);
  if (gone.length > 0)
    await sql`
      update ci_pipelines set defined = false, jobs = '[]', triggers = '[]', deploy_detected = false where id = any(${[...gone]})`;
  for (const pipeline of matched) await redefine(db, pipeline);
  for (const pipeline of made) await insert(recording, pipeline);
}

async function redefine({ sql }: Database, { id, name, found }: Joined['matched'][number]): Promise<void> {
  await sql`
    update ci_pipelines set name = ${name}, path = ${found.path}, jobs = ${sql.json([...found.jobs])},
      triggers = ${sql.json([...found.triggers])}, deploy_detected = ${found.deployDetected}, defined = true
    where id = ${id}`;
}

async function insert(
  { db: { sql }, connection: { id, teamId }, now }: Recording,
  found: FoundPipeline,
): Promise<void> {
  await sql`
    insert into ci_pipelines (id, team_id, connection_id, name, path, jobs, triggers, deploy_detected, defined, created_at)
    values (${newId('cip', now.getTime())}, ${teamId}, ${id}, ${found.name}, ${found.path}, ${sql.json([...found.jobs])},
      ${sql.json([...found.triggers])}, ${found.deployDetected}, true, ${now})`;
}
