/** The table holds evidence that a build leaves. */
import { pgTable, primaryKey, text } from 'drizzle-orm/pg-core';
import { bytes, id, instant } from '../../base/db/columns.ts';
import { teams } from '../../kit/resource/schema.ts';

/**
 * Documents as they came, gzipped, by the SHA-256 of that. The engine writes those of builds with their
 * reports.
 */
export const sboms = pgTable(
  'sboms',
  {
    teamId: id('team_id')
      .notNull()
      .references(() => teams.id, { onDelete: 'cascade' }),
    /** 64 hexadecimal digits. */
    sha256: text('sha256').notNull(),
    document: bytes('document').notNull(),
    createdAt: instant('created_at').notNull(),
  },
  (t) => [primaryKey({ columns: [t.teamId, t.sha256] })],
);
