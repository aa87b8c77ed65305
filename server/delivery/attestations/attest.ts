/**
 * Makes statements of the service: signed by the key of its purpose, stored once for each thing that is stated, with its entry in the ledger. A signature is random, so whoever states
 * the same again is given what was stored first.
 */
import { createHash } from 'node:crypto';
import { and, eq } from 'drizzle-orm';
import type { Database } from '../../platform/db/index.ts';
import { isUniqueViolation } from '../../platform/db/index.ts';
import { newId } from '../../platform/ids.ts';
import { appendAudit } from '../../platform/ledger/index.ts';
import type { AuditActor } from '../../platform/ledger/index.ts';
import type { RowOf } from '../../platform/resource/index.ts';
import type { Purpose, Signer } from '../signingkeys/index.ts';
import { bundleOf, PAYLOAD_TYPE, paeOf } from './envelope.ts';
import { attestations, attestationSubjects } from './schema.ts';
import { statementBytes } from './statement.ts';
import type { StatementInit } from './statement.ts';

export type Attestation = RowOf<typeof attestations>;

export interface Stated extends StatementInit {
  readonly teamId: string;
  readonly purpose: Purpose;
  /** Names what is stated: `provenance:<work id>:<epoch>`. */
  readonly dedupeKey: string;
  readonly at: Date;
  /** Of the ledger, where somebody asked for it. Default: the service states it by itself. */
  readonly entry?: Storing['entry'];
}

const SERVICE: AuditActor = { kind: 'system', id: 'attestations', display: 'attestations' };

export interface AttestDeps {
  readonly db: Database;
  readonly signer: Signer;
}

/** Not within a transaction: the signer may be far away. */
export async function attest({ db, signer }: AttestDeps, stated: Stated): Promise<Attestation> {
  const { teamId, dedupeKey, purpose, predicateType, subjects, at } = stated;
  const known = await stored(db, teamId, dedupeKey);
  if (known !== undefined) return known;
  const row = {
    teamId,
    predicateType,
    source: 'platform',
    bundle: await signStatement(signer, purpose, stated),
    dedupeKey,
    uploadedBy: null,
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

/** The Sigstore bundle of a statement of the service. */
export async function signStatement(
  signer: Signer,
  purpose: Purpose,
  statement: StatementInit,
): Promise<Buffer> {
  const payload = statementBytes(statement);
  const { hint, signature } = await signer.sign(purpose, paeOf(PAYLOAD_TYPE, payload));
  return bundleOf({ payload, signature, hint });
}

async function stored(
  { orm }: Database,
  teamId: string,
  dedupeKey: string,
): Promise<Attestation | undefined> {
  const [row] = await orm
    .select()
    .from(attestations)
    .where(and(eq(attestations.teamId, teamId), eq(attestations.dedupeKey, dedupeKey)));
  return row;
}

export interface Storing {
  readonly digests: readonly string[];
  readonly at: Date;
  readonly entry: { readonly action: string; readonly actor: AuditActor; readonly requestId: string };
}

/** With its entry in the ledger, which has the bundle's hash. Throws the violation of `attestations_once` for what was stored before. */
export async function storeAttestation(
  db: Database,
  row: Omit<typeof attestations.$inferInsert, 'id' | 'createdAt' | 'sha256' | 'ledgerSeq'>,
  { digests, at, entry }: Storing,
): Promise<Attestation> {
  const { teamId, bundle, predicateType } = row;
  const id = newId('ats', at.getTime());
  const sha256 = createHash('sha256').update(bundle).digest();
  return await db.transact(async (tx) => {
    const details = { predicateType, sha256: sha256.toString('hex'), subjects: [...digests] };
    const ledgerSeq = await appendAudit(tx, { ...entry, chain: teamId, target: id, details }, at);
    const [made] = await tx.orm
      .insert(attestations)
      .values({ ...row, id, createdAt: at, sha256, ledgerSeq })
      .returning();
    const subjects = [...new Set(digests)].map((digest) => ({ teamId, digest, attestationId: id }));
    await tx.orm.insert(attestationSubjects).values(subjects);
    return made as Attestation;
  });
}
