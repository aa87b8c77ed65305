import { sql } from 'drizzle-orm';
import { boolean, check, integer, text, uniqueIndex } from 'drizzle-orm/pg-core';
import { environments } from '../environments/schema.ts';
import { id, instant } from '../../base/db/columns.ts';
import { teamTable } from '../../kit/resource/team-table.ts';

export const variables = teamTable(
  { name: 'variables', kind: 'variable', prefix: 'var', within: { environmentId: environments } },
  {
    environmentId: id('environment_id').notNull(),
    name: text('name').notNull(),
    /** Null: it is secret. */
    value: text('value'),
    /** The value of a secret one, encrypted and bound to the row. */
    sealed: text('sealed'),
    secret: boolean('secret')
      .notNull()
      .generatedAlwaysAs(sql`sealed is not null`),
    /** Of the value, for the limit on all of an environment. */
    bytes: integer('bytes').notNull(),
    updatedAt: instant('updated_at').notNull(),
  },
  (t) => [
    uniqueIndex('variables_name').on(t.environmentId, t.name),
    check('variables_one_value', sql`(${t.value} is null) <> (${t.sealed} is null)`),
  ],
);
