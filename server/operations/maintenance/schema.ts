import { boolean, index, integer, pgTable, primaryKey, text } from 'drizzle-orm/pg-core';
import {
  MaintenanceTaskState,
  MaintenanceTaskStateSchema,
} from '@svc/proto/gen/svc/maintenance/v1/maintenance_pb.ts';
import { id, instant } from '../../base/db/columns.ts';
import { teams } from '../../kit/resource/schema.ts';
import { enumColumn, teamTable } from '../../kit/resource/team-table.ts';

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
    /** Budget; it is null where there is none. */
    monthlyBudgetCents: integer('monthly_budget_cents'),
    updatedAt: instant('updated_at').notNull(),
  },
  (t) => [primaryKey({ columns: [t.teamId, t.repositoryId, t.category] })],
);

export const maintenanceTasks = teamTable(
  { name: 'maintenance_tasks', kind: 'maintenance task', prefix: 'mtk' },
  {
    repositoryId: text('repository_id').notNull(),
    category: text('category').notNull(),
    state: enumColumn('state', MaintenanceTaskState, MaintenanceTaskStateSchema)
      .notNull()
      .default('proposed'),
    proposal: text('proposal').notNull(),
    estimatedCostCents: integer('estimated_cost_cents').notNull(),
    agentIdentityId: text('agent_identity_id'),
    createdBy: id('created_by').notNull(),
  },
  (t) => [index('maintenance_tasks_newest').on(t.teamId, t.repositoryId, t.id)],
);
