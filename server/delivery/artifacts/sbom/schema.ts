/**
 * These tables hold what artifacts are made of. A set of packages is immutable, and shared by all artifacts
 * with equal dependencies: these tables grow with distinct sets.
 */
import { sql } from 'drizzle-orm';
import {
  bigint,
  foreignKey,
  index,
  integer,
  pgTable,
  primaryKey,
  text,
  uniqueIndex,
} from 'drizzle-orm/pg-core';
import { bytes, id, instant } from '../../../base/db/columns.ts';
import { teams } from '../../../kit/resource/schema.ts';

const teamId = () =>
  id('team_id')
    .notNull()
    .references(() => teams.id, { onDelete: 'cascade' });
const rowId = () => bigint('id', { mode: 'number' }).generatedAlwaysAsIdentity().primaryKey();

/**
 * As a document states it: what two of them say otherwise of one purl are two rows. Never changed, and never
 * deleted but with the team.
 */
export const packages = pgTable(
  'packages',
  {
    id: rowId(),
    teamId: teamId(),
    type: text('type').notNull(),
    name: text('name').notNull(),
    /** Name by which people search, in lower case. */
    nameKey: text('name_key').notNull(),
    /** Source package of deb and apk, in lower case. */
    sourceKey: text('source_key'),
    /** The version is empty where it is not known. */
    version: text('version').notNull(),
    /** Canonical. */
    purl: text('purl').notNull(),
    licenses: text('licenses').array().notNull(),
    /** SHA-256 of purl, source and licences, each on a line of its own: all else follows from the purl. */
    claim: bytes('claim').notNull(),
  },
  (t) => [
    uniqueIndex('packages_claim').on(t.teamId, t.claim),
    index('packages_name').on(t.teamId, t.nameKey),
    // The last part of the name, without the major version of Go: see search.ts, which has the same
    // expression.
    index('packages_tail').on(
      t.teamId,
      sql`(regexp_replace(regexp_replace(${t.nameKey}, '/v[0-9]+$', ''), '^.*[/:]', '') collate "C")`,
    ),
    index('packages_source')
      .on(t.teamId, t.sourceKey)
      .where(sql`${t.sourceKey} is not null`),
  ],
);

export const packageSets = pgTable(
  'package_sets',
  {
    id: rowId(),
    teamId: teamId(),
    /** SHA-256 of the claims of its members, in the order of purls. */
    digest: bytes('digest').notNull(),
    /** Number of its members. */
    packages: integer('packages').notNull(),
    /**
     * Length of what a policy is told of them. Null: the set is of a version that shared claims among
     * documents, and its digest is that of the purls alone.
     */
    chars: integer('chars'),
    createdAt: instant('created_at').notNull(),
  },
  (t) => [
    uniqueIndex('package_sets_digest').on(t.teamId, t.digest),
    // Other tables refer to both at once.
    uniqueIndex('package_sets_team_id').on(t.teamId, t.id),
  ],
);

export const packageSetMembers = pgTable(
  'package_set_members',
  {
    teamId: id('team_id').notNull(),
    setId: bigint('set_id', { mode: 'number' }).notNull(),
    packageId: bigint('package_id', { mode: 'number' }).notNull(),
    /** Place in the order of purls, from 1 on: lists go by it, whatever the collation of the database. */
    place: integer('place').notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.packageId, t.setId] }),
    uniqueIndex('package_set_members_place').on(t.setId, t.place),
    foreignKey({
      name: 'package_set_members_set_fk',
      columns: [t.teamId, t.setId],
      foreignColumns: [packageSets.teamId, packageSets.id],
    }).onDelete('cascade'),
    foreignKey({
      name: 'package_set_members_package_fk',
      columns: [t.packageId],
      foreignColumns: [packages.id],
    }).onDelete('cascade'),
  ],
);
