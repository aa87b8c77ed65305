import { sql } from 'drizzle-orm';
import { foreignKey, index, pgTable, text, uniqueIndex } from 'drizzle-orm/pg-core';
import { users } from '../accounts/schema.ts';
import { bytes, id, instant } from '../../base/db/columns.ts';
import { teams } from '../../kit/resource/schema.ts';

export const apiKeys = pgTable(
  'api_keys',
  {
    id: id('id').primaryKey(),
    userId: id('user_id').notNull(),
    /** Narrows the key to one team. */
    teamId: id('team_id'),
    name: text('name').notNull(),
    /** Public part of the secret; finds the row. */
    kid: text('kid').notNull(),
    /** HMAC-SHA-256 of the secret part under the installation's pepper. */
    digest: bytes('digest').notNull(),
    scopes: text('scopes').array().notNull(),
    /** The key that it was made with, whose end is its end too; null when a session made it. */
    parentId: id('parent_id'),
    createdAt: instant('created_at').notNull(),
    expiresAt: instant('expires_at').notNull(),
    lastUsedAt: instant('last_used_at'),
    revokedAt: instant('revoked_at'),
  },
  (t) => [
    uniqueIndex('api_keys_kid').on(t.kid),
    index('api_keys_user').on(t.userId, t.createdAt),
    index('api_keys_parent')
      .on(t.parentId)
      .where(sql`${t.parentId} is not null`),
    foreignKey({ columns: [t.userId], foreignColumns: [users.id], name: 'api_keys_user_fk' }).onDelete(
      'cascade',
    ),
    foreignKey({ columns: [t.teamId], foreignColumns: [teams.id], name: 'api_keys_team_fk' }).onDelete(
      'cascade',
    ),
    foreignKey({ columns: [t.parentId], foreignColumns: [t.id], name: 'api_keys_parent_fk' }).onDelete(
      'cascade',
    ),
  ],
);
