/** Builds: a commit of an environment made into an image, published and deployed. */
import { isDeepStrictEqual } from 'node:util';
import { declareFeature, fill, filledOnce, port } from '../../kit/feature.ts';
import { inboxSources } from '../../kit/inbox.ts';
import { overviewSources, setupSteps } from '../../kit/overview.ts';
import { enumWord } from '../../kit/resource/index.ts';
import { deployApprovals, failedBuilds } from './inbox.ts';
import { buildMade, buildsNow } from './overview.ts';
import { foundBuilds } from './search.ts';
import { createBuildOffers } from './offer.ts';
import { settings } from './builds.settings.ts';
import {
  BuildsService,
  BuildStateSchema,
  DeployDecision,
  type ListForTeamRequest,
  type ListRequest,
} from '@svc/proto/gen/svc/builds/v1/builds_pb.ts';
import { apiError } from '@svc/proto/http/errors.ts';
import { implement, type Handlers } from '@svc/proto/http/implement.ts';
import { buildStepsFeature } from '../../apps/buildsteps/index.ts';
import {
  environmentRows,
  environmentsFeature,
  openBuildsOf,
  type Environment,
  type Guards,
} from '../../apps/environments/index.ts';
import type { Ctx } from '../../kit/context.ts';
import { notFound } from '../../kit/not-found.ts';
import { closePage, openPage } from '../../kit/paging.ts';
import { hostingFeature, hostParts } from '../../apps/hosting/index.ts';
import { variablesFeature } from '../../apps/variables/index.ts';
import { registriesFeature } from '../registries/index.ts';
import { runnersFeature, whyWaiting } from '../runners/index.ts';
import { buildOfferPort, placementOf, workFeature, type WorkSettings } from '../work/index.ts';
import {
  approve,
  cancelBuild,
  createBuild,
  deployImage,
  reject,
  rollbackTo,
  unlock,
  type ActsDeps,
  type ImageDeploy,
  type ImageDeployed,
  type MissingVariables,
} from './acts.ts';
import { placementIn } from './submit-item.ts';
import type { BuildGate } from './gate.ts';
import { findBuild, listBuilds, listTeamBuilds, stateOf, toMessage, type BuildRow } from './row.ts';
import { openBuilds } from './store.ts';
import { followBuild } from './stream.ts';

export type { AskedOfGate, BuildGate, Override, Promoted } from './gate.ts';
export { findBuilds, stateOf } from './row.ts';
export type { BuildRow } from './row.ts';
export type { MissingVariables } from './acts.ts';

export interface BuildsDeps extends ActsDeps {
  readonly guards: Guards;
  readonly settings: WorkSettings;
  /** Address of a trace with `{traceId}` in it; undefined: the build's page in the console. */
  readonly traceViewerUrl: string | undefined;
  /** Base URL of the console. */
  readonly publicUrl: () => string;
}

interface BuildRef {
  readonly environmentId: string;
  readonly buildId: string;
}

async function buildOf(
  ctx: Ctx,
  which: BuildRef,
): Promise<{ readonly environment: Environment; readonly build: BuildRow }> {
  const environment = await environmentRows.find(ctx, which.environmentId);
  return { environment, build: await readBuild(ctx, which) };
}

async function readBuild(ctx: Ctx, which: BuildRef): Promise<BuildRow> {
  const build = await findBuild(ctx.db.sql, ctx.teams, which);
  if (build === undefined) throw notFound('build');
  return build;
}

/** A page by its number holds what there is, and says nothing of a next one. */
function numbered(limit: number, { page = 1, cursor }: Pick<ListRequest, 'page' | 'cursor'>) {
  if (cursor === undefined) return { take: limit, skip: (page - 1) * limit };
  const message = 'page and cursor both say where to begin; send one of them';
  const fields = [{ field: 'page', rule: 'alone', message }];
  throw apiError('validation_failed', message, { details: { fields } });
}

async function listForTeam(ctx: Ctx, { teamId, state: number, ...asked }: ListForTeamRequest) {
  const state = number === undefined ? undefined : enumWord(BuildStateSchema, number);
  const page = openPage(ctx, `${teamId}|${state ?? ''}`, asked);
  const before = page.after && String(page.after[0]);
  const rows = await listTeamBuilds(ctx.db.sql, ctx.teams, { teamId, state, take: page.take, before });
  const { items, ...next } = closePage(page, rows, ({ id }) => [id]);
  return { ...next, builds: items.map((row) => toMessage(row)) };
}

export function createBuilds(deps: BuildsDeps): Handlers<Ctx> {
  const { guards, wake } = deps;
  const answer = async (ctx: Ctx, which: BuildRef) => toMessage(await readBuild(ctx, which));
  return implement(BuildsService, {
    list: async (request, ctx: Ctx) => {
      const environment = await environmentRows.find(ctx, request.environmentId);
      const page = openPage(ctx, environment.id, request);
      if (request.page !== undefined) {
        const rows = await listBuilds(ctx.db.sql, environment, numbered(page.limit, request));
        return { builds: rows.map((row) => toMessage(row)) };
      }
      const before = page.after === undefined ? undefined : Number(page.after[0]);
      const rows = await listBuilds(ctx.db.sql, environment, { take: page.take, before });
      const { items, ...next } = closePage(page, rows, ({ number }) => [number]);
      return { ...next, builds: items.map((row) => toMessage(row)) };
    },
    listForTeam: async (request, ctx: Ctx) => await listForTeam(ctx, request),
    get: async (which, ctx: Ctx) => {
      const { build } = await buildOf(ctx, which);
      const asked = [{ id: build.workId, environmentBusy: build.environmentBusy }];
      const waits = stateOf(build) === 'queued';
      const waiting = waits ? await whyWaiting(ctx.db.sql, deps.settings, asked) : undefined;
      return toMessage(build, waiting?.get(build.workId));
    },
    create: async (request, ctx: Ctx) => {
      const { environmentId, commit, override } = request;
      const environment = await environmentRows.find(ctx, environmentId);
      const asSet = placementIn(environment);
      const placement = placementOf(request, asSet);
      if (!isDeepStrictEqual(placement.selector, asSet.selector))
        await guards.refuse(ctx, environment, { act: 'choosing the runners of a build', about: 'content' });
      const buildId = await createBuild(deps, ctx, { environment, commit, placement, override });
      return await answer(ctx, { environmentId, buildId });
    },
    cancel: async (which, ctx: Ctx) => {
      const { environment } = await buildOf(ctx, which);
      await cancelBuild(deps, ctx, { environment, buildId: which.buildId });
      return await answer(ctx, which);
    },
    rollback: async ({ override, ...which }, ctx: Ctx) => {
      const { environment, build } = await buildOf(ctx, which);
      const buildId = await rollbackTo(deps, ctx, { environment, target: build, override });
      return await answer(ctx, { environmentId: environment.id, buildId });
    },
    trace: async (which, ctx: Ctx) => {
      const { build } = await buildOf(ctx, which);
      return { traceId: build.traceId, url: traceUrl(deps.traceViewerUrl, deps.publicUrl(), build) };
    },
    unlock: async ({ environmentId, force }, ctx: Ctx) => {
      const environment = await environmentRows.find(ctx, environmentId);
      const buildId = await unlock(deps, ctx, { environment, force: force ?? false });
      return buildId === undefined ? {} : { buildId };
    },
    deployApproval: async ({ decision, override, ...which }, ctx: Ctx) => {
      const { environment, build } = await buildOf(ctx, which);
      const decide = decision === DeployDecision.APPROVE ? approve : reject;
      await decide(deps, ctx, { environment, build, override });
      return await answer(ctx, which);
    },
    streamLogs: async ({ after, tailBytes, follow, ...which }, ctx: Ctx) => {
      const { build } = await buildOf(ctx, which);
      return followBuild(
        { sql: ctx.db.sql, wake, scope: ctx.teams },
        { build, after, tailBytes, follow: follow ?? true, signal: ctx.call.signal },
      );
    },
  });
}

/** See `deployImage`. */
export type { ImageDeploy } from './acts.ts';
export type DeployImage = (ctx: Ctx, image: ImageDeploy) => Promise<ImageDeployed>;

/** Policies fill it. */
export const buildGate = port<BuildGate>('gate of builds');
/** Features that make environments fill it. */
export const missingVariablesOf = port<MissingVariables>('missing variables of an environment');

export const buildsFeature = declareFeature({
  name: 'builds',
  on: {
    environments: environmentsFeature,
    hosting: hostingFeature,
    steps: buildStepsFeature,
    variables: variablesFeature,
    work: workFeature,
    runners: runnersFeature,
    registries: registriesFeature,
  },
  settings,
  prefixes: ['bld'],
  events: {
    'build.finished': { when: 'A build has ended.', scope: 'project:read', delivered: true },
  },
  reads: ['builds'],
  start: (system, { environments, work: { engine }, registries }, { traceViewerUrl, builderImage }) => {
    const { db, secrets } = system;
    const { guards, missingRegistry } = environments;
    const { localRegistry } = registries;
    const gate: BuildGate = async (ctx, asked) => await filledOnce(system, buildGate)(ctx, asked);
    const missingVariables: MissingVariables = async (who, environment) => {
      const missing: string[] = [];
      for (const missingOf of system.filled(missingVariablesOf))
        missing.push(...(await missingOf(who, environment)));
      return missing;
    };
    const deps = { ...system, ...engine, gate, localRegistry, missingRegistry, missingVariables };
    return {
      /** Submits the head of the environment's branch. */
      submit: async (ctx: Ctx, environment: Environment) => {
        const placement = placementIn(environment);
        const of = { environment, commit: undefined, placement, override: undefined };
        const buildId = await createBuild(deps, ctx, of);
        return toMessage(await readBuild(ctx, { environmentId: environment.id, buildId }));
      },
      deployImage: async (ctx: Ctx, image: ImageDeploy) => await deployImage(deps, ctx, image),
      services: [createBuilds({ ...deps, guards, traceViewerUrl })],
      fills: [
        foundBuilds,
        fill(inboxSources, deployApprovals),
        fill(inboxSources, failedBuilds),
        fill(
          buildOfferPort,
          createBuildOffers({
            ...registries,
            builderImage,
            missingRegistry,
            sql: db.sql,
            secrets,
            hostParts: () => system.filled(hostParts),
          }),
        ),
        fill(openBuildsOf, openBuilds),
        fill(setupSteps, buildMade),
        fill(overviewSources, buildsNow(engine.settings)),
      ],
    };
  },
});

export function traceUrl(
  template: string | undefined,
  publicUrl: string,
  { traceId, id, environmentId }: Pick<BuildRow, 'traceId' | 'id' | 'environmentId'>,
): string {
  if (template !== undefined) return template.replaceAll('{traceId}', traceId);
  return new URL(`/console/environments/${environmentId}/builds/${id}`, publicUrl).href;
}
