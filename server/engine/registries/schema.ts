import { sql } from 'drizzle-orm';
import { boolean, check, text, uniqueIndex } from 'drizzle-orm/pg-core';
import { instant } from '../../base/db/columns.ts';
import { teamTable } from '../../kit/resource/team-table.ts';

export const registries = teamTable(
  { name: 'registries', kind: 'registry', prefix: 'rgy' },
  {
    /** Lower case, with a port if any. */
    host: text('host').notNull(),
    /** It is empty when there is none. */
    namespace: text('namespace').notNull(),
    default: boolean('is_default').notNull(),
    /**
     * Since when it is not the default any more: builds that are older than that may go by it. Null: it is,
     * or never was.
     */
    defaultUntil: instant('default_until'),
    /** User name and password, encrypted as one text and bound to the row; null without. */
    sealed: text('sealed'),
    hasCredentials: boolean('has_credentials')
      .notNull()
      .generatedAlwaysAs(sql`sealed is not null`),
    /** Plain HTTP. */
    insecure: boolean('insecure').notNull(),
  },
  (t) => [
    uniqueIndex('registries_place').on(t.teamId, t.host, t.namespace),
    uniqueIndex('registries_default')
      .on(t.teamId)
      .where(sql`${t.default}`),
    check('registries_default_until', sql`not ${t.default} or ${t.defaultUntil} is null`),
  ],
);
