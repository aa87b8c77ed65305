/** The tables hold what tokens of connections see at the hosts of repositories, and when they were asked. */
import { sql } from 'drizzle-orm';
import { boolean, check, foreignKey, index, pgTable, primaryKey, text } from 'drizzle-orm/pg-core';
import { id, instant } from '../../base/db/columns.ts';
import { FORGES } from '../../connect/providers/index.ts';
import { teams } from '../../kit/resource/schema.ts';
import { oneOf } from '../../kit/resource/team-table.ts';

/** One row of each team with tokens, or with what tokens have seen. */
export const repositoryRefreshes = pgTable(
  'repository_refreshes',
  {
    teamId: id('team_id')
      .primaryKey()
      .references(() => teams.id, { onDelete: 'cascade' }),
    /** Time at which its hosts were last to be asked. */
    askedAt: instant('asked_at').notNull(),
  },
  (t) => [index('repository_refreshes_asked').on(t.askedAt)],
);

/** One row of each token of a team and the host that it is for. */
export const repositorySources = pgTable(
  'repository_sources',
  {
    teamId: id('team_id')
      .notNull()
      .references(() => teams.id, { onDelete: 'cascade' }),
    /** MAC of host and token, by which connections with the same token are one source. */
    source: text('source').notNull(),
    /** The first of its connections, in the order of ids. */
    connectionId: id('connection_id').notNull(),
    /** Time at which all was seen. */
    listedAt: instant('listed_at'),
    /** Sentence for people that says why not all was seen. */
    problem: text('problem'),
  },
  (t) => [primaryKey({ columns: [t.teamId, t.source] })],
);

export const forgeRepositories = pgTable(
  'forge_repositories',
  {
    teamId: id('team_id').notNull(),
    source: text('source').notNull(),
    /** Host and path in the one spelling that they are compared in; see repositoryName(). */
    key: text('key').notNull(),
    host: text('host').notNull(),
    path: text('path').notNull(),
    forge: text('forge', { enum: FORGES }).notNull(),
    defaultBranch: text('default_branch'),
    private: boolean('private'),
    archived: boolean('archived'),
    pushedAt: instant('pushed_at'),
    /** Time at which the pass began that saw it last. */
    seenAt: instant('seen_at').notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.teamId, t.source, t.key] }),
    // The list goes through a team's rows in this order, and stops where its page ends.
    index('forge_repositories_list').on(t.teamId, sql`${t.key} collate "C"`),
    check('forge_repositories_forge', oneOf(t.forge, FORGES)),
    foreignKey({
      name: 'forge_repositories_source_fk',
      columns: [t.teamId, t.source],
      foreignColumns: [repositorySources.teamId, repositorySources.source],
    }).onDelete('cascade'),
  ],
);
