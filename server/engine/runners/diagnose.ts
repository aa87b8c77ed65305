/**
 * The bundle for support is redacted by construction. It is put together from the columns named here, none of
 * which is a key, a token or a setting's value, and what was written freely is cut down here. With
 * `live` it asks the runners first and waits for one answer, at most 20 s, so that a heartbeat every 15 s is
 * in time, and no longer than its caller waits.
 */
import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { RunnerEventSchema, type DiagnoseResponseSchema } from '@svc/proto/gen/svc/runners/v1/runners_pb.ts';
import { deadlineMs } from '@svc/proto/http/active-call.ts';
import type { CallContext } from '@svc/proto/http/call.ts';
import type { Clock } from '../../base/clock.ts';
import { requireTeam } from '../../kit/authorise.ts';
import type { TeamScope } from '../../kit/context.ts';
import type { SqlTag } from '../../base/db/index.ts';
import { shown } from '../../kit/resource/index.ts';
import { waitingItems } from '../work/index.ts';
import { listRunners, toMessage, type HealthLimits, type RunnerRow } from './row.ts';

export interface DiagnoseDeps {
  readonly sql: SqlTag;
  readonly clock: Clock;
  readonly limits: HealthLimits;
  /** It says whether each variable that matters to runners is set, whatever to. */
  readonly configured: Readonly<Record<string, boolean>>;
  readonly liveWaitMs: number;
}

/** The answer leaves this long before the caller gives up. */
const ANSWER_EARLY_MS = 1_000;

const EVENTS_MAX = 100;
const LOOK_EVERY_MS = 250;

export async function diagnose(
  deps: DiagnoseDeps,
  scope: TeamScope,
  { live, call, ...of }: { readonly teamId: string; readonly live: boolean; readonly call: CallContext },
): Promise<MessageInitShape<typeof DiagnoseResponseSchema>> {
  const { sql, clock, limits } = deps;
  const teamId = requireTeam(scope, of.teamId);
  const answered = live ? await askRunners(deps, scope, { teamId, call }) : undefined;
  const [runners, [counts], events] = await Promise.all([
    listRunners(sql, scope, { teamId }),
    sql<Array<{ live: number; expired: number; queued: number }>>`
      select count(*) filter (where x.expires_at > now())::int as live,
        count(*) filter (where x.expires_at <= now())::int as expired,
        (select count(*)::int from (${waitingItems(sql, teamId, sql``)}) q) as queued
      from work_items w join runners r on r.id = w.runner_id join work_leases x on x.work_id = w.id and x.epoch = w.epoch
      where r.team_id = ${teamId} and w.lease_id is not null`,
    sql<Array<{ at: Date; runnerId: string; kind: string; detail: string }>>`
      select at, coalesce(runner_id, '') as "runnerId", kind, detail from runner_events
      where team_id = ${teamId} order by seq desc nulls last limit ${EVENTS_MAX}::int`,
  ]);
  const now = clock.now();
  return {
    generatedAt: timestampFromDate(now),
    runners: runners.map((row) => toMessage(redacted(row), now, limits)),
    liveLeases: counts?.live ?? 0,
    expiredLeases: counts?.expired ?? 0,
    queued: counts?.queued ?? 0,
    events: events.map((event) => shown(RunnerEventSchema, event)),
    configured: { ...deps.configured },
    ...(answered === undefined ? {} : { liveAnswered: answered }),
  };
}

/** Returns whether one of the team's runners answered in time. */
async function askRunners(
  { sql, clock, liveWaitMs }: DiagnoseDeps,
  scope: TeamScope,
  { call, ...of }: { readonly teamId: string; readonly call: CallContext },
): Promise<boolean> {
  const waitMs = Math.min(liveWaitMs, deadlineMs(call.rpc, call) - ANSWER_EARLY_MS);
  const teamId = requireTeam(scope, of.teamId);
  const asked = await sql<Array<{ at: Date }>>`
    update runners set diagnostics_requested_at = now() where team_id = ${teamId} and revoked_at is null returning diagnostics_requested_at as at`;
  const at = asked[0]?.at;
  if (at === undefined) return false;
  const endMs = clock.monotonicMs() + waitMs;
  while (!call.signal.aborted && clock.monotonicMs() < endMs) {
    const [row] = await sql<Array<{ answered: boolean }>>`
      select exists (
        select from runners where team_id = ${teamId} and revoked_at is null and (diagnostics ->> 'at')::timestamptz >= ${at}
      ) as answered`;
    if (row?.answered === true) return true;
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  }
  return false;
}

// A runner as a bundle for support shows it: what its team and its machine wrote freely is left out or cut
// down to what is known to be harmless, because a bundle leaves the team, and people put secrets into notes
// and labels.

/**
 * A program's name and its version, as far as they look like that: `podman 4.3.1`, `Docker version 24.0.7`.
 * What follows is cut off.
 */
const VERSION = /^([A-Za-z][A-Za-z-]{0,19} ){0,2}v?\d{1,6}(\.\d{1,6}){1,3}/;

const versionOnly = (text: string): string => VERSION.exec(text)?.[0] ?? '';

/**
 * Takes the first word of a reason: `disk`, `engine`. The whole sentence is in the roster, for the team
 * itself.
 */
function reasonWord(text: string): string {
  const [word = ''] = text.toLowerCase().split(/[^a-z]/, 1);
  return REASONS.has(word) ? word : 'other';
}

const EXECUTORS: ReadonlySet<string> = new Set(['podman', 'docker', 'namespaces']);
const REASONS: ReadonlySet<string> = new Set([
  'backlog',
  'boot',
  'clock',
  'disk',
  'docker',
  'engine',
  'executor',
  'git',
  'isolation',
  'memory',
  'namespaces',
  'pack',
  'podman',
  'registry',
  'spool',
  'version',
  'workspace',
]);

export function redacted(row: RunnerRow): RunnerRow {
  const { diagnostics } = row;
  return {
    ...row,
    labels: {},
    pauseNote: null,
    version: versionOnly(row.version),
    executor: EXECUTORS.has(row.executor) ? row.executor : '',
    notReady: row.notReady.map(reasonWord),
    diagnostics: diagnostics && {
      ...diagnostics,
      containerCliVersion: versionOnly(diagnostics.containerCliVersion),
      deployCliVersion: versionOnly(diagnostics.deployCliVersion),
    },
  };
}
