import { sql } from 'drizzle-orm';
import { foreignKey, index, integer, pgTable, primaryKey, text, uniqueIndex } from 'drizzle-orm/pg-core';
import { bytes, id } from '../../base/db/columns.ts';
import { teamTable } from '../../kit/resource/team-table.ts';

/**
 * Signed statements about artifacts. What one states is never changed, and what it is worth is found out from
 * its bytes at each read.
 */
export const attestations = teamTable(
  { name: 'attestations', kind: 'attestation', prefix: 'ats' },
  {
    predicateType: text('predicate_type').notNull(),
    /** `platform`: made and signed here. `upload`: brought by somebody. */
    source: text('source', { enum: ['platform', 'upload'] }).notNull(),
    /**
     * The Sigstore bundle or DSSE envelope, as it was made or brought; of one with more than
     * `BUNDLE_BYTES_MAX` its gzip.
     */
    bundle: bytes('bundle').notNull(),
    /** SHA-256 of the bundle, unpacked. */
    sha256: bytes('sha256').notNull(),
    /**
     * One for each thing that is stated: a signature is random, so that a job that is repeated must find what
     * it stored before.
     */
    dedupeKey: text('dedupe_key').notNull(),
    uploadedBy: id('uploaded_by'),
    /**
     * Gates read one of the statements about an artifact with the same words here: see `countsAs`. Null:
     * nobody whom the team trusts signed it, so that gates do not read it, however many there are.
     */
    countsAs: text('counts_as'),
    /**
     * Gates read it in place of the bundle, where that is long: the same statement in short, signed as well.
     */
    brief: bytes('brief'),
    /** Entry of the team's ledger that says so. */
    ledgerSeq: integer('ledger_seq').notNull(),
  },
  (t) => [
    uniqueIndex('attestations_once').on(t.teamId, t.dedupeKey),
    // Those that may come to count, when a key is trusted.
    index('attestations_uncounted')
      .on(t.teamId, t.id)
      .where(sql`${t.countsAs} is null`),
  ],
);

/** Each row says what a statement is about. */
export const attestationSubjects = pgTable(
  'attestation_subjects',
  {
    teamId: id('team_id').notNull(),
    /** `sha256:<hex>` */
    digest: text('digest').notNull(),
    attestationId: id('attestation_id').notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.teamId, t.digest, t.attestationId] }),
    index('attestation_subjects_of').on(t.attestationId),
    foreignKey({
      columns: [t.teamId, t.attestationId],
      foreignColumns: [attestations.teamId, attestations.id],
      name: 'attestation_subjects_attestation_fk',
    }).onDelete('cascade'),
  ],
);

/** Keys of others whose statements a team believes. */
export const trustedKeys = teamTable(
  { name: 'trusted_keys', kind: 'trusted key', prefix: 'tky' },
  {
    name: text('name').notNull(),
    /** SubjectPublicKeyInfo in DER. */
    spki: bytes('spki').notNull(),
    hint: text('hint').notNull(),
    /** Types of statements for which it is trusted; it is trusted for all where there are none. */
    predicateTypes: text('predicate_types').array().notNull(),
  },
  (t) => [
    uniqueIndex('trusted_keys_name').on(t.teamId, t.name),
    uniqueIndex('trusted_keys_hint').on(t.teamId, t.hint),
  ],
);

/** Subjects of certificates whose statements a team believes. */
export const trustedIdentities = teamTable(
  { name: 'trusted_identities', kind: 'trusted identity', prefix: 'tid' },
  {
    name: text('name').notNull(),
    issuer: text('issuer').notNull(),
    /** A `*` at its end stands for anything. */
    identity: text('identity').notNull(),
    /** Types of statements for which it is trusted; it is trusted for all where there are none. */
    predicateTypes: text('predicate_types').array().notNull(),
  },
  (t) => [uniqueIndex('trusted_identities_name').on(t.teamId, t.name)],
);
