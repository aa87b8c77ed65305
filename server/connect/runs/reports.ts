/** Runs and jobs as CI jobs report them. */
import { timestampDate, type Timestamp } from '@bufbuild/protobuf/wkt';
import { apiError } from '@svc/proto/http/errors.ts';
import { implementPart, type Handlers } from '@svc/proto/http/implement.ts';
import {
  CiJobSchema,
  CiService,
  CiStatusSchema,
  type CiStatus as StatusNumber,
  type ReportedJob,
  type ReportRequest,
} from '@svc/proto/gen/svc/ci/v1/ci_pb.ts';
import { environmentRows } from '../../apps/environments/index.ts';
import type { Ctx } from '../../kit/context.ts';
import { notFound } from '../../kit/not-found.ts';
import { enumWord, shown } from '../../kit/resource/index.ts';
import {
  connectionRows,
  holdStatus,
  readConnection,
  refuseWhenPaused,
  type Connection,
} from '../connections/index.ts';
import type { CiEvent, CiStatus, FactName, JobEvent } from '../providers/index.ts';
import { isProviders, isReportedEnd, isTerminal } from './accept.ts';
import { commitOf, factsOfJob } from './ci-job.ts';
import { recordJobs } from './record-jobs.ts';
import { whyUnplaced } from './unplaced.ts';
import { nameOf, runOf } from './reads.ts';
import { recordEvents, recordEventsOf } from './record-runs.ts';
import { shownRun, type Run, type RunFollower, type RunRecording } from './run.ts';

export function createReports(follow: RunFollower): Handlers<Ctx> {
  return implementPart(CiService, {
    report: async (request, ctx) => {
      const connection = await openConnection(ctx, request.ciConnectionId);
      const event = eventOf(request, ctx);
      await checkEnvironment(ctx, connection, request.environmentId);
      const name = { externalRunId: request.externalRunId, externalAttempt: request.externalAttempt ?? 1 };
      const eventsFor = (known: Run | undefined): readonly CiEvent[] => {
        if (known !== undefined) checkSame(known, event);
        return [admissible(known, event)];
      };
      const { run, isNew } = await takeReport(
        ctx,
        { connection, follow },
        async (recording) => await recordEvents(recording, name, eventsFor),
      );
      if (!isNew) ctx.call.status = 200;
      return await answerOf(ctx, connection, run);
    },
    updateRun: async ({ runId, status, durationMs }, ctx) => {
      const run = await runOf(ctx, runId);
      const connection = await connectionOfRun(ctx, run);
      const event: CiEvent = {
        status: status === undefined ? undefined : statusWord(status),
        facts: { durationMs },
        corrects: true,
      };
      const recorded = await takeReport(
        ctx,
        { connection, follow },
        async (recording) => await recordEventsOf(recording, run, (known) => [admissible(known, event)]),
      );
      return await answerOf(ctx, connection, recorded.run);
    },
    reportJobs: async ({ runId, jobs }, ctx) => {
      const run = await runOf(ctx, runId);
      const connection = await connectionOfRun(ctx, run);
      const recorded = await takeReport(ctx, { connection, follow }, async (recording) => {
        // The report says nothing new about the run itself, which is locked and known to live.
        const { run: locked } = await recordEventsOf(recording, run, () => [{ facts: {} }]);
        return await recordJobs(recording, locked, jobs.map(jobEventOf));
      });
      return { jobs: recorded.jobs.map((job) => shown(CiJobSchema, job)) };
    },
    complete: async ({ runId, status, durationMs }, ctx) => {
      const facts = { durationMs, ...factsOfJob(ctx.caller.ciJob) };
      const event: CiEvent = { status: statusWord(status), facts };
      const named = nameOf(runId);
      const { connection, name } =
        named === undefined
          ? await storedName(ctx, runId)
          : { connection: await openConnection(ctx, named.connectionId), name: named };
      const recorded = await takeReport(
        ctx,
        { connection, follow },
        async (recording) => await recordEvents(recording, name, (known) => [admissible(known, event)]),
      );
      return await answerOf(ctx, connection, recorded.run);
    },
  });
}

/**
 * Before or after the connection is paused, never across: what is paused takes nothing, whoever began
 * earlier.
 */
async function takeReport<T>(
  ctx: Ctx,
  { connection, follow }: Pick<RunRecording, 'connection' | 'follow'>,
  take: (recording: RunRecording) => Promise<T>,
): Promise<T> {
  return await ctx.db.transact(async (db) => {
    const status = await holdStatus(db, connection);
    if (status === undefined) throw notFound('CI connection');
    refuseWhenPaused({ ...connection, status });
    return await take({ db, connection, now: ctx.clock.now(), follow });
  });
}

async function answerOf({ db }: Ctx, connection: Connection, run: Run) {
  return shownRun(run, await whyUnplaced(db, connection, run));
}

async function storedName(ctx: Ctx, runId: string) {
  const run = await runOf(ctx, runId);
  return { connection: await connectionOfRun(ctx, run), name: run };
}

async function connectionOfRun(ctx: Ctx, { connectionId }: Run): Promise<Connection> {
  const connection = await readConnection(ctx.db, connectionId);
  if (connection === undefined) throw notFound('CI run'); // deleted at this very moment
  return connection;
}

/** The run that a CI job, or a key, may say something about at this moment. */
export async function reportedRun(
  ctx: Ctx,
  runId: string,
): Promise<{ readonly run: Run; readonly teamId: string; readonly repository: string }> {
  const run = await runOf(ctx, runId);
  const connection = await connectionOfRun(ctx, run);
  refuseWhenPaused(connection);
  const { teamId, repositoryHost, repositoryPath } = connection;
  return { run, teamId, repository: `https://${repositoryHost}/${repositoryPath}` };
}

async function openConnection(ctx: Ctx, id: string): Promise<Connection> {
  const connection = await connectionRows.find(ctx, id);
  refuseWhenPaused(connection);
  return connection;
}

async function checkEnvironment(ctx: Ctx, { teamId }: Connection, id: string | undefined): Promise<void> {
  if (id === undefined) return;
  const environment = await environmentRows.find(ctx, id);
  if (environment.teamId !== teamId) throw notFound('environment');
}

/** Claims of an id_token about the run stand before the fields of the request. */
function eventOf(request: ReportRequest, { caller }: Ctx): CiEvent {
  const { status, trigger, commitSha, branch, environmentId, externalUrl, durationMs, pipelineName } =
    request;
  return {
    status: status === undefined ? 'running' : statusWord(status),
    facts: {
      event: trigger,
      commitSha: commitOf(commitSha),
      branch: branch?.replace(/^refs\/heads\//, ''),
      mergeQueueOf: request.mergeQueueOf?.replace(/^refs\/heads\//, ''),
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

const statusWord = (status: StatusNumber): CiStatus => enumWord(CiStatusSchema, status) as CiStatus;

/** Facts of a run that cannot change once they are known. */
const IMMUTABLE = [
  ['commitSha', 'commitSha'],
  ['branch', 'branch'],
  ['name', 'pipelineName'],
] as const;

/**
 * Compares with the facts as they were reported, and not with what is concluded from them, which may be
 * wrong.
 */
function checkSame({ id, state: { facts: known } }: Run, { facts: reported }: CiEvent): void {
  const fields = IMMUTABLE.flatMap(([fact, field]) => {
    const [key = '', was] = known[fact] ?? [];
    const is = reported[fact];
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
 * The part of a reported event that a run takes. A run that ended does not change: it takes facts that are
 * missing, and another end is refused. `unknown` is no such end, whoever said it: after a long silence, for a
 * status of the provider that means nothing here, or in a job's own report.
 */
function admissible(known: Run | undefined, event: CiEvent): CiEvent {
  if (known === undefined) return event;
  const { status: asked } = event;
  if (!isReportedEnd(known.status)) return event;
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
