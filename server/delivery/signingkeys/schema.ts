import { sql } from 'drizzle-orm';
import { check, index, pgTable, text, uniqueIndex } from 'drizzle-orm/pg-core';
import { KeyPurpose, KeyPurposeSchema } from '@svc/proto/gen/svc/signingkeys/v1/signingkeys_pb.ts';
import { bytes, id, instant } from '../../base/db/columns.ts';
import { enumColumn } from '../../kit/resource/team-table.ts';

/**
 * These keys are of the service, never of a team. Where a key stands follows from its times, so that nothing
 * has to move it.
 */
export const signingKeys = pgTable(
  'signing_keys',
  {
    id: id('id').primaryKey(),
    purpose: enumColumn('purpose', KeyPurpose, KeyPurposeSchema).notNull(),
    /** SubjectPublicKeyInfo in DER. */
    spki: bytes('spki').notNull(),
    /** Base64 of its SHA-256, as bundles name it. */
    hint: text('hint').notNull(),
    /** PKCS #8, under the installation's key. */
    privateSealed: text('private_sealed'),
    /** `<name>:<version>` of a key that never leaves its store. */
    externalRef: text('external_ref'),
    createdAt: instant('created_at').notNull(),
    activeFrom: instant('active_from').notNull(),
    revokedAt: instant('revoked_at'),
    compromisedSince: instant('compromised_since'),
    revokeReason: text('revoke_reason'),
  },
  (t) => [
    check('signing_keys_purpose', sql`${t.purpose} in ('build_service', 'build_customer', 'platform')`),
    check('signing_keys_held', sql`(${t.privateSealed} is null) <> (${t.externalRef} is null)`),
    uniqueIndex('signing_keys_hint').on(t.hint),
    index('signing_keys_newest').on(t.purpose, t.activeFrom.desc()),
  ],
);
