import { sql } from 'drizzle-orm';
import { check, index, text } from 'drizzle-orm/pg-core';
import {
  IncidentSeverity,
  IncidentSeveritySchema,
  IncidentState,
  IncidentStateSchema,
} from '@svc/proto/gen/svc/incidents/v1/incidents_pb.ts';
import { environments } from '../../apps/environments/schema.ts';
import { id, instant } from '../../base/db/columns.ts';
import { enumColumn, teamTable } from '../../kit/resource/team-table.ts';

export const incidents = teamTable(
  { name: 'incidents', kind: 'incident', prefix: 'inc', within: { environmentId: environments } },
  {
    environmentId: id('environment_id').notNull(),
    state: enumColumn('state', IncidentState, IncidentStateSchema).notNull().default('open'),
    severity: enumColumn('severity', IncidentSeverity, IncidentSeveritySchema).notNull(),
    title: text('title').notNull(),
    description: text('description').notNull().default(''),
    openedAt: instant('opened_at').notNull(),
    mitigatedAt: instant('mitigated_at'),
    closedAt: instant('closed_at'),
  },
  (t) => [
    index('incidents_newest').on(t.environmentId, t.id),
    check('incidents_closed', sql`(${t.state} in ('resolved', 'dismissed')) = (${t.closedAt} is not null)`),
    check('incidents_mitigated', sql`${t.state} <> 'mitigated' or ${t.mitigatedAt} is not null`),
  ],
);
