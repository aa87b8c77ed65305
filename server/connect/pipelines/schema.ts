import { boolean, jsonb, text, uniqueIndex } from 'drizzle-orm/pg-core';
import { id } from '../../base/db/columns.ts';
import { teamTable } from '../../kit/resource/team-table.ts';
import { ciConnections } from '../connections/schema.ts';

/** Pipelines are known by their definitions or by their runs. */
export const ciPipelines = teamTable(
  { name: 'ci_pipelines', kind: 'pipeline', prefix: 'cip', within: { connectionId: ciConnections } },
  {
    connectionId: id('connection_id').notNull(),
    name: text('name').notNull(),
    /** File that defines it; empty: not known. */
    path: text('path').notNull().default(''),
    jobs: jsonb('jobs').$type<readonly string[]>().notNull().default([]),
    triggers: jsonb('triggers').$type<readonly string[]>().notNull().default([]),
    deployDetected: boolean('deploy_detected').notNull().default(false),
    /** The latest discovery found its definition. */
    defined: boolean('defined').notNull().default(false),
  },
  (t) => [uniqueIndex('ci_pipelines_name').on(t.connectionId, t.name, t.path)],
);
