/** Runners as their team sees them. */
import { foundRunners } from './search.ts';
import { apiKeysFeature } from '../../access/apikeys/index.ts';
import { teamsFeature } from '../../access/teams/index.ts';
import type { ProcessSettings } from '../../base/settings.ts';
import { declareFeature, fill } from '../../kit/feature.ts';
import { overviewSources, setupSteps } from '../../kit/overview.ts';
import { limitsFeature } from '../limits/index.ts';
import { runnerGroupsFeature } from '../runnergroups/index.ts';
import { createEnroll, purgeTokens, issueToken } from './enroll.ts';
import { events } from './runners.events.ts';
import { startWatch } from './watch.ts';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { LeaseSchema, RunnersService, type Runner } from '@svc/proto/gen/svc/runners/v1/runners_pb.ts';
import { implement, type Handlers, type Implementation } from '@svc/proto/http/implement.ts';
import type { ControlEvent, WorkQueue } from '@svc/proto/queue/queue.ts';
import { recordAct } from '../../kit/ledger/index.ts';
import type { Ctx, TeamScope } from '../../kit/context.ts';
import type { Database, SqlTag } from '../../base/db/index.ts';
import { notFound } from '../../kit/not-found.ts';
import { closePage, openPage } from '../../kit/paging.ts';
import { shown } from '../../kit/resource/index.ts';
import { enrollPort, revokeRunner, workFeature, type WorkSettings } from '../work/index.ts';
import { clearStrikes, pause, place, requestDiagnostics, resume, type Changed } from './change.ts';
import { diagnose } from './diagnose.ts';
import { listHistory } from './history.ts';
import { createRosterWatches, eventsOf } from './live.ts';
import { regionHasRunners, runnerEnrolled, runnersNow } from './overview.ts';
import { findRunner, listRunners, toMessage, type RunnerInTeam } from './row.ts';
import { teamHealth } from './team-health.ts';

export { createEnroll } from './enroll.ts';
export type { Enroll } from './enroll.ts';
export { chooseHostRunner, hostRunnerOf } from './host-runner.ts';
export type { HostRunner } from './host-runner.ts';
export { waitingWords, whyWaiting } from './waiting.ts';
export type { Waiting } from './waiting.ts';

export interface RunnersDeps {
  readonly queue: WorkQueue;
  readonly settings: WorkSettings;
  readonly runnersPerTeamMax: number;
  /** It says by name whether each variable that matters to runners is set, as diagnoses show it. */
  readonly configured: Readonly<Record<string, boolean>>;
  /** A live diagnosis waits so long at most, 20 s by default. */
  readonly liveWaitMs?: number;
  /** Something is due for a hint. */
  wakeRelay(): void;
  /** A notice that could not be sent; gateways find out with the next call. */
  onError(error: unknown): void;
}

const LIVE_WAIT_MS = 20_000;

type Service = Implementation<typeof RunnersService, Ctx>;
type Reads = 'list' | 'watch' | 'get' | 'diagnose' | 'getHealth' | 'listHistory';
export function createRunners(deps: RunnersDeps): Handlers<Ctx> {
  return implement(RunnersService, { ...readCalls(deps), ...changeCalls(deps) });
}

async function runnerNow(
  { settings }: RunnersDeps,
  { db, clock, teams }: Ctx,
  which: RunnerInTeam,
): Promise<Runner> {
  const row = await findRunner(db.sql, teams, which);
  if (row === undefined) throw notFound('runner');
  return toMessage(row, clock.now(), settings);
}

function readCalls(deps: RunnersDeps): Pick<Service, Reads> {
  const { settings, configured, liveWaitMs = LIVE_WAIT_MS } = deps;
  const watches = createRosterWatches(settings);
  return {
    list: async (request, { db, clock, teams }) => {
      const rows = await listRunners(db.sql, teams, request);
      return { runners: rows.map((row) => toMessage(row, clock.now(), settings)) };
    },
    watch: async ({ teamId }, { db: { sql }, clock, teams: scope, call }) =>
      eventsOf(watches.watch(teamId, { sql, clock, scope, teamId }, call.signal)),
    get: async (request, ctx) => await runnerNow(deps, ctx, request),
    getHealth: async ({ teamId }, { db: { sql }, teams }) =>
      await teamHealth({ sql, settings }, teams, teamId),
    listHistory: async ({ limit, cursor, ...which }, ctx) => {
      const { db, teams } = ctx;
      const { runnerId } = which;
      if ((await findRunner(db.sql, teams, which)) === undefined) throw notFound('runner');
      const page = openPage(ctx, runnerId, { limit, cursor });
      const after = page.after && { grantedAt: String(page.after[0]), workId: String(page.after[1]) };
      const rows = await listHistory(db.sql, teams, { ...which, take: page.take, after });
      const { items, ...next } = closePage(page, rows, (row) => [row.grantedText, row.itemId]);
      return { ...next, leases: items.map((row) => shown(LeaseSchema, row)) };
    },
    diagnose: async ({ teamId, live }, { db, clock, teams, call }) =>
      await diagnose({ sql: db.sql, clock, limits: settings, configured, liveWaitMs }, teams, {
        teamId,
        live: live ?? false,
        call,
      }),
  };
}

function changeCalls(deps: RunnersDeps): Omit<Service, Reads> {
  /** Runs a change with its entry in the ledger, tells the gateways and answers the runner as it is now. */
  const changes =
    <W extends RunnerInTeam>(
      action: string,
      change: (sql: SqlTag, scope: TeamScope, which: W) => Promise<Changed | undefined>,
    ) =>
    async (which: W, ctx: Ctx): Promise<Runner> => {
      const { teamId, runnerId } = which;
      await ctx.db.transact(async (db) => {
        const done = await change(db.sql, ctx.teams, which);
        if (done === undefined) throw notFound('runner');
        publish(deps, db, { type: 'runner_changed', runnerId });
        if (!done.changed) return;
        const details = { name: done.name, ...done.details };
        await recordAct(db, ctx, { chain: teamId, action, target: runnerId, details });
      });
      return await runnerNow(deps, ctx, which);
    };
  return {
    createEnrollToken: async ({ teamId }, ctx) =>
      await ctx.db.transact(async (db) => await issue(deps, db, { ctx, teamId })),
    revoke: async (which, ctx) => {
      await ctx.db.transact(async (db) => await revoke(deps, db, { ctx, which }));
      return {};
    },
    requestDiagnostics: async (which, ctx) => {
      if (!(await requestDiagnostics(ctx.db.sql, ctx.teams, which))) throw notFound('runner');
      return await runnerNow(deps, ctx, which);
    },
    clearDivergenceFlag: changes('runner.divergence_cleared', clearStrikes),
    pause: changes('runner.paused', pause),
    update: changes('runner.updated', place),
    resume: changes('runner.resumed', resume),
  };
}

function publish({ queue, onError }: RunnersDeps, db: Database, event: ControlEvent): void {
  db.afterCommit(() => void queue.publishControl(event).catch(onError));
}

async function issue(
  { runnersPerTeamMax }: RunnersDeps,
  db: Database,
  { ctx, teamId }: { readonly ctx: Ctx; readonly teamId: string },
) {
  const issued = await issueToken(db.sql, ctx.teams, {
    teamId,
    caller: ctx.caller,
    runnersMax: runnersPerTeamMax,
  });
  const { id, token, expiresAt } = issued;
  await recordAct(db, ctx, {
    chain: teamId,
    action: 'enroll_token.issued',
    target: id,
    details: { expiresAt: expiresAt.toISOString() },
  });
  return { token, expiresAt: timestampFromDate(expiresAt) };
}

async function revoke(
  deps: RunnersDeps,
  db: Database,
  { ctx, which }: { readonly ctx: Ctx; readonly which: RunnerInTeam },
): Promise<void> {
  const revoked = await revokeRunner(db.sql, deps.settings, which);
  if (revoked === undefined) throw notFound('runner');
  const { runnerId, keyId, lost } = revoked;
  if (revoked.now || lost.length > 0) db.afterCommit(deps.wakeRelay);
  if (!revoked.now) return;
  publish(deps, db, { type: 'runner_revoked', runnerId, keyId });
  await recordAct(db, ctx, {
    chain: which.teamId,
    action: 'runner.revoked',
    target: runnerId,
    details: { keyId, held: lost.length },
  });
}

export const runnersFeature = declareFeature({
  name: 'runners',
  on: {
    teams: teamsFeature,
    apiKeys: apiKeysFeature,
    work: workFeature,
    limits: limitsFeature,
    groups: runnerGroupsFeature,
  },
  prefixes: ['rnr', 'tok'],
  events,
  reads: ['runners'],
  start: (system, { work: { engine }, limits: { limits } }) => {
    const { config, clock, db, onError } = system;
    const { settings } = engine;
    const { runnersPerTeamMax } = limits;
    return {
      services: [
        createRunners({ ...system, ...engine, runnersPerTeamMax, configured: configuredNames(config) }),
      ],
      loops: [() => startWatch({ sql: db.sql, clock, settings, onError })],
      purges: [async () => await purgeTokens(db.sql)],
      fills: [
        foundRunners,
        fill(enrollPort, createEnroll({ ...system, settings, runnersPerTeamMax })),
        fill(setupSteps, regionHasRunners(settings)),
        fill(setupSteps, runnerEnrolled),
        fill(overviewSources, runnersNow(settings)),
      ],
    };
  },
});

/** A diagnosis says whether these are set, never with a value. */
const NAMED_IN_DIAGNOSES = [
  'RUNNERS_ENABLED',
  'JOB_RUNNER_ENABLED',
  'AMQP_URL',
  'DATABASE_URL',
  'PUBLIC_URLS',
  'LOCAL_REGISTRY',
];

function configuredNames({ isSet }: ProcessSettings): Readonly<Record<string, boolean>> {
  return Object.fromEntries(NAMED_IN_DIAGNOSES.map((name) => [name, isSet(name)]));
}
