import { sql } from 'drizzle-orm';
import { check, pgTable, text } from 'drizzle-orm/pg-core';
import { id } from '../platform/db/columns.ts';

export const regions = pgTable(
  'regions',
  {
    id: id('id').primaryKey(),
    name: text('name').notNull().unique(),
    operator: text('operator', { enum: ['service', 'customer'] }).notNull(),
  },
  (t) => [check('regions_operator', sql`${t.operator} in ('service', 'customer')`)],
);
