/** Runs and jobs as CI jobs report them. */
import { timestampDate } from '@bufbuild/protobuf/wkt';
import type { Timestamp } from '@bufbuild/protobuf/wkt';
import { apiError } from '@svc/proto/http/errors.ts';
import type { Implementation } from '@svc/proto/http/implement.ts';
import type { CiService, ReportedJob, ReportRequest } from '@svc/proto/gen/svc/ci/v1/ci_pb.ts';
import { environmentRows } from '../../apps/environments/index.ts';
import type { Ctx } from '../../platform/context.ts';
import type { Database } from '../../platform/db/index.ts';
import { notFound } from '../../platform/not-found.ts';
import { isProviders, isTerminal, isToldEnd } from './accept.ts';
import type { CiEvent, CiStatus, FactName } from './accept.ts';
import { commitOf } from './commit.ts';
import { findConnection, holdStatus } from './connections-store.ts';
import type { Connection } from './model/connection.ts';
import type { CiDeps } from './deps.ts';
import { hearJobs } from './jobs-store.ts';
import type { JobEvent } from './jobs-store.ts';
import { factsOfJob } from './oidc/report.ts';
import { presentJob, presentRun } from './present.ts';
import { nameOf, runOf } from './reads.ts';
import { hear, hearOf } from './runs-store.ts';
import type { Run } from './model/run.ts';
import { statusWord } from './words.ts';

type Methods = Pick<
  Implementation<typeof CiService, Ctx>,
  'report' | 'updateRun' | 'reportJobs' | 'complete'
>;

export function reportMethods({ clock }: CiDeps): Methods {
  return {
    report: async (request, ctx) => {
      const connection = await openConnection(ctx, request.ciConnectionId);
      const event = eventOf(request, ctx);
      await checkEnvironment(ctx, connection, request.environmentId);
      const name = { externalRunId: request.externalRunId, externalAttempt: request.externalAttempt ?? 1 };
      const toKnown = (known: Run): CiEvent => {
        checkSame(known, event);
        return toRun(known, event);
      };
      const { run, isNew } = await takeReport(
        ctx,
        connection,
        async (db) => await hear(db, connection, name, event, clock.now(), toKnown),
      );
      if (!isNew) ctx.call.status = 200;
      return presentRun(run);
    },
    updateRun: async ({ runId, status, durationMs }, ctx) => {
      const run = await runOf(ctx, runId);
      const connection = await connectionOfRun(ctx, run);
      const word = status === undefined ? undefined : statusWord(status);
      const event: CiEvent = { status: word, facts: { durationMs }, corrects: true };
      const heard = await takeReport(
        ctx,
        connection,
        async (db) => await hearOf(db, connection, run, (known) => toRun(known, event), clock.now()),
      );
      return presentRun(heard.run);
    },
    reportJobs: async ({ runId, jobs }, ctx) => {
      const run = await runOf(ctx, runId);
      const connection = await connectionOfRun(ctx, run);
      const heard = await takeReport(ctx, connection, async (db) => {
        // Nothing new about the run itself: it is locked, and known to live.
        const { run: locked } = await hearOf(db, connection, run, { facts: {} }, clock.now());
        return (await hearJobs(db, locked, jobs.map(jobEventOf), clock.now())).jobs;
      });
      return { jobs: heard.map(presentJob) };
    },
    complete: async ({ runId, status, durationMs }, ctx) => {
      const word = statusWord(status);
      const event: CiEvent = { status: word, facts: { durationMs, ...factsOfJob(ctx.caller.ciJob) } };
      const named = nameOf(runId);
      const { connection, name } =
        named === undefined
          ? await storedName(ctx, runId)
          : { connection: await openConnection(ctx, named.connectionId), name: named };
      const heard = await takeReport(
        ctx,
        connection,
        async (db) => await hear(db, connection, name, event, clock.now(), (known) => toRun(known, event)),
      );
      return presentRun(heard.run);
    },
  };
}

async function storedName(ctx: Ctx, runId: string) {
  const run = await runOf(ctx, runId);
  return { connection: await connectionOfRun(ctx, run), name: run };
}

async function connectionOfRun(ctx: Ctx, { connectionId }: Run): Promise<Connection> {
  const connection = await findConnection(ctx.db, ctx.teams, connectionId);
  if (connection === undefined) throw notFound('CI run'); // deleted at this very moment
  return connection;
}

async function openConnection(ctx: Ctx, id: string): Promise<Connection> {
  const connection = await findConnection(ctx.db, ctx.teams, id);
  if (connection === undefined) throw notFound('CI connection');
  ctx.teams.require(connection.teamId);
  refuseWhenPaused(connection);
  return connection;
}

/** Before or after the connection is paused, never across: what is paused takes nothing, whoever began earlier. */
async function takeReport<T>(
  ctx: Ctx,
  connection: Connection,
  take: (db: Database) => Promise<T>,
): Promise<T> {
  return await ctx.db.transact(async (db) => {
    const status = await holdStatus(db, connection);
    if (status === undefined) throw notFound('CI connection');
    refuseWhenPaused({ ...connection, status });
    return await take(db);
  });
}

export function refuseWhenPaused({ id, status }: Pick<Connection, 'id' | 'status'>): void {
  if (status !== 'paused') return;
  throw apiError(
    'ci_connection_paused',
    'the CI connection is paused and takes no reports; set its status to active first',
    { details: { ciConnectionId: id, status } },
  );
}

async function checkEnvironment(ctx: Ctx, { teamId }: Connection, id: string | undefined): Promise<void> {
  if (id === undefined) return;
  const environment = await environmentRows.find(ctx, id);
  if (environment.teamId !== teamId) throw notFound('environment');
}

/** What an id_token says of the run stands before what its job says. */
function eventOf(request: ReportRequest, { caller }: Ctx): CiEvent {
  const { status, trigger, commitSha, branch, environmentId, externalUrl, durationMs, pipelineName } =
    request;
  return {
    status: status === undefined ? 'running' : statusWord(status),
    facts: {
      event: trigger,
      commitSha: commitOf(commitSha),
      branch: branch?.replace(/^refs\/heads\//, ''),
      tag: request.tag?.replace(/^refs\/tags\//, ''),
      environmentId,
      url: externalUrl,
      durationMs,
      name: pipelineName,
      actor: request.actor,
      startedAt: isoOf(request.startedAt),
      finishedAt: isoOf(request.finishedAt),
      ...factsOfJob(caller.ciJob),
    },
  };
}

function jobEventOf(job: ReportedJob): JobEvent {
  return {
    externalJobId: job.externalJobId,
    name: job.name,
    index: job.index,
    status: job.status === undefined ? 'running' : statusWord(job.status),
    soft: job.soft,
    facts: {
      name: job.name,
      stage: job.stage,
      url: job.externalUrl,
      startedAt: isoOf(job.startedAt),
      finishedAt: isoOf(job.finishedAt),
      durationMs: job.durationMs,
    },
  };
}

const isoOf = (at: Timestamp | undefined): string | undefined =>
  at === undefined ? undefined : timestampDate(at).toISOString();

/** What a run is of cannot change; what it was not told yet can be added. */
const IMMUTABLE = [
  ['commitSha', 'commitSha'],
  ['branch', 'branch'],
  ['name', 'pipelineName'],
] as const;

/** Against what was said; what is only concluded from that may be wrong. */
function checkSame({ id, state: { facts: known } }: Run, { facts: said }: CiEvent): void {
  const fields = IMMUTABLE.flatMap(([fact, field]) => {
    const [key = '', was] = known[fact] ?? [];
    const is = said[fact];
    // A provider's name for a pipeline may be another than its job can know; it stands.
    if (fact === 'name' && isProviders(key)) return [];
    return was === undefined || is === undefined || is === null || was === is
      ? []
      : [{ field, message: `the run is known with "${was}", reported was "${is}"` }];
  });
  if (fields.length === 0) return;
  const names = fields.map(({ field }) => field).join(', ');
  throw apiError(
    'ci_run_conflict',
    `the run is known already with another ${names}; report another run or attempt under its own id`,
    { details: { runId: id, fields } },
  );
}

/**
 * What a run that is there is told. One that ended does not change: of what is said again or comes late it takes what it was not told before, and another end is
 * refused. The end that `unknown` stands for after a long silence, or for a provider's word that means nothing here, was told by nobody.
 */
function toRun(known: Run, event: CiEvent): CiEvent {
  const { status: asked } = event;
  const isOver =
    isToldEnd(known.status) || (known.status === 'unknown' && !known.lost && known.providerStatus === null);
  if (!isOver) return event;
  if (asked !== undefined && isTerminal(asked) && asked !== known.status) throw endedOtherwise(known, asked);
  const facts = Object.entries(event.facts).filter(
    ([name]) => known.state.facts[name as FactName] === undefined,
  );
  return { facts: Object.fromEntries(facts) };
}

function endedOtherwise({ id, status }: Run, asked: CiStatus): Error {
  return apiError(
    'state_conflict',
    `the run ended as ${status} and does not change, asked for was ${asked}; report a run that is run again under another attempt or id`,
    { details: { runId: id, status, asked } },
  );
}
