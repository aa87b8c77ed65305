import { sql } from 'drizzle-orm';
import {
  bigint,
  bigserial,
  boolean,
  check,
  foreignKey,
  index,
  integer,
  jsonb,
  pgTable,
  primaryKey,
  text,
  uniqueIndex,
} from 'drizzle-orm/pg-core';
import { bytes, id, instant } from '../../base/db/columns.ts';
import { teams } from '../../kit/resource/schema.ts';
import { runnerGroups } from '../runnergroups/schema.ts';
import { workRoutes } from '../work/schema.ts';

export interface Diagnostics {
  readonly containerCliVersion: string;
  readonly deployCliVersion: string;
  readonly workspaceFreeMb: number;
  /** RFC 3339, set by the control plane. */
  readonly at: string;
}

/** HostFacts of the contract, in JSON. */
export interface HostFacts {
  readonly edge?: {
    readonly driver: string;
    readonly httpPort: number;
    readonly httpsPort: number;
    readonly addresses: readonly string[];
    readonly acmeDirectory: string;
    readonly solvers: readonly string[];
  };
  readonly mountRoots: readonly string[];
  readonly databases: boolean;
  readonly volumes: boolean;
}

export const runners = pgTable(
  'runners',
  {
    id: id('id').primaryKey(),
    teamId: id('team_id')
      .notNull()
      .references(() => teams.id, { onDelete: 'cascade' }),
    name: text('name').notNull(),
    /** RFC 7638 thumbprint of the public key. */
    keyId: text('key_id').notNull(),
    /** Raw 32 bytes. Never leaves the control plane. */
    publicKey: bytes('public_key').notNull(),
    /** As the daemon says. */
    labels: jsonb('labels').$type<Record<string, string>>().notNull().default({}),
    /** A person set these labels: they win over the daemon's, and those of the group over both. */
    setLabels: jsonb('set_labels').$type<Record<string, string>>().notNull().default({}),
    groupId: id('group_id'),
    version: text('version').notNull().default(''),
    os: text('os').notNull().default(''),
    arch: text('arch').notNull().default(''),
    /** `container`, `namespaces`, or empty until the daemon reported it. */
    isolation: text('isolation').notNull().default(''),
    executor: text('executor').notNull().default(''),
    /** It says what the machine can host beside apps; null where the daemon knows nothing of that. */
    host: jsonb('host').$type<HostFacts>(),
    bootId: text('boot_id').notNull().default(''),
    draining: boolean('draining').notNull().default(false),
    notReady: text('not_ready')
      .array()
      .notNull()
      .default(sql`'{}'`),
    strikes: integer('strikes').notNull().default(0),
    diagnosticsRequestedAt: instant('diagnostics_requested_at'),
    diagnostics: jsonb('diagnostics').$type<Diagnostics>(),
    pausedAt: instant('paused_at'),
    pausedUntil: instant('paused_until'),
    pauseNote: text('pause_note'),
    enrolledAt: instant('enrolled_at').notNull(),
    lastHeartbeatAt: instant('last_heartbeat_at'),
    lastSeenAt: instant('last_seen_at'),
    revokedAt: instant('revoked_at'),
    /** Version that an event `runner.version_too_old` was written for. */
    refusedVersion: text('refused_version'),
  },
  (t) => [
    uniqueIndex('runners_key_id').on(t.keyId),
    uniqueIndex('runners_team_id').on(t.teamId, t.id),
    uniqueIndex('runners_name')
      .on(t.teamId, t.name)
      .where(sql`${t.revokedAt} is null`),
    index('runners_group')
      .on(t.groupId)
      .where(sql`${t.groupId} is not null`),
    foreignKey({
      columns: [t.teamId, t.groupId],
      foreignColumns: [runnerGroups.teamId, runnerGroups.id],
      name: 'runners_group_fk',
    }),
  ],
);

/**
 * The routes of a runner: those of its pool whose selector its group and labels satisfy. Triggers of the
 * migration keep it so, under a lock on the pool's routes: whoever changes a runner, a group or the routes
 * cannot forget it, and of two at once the later one sees the other.
 */
export const runnerRoutes = pgTable(
  'runner_routes',
  {
    runnerId: id('runner_id')
      .notNull()
      .references(() => runners.id, { onDelete: 'cascade' }),
    kind: text('kind', { enum: ['run', 'build'] }).notNull(),
    routeId: bigint('route_id', { mode: 'number' })
      .notNull()
      .references(() => workRoutes.id, { onDelete: 'cascade' }),
  },
  (t) => [
    primaryKey({ columns: [t.runnerId, t.kind, t.routeId] }),
    index('runner_routes_route').on(t.routeId),
  ],
);

/** Boot ids that a newer process of the same runner has replaced. */
export const runnerBoots = pgTable(
  'runner_boots',
  {
    runnerId: id('runner_id')
      .notNull()
      .references(() => runners.id, { onDelete: 'cascade' }),
    bootId: text('boot_id').notNull(),
    firstSeenAt: instant('first_seen_at').notNull(),
    supersededAt: instant('superseded_at'),
  },
  (t) => [uniqueIndex('runner_boots_pk').on(t.runnerId, t.bootId)],
);

export const enrollmentTokens = pgTable(
  'enrollment_tokens',
  {
    id: id('id').primaryKey(),
    teamId: id('team_id')
      .notNull()
      .references(() => teams.id, { onDelete: 'cascade' }),
    /** SHA-256 of the token. */
    tokenHash: bytes('token_hash').notNull(),
    createdBy: id('created_by').notNull(),
    /** The API key that it was made with, which it ends with. */
    createdWithKey: id('created_with_key'),
    createdAt: instant('created_at').notNull(),
    expiresAt: instant('expires_at').notNull(),
    usedAt: instant('used_at'),
    /** Runner that it registered: the same key may ask again and gets the same answer. */
    runnerId: id('runner_id'),
  },
  (t) => [
    uniqueIndex('enrollment_tokens_hash').on(t.tokenHash),
    index('enrollment_tokens_expires').on(t.expiresAt),
  ],
);

export const runnerEvents = pgTable(
  'runner_events',
  {
    seq: bigserial('seq', { mode: 'number' }).primaryKey(),
    teamId: id('team_id').notNull(),
    /** Null for what concerns the team's runners together. */
    runnerId: id('runner_id'),
    at: instant('at').notNull(),
    /** `runner.enrolled`, `runner.revoked`, `runner.duration_divergence` … */
    kind: text('kind').notNull(),
    detail: text('detail').notNull(),
  },
  (t) => [
    index('runner_events_team').on(t.teamId, t.seq.desc()),
    foreignKey({
      columns: [t.teamId, t.runnerId],
      foreignColumns: [runners.teamId, runners.id],
      name: 'runner_events_runner_fk',
    }).onDelete('cascade'),
    check('runner_events_kind', sql`${t.kind} like 'runner.%'`),
  ],
);

/**
 * The table says whether a team's work is stuck because no runner takes it; one row per team that ever was.
 * See runners/degraded.ts.
 */
export const runnerTeamHealth = pgTable(
  'runner_team_health',
  {
    teamId: id('team_id')
      .primaryKey()
      .references(() => teams.id, { onDelete: 'cascade' }),
    /** It is null when the team is not degraded. */
    degradedSince: instant('degraded_since'),
    /** A word of WAITING_REASONS; of the latest entry. */
    reason: text('reason').notNull(),
    /** Time at which people and webhooks were last notified of an entry. */
    notifiedAt: instant('notified_at'),
    /** True when they were notified of the latest entry, and so must be notified of its end. */
    notified: boolean('notified').notNull().default(false),
    /** Runner that is live again, and its first contact: another one ends the state. */
    candidateId: id('candidate_id'),
    candidateSeenAt: instant('candidate_seen_at'),
  },
  (t) => [
    index('runner_team_health_degraded')
      .on(t.teamId)
      .where(sql`${t.degradedSince} is not null`),
  ],
);
