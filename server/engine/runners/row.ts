/** A runner as its row has it, and as its team sees it: never its key. */
import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import type { RunnerSchema } from '@svc/proto/gen/svc/runners/v1/runners_pb.ts';
import type { SqlTag } from '../../platform/db/index.ts';
import { isBelow } from '../work/index.ts';
import { healthOf } from './health.ts';
import type { HealthFacts, HealthLimits } from './health.ts';
import type { Diagnostics } from './schema.ts';

export interface RunnerRow extends HealthFacts {
  readonly id: string;
  readonly teamId: string;
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly leases: number;
  readonly version: string;
  readonly isolation: string;
  readonly executor: string;
  readonly enrolledAt: Date;
  readonly lastHeartbeatAt: Date | null;
  readonly pauseNote: string | null;
  readonly diagnostics: Diagnostics | null;
}

const LIST_MAX = 500;
const REVOKED_SHOWN_DAYS = 90;

const columns = (sql: SqlTag) => sql`
  r.id, r.team_id as "teamId", r.name, r.labels, r.version, r.isolation, r.executor, r.draining, r.not_ready as "notReady", r.strikes,
  r.diagnostics, r.paused_at as "pausedAt", r.paused_until as "pausedUntil", r.pause_note as "pauseNote", r.enrolled_at as "enrolledAt",
  r.last_heartbeat_at as "lastHeartbeatAt", r.last_seen_at as "lastSeenAt", r.revoked_at as "revokedAt",
  (select count(*)::int from work_items w where w.runner_id = r.id and w.lease_id is not null) as leases`;

export async function listRunners(
  sql: SqlTag,
  teamId: string,
  includeRevoked: boolean,
): Promise<readonly RunnerRow[]> {
  return await sql<RunnerRow[]>`
    select ${columns(sql)} from runners r
    where r.team_id = ${teamId}
      and (r.revoked_at is null or (${includeRevoked}::boolean and r.revoked_at > now() - ${REVOKED_SHOWN_DAYS}::int * interval '1 day'))
    order by r.name, r.id limit ${LIST_MAX}::int`;
}

export async function findRunner(sql: SqlTag, teamId: string, id: string): Promise<RunnerRow | undefined> {
  const [row] = await sql<
    RunnerRow[]
  >`select ${columns(sql)} from runners r where r.team_id = ${teamId} and r.id = ${id}`;
  return row;
}

const optional = <K extends string>(key: K, date: Date | null) =>
  (date === null ? {} : { [key]: timestampFromDate(date) }) as {
    readonly [k in K]?: ReturnType<typeof timestampFromDate>;
  };

export function toMessage(
  row: RunnerRow,
  now: Date,
  limits: HealthLimits,
): MessageInitShape<typeof RunnerSchema> {
  const { diagnostics } = row;
  return {
    id: row.id,
    teamId: row.teamId,
    name: row.name,
    health: healthOf(row, now, limits),
    labels: { ...row.labels },
    leases: row.leases,
    strikes: row.strikes,
    flagged: row.strikes >= limits.strikesMax,
    notReady: [...row.notReady],
    version: row.version,
    upgradeRecommended: isBelow(row.version, limits.recommendedVersion),
    isolation: row.isolation,
    executor: row.executor,
    enrolledAt: timestampFromDate(row.enrolledAt),
    ...optional('lastHeartbeatAt', row.lastHeartbeatAt),
    ...optional('lastSeenAt', row.lastSeenAt),
    ...optional('pausedAt', row.pausedAt),
    ...optional('pausedUntil', row.pausedUntil),
    ...(row.pauseNote === null ? {} : { pauseNote: row.pauseNote }),
    ...optional('revokedAt', row.revokedAt),
    ...(diagnostics === null
      ? {}
      : {
          diagnostics: {
            containerCliVersion: diagnostics.containerCliVersion,
            deployCliVersion: diagnostics.deployCliVersion,
            workspaceFreeMb: diagnostics.workspaceFreeMb,
            at: timestampFromDate(new Date(diagnostics.at)),
          },
        }),
  };
}
