/** Sandbox runs as their team sees them. */
import { foundRuns } from './search.ts';
import { declareFeature, fill } from '../../kit/feature.ts';
import { overviewSources, setupSteps } from '../../kit/overview.ts';
import {
  LogEventSchema,
  SandboxRunsService,
  type LogEvent,
} from '@svc/proto/gen/svc/sandboxruns/v1/sandboxruns_pb.ts';
import { implement, type Handlers } from '@svc/proto/http/implement.ts';
import type { WorkQueue } from '@svc/proto/queue/queue.ts';
import type { Ctx } from '../../kit/context.ts';
import { notFound } from '../../kit/not-found.ts';
import { closePage, openPage } from '../../kit/paging.ts';
import { registriesFeature } from '../registries/index.ts';
import { runnersFeature, whyWaiting } from '../runners/index.ts';
import {
  cancel,
  followOutput,
  stateWord,
  tailPosition,
  workFeature,
  type FollowDeps,
  type FollowOptions,
  type OutputPosition,
  type Wake,
  type WorkSettings,
} from '../work/index.ts';
import { runsNow, runSucceeded } from './overview.ts';
import { createRun, type CreateDeps } from './create.ts';
import { findRun, listRuns, toMessage, type RunRow } from './row.ts';
import { shown } from '../../kit/resource/index.ts';

export interface SandboxRunsDeps extends CreateDeps {
  readonly settings: WorkSettings;
  readonly queue: WorkQueue;
  readonly wake: Wake;
  /** A notice that could not be sent; gateways find out what it would have said a moment later. */
  onError(error: unknown): void;
}

async function visibleRun({ db, teams }: Ctx, runId: string): Promise<RunRow> {
  const row = await findRun(db.byKey.sql, teams, runId);
  if (row === undefined) throw notFound('sandbox run');
  teams.require(row.teamId);
  return row;
}

export function createSandboxRuns(deps: SandboxRunsDeps): Handlers<Ctx> {
  const { queue, wake, onError } = deps;
  return implement(SandboxRunsService, {
    create: async (request, ctx) => await createRun(deps, request, ctx),

    list: async (request, ctx) => {
      const states = request.state.map(stateWord).toSorted();
      const binding = `${request.teamId}|${states.join(',')}`;
      const page = openPage(ctx, binding, request);
      const after = page.after && { createdAt: String(page.after[0]), id: String(page.after[1]) };
      const rows = await listRuns(ctx.db.sql, ctx.teams, {
        teamId: request.teamId,
        states,
        take: page.take,
        after,
      });
      const { items, ...next } = closePage(page, rows, (row) => [row.createdAt.toISOString(), row.id]);
      return { ...next, sandboxRuns: items.map((row) => toMessage(row)) };
    },

    get: async ({ runId }, ctx) => {
      const row = await visibleRun(ctx, runId);
      if (row.state !== 'queued') return toMessage(row);
      // Not in lists: a page of them would look at every runner of the team for what one glance at the team's
      // health tells.
      const waiting = (await whyWaiting(ctx.db.sql, deps.settings, [row])).get(row.id);
      return toMessage(row, waiting);
    },

    streamLogs: async ({ runId, after, tailBytes, follow }, ctx) => {
      const { id } = await visibleRun(ctx, runId);
      return followLogs(
        { sql: ctx.db.sql, wake },
        { runId: id, after, tailBytes, follow: follow ?? true, signal: ctx.call.signal },
      );
    },

    cancel: async ({ runId }, ctx) => {
      const { db, teams } = ctx;
      const { id, teamId } = await visibleRun(ctx, runId);
      const cancelled = await cancel(db.sql, [teamId], id);
      const runnerId = cancelled?.notifyRunner === true ? cancelled.runnerId : null;
      db.afterCommit(() => {
        wake.notify(id);
        if (runnerId !== null)
          queue.publishControl({ type: 'work_cancelled', workId: id, runnerId }).catch(onError);
      });
      const row = await findRun(db.sql, teams, id);
      if (row === undefined) throw notFound('sandbox run');
      return toMessage(row);
    },
  });
}

export const sandboxRunsFeature = declareFeature({
  name: 'sandboxruns',
  on: { work: workFeature, runners: runnersFeature, registries: registriesFeature },
  prefixes: ['run'],
  events: {
    'run.finished': { when: 'A sandbox run has ended.', scope: 'run:read', delivered: true },
  },
  start: (system, { work: { engine }, registries: { localRegistry } }) => ({
    services: [createSandboxRuns({ ...system, ...engine, localRegistry })],
    fills: [foundRuns, fill(setupSteps, runSucceeded), fill(overviewSources, runsNow(engine.settings))],
  }),
});

export interface FollowRun extends Omit<FollowOptions, 'workId' | 'after'> {
  readonly runId: string;
  /** `<epoch>-<offset>` */
  readonly after: string | undefined;
  /** Instead of from the start; a position that the caller has already goes before it. */
  readonly tailBytes?: number | undefined;
}

export async function* followLogs(
  deps: FollowDeps,
  { runId, after, tailBytes, ...options }: FollowRun,
): AsyncGenerator<LogEvent> {
  const position =
    after === undefined && tailBytes !== undefined
      ? await tailPosition(deps.sql, runId, tailBytes)
      : positionOf(after ?? '0-0');
  for await (const output of followOutput(deps, { ...options, workId: runId, after: position })) {
    yield shown(LogEventSchema, output, {
      position: `${output.epoch}-${output.offset}`,
      missingBytes: output.missing,
    });
  }
}

function positionOf(text: string): OutputPosition {
  const [epoch = 0, offset = 0] = text.split('-').map(Number);
  return { epoch, offset };
}
