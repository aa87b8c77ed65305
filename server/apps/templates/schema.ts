/** The tables hold templates with their revisions, and which environment was made from what. */
import { sql } from 'drizzle-orm';
import {
  foreignKey,
  index,
  integer,
  jsonb,
  pgTable,
  primaryKey,
  text,
  uniqueIndex,
} from 'drizzle-orm/pg-core';
import {
  TemplateSyncState,
  TemplateSyncStateSchema,
  TemplateVisibility,
  TemplateVisibilitySchema,
} from '@svc/proto/gen/svc/templates/v1/templates_pb.ts';
import { id, instant } from '../../base/db/columns.ts';

import { enumColumn, teamTable } from '../../kit/resource/team-table.ts';
import { environments } from '../environments/schema.ts';
import type { Recipe } from './recipe.ts';

export const templates = teamTable(
  { name: 'templates', kind: 'template', prefix: 'tpl' },
  {
    slug: text('slug').notNull(),
    name: text('name')
      .notNull()
      .generatedAlwaysAs(sql`recipe ->> 'name'`),
    visibility: enumColumn('visibility', TemplateVisibility, TemplateVisibilitySchema).notNull(),
    /** It holds no credentials. */
    repository: text('repository').notNull(),
    /** It is null until the repository's own was found. */
    branch: text('branch'),
    recipe: jsonb('recipe').$type<Recipe>().notNull(),
    /** The recipe as it was read last; what differs from it was set by hand. */
    base: jsonb('base').$type<Recipe>().notNull(),
    revision: integer('revision').notNull(),
    syncState: enumColumn('sync_state', TemplateSyncState, TemplateSyncStateSchema).notNull(),
    syncProblem: text('sync_problem'),
    sourceCommit: text('source_commit'),
    sourcePath: text('source_path'),
    syncedAt: instant('synced_at'),
    kept: jsonb('kept').$type<readonly string[]>().notNull(),
    warnings: jsonb('warnings').$type<readonly string[]>().notNull(),
    updatedAt: instant('updated_at').notNull(),
  },
  (t) => [
    uniqueIndex('templates_slug').on(t.teamId, t.slug),
    uniqueIndex('templates_public_slug')
      .on(t.slug)
      .where(sql`${t.visibility} = 'public'`),
    // Lists go through public ones beside those of the caller's teams.
    index('templates_public')
      .on(t.id)
      .where(sql`${t.visibility} = 'public'`),
  ],
);

/** A row is never changed, which a trigger sees to. */
export const templateRevisions = pgTable(
  'template_revisions',
  {
    templateId: id('template_id')
      .notNull()
      .references(() => templates.id, { onDelete: 'cascade' }),
    revision: integer('revision').notNull(),
    recipe: jsonb('recipe').$type<Recipe>().notNull(),
    /** Commit that it was read of; null: it was made by hand. */
    sourceCommit: text('source_commit'),
    createdAt: instant('created_at').notNull(),
  },
  (t) => [primaryKey({ columns: [t.templateId, t.revision] })],
);

/** One row of each environment that was made from a template, which goes on when that is deleted. */
export const templateEnvironments = pgTable(
  'template_environments',
  {
    environmentId: id('environment_id').primaryKey(),
    teamId: id('team_id').notNull(),
    /** It may be of another team, and gone. */
    templateId: id('template_id').notNull(),
    revision: integer('revision').notNull(),
    /** Names of variables without which it is not built. */
    required: text('required').array().notNull(),
  },
  (t) => [
    index('template_environments_of').on(t.templateId, t.revision),
    foreignKey({
      name: 'template_environments_environment_fk',
      columns: [t.teamId, t.environmentId],
      foreignColumns: [environments.teamId, environments.id],
    }).onDelete('cascade'),
  ],
);
