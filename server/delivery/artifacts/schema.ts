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
  type AnyPgColumn,
} from 'drizzle-orm/pg-core';
import {
  ArtifactKind,
  ArtifactKindSchema,
  ArtifactOrigin,
  ArtifactOriginSchema,
  SbomSource,
  SbomSourceSchema,
} from '@svc/proto/gen/svc/artifacts/v1/artifacts_pb.ts';
import { Operator, OperatorSchema } from '@svc/proto/gen/svc/regions/v1/regions_pb.ts';
import { bytes, id, instant } from '../../base/db/columns.ts';
import { enumColumn, teamTable } from '../../kit/resource/team-table.ts';

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
    /** Why its runner did not list what it is made of. */
    sbomProblem: text('sbom_problem'),
    // It names the first list in `artifact_sboms`, for servers of version 0.10 that work on the migrated
    // database until they are replaced. Read to take over what such a server wrote; and where
    // `package_set_id` is null there is no list, but for one beside which the first was removed.
    packageSetId: bigint('package_set_id', { mode: 'number' }),
    sbomSha256: text('sbom_sha256'),
    sbomUnread: text('sbom_unread').array().notNull().default([]),
  },
  (t) => [
    uniqueIndex('artifacts_digest').on(t.teamId, t.digest),
    // Lists, newest first: ids are made in the order of time.
    index('artifacts_kind').on(t.teamId, t.kind, t.id),
    // It finds those of which nothing says what they are made of: no search finds them.
    index('artifacts_unlisted')
      .on(t.teamId, t.id)
      .where(sql`${t.packageSetId} is null`),
    index('artifacts_packages')
      .on(t.teamId, t.packageSetId, t.id)
      .where(sql`${t.packageSetId} is not null`),
  ],
);

/** The rows of the table go with their artifacts. */
export const withArtifact = (
  table: string,
  { teamId, artifactId }: { readonly teamId: AnyPgColumn; readonly artifactId: AnyPgColumn },
) =>
  foreignKey({
    columns: [teamId, artifactId],
    foreignColumns: [artifacts.teamId, artifacts.id],
    name: `${table}_artifact_fk`,
  }).onDelete('cascade');

/**
 * It holds what each artifact is made of, one row for each document that says so. What a runner listed is
 * never replaced, and what is uploaded stands beside it.
 */
export const artifactSboms = pgTable(
  'artifact_sboms',
  {
    teamId: id('team_id').notNull(),
    artifactId: id('artifact_id').notNull(),
    source: enumColumn('source', SbomSource, SbomSourceSchema).notNull(),
    /** SHA-256 of the document; see sbom/schema.ts. */
    sha256: text('sha256').notNull(),
    packageSetId: bigint('package_set_id', { mode: 'number' }).notNull(),
    /** It says what the document does not tell. */
    unread: text('unread').array().notNull(),
    /** Runner, or account. */
    by: id('by'),
    at: instant('at').notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.artifactId, t.source, t.sha256] }),
    // It finds the artifacts that are made of a set, newest first.
    index('artifact_sboms_set').on(t.teamId, t.packageSetId, t.artifactId),
    // It finds those that do not tell all.
    index('artifact_sboms_unread')
      .on(t.teamId, t.artifactId)
      .where(sql`${t.unread} <> '{}'`),
    withArtifact('artifact_sboms', t),
  ],
);

/** Each row says where an artifact came from. Ids and names are as they were then. */
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
    withArtifact('artifact_sources', t),
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
  (t) => [primaryKey({ columns: [t.artifactId, t.revision] }), withArtifact('artifact_passports', t)],
);
