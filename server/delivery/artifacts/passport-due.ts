/** Plans passports: each is made two seconds after the last event about its artifact. */
// No TeamScope: called by gateways, workers and the outbox, which act for no caller.
import type { Database } from '../../base/db/index.ts';
import { addJob, keyedJobsAdded } from '../../kit/jobs/index.ts';
import type { RowOf } from '../../kit/resource/index.ts';
import type { artifacts } from './schema.ts';

export const PASSPORT_JOB = 'artifacts.passport';
export const AFTER_MS = 2_000;

export type About = Pick<RowOf<typeof artifacts>, 'id' | 'teamId'>;

/** Something about the artifact has changed. */
export async function passportDue(db: Database, { id, teamId }: About): Promise<void> {
  const payload = { artifactId: id };
  await addJob(db, { teamId, kind: PASSPORT_JOB, key: id, lane: `passport ${id}`, payload, inMs: AFTER_MS });
}

/** Something that is stated about several of them has changed. */
export async function passportsOfDue(
  { sql }: Database,
  teamId: string,
  digests: readonly string[],
): Promise<void> {
  const about = sql`
    select team_id, id as key, 'passport ' || id as lane, jsonb_build_object('artifactId', id) as payload from artifacts
    where team_id = ${teamId} and digest = any(${[...digests]}::text[])`;
  await sql`${keyedJobsAdded(sql, { kind: PASSPORT_JOB, inMs: AFTER_MS }, about)}`;
}
