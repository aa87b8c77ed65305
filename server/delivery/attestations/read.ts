/** Reads attestations as rows. */
import type { SqlTag } from '../../base/db/index.ts';
import type { Page } from '../../kit/paging.ts';
import type { RowOf, Who } from '../../kit/resource/index.ts';
import type { attestations } from './schema.ts';

export type Attestation = RowOf<typeof attestations>;
export type ListedAttestation = Omit<Attestation, 'dedupeKey' | 'uploadedBy' | 'countsAs' | 'brief'>;

/** Selects the columns of `attestations` as `a`. */
export const columns = (sql: SqlTag) => sql`
  a.id, a.team_id as "teamId", a.predicate_type as "predicateType", a.source, a.bundle, a.sha256, a.ledger_seq as "ledgerSeq", a.created_at as "createdAt"`;

/** The most bytes of all bundles of a page but its first, unpacked. */
const PAGE_BYTES_MAX = 8_388_608;

/**
 * Returns how long the bundle of `attestations` as `a` is when it is unpacked. The last four bytes of a gzip
 * say it, the lowest first; that is checked when one is taken.
 */
const unpackedBytes = (sql: SqlTag) => {
  const byte = (fromEnd: number) =>
    sql`get_byte(substring(a.bundle from octet_length(a.bundle) - 3 for 4), ${4 - fromEnd}::int)`;
  return sql`case when substring(a.bundle for 2) = decode('1f8b', 'hex')
    then ${byte(4)} + ${byte(3)} * 256 + ${byte(2)} * 65536 + ${byte(1)} * 16777216 else octet_length(a.bundle) end`;
};

/**
 * Reads what is stated about an artifact, newest first. The key of the page is the id; it ends before the
 * first one that is not whole.
 */
export async function attestationsOf(
  { db: { sql }, teams }: Who,
  digest: string,
  { after, take }: Pick<Page, 'after' | 'take'>,
): Promise<{ readonly rows: readonly ListedAttestation[]; readonly whole: number }> {
  const behind = after === undefined ? sql`` : sql`and s.attestation_id < ${String(after[0])}`;
  const rows = await sql<Array<ListedAttestation & { isWhole: boolean }>>`
    with page as (
      select a.id, a.team_id, ${unpackedBytes(sql)} as bytes
      from attestation_subjects s join attestations a on a.team_id = s.team_id and a.id = s.attestation_id
      where s.team_id = any(${teams.teamIds}::text[]) and s.digest = ${digest} ${behind}
      order by s.attestation_id desc limit ${take}::int
    ), placed as (
      select *, row_number() over (order by id desc) = 1 or sum(bytes) over (order by id desc) <= ${PAGE_BYTES_MAX}::int as is_whole from page
    )
    select a.id, a.team_id as "teamId", a.predicate_type as "predicateType", a.source, case when p.is_whole then a.bundle else '' end as bundle, a.sha256,
      a.ledger_seq as "ledgerSeq", a.created_at as "createdAt", p.is_whole as "isWhole"
    from placed p join attestations a on a.team_id = p.team_id and a.id = p.id order by a.id desc`;
  return { rows, whole: rows.filter(({ isWhole }) => isWhole).length };
}

/** Reads what the service stated about an artifact by itself under a name that begins so. */
export async function statedAs(
  { db: { sql }, teams }: Who,
  digest: string,
  prefix: string,
): Promise<ReadonlyArray<Pick<Attestation, 'dedupeKey' | 'createdAt'>>> {
  return await sql<Array<Pick<Attestation, 'dedupeKey' | 'createdAt'>>>`
    select a.dedupe_key as "dedupeKey", a.created_at as "createdAt"
    from attestation_subjects s join attestations a on a.team_id = s.team_id and a.id = s.attestation_id
    where s.team_id = any(${teams.teamIds}::text[]) and s.digest = ${digest} and a.source = 'platform' and starts_with(a.dedupe_key, ${prefix})`;
}
