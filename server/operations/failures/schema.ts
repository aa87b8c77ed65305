/**
 * Why builds and runs of teams fail: a row for each reason of a team, one for each failure, and counts over
 * teams that say how many share a reason. The counts hold no text.
 */
import { sql } from 'drizzle-orm';
import { check, date, index, integer, jsonb, pgTable, text, uniqueIndex } from 'drizzle-orm/pg-core';
import {
  FailureKind,
  FailureKindSchema,
  FailureResolution,
  FailureResolutionSchema,
} from '@svc/proto/gen/svc/teams/v1/teams_pb.ts';
import { bytes, id, instant } from '../../base/db/columns.ts';
import { enumColumn, teamTable } from '../../kit/resource/team-table.ts';

const resolution = () => enumColumn('resolution', FailureResolution, FailureResolutionSchema);

export const failureSignatures = teamTable(
  { name: 'failure_signatures', kind: 'failure signature', prefix: 'fsg' },
  {
    signature: text('signature').notNull(),
    template: text('template').notNull(),
    kind: enumColumn('kind', FailureKind, FailureKindSchema).notNull(),
    phase: text('phase'),
    /** All failures, of which those of the last 180 days have rows. */
    count: integer('count').notNull(),
    firstSeenAt: instant('first_seen_at').notNull(),
    lastSeenAt: instant('last_seen_at').notNull(),
    /** Id of the last failure, by which lists are ordered: ids sort by time. */
    newest: id('newest').notNull(),
    resolution: resolution(),
  },
  (t) => [
    uniqueIndex('failure_signatures_name').on(t.teamId, t.signature),
    index('failure_signatures_newest').on(t.teamId, t.newest, t.id),
    index('failure_signatures_old').on(t.lastSeenAt),
    check('failure_signatures_template', sql`octet_length(${t.template}) between 1 and 4096`),
  ],
);

export const failureOccurrences = teamTable(
  {
    name: 'failure_occurrences',
    kind: 'failure',
    prefix: 'fso',
    within: { signatureId: failureSignatures },
  },
  {
    signatureId: id('signature_id').notNull(),
    /** Item of work that failed, which is counted once. */
    workId: id('work_id').notNull(),
    /** Run or build that it was about. */
    sourceId: id('source_id').notNull(),
    environmentId: id('environment_id'),
    commit: text('commit'),
    runnerId: id('runner_id'),
    /** A change from then on may have helped. */
    startedAt: instant('started_at').notNull(),
    at: instant('at').notNull(),
    /** It is null while nothing is known, and where there is no environment that could be green. */
    resolution: resolution(),
    resolvedAt: instant('resolved_at'),
  },
  (t) => [
    uniqueIndex('failure_occurrences_once').on(t.teamId, t.workId),
    index('failure_occurrences_of_source').on(t.teamId, t.sourceId),
    index('failure_occurrences_of_signature').on(t.signatureId, t.environmentId),
    index('failure_occurrences_open')
      .on(t.environmentId, t.at)
      .where(sql`${t.resolvedAt} is null`),
    index('failure_occurrences_waiting')
      .on(t.at)
      .where(sql`${t.resolvedAt} is null`),
    index('failure_occurrences_old').on(t.at),
    check('failure_occurrences_resolved', sql`(${t.resolution} is null) = (${t.resolvedAt} is null)`),
  ],
);

/** Share of teams whom something helped, in per cent. */
export interface ResolutionShare {
  readonly resolution: string;
  readonly percent: number;
}

/** Counts of a day. A signature of fewer than five teams has no row. */
export const sharedSignatures = pgTable(
  'shared_signatures',
  {
    /** HMAC of the signature: who has the database alone cannot look a guessed text up. */
    key: bytes('key').primaryKey(),
    teams: integer('teams').notNull(),
    /** It is empty below ten teams. */
    resolutions: jsonb('resolutions').$type<readonly ResolutionShare[]>().notNull(),
  },
  (t) => [check('shared_signatures_teams', sql`${t.teams} >= 5`)],
);

/** Each UTC day that was counted. */
export const sharedSignatureDays = pgTable('shared_signature_days', { day: date('day').primaryKey() });
