/**
 * Every other row belongs to regions and teams. They are described here because `teamTable` refers to them;
 * area `access` owns teams, area `engine` owns regions.
 */
import { sql } from 'drizzle-orm';
import { boolean, check, index, pgTable, text, uniqueIndex } from 'drizzle-orm/pg-core';
import { id, instant } from '../../base/db/columns.ts';

export const regions = pgTable(
  'regions',
  {
    id: id('id').primaryKey(),
    name: text('name').notNull().unique(),
    operator: text('operator', { enum: ['service', 'customer'] }).notNull(),
  },
  (t) => [check('regions_operator', sql`${t.operator} in ('service', 'customer')`)],
);

/** Operator of the machines of a region. */
export type Operator = (typeof regions.$inferSelect)['operator'];

export const teams = pgTable(
  'teams',
  {
    id: id('id').primaryKey(),
    name: text('name').notNull(),
    description: text('description').notNull().default(''),
    avatarUrl: text('avatar_url'),
    kind: text('kind', { enum: ['personal', 'organization'] })
      .notNull()
      .default('organization'),
    regionId: id('region_id')
      .notNull()
      .references(() => regions.id),
    /** The one team whose runners are the service's own pool. */
    servicePool: boolean('service_pool').notNull().default(false),
    /** It takes part in counts of failures over teams, see operations/failures. */
    shareFailures: boolean('share_failures').notNull().default(false),
    createdAt: instant('created_at').notNull(),
  },
  (t) => [
    check('teams_kind', sql`${t.kind} in ('personal', 'organization')`),
    // Staff find teams by the beginnings of names.
    index('teams_by_name').on(sql`lower(${t.name}) collate "C"`, t.id),
    uniqueIndex('teams_one_service_pool')
      .on(t.servicePool)
      .where(sql`${t.servicePool}`),
  ],
);
