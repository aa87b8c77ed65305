import { sql } from 'drizzle-orm';
import {
  bigint,
  boolean,
  check,
  date,
  integer,
  pgTable,
  primaryKey,
  text,
  uniqueIndex,
} from 'drizzle-orm/pg-core';
import { BudgetEnforcement, BudgetEnforcementSchema } from '@svc/proto/gen/svc/budgets/v1/budgets_pb.ts';
import { id, instant } from '../../base/db/columns.ts';
import { enumColumn, teamTable } from '../../kit/resource/team-table.ts';

export const budgets = teamTable(
  { name: 'budgets', kind: 'budget', prefix: 'bdg' },
  {
    /** It is empty for the whole team, with an empty environment. */
    projectId: id('project_id').notNull().default(''),
    environmentId: id('environment_id').notNull().default(''),
    limitCents: bigint('limit_cents', { mode: 'number' }).notNull(),
    enabled: boolean('enabled').notNull().default(true),
    enforcement: enumColumn('enforcement', BudgetEnforcement, BudgetEnforcementSchema)
      .notNull()
      .default('notify'),
    /** +1 with each change of the limit: people are told anew. */
    revision: integer('revision').notNull().default(1),
    updatedAt: instant('updated_at').notNull(),
  },
  (t) => [
    uniqueIndex('budgets_scope').on(t.teamId, t.projectId, t.environmentId),
    check('budgets_limit', sql`${t.limitCents} >= 0`),
    check('budgets_one_scope', sql`${t.projectId} = '' or ${t.environmentId} = ''`),
  ],
);

/**
 * A row says what people were told of, once. No row refers to its subject: those of earlier months are
 * purged.
 */
export const budgetNotices = pgTable(
  'budget_notices',
  {
    /** The budget, or the team whose included time it is. */
    subjectId: id('subject_id').notNull(),
    month: date('month').notNull(),
    kind: text('kind', { enum: ['actual', 'forecast', 'included'] }).notNull(),
    /** A percentage of the limit. */
    threshold: integer('threshold').notNull(),
    /**
     * Revision of the budget; or the seconds that the month included, so that people are told anew when that
     * changes.
     */
    revision: integer('revision').notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.subjectId, t.month, t.kind, t.threshold, t.revision] }),
    check('budget_notices_kind', sql`${t.kind} in ('actual', 'forecast', 'included')`),
  ],
);

/** Teams whose costs changed since they were held against budgets and plans. */
export const spendDirty = pgTable('spend_dirty', { teamId: id('team_id').primaryKey() });
