import { sql } from 'drizzle-orm';
import { check, foreignKey, index, pgTable, primaryKey, text } from 'drizzle-orm/pg-core';
import { Role, RoleSchema } from '@svc/proto/gen/svc/options/v1/options_pb.ts';
import { SpaceKind, SpaceKindSchema } from '@svc/proto/gen/svc/spaces/v1/spaces_pb.ts';
import { users } from '../../access/accounts/schema.ts';
import { projects } from '../../apps/projects/schema.ts';
import { id, instant } from '../../base/db/columns.ts';
import { enumColumn } from '../../kit/resource/team-table.ts';

/** A space is of no team: it belongs to its members. */
export const spaces = pgTable(
  'spaces',
  {
    id: id('id').primaryKey(),
    name: text('name').notNull(),
    description: text('description').notNull().default(''),
    avatarUrl: text('avatar_url'),
    kind: enumColumn('kind', SpaceKind, SpaceKindSchema).notNull().default('organization'),
    createdAt: instant('created_at').notNull(),
    updatedAt: instant('updated_at').notNull(),
  },
  (t) => [check('spaces_kind', sql`${t.kind} in ('personal', 'organization')`)],
);

export const spaceMembers = pgTable(
  'space_members',
  {
    spaceId: id('space_id')
      .notNull()
      .references(() => spaces.id, { onDelete: 'cascade' }),
    userId: id('user_id')
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    role: enumColumn('role', Role, RoleSchema).notNull(),
    joinedAt: instant('joined_at').notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.spaceId, t.userId] }),
    index('space_members_user').on(t.userId),
    check('space_members_role', sql`${t.role} in ('viewer', 'developer', 'admin', 'owner')`),
  ],
);

/** The team stands here too, so that what a member sees is filtered before any other table is read. */
export const spaceProjects = pgTable(
  'space_projects',
  {
    spaceId: id('space_id')
      .notNull()
      .references(() => spaces.id, { onDelete: 'cascade' }),
    teamId: id('team_id').notNull(),
    projectId: id('project_id').notNull(),
    addedAt: instant('added_at').notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.spaceId, t.projectId] }),
    index('space_projects_project').on(t.teamId, t.projectId),
    foreignKey({
      columns: [t.teamId, t.projectId],
      foreignColumns: [projects.teamId, projects.id],
      name: 'space_projects_project_fk',
    }).onDelete('cascade'),
  ],
);
