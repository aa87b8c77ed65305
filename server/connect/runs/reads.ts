/** Pipelines, runs and jobs as people read them. */
import { implementPart, type Handlers } from '@svc/proto/http/implement.ts';
import { CiJobSchema, CiPipelineSchema, CiService, CiStatusSchema } from '@svc/proto/gen/svc/ci/v1/ci_pb.ts';
import type { Ctx } from '../../kit/context.ts';
import { notFound } from '../../kit/not-found.ts';
import { closePage, openPage, type Page } from '../../kit/paging.ts';
import { enumWord, shown } from '../../kit/resource/index.ts';
import { connectionRows } from '../connections/index.ts';
import { pipelineRows, type Pipeline } from '../pipelines/index.ts';
import { CI_STATUSES, type RunName } from '../providers/index.ts';
import { listJobs } from './jobs-store.ts';
import { whyUnplaced } from './unplaced.ts';
import { findNamedRun, findRun, listPipelines, listRuns, type After, type RunsOf } from './runs-store.ts';
import { shownRun, type Run } from './run.ts';

export function createReads(): Handlers<Ctx> {
  return implementPart(CiService, {
    listPipelines: async ({ connectionId, limit, cursor }, ctx) => {
      const { id } = await connectionRows.find(ctx, connectionId);
      const page = openPage(ctx, id, { limit, cursor });
      const after = page.after && { name: String(page.after[0]), path: String(page.after[1]) };
      const rows = await listPipelines(ctx.db, ctx.teams, { connectionId: id, take: page.take, after });
      const { items, ...next } = closePage(page, rows, (row) => [row.name, row.path]);
      return { pipelines: items.map(shownPipeline), ...next };
    },
    listRunsForPipeline: async ({ pipelineId, ...page }, ctx) => {
      await pipelineRows.find(ctx, pipelineId);
      return await pageOfRuns(ctx, { pipelineId }, page);
    },
    listRunsForConnection: async ({ connectionId, ...page }, ctx) => {
      const { id } = await connectionRows.find(ctx, connectionId);
      return await pageOfRuns(ctx, { connectionId: id }, page);
    },
    listRunsForTeam: async ({ teamId, status, ...page }, ctx) => {
      const statuses = status === undefined ? CI_STATUSES : [enumWord(CiStatusSchema, status)];
      return await pageOfRuns(ctx, { teamId, statuses }, page);
    },
    getRun: async ({ runId }, ctx) => {
      const run = await runOf(ctx, runId);
      const connection = await connectionRows.find(ctx, run.connectionId);
      return shownRun(run, await whyUnplaced(ctx.db, connection, run));
    },
    listRunJobs: async ({ runId, limit, cursor }, ctx) => {
      const { id } = await runOf(ctx, runId);
      const page = openPage(ctx, id, { limit, cursor });
      const rows = await listJobs(ctx.db, ctx.teams, { runId: id, take: page.take, after: behind(page) });
      const { items, ...next } = closePage(page, rows, (row) => [row.createdAt.toISOString(), row.id]);
      return { jobs: items.map((job) => shown(CiJobSchema, job)), ...next };
    },
  });
}

async function pageOfRuns(ctx: Ctx, of: RunsOf, asked: Parameters<typeof openPage>[2]) {
  const page = openPage(ctx, Object.values(of).join('|'), asked);
  const rows = await listRuns(ctx.db, ctx.teams, { of, take: page.take, after: behind(page) });
  const { items, ...next } = closePage(page, rows, (row) => [row.occurredAt.toISOString(), row.id]);
  return { runs: items.map((run) => shownRun(run)), ...next };
}

/** Reads the last row of the page before. */
function behind({ after }: Page): After | undefined {
  return after && { at: new Date(String(after[0])), id: String(after[1]) };
}

/** Reads `<ciConnectionId>:<attempt>:<externalRunId>`; ids of ours hold no colon, external ones may. */
export function nameOf(ref: string): (RunName & { readonly connectionId: string }) | undefined {
  const [, connectionId = '', attempt = '', externalRunId = ''] =
    /^([^:]+):([1-9]\d{0,5}):(.{1,500})$/s.exec(ref) ?? [];
  return connectionId === '' ? undefined : { connectionId, externalAttempt: Number(attempt), externalRunId };
}

/** The run of a call by either of its names, if the caller may do this there. */
export async function runOf(ctx: Ctx, ref: string): Promise<Run> {
  const named = nameOf(ref);
  const run =
    named === undefined
      ? await findRun(ctx.db, ctx.teams, ref)
      : await findNamedRun(ctx.db, ctx.teams, named);
  if (run === undefined) throw notFound('CI run');
  ctx.teams.require(run.teamId);
  return run;
}

const shownPipeline = ({ path, ...pipeline }: Pipeline) =>
  shown(CiPipelineSchema, pipeline, {
    ciConnectionId: pipeline.connectionId,
    path: path === '' ? null : path,
  });
