import { sql } from 'drizzle-orm';
import {
  bigint,
  foreignKey,
  integer,
  jsonb,
  index,
  pgTable,
  primaryKey,
  text,
  uniqueIndex,
} from 'drizzle-orm/pg-core';
import {
  ArtifactKind,
  ArtifactKindSchema,
  ArtifactOrigin,
  ArtifactOriginSchema,
} from '@svc/proto/gen/svc/artifacts/v1/artifacts_pb.ts';
import { Operator, OperatorSchema } from '@svc/proto/gen/svc/regions/v1/regions_pb.ts';
import { bytes, id, instant } from '../../platform/db/columns.ts';
import { enumColumn, teamTable } from '../../platform/resource/team-table.ts';

/** Known by their digests. Nothing refers to a build, an environment or a project: evidence outlives them. */
export const artifacts = teamTable(
  { name: 'artifacts', kind: 'artifact', prefix: 'art' },
  {
    /** `sha256:<hex>` */
    digest: text('digest').notNull(),
    kind: enumColumn('kind', ArtifactKind, ArtifactKindSchema).notNull(),
    name: text('name').notNull(),
    uri: text('uri'),
    mediaType: text('media_type'),
    /** `os/arch[/variant]` */
    platform: text('platform'),
    /** What it is made of; see sbom/schema.ts. */
    packageSetId: bigint('package_set_id', { mode: 'number' }),
    /** Its document; see sbom/schema.ts. */
    sbomSha256: text('sbom_sha256'),
    /** What the document does not tell. */
    sbomUnread: text('sbom_unread').array().notNull().default([]),
    /** Why it is not known what it is made of. */
    sbomProblem: text('sbom_problem'),
  },
  (t) => [
    uniqueIndex('artifacts_digest').on(t.teamId, t.digest),
    // Lists, newest first: ids are made in the order of time.
    index('artifacts_kind').on(t.teamId, t.kind, t.id),
    // Which artifacts are made of a set, newest first.
    index('artifacts_packages')
      .on(t.teamId, t.packageSetId, t.id)
      .where(sql`${t.packageSetId} is not null`),
  ],
);

/** Where each came from. Ids and names are as they were then. */
export const artifactSources = pgTable(
  'artifact_sources',
  {
    teamId: id('team_id').notNull(),
    artifactId: id('artifact_id').notNull(),
    origin: enumColumn('origin', ArtifactOrigin, ArtifactOriginSchema).notNull(),
    /** Build, CI run, or account. */
    ref: text('ref').notNull(),
    projectId: id('project_id'),
    projectName: text('project_name'),
    environmentId: id('environment_id'),
    environmentName: text('environment_name'),
    repository: text('repository'),
    branch: text('branch'),
    commit: text('commit'),
    runnerId: id('runner_id'),
    regionId: id('region_id'),
    operator: enumColumn('operator', Operator, OperatorSchema),
    at: instant('at').notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.artifactId, t.origin, t.ref] }),
    index('artifact_sources_commit').on(t.teamId, t.commit, t.artifactId),
    index('artifact_sources_project').on(t.teamId, t.projectId, t.artifactId),
    foreignKey({
      columns: [t.teamId, t.artifactId],
      foreignColumns: [artifacts.teamId, artifacts.id],
      name: 'artifact_sources_artifact_fk',
    }).onDelete('cascade'),
  ],
);

/** Everything that was known of an artifact at a moment, one row a change. */
export const artifactPassports = pgTable(
  'artifact_passports',
  {
    teamId: id('team_id').notNull(),
    artifactId: id('artifact_id').notNull(),
    revision: integer('revision').notNull(),
    document: jsonb('document').$type<Record<string, unknown>>().notNull(),
    /** The Sigstore bundle of the document. */
    bundle: bytes('bundle').notNull(),
    createdAt: instant('created_at').notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.artifactId, t.revision] }),
    foreignKey({
      columns: [t.teamId, t.artifactId],
      foreignColumns: [artifacts.teamId, artifacts.id],
      name: 'artifact_passports_artifact_fk',
    }).onDelete('cascade'),
  ],
);
