/** Attestations in the database. The environment was found in a TeamScope before: all statements carry its team. */
import type { Environment } from '../../apps/environments/index.ts';
import type { Database, SqlTag } from '../../platform/db/index.ts';
import type { Operator } from '../../platform/resource/schema.ts';
import type { Attestation } from './chain.ts';

type Owner = Pick<Environment, 'id' | 'teamId'>;

const columns = (sql: SqlTag) => sql`
  id, team_id as "teamId", environment_id as "environmentId", sequence, region_id as "regionId", operator, attested_by as "attestedBy",
  attested_at as "attestedAt", previous_digest as "previousDigest", digest`;

/** Newest first, before `before` if it is given. */
export async function listAttestations(
  { sql }: Database,
  { id, teamId }: Owner,
  { take, before }: { readonly take: number; readonly before?: number | undefined },
): Promise<readonly Attestation[]> {
  const behind = before === undefined ? sql`` : sql`and sequence < ${before}`;
  return await sql<Attestation[]>`
    select ${columns(sql)} from residency_attestations where team_id = ${teamId} and environment_id = ${id} ${behind}
    order by sequence desc limit ${take}`;
}

/** Makes attestations of one environment take turns. False when it is gone. */
export async function lockEnvironment({ sql }: Database, { id, teamId }: Owner): Promise<boolean> {
  const rows = await sql`select 1 from environments where id = ${id} and team_id = ${teamId} for update`;
  return rows.length === 1;
}

export async function regionOfTeam(
  { sql }: Database,
  teamId: string,
): Promise<{ regionId: string; operator: Operator } | undefined> {
  const [row] = await sql<Array<{ regionId: string; operator: Operator }>>`
    select r.id as "regionId", r.operator from teams t join regions r on r.id = t.region_id where t.id = ${teamId}`;
  return row;
}

export async function insertAttestation({ sql }: Database, a: Attestation): Promise<void> {
  await sql`
    insert into residency_attestations
      (id, team_id, environment_id, sequence, region_id, operator, attested_by, attested_at, previous_digest, digest)
    values (${a.id}, ${a.teamId}, ${a.environmentId}, ${a.sequence}, ${a.regionId}, ${a.operator}, ${a.attestedBy}, ${a.attestedAt},
      ${a.previousDigest}, ${a.digest})`;
}
