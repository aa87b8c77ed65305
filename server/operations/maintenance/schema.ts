import { sql } from 'drizzle-orm';
import { boolean, check, index, integer, pgTable, primaryKey, text } from 'drizzle-orm/pg-core';
import { id, instant } from '../../platform/db/columns.ts';
import { teams } from '../../platform/resource/schema.ts';

export const maintenanceSettings = pgTable(
  'maintenance_settings',
  {
    teamId: id('team_id')
      .notNull()
      .references(() => teams.id, { onDelete: 'cascade' }),
    /** The team's own name for it. */
    repositoryId: text('repository_id').notNull(),
    category: text('category').notNull(),
    enabled: boolean('enabled').notNull().default(false),
    /** Null: no budget. */
    monthlyBudgetCents: integer('monthly_budget_cents'),
    updatedAt: instant('updated_at').notNull(),
  },
  (t) => [primaryKey({ columns: [t.teamId, t.repositoryId, t.category] })],
);

export const maintenanceTasks = pgTable(
  'maintenance_tasks',
  {
    id: id('id').primaryKey(),
    teamId: id('team_id')
      .notNull()
      .references(() => teams.id, { onDelete: 'cascade' }),
    repositoryId: text('repository_id').notNull(),
    category: text('category').notNull(),
    state: text('state', { enum: ['proposed'] })
      .notNull()
      .default('proposed'),
    proposal: text('proposal').notNull(),
    estimatedCostCents: integer('estimated_cost_cents').notNull(),
    agentIdentityId: text('agent_identity_id'),
    createdBy: id('created_by').notNull(),
    createdAt: instant('created_at').notNull(),
  },
  (t) => [
    index('maintenance_tasks_newest').on(t.teamId, t.repositoryId, t.createdAt.desc(), t.id.desc()),
    check('maintenance_tasks_state', sql`${t.state} in ('proposed')`),
  ],
);
