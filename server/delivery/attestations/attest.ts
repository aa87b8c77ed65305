/**
 * Makes statements of the service: signed by the key of its purpose, stored once for each thing that is
 * stated, with its entry in the ledger. A signature is random, so whoever states the same again is given what
 * was stored first.
 */
// No TeamScope: given the row, or the team, that the call was authorised for.
import { hash } from 'node:crypto';
import { isUniqueViolation, type Database } from '../../base/db/index.ts';
import { newId } from '../../base/ids.ts';
import { appendAudit, type AuditActor } from '../../kit/ledger/index.ts';
import type { Purpose, Signer } from '../signingkeys/index.ts';
import { bundleOf, PAYLOAD_TYPE, paeOf, readEnvelope } from './envelope.ts';
import { columns, type Attestation } from './read.ts';
import { statementBytes, type StatementInit } from './statement.ts';
import { doubling } from '../../kit/jobs/index.ts';

export interface Stated extends StatementInit {
  readonly teamId: string;
  readonly purpose: Purpose;
  /** Names what is stated: `provenance:<work id>:<epoch>`. */
  readonly dedupeKey: string;
  readonly at: Date;
  /**
   * It is the ledger's entry, where somebody asked for the statement. Default: the service states it by
   * itself.
   */
  readonly entry?: Storing['entry'];
  /** See `attestations`. Default: what the same key signs of this type counts as the same. */
  readonly countsAs?: string;
  /** What gates need to know, where the predicate may be long. */
  readonly brief?: StatementInit['predicate'];
}

const SERVICE: AuditActor = { kind: 'system', id: 'attestations', display: 'attestations' };

export interface AttestDeps {
  readonly db: Database;
  readonly signer: Signer;
}

/** It is not called within a transaction: the signer may be far away. */
export async function attest({ db, signer }: AttestDeps, stated: Stated): Promise<Attestation> {
  const { teamId, dedupeKey, purpose, predicateType, subjects, at } = stated;
  const known = await stored(db, teamId, dedupeKey);
  if (known !== undefined) return known;
  const { brief } = stated;
  const bundle = await signStatement(signer, purpose, stated);
  const row = {
    teamId,
    predicateType,
    source: 'platform',
    bundle,
    brief: brief === undefined ? null : await signStatement(signer, purpose, { ...stated, predicate: brief }),
    dedupeKey,
    uploadedBy: null,
    countsAs: stated.countsAs ?? readEnvelope(bundle).hint,
  } as const;
  try {
    return await storeAttestation(db, row, {
      digests: subjects.map(({ digest }) => digest),
      at,
      entry: stated.entry ?? { action: 'attestation.signed', actor: SERVICE, requestId: '' },
    });
  } catch (error) {
    if (!isUniqueViolation(error, 'attestations_once')) throw error;
    const first = await stored(db, teamId, dedupeKey); // Another worker was first.
    if (first === undefined) throw error;
    return first;
  }
}

/**
 * Limits of jobs that make evidence. A key that is not active yet, or a store that does not answer, is waited
 * for: evidence is not given up.
 */
export const EVIDENCE_JOB = {
  attempts: 1_000,
  backoff: doubling(1_000, 600_000),
  concurrency: 4,
  perTeam: 2,
  timeoutMs: 60_000,
};

/** The Sigstore bundle of a statement of the service. */
export async function signStatement(signer: Signer, purpose: Purpose, statement: StatementInit) {
  const payload = statementBytes(statement);
  const { hint, signature } = await signer.sign(purpose, paeOf(PAYLOAD_TYPE, payload));
  return bundleOf({ payload, signature, hint });
}

async function stored({ sql }: Database, teamId: string, dedupeKey: string) {
  const [row] = await sql<Attestation[]>`
    select ${columns(sql)}, a.dedupe_key as "dedupeKey", a.uploaded_by as "uploadedBy", a.counts_as as "countsAs", a.brief
    from attestations a where a.team_id = ${teamId} and a.dedupe_key = ${dedupeKey}`;
  return row;
}

/** Named in the ledger; the SHA-256 of the bundle stands for all of them. */
const LEDGER_SUBJECTS_MAX = 100;

interface Stating {
  readonly teamId: string;
  readonly attestationId: string;
  readonly digests: readonly string[];
}

/** Adds the subjects of a statement that is stored. */
export async function addSubjects(
  { sql }: Database,
  { teamId, attestationId, digests }: Stating,
): Promise<void> {
  await sql`
    insert into attestation_subjects (team_id, digest, attestation_id)
    select ${teamId}, digest, ${attestationId} from unnest(${[...digests]}::text[]) digest on conflict do nothing`;
}

/** `sha256`: of a bundle that is packed that of what it unpacks to. */
export type NewAttestation = Omit<Attestation, 'id' | 'createdAt' | 'sha256' | 'ledgerSeq'> &
  Partial<Pick<Attestation, 'sha256'>>;

export interface Storing {
  readonly digests: readonly string[];
  readonly at: Date;
  readonly entry: { readonly action: string; readonly actor: AuditActor; readonly requestId: string };
}

/**
 * Stores a statement with its entry in the ledger, which has the bundle's hash. Throws the violation of
 * `attestations_once` for what was stored before.
 */
export async function storeAttestation(
  db: Database,
  row: NewAttestation,
  { digests, at, entry }: Storing,
): Promise<Attestation> {
  const { teamId, bundle, predicateType } = row;
  const id = newId('ats', at.getTime());
  const sha256 = Buffer.from(row.sha256 ?? hash('sha256', bundle, 'buffer'));
  return await db.transact(async (tx) => {
    const more = digests.length > LEDGER_SUBJECTS_MAX && { subjectCount: digests.length };
    const subjects = digests.slice(0, LEDGER_SUBJECTS_MAX);
    const details = { predicateType, sha256: sha256.toString('hex'), subjects, ...more };
    const ledgerSeq = await appendAudit(tx, { ...entry, chain: teamId, target: id, details }, at);
    await tx.sql`
      with made as (
        insert into attestations (id, team_id, predicate_type, source, bundle, sha256, dedupe_key, uploaded_by, ledger_seq, created_at, counts_as, brief)
        values (${id}, ${teamId}, ${predicateType}, ${row.source}, ${bundle}, ${sha256}, ${row.dedupeKey}, ${row.uploadedBy}, ${ledgerSeq}::int, ${at},
          ${row.countsAs}, ${row.brief})
      )
      insert into attestation_subjects (team_id, digest, attestation_id)
      select ${teamId}, digest, ${id} from unnest(${[...new Set(digests)]}::text[]) digest`;
    return { ...row, id, createdAt: at, sha256, ledgerSeq };
  });
}
