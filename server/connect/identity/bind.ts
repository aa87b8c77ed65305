/**
 * Binds a good id_token to what it allows: one run of one connection. It runs in the transaction of the call,
 * after everything else that can be refused, and uses the token up with it: a call that is refused or fails
 * leaves the token as it was.
 */
import { isMessage, type Message } from '@bufbuild/protobuf';
import { ReportForRunRequestSchema } from '@svc/proto/gen/svc/artifacts/v1/artifacts_pb.ts';
import { ReportJobsRequestSchema, ReportRequestSchema } from '@svc/proto/gen/svc/ci/v1/ci_pb.ts';
import type { Caller, Ctx } from '../../kit/context.ts';
import type { Database } from '../../base/db/index.ts';
import { notFound } from '../../kit/not-found.ts';
import { systemScope } from '../../kit/authorise.ts';
import { connectionOfPin, readConnection, type Connection } from '../connections/index.ts';
import { findRun, isForStrangers, nameOf } from '../runs/index.ts';
import { refusedJob, used } from './claims.ts';
import { checkRepository } from './pin.ts';
import { checkPolicy, checkReport, checkRun } from './report.ts';
import { takeOnce } from './store.ts';
import type { CiJobCaller } from './caller.ts';

/** The parts of the context that exist before the caller has a team. */
type UnboundCtx = Pick<Ctx, 'call' | 'clock'> & { readonly caller: CiJobCaller };

const SCOPES: ReadonlySet<string> = new Set(['ci:read', 'ci:write']);

/**
 * Gives the caller as a member of the connection's team who may report, once the request is known to be about
 * its own run.
 */
export async function bindCiJob(db: Database, ctx: UnboundCtx, request: Message): Promise<Caller> {
  const { caller } = ctx;
  const { ciJob: job } = caller;
  const connection = await connectionOfRequest(db, caller, request);
  await admitJob(db, ctx, connection);
  if (isMessage(request, ReportRequestSchema)) checkReport(job, request);
  const tellsMore =
    isMessage(request, ReportJobsRequestSchema) || isMessage(request, ReportForRunRequestSchema);
  if (tellsMore && isForStrangers(job))
    throw refusedJob(
      job,
      'a run for pull_request_target says how it stands, and nothing of its jobs and artifacts',
      'event_name',
    );
  await useUp(db, caller);
  const { teamId } = connection;
  return { ...caller, scopes: SCOPES, memberships: new Map([[teamId, 'developer']]), onlyTeamId: teamId };
}

/** Checks repository and policy, which do not depend on the request. */
export async function admitJob(db: Database, ctx: UnboundCtx, connection: Connection): Promise<void> {
  await checkRepository(db, ctx, connection);
  checkPolicy(ctx.caller.ciJob, connection.oidcPolicy);
}

export async function useUp(db: Database, { ciJob: { issuer }, idToken }: CiJobCaller): Promise<void> {
  if (idToken !== undefined && !(await takeOnce(db, { issuer, ...idToken }))) throw used();
}

async function connectionOfRequest(db: Database, caller: CiJobCaller, request: Message): Promise<Connection> {
  const { ciConnectionId, runId } = request as Message & {
    readonly ciConnectionId?: string;
    readonly runId?: string;
  };
  const named = runId === undefined ? undefined : nameOf(runId);
  const connectionId = ciConnectionId ?? named?.connectionId;
  if (connectionId === undefined) return await connectionOfRun(db, caller, runId ?? '');
  if (caller.ciConnectionId !== undefined && caller.ciConnectionId !== connectionId)
    throw refusedJob(caller.ciJob, 'the token was exchanged for another connection');
  const connection = await readConnection(db, connectionId);
  if (connection === undefined) throw notFound('CI connection');
  if (named !== undefined) checkRun(caller.ciJob, named);
  return connection;
}

/**
 * Finds the connection by our id of the run, and only in the connection that the job has, so that no other
 * run is as much as known to exist.
 */
async function connectionOfRun(db: Database, caller: CiJobCaller, runId: string): Promise<Connection> {
  const { ciConnectionId, ciJob } = caller;
  const connection =
    ciConnectionId === undefined
      ? await connectionOfPin(db, ciJob)
      : await readConnection(db, ciConnectionId);
  const run = connection === undefined ? undefined : await findRun(db, systemScope(connection.teamId), runId);
  if (connection === undefined || run?.connectionId !== connection.id) throw notFound('CI run');
  checkRun(ciJob, run);
  return connection;
}
