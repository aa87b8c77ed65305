/** A runner as its row has it, and as its team sees it: never its key. */
// No TeamScope: fragments of statements that take a TeamScope.
import { Health, RunnerSchema, type Runner } from '@svc/proto/gen/svc/runners/v1/runners_pb.ts';
import { requireTeam } from '../../kit/authorise.ts';
import type { TeamScope } from '../../kit/context.ts';
import type { SqlTag } from '../../base/db/index.ts';
import { shown } from '../../kit/resource/index.ts';
import { isBelow } from '../work/index.ts';
import type { runners } from './schema.ts';

type Hidden = 'keyId' | 'publicKey' | 'os' | 'arch' | 'bootId' | 'diagnosticsRequestedAt' | 'refusedVersion';

export interface RunnerRow extends Omit<typeof runners.$inferSelect, Hidden> {
  readonly leases: number;
  readonly groupName: string | null;
}

const LIST_MAX = 500;
const REVOKED_SHOWN_DAYS = 90;

const columns = (sql: SqlTag) => sql`
  r.id, r.team_id as "teamId", r.name, runner_labels(r) as labels, r.set_labels as "setLabels", r.group_id as "groupId",
  (select g.name from runner_groups g where g.id = r.group_id) as "groupName", r.version, r.isolation, r.executor, r.host, r.draining, r.not_ready as "notReady", r.strikes,
  r.diagnostics, r.paused_at as "pausedAt", r.paused_until as "pausedUntil", r.pause_note as "pauseNote", r.enrolled_at as "enrolledAt",
  r.last_heartbeat_at as "lastHeartbeatAt", r.last_seen_at as "lastSeenAt", r.revoked_at as "revokedAt",
  (select count(*)::int from work_items w where w.runner_id = r.id and w.lease_id is not null) as leases`;

export async function listRunners(
  sql: SqlTag,
  scope: TeamScope,
  {
    teamId,
    includeRevoked = false,
  }: { readonly teamId: string; readonly includeRevoked?: boolean | undefined },
): Promise<readonly RunnerRow[]> {
  return await sql<RunnerRow[]>`
    select ${columns(sql)} from runners r
    where r.team_id = ${requireTeam(scope, teamId)}
      and (r.revoked_at is null or (${includeRevoked}::boolean and r.revoked_at > now() - ${REVOKED_SHOWN_DAYS}::int * interval '1 day'))
    order by r.name, r.id limit ${LIST_MAX}::int`;
}

export interface RunnerInTeam {
  readonly teamId: string;
  readonly runnerId: string;
}

export async function findRunner(
  sql: SqlTag,
  scope: TeamScope,
  { teamId, runnerId }: RunnerInTeam,
): Promise<RunnerRow | undefined> {
  const [row] = await sql<
    RunnerRow[]
  >`select ${columns(sql)} from runners r where r.team_id = ${requireTeam(scope, teamId)} and r.id = ${runnerId}`;
  return row;
}

export function toMessage(row: RunnerRow, now: Date, limits: HealthLimits): Runner {
  const { diagnostics } = row;
  return shown(RunnerSchema, row, {
    health: healthOf(row, now, limits),
    flagged: row.strikes >= limits.strikesMax,
    upgradeRecommended: isBelow(row.version, limits.recommendedVersion),
    diagnostics: diagnostics && { ...diagnostics, at: new Date(diagnostics.at) },
  });
}

export type HealthFacts = Pick<
  typeof runners.$inferSelect,
  'revokedAt' | 'strikes' | 'pausedAt' | 'pausedUntil' | 'lastSeenAt' | 'draining' | 'notReady' | 'version'
>;

export interface HealthLimits {
  readonly strikesMax: number;
  readonly silentMs: number;
  readonly minVersion: string;
  readonly recommendedVersion: string;
}

export function isPaused(
  { pausedAt, pausedUntil }: Pick<HealthFacts, 'pausedAt' | 'pausedUntil'>,
  now: Date,
): boolean {
  return pausedAt !== null && (pausedUntil === null || pausedUntil > now);
}

export function healthOf(
  facts: HealthFacts,
  now: Date,
  { strikesMax, silentMs, minVersion }: HealthLimits,
): Health {
  if (facts.revokedAt !== null) return Health.REVOKED;
  if (facts.strikes >= strikesMax) return Health.FLAGGED;
  if (isPaused(facts, now)) return Health.PAUSED;
  if (facts.lastSeenAt === null) return Health.NEVER_SEEN;
  if (now.getTime() - facts.lastSeenAt.getTime() > silentMs) return Health.SILENT;
  if (isBelow(facts.version, minVersion)) return Health.VERSION_TOO_OLD;
  if (facts.draining) return Health.DRAINING;
  return facts.notReady.length > 0 ? Health.NOT_READY : Health.LIVE;
}
