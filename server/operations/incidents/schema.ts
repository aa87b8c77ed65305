import { sql } from 'drizzle-orm';
import { check, foreignKey, index, pgTable, text } from 'drizzle-orm/pg-core';
import { environments } from '../../apps/environments/schema.ts';
import { id, instant } from '../../platform/db/columns.ts';

export const incidents = pgTable(
  'incidents',
  {
    id: id('id').primaryKey(),
    teamId: id('team_id').notNull(),
    environmentId: id('environment_id').notNull(),
    state: text('state', { enum: ['open', 'mitigated', 'resolved', 'dismissed'] })
      .notNull()
      .default('open'),
    severity: text('severity', { enum: ['low', 'medium', 'high'] }).notNull(),
    title: text('title').notNull(),
    description: text('description').notNull().default(''),
    openedAt: instant('opened_at').notNull(),
    mitigatedAt: instant('mitigated_at'),
    closedAt: instant('closed_at'),
  },
  (t) => [
    index('incidents_newest').on(t.teamId, t.environmentId, t.openedAt.desc(), t.id.desc()),
    foreignKey({
      columns: [t.teamId, t.environmentId],
      foreignColumns: [environments.teamId, environments.id],
      name: 'incidents_environment_fk',
    }).onDelete('cascade'),
    check('incidents_state', sql`${t.state} in ('open', 'mitigated', 'resolved', 'dismissed')`),
    check('incidents_severity', sql`${t.severity} in ('low', 'medium', 'high')`),
    check('incidents_closed', sql`(${t.state} in ('resolved', 'dismissed')) = (${t.closedAt} is not null)`),
    check('incidents_mitigated', sql`${t.state} <> 'mitigated' or ${t.mitigatedAt} is not null`),
  ],
);
