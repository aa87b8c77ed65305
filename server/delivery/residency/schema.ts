import { sql } from 'drizzle-orm';
import { check, foreignKey, integer, pgTable, text, uniqueIndex } from 'drizzle-orm/pg-core';
import { environments } from '../../apps/environments/schema.ts';
import { id, instant } from '../../platform/db/columns.ts';

/** Goes with its environment. Region and account are kept as they were, whatever becomes of them. */
export const residencyAttestations = pgTable(
  'residency_attestations',
  {
    id: id('id').primaryKey(),
    teamId: id('team_id').notNull(),
    environmentId: id('environment_id').notNull(),
    sequence: integer('sequence').notNull(),
    regionId: id('region_id').notNull(),
    operator: text('operator', { enum: ['service', 'customer'] }).notNull(),
    attestedBy: id('attested_by').notNull(),
    attestedAt: instant('attested_at').notNull(),
    previousDigest: text('previous_digest'),
    digest: text('digest').notNull(),
  },
  (t) => [
    // Also forbids two links in one place, should the lock that makes them take turns ever be forgotten.
    uniqueIndex('residency_attestations_chain').on(t.teamId, t.environmentId, t.sequence),
    foreignKey({
      columns: [t.teamId, t.environmentId],
      foreignColumns: [environments.teamId, environments.id],
      name: 'residency_attestations_environment_fk',
    }).onDelete('cascade'),
    check('residency_attestations_first', sql`(${t.sequence} = 1) = (${t.previousDigest} is null)`),
    check('residency_attestations_operator', sql`${t.operator} in ('service', 'customer')`),
  ],
);
