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
    /** It is null where the variable is secret. */
    value: text('value'),
    /** The value of a secret one, encrypted and bound to the row. */
    sealed: text('sealed'),
    secret: boolean('secret')
      .notNull()
      .generatedAlwaysAs(sql`sealed is not null`),
    /** It counts the bytes of the value, for the limit on all of an environment. */
    bytes: integer('bytes').notNull(),
    updatedAt: instant('updated_at').notNull(),
  },
  (t) => [
    uniqueIndex('variables_name').on(t.environmentId, t.name),
    check('variables_one_value', sql`(${t.value} is null) <> (${t.sealed} is null)`),
  ],
);
