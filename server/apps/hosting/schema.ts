/**
 * The tables say what runners' machines host: one row of each environment that was deployed, or whose data
 * lies on a machine, and what is to be removed from machines. They are written in the statement that ends a
 * build, and by whatever adds to an app. Triggers count the revisions of runners and write tombstones of
 * environments that are deleted, with their project or by themselves.
 */
import { sql } from 'drizzle-orm';
import { boolean, check, foreignKey, index, integer, jsonb, pgTable, text } from 'drizzle-orm/pg-core';
import { id, instant } from '../../base/db/columns.ts';
import { oneOf } from '../../kit/resource/team-table.ts';
import { teams } from '../../kit/resource/schema.ts';
import { environments } from '../environments/schema.ts';

/** An app as its runner sees it; see ObservedApp of the contract. */
export interface Observed {
  readonly revision: number;
  readonly state: 'running' | 'ended' | 'paused' | 'absent';
  /** Empty texts are left out. */
  readonly buildId?: string;
  readonly address?: string;
  /** RFC 3339; absent while it does not run. */
  readonly startedAt?: string;
}

const KINDS = ['container', 'dokku'] as const;

export const hostApps = pgTable(
  'host_apps',
  {
    environmentId: id('environment_id').primaryKey(),
    teamId: id('team_id').notNull(),
    /** Its machine alone deploys the environment; see work/build-sql.ts. */
    runnerId: id('runner_id').notNull(),
    /** It counts the changes of what the runner should host of the environment. */
    revision: integer('revision').notNull().default(1),
    kind: text('kind', { enum: KINDS }).notNull(),
    /** As the environment named it when it was deployed; `appOnHost` makes the name on the machine. */
    app: text('app').notNull(),
    containerPort: integer('container_port').notNull(),
    /** The newest build that was deployed, or may be; null before the first one. */
    buildId: id('build_id'),
    buildNumber: integer('build_number').notNull().default(0),
    /** Builds wait for this very machine, also when its runner is revoked. */
    holdsData: boolean('holds_data').notNull().default(false),
    observed: jsonb('observed').$type<Observed>(),
    observedAt: instant('observed_at'),
  },
  (t) => [
    check('host_apps_kind', oneOf(t.kind, KINDS)),
    index('host_apps_of_runner').on(t.runnerId, t.environmentId),
    foreignKey({
      columns: [t.teamId, t.environmentId],
      foreignColumns: [environments.teamId, environments.id],
      name: 'host_apps_environment_fk',
    }).onDelete('cascade'),
  ],
);

/** One row of each runner that hosts something, or did. */
export const hostRevisions = pgTable('host_revisions', {
  runnerId: id('runner_id').primaryKey(),
  revision: integer('revision').notNull(),
});

/** An explicit order to remove an app: what is merely not listed stays on a machine. */
export const hostTombstones = pgTable(
  'host_tombstones',
  {
    id: text('id')
      .primaryKey()
      .default(sql`'tmb_' || replace(gen_random_uuid()::text, '-', '')`),
    teamId: id('team_id')
      .notNull()
      .references(() => teams.id, { onDelete: 'cascade' }),
    runnerId: id('runner_id').notNull(),
    /** It may be gone. */
    environmentId: id('environment_id').notNull(),
    kind: text('kind', { enum: KINDS }).notNull(),
    app: text('app').notNull(),
    /** Name of data within the environment: its volume goes; null: the app goes. */
    volume: text('volume'),
    createdAt: instant('created_at').notNull().defaultNow(),
    /** It is told from then on. */
    dueAt: instant('due_at').notNull().defaultNow(),
    /** Time at which the runner said that it was carried out. */
    removedAt: instant('removed_at'),
  },
  (t) => [
    check('host_tombstones_kind', oneOf(t.kind, KINDS)),
    index('host_tombstones_open')
      .on(t.runnerId, t.id)
      .where(sql`${t.removedAt} is null`),
    index('host_tombstones_old').on(t.createdAt),
  ],
);
