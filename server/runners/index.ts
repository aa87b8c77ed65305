/** Runners as their team sees them. */
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { RunnersService } from '@svc/proto/gen/svc/runners/v1/runners_pb.ts';
import type { RunnerSchema } from '@svc/proto/gen/svc/runners/v1/runners_pb.ts';
import type { MessageInitShape } from '@bufbuild/protobuf';
import { apiError } from '@svc/proto/http/errors.ts';
import { implement } from '@svc/proto/http/implement.ts';
import type { Handlers, Implementation } from '@svc/proto/http/implement.ts';
import type { ControlEvent, WorkQueue } from '@svc/proto/queue/queue.ts';
import type { Ctx } from '../platform/context.ts';
import { notFound } from '../platform/not-found.ts';
import { revokeRunner } from '../work/index.ts';
import type { WorkSettings } from '../work/index.ts';
import { clearStrikes, pause, requestDiagnostics, resume } from './change.ts';
import { diagnose } from './diagnose.ts';
import { issueToken } from './enroll.ts';
import { findRunner, listRunners, toMessage } from './row.ts';

export { createEnroll, purgeTokens } from './enroll.ts';
export type { Enroll, EnrollDeps } from './enroll.ts';

export interface RunnersDeps {
  readonly queue: WorkQueue;
  readonly settings: WorkSettings;
  readonly runnersPerTeamMax: number;
  /** Whether each setting that matters to runners is set, by its variable's name: shown in diagnoses. */
  readonly configured: Readonly<Record<string, boolean>>;
  /** How long a live diagnosis waits. Default 20 s. */
  readonly liveWaitMs?: number;
  /** Something is due for a hint. */
  wakeRelay(): void;
  /** A notice that could not be sent; gateways find out with the next call. */
  onError(error: unknown): void;
}

const LIVE_WAIT_MS = 20_000;

type Service = Implementation<typeof RunnersService, Ctx>;
interface Which {
  readonly teamId: string;
  readonly runnerId: string;
}

export function createRunners(deps: RunnersDeps): Handlers<Ctx> {
  return implement(RunnersService, { ...readCalls(deps), ...changeCalls(deps) });
}

async function shown(
  { settings }: RunnersDeps,
  { db, clock }: Ctx,
  { teamId, runnerId }: Which,
): Promise<MessageInitShape<typeof RunnerSchema>> {
  const row = await findRunner(db.sql, teamId, runnerId);
  if (row === undefined) throw notFound('runner');
  return toMessage(row, clock.now(), settings);
}

function readCalls(deps: RunnersDeps): Pick<Service, 'list' | 'get' | 'diagnose'> {
  const { settings, configured, liveWaitMs = LIVE_WAIT_MS } = deps;
  return {
    list: async ({ teamId, includeRevoked }, { db, clock }) => {
      const rows = await listRunners(db.sql, teamId, includeRevoked ?? false);
      return { runners: rows.map((row) => toMessage(row, clock.now(), settings)) };
    },
    get: async (request, ctx) => await shown(deps, ctx, request),
    diagnose: async ({ teamId, live }, { db, clock, call }) =>
      await diagnose(
        { sql: db.sql, clock, limits: settings, configured, liveWaitMs },
        teamId,
        live ?? false,
        call.signal,
      ),
  };
}

function changeCalls(deps: RunnersDeps): Omit<Service, 'list' | 'get' | 'diagnose'> {
  const { queue, settings, runnersPerTeamMax, onError } = deps;
  const tell = ({ db }: Ctx, event: ControlEvent): void =>
    db.afterCommit(() => void queue.publishControl(event).catch(onError));
  /** Runs a change, tells the gateways and answers the runner as it is now. */
  const changed = async (
    ctx: Ctx,
    which: Which,
    change: Promise<boolean>,
  ): Promise<MessageInitShape<typeof RunnerSchema>> => {
    if (!(await change)) throw notFound('runner');
    tell(ctx, { type: 'runner_changed', runnerId: which.runnerId });
    return await shown(deps, ctx, which);
  };
  return {
    createEnrollToken: async ({ teamId }, { db, caller }) => {
      const issued = await issueToken(db.sql, {
        teamId,
        userId: caller.userId,
        runnersMax: runnersPerTeamMax,
      });
      if (issued !== undefined)
        return { token: issued.token, expiresAt: timestampFromDate(issued.expiresAt) };
      throw apiError(
        'limit_reached',
        `the team has ${runnersPerTeamMax} runners, which is the limit; revoke one first`,
        {
          details: { limit: runnersPerTeamMax },
        },
      );
    },
    revoke: async (which, ctx) => {
      const revoked = await revokeRunner(ctx.db.sql, settings, which);
      if (revoked === undefined) throw notFound('runner');
      if (revoked.now)
        tell(ctx, { type: 'runner_revoked', runnerId: revoked.runnerId, keyId: revoked.keyId });
      if (revoked.lost.length > 0) ctx.db.afterCommit(deps.wakeRelay);
      return {};
    },
    clearDivergenceFlag: async (which, ctx) => await changed(ctx, which, clearStrikes(ctx.db.sql, which)),
    requestDiagnostics: async (which, ctx) => {
      if (!(await requestDiagnostics(ctx.db.sql, which))) throw notFound('runner');
      return await shown(deps, ctx, which);
    },
    pause: async (request, ctx) =>
      await changed(ctx, request, pause(ctx.db.sql, request, request.note, request.minutes)),
    resume: async (which, ctx) => await changed(ctx, which, resume(ctx.db.sql, which)),
  };
}
