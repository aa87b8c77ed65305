import { foreignKey, index, pgTable, primaryKey, text, uniqueIndex } from 'drizzle-orm/pg-core';
import { id } from '../../base/db/columns.ts';
import { teamTable } from '../../kit/resource/team-table.ts';
import { withArtifact } from '../artifacts/schema.ts';

/** Made once and never changed. They outlive their project, whose id and name are as they were then. */
export const releases = teamTable(
  { name: 'releases', kind: 'release', prefix: 'rel' },
  {
    projectId: id('project_id').notNull(),
    projectName: text('project_name').notNull(),
    version: text('version').notNull(),
    /** The version in lower case. */
    versionKey: text('version_key').notNull(),
    notes: text('notes').notNull().default(''),
    /** `sha256:<hex>` of project, version and the artifacts' digests. */
    digest: text('digest').notNull(),
    createdBy: id('created_by').notNull(),
  },
  (t) => [
    uniqueIndex('releases_version').on(t.projectId, t.versionKey),
    // Lists, newest first: ids are made in the order of time.
    index('releases_newest').on(t.projectId, t.id),
  ],
);

export const releaseArtifacts = pgTable(
  'release_artifacts',
  {
    teamId: id('team_id').notNull(),
    releaseId: id('release_id').notNull(),
    artifactId: id('artifact_id').notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.releaseId, t.artifactId] }),
    // Releases that hold an artifact.
    index('release_artifacts_of').on(t.teamId, t.artifactId, t.releaseId),
    foreignKey({
      columns: [t.teamId, t.releaseId],
      foreignColumns: [releases.teamId, releases.id],
      name: 'release_artifacts_release_fk',
    }).onDelete('cascade'),
    withArtifact('release_artifacts', t),
  ],
);
