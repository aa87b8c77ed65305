import { sql } from 'drizzle-orm';
import {
  boolean,
  check,
  foreignKey,
  integer,
  pgTable,
  primaryKey,
  text,
  uniqueIndex,
} from 'drizzle-orm/pg-core';
import {
  CompliancePackageState,
  CompliancePackageStateSchema,
} from '@svc/proto/gen/svc/compliance/v1/compliance_pb.ts';
import { bytes, id, instant } from '../../base/db/columns.ts';
import { enumColumn, teamTable } from '../../kit/resource/team-table.ts';

export const compliancePackages = teamTable(
  { name: 'compliance_packages', kind: 'compliance package', prefix: 'cmp' },
  {
    state: enumColumn('state', CompliancePackageState, CompliancePackageStateSchema)
      .notNull()
      .default('assembling'),
    periodStart: instant('period_start').notNull(),
    /** The first moment behind it. */
    periodEnd: instant('period_end').notNull(),
    partial: boolean('partial').notNull(),
    coversUntil: instant('covers_until').notNull(),
    requestedBy: id('requested_by').notNull(),
    assembledAt: instant('assembled_at'),
    reason: text('reason', { enum: ['too_large', 'internal'] }),
    sizeBytes: integer('size_bytes'),
    /** Digest of the tar file, hexadecimal. */
    sha256: text('sha256'),
    manifestSha256: text('manifest_sha256'),
    legalReviewedBy: id('legal_reviewed_by'),
    legalReviewedAt: instant('legal_reviewed_at'),
    legalReviewNote: text('legal_review_note'),
  },
  (t) => [
    uniqueIndex('compliance_packages_under_way')
      .on(t.teamId, t.periodStart, t.periodEnd)
      .where(sql`${t.state} = 'assembling'`),
    check('compliance_packages_failed', sql`(${t.state} = 'failed') = (${t.reason} is not null)`),
    check(
      'compliance_packages_there',
      sql`(${t.state} in ('assembled', 'legal_reviewed')) = (${t.sha256} is not null)`,
    ),
  ],
);

/**
 * The tar file in pieces of 1 MiB, so that neither side holds a text of all of it; and beside them one with
 * the manifest and its signature alone.
 */
export const compliancePieces = pgTable(
  'compliance_pieces',
  {
    teamId: id('team_id').notNull(),
    packageId: id('package_id').notNull(),
    place: integer('place').notNull(),
    bytes: bytes('bytes').notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.packageId, t.place] }),
    foreignKey({
      columns: [t.teamId, t.packageId],
      foreignColumns: [compliancePackages.teamId, compliancePackages.id],
      name: 'compliance_pieces_package_fk',
    }).onDelete('cascade'),
  ],
);
