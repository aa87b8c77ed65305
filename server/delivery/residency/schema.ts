import { sql } from 'drizzle-orm';
import { check, integer, text, uniqueIndex } from 'drizzle-orm/pg-core';
import { Operator, OperatorSchema } from '@svc/proto/gen/svc/regions/v1/regions_pb.ts';
import { environments } from '../../apps/environments/schema.ts';
import { artifacts } from '../artifacts/schema.ts';
import { id, instant } from '../../base/db/columns.ts';
import { enumColumn, teamTable } from '../../kit/resource/team-table.ts';

/** Goes with its environment. Region and account are kept as they were, whatever becomes of them. */
export const residencyAttestations = teamTable(
  {
    name: 'residency_attestations',
    kind: 'residency attestation',
    prefix: 'att',
    within: { environmentId: environments },
  },
  {
    environmentId: id('environment_id').notNull(),
    sequence: integer('sequence').notNull(),
    regionId: id('region_id').notNull(),
    operator: enumColumn('operator', Operator, OperatorSchema).notNull(),
    attestedBy: id('attested_by').notNull(),
    attestedAt: instant('attested_at').notNull(),
    previousDigest: text('previous_digest'),
    digest: text('digest').notNull(),
  },
  (t) => [
    // Also forbids two links in one place, should the lock that makes them take turns ever be forgotten.
    uniqueIndex('residency_attestations_chain').on(t.teamId, t.environmentId, t.sequence),
    check('residency_attestations_first', sql`(${t.sequence} = 1) = (${t.previousDigest} is null)`),
  ],
);

/** Regions and hosts are kept as they were. */
export const artifactResidencyAttestations = teamTable(
  {
    name: 'artifact_residency_attestations',
    kind: 'residency attestation',
    prefix: 'ara',
    within: { artifactId: artifacts },
  },
  {
    artifactId: id('artifact_id').notNull(),
    artifactDigest: text('artifact_digest').notNull(),
    sequence: integer('sequence').notNull(),
    builtIn: text('built_in').array().notNull(),
    storedIn: text('stored_in').array().notNull(),
    deployedIn: text('deployed_in').array().notNull(),
    attestedBy: id('attested_by').notNull(),
    attestedAt: instant('attested_at').notNull(),
    previousDigest: text('previous_digest'),
    digest: text('digest').notNull(),
  },
  (t) => [
    uniqueIndex('artifact_residency_attestations_chain').on(t.teamId, t.artifactId, t.sequence),
    check('artifact_residency_attestations_first', sql`(${t.sequence} = 1) = (${t.previousDigest} is null)`),
  ],
);
