/** Attestations as rows. */
import type { SqlTag } from '../../platform/db/index.ts';
import type { Page } from '../../platform/paging.ts';
import type { RowOf, Who } from '../../platform/resource/index.ts';
import type { attestations } from './schema.ts';

export type Attestation = RowOf<typeof attestations>;
export type ListedAttestation = Omit<Attestation, 'dedupeKey' | 'uploadedBy'>;

/** Of `attestations` as `a`. */
export const columns = (sql: SqlTag) => sql`
  a.id, a.team_id as "teamId", a.predicate_type as "predicateType", a.source, a.bundle, a.sha256, a.ledger_seq as "ledgerSeq", a.created_at as "createdAt"`;

/** About an artifact, newest first. The key of the page is the id. */
export async function attestationsOf(
  { db: { sql }, teams }: Who,
  digest: string,
  { after, take }: Pick<Page, 'after' | 'take'>,
): Promise<readonly ListedAttestation[]> {
  const behind = after === undefined ? sql`` : sql`and s.attestation_id < ${String(after[0])}`;
  return await sql<ListedAttestation[]>`
    select ${columns(sql)}
    from attestation_subjects s join attestations a on a.team_id = s.team_id and a.id = s.attestation_id
    where s.team_id = any(${[...teams.teamIds]}::text[]) and s.digest = ${digest} ${behind}
    order by s.attestation_id desc limit ${take}::int`;
}
