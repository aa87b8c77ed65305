/** Promotions are releases on their way to environments, and deployments are what runs there, and ran. */
import { and, eq, sql } from 'drizzle-orm';
import { implement, type Handlers } from '@svc/proto/http/implement.ts';
import {
  CompletionStatus,
  PromotionPolicyPreviewSchema,
  PromotionPreviewSchema,
  PromotionStateSchema,
  PromotionsService,
  RunningImageSchema,
  type Promotion as PromotionMessage,
} from '@svc/proto/gen/svc/promotions/v1/promotions_pb.ts';
import { environmentRows, environmentsFeature } from '../../apps/environments/index.ts';
import type { Ctx } from '../../kit/context.ts';
import { declareFeature, fill, type EventEffect } from '../../kit/feature.ts';
import { described, findsById } from '../../kit/search.ts';
import { inboxSources } from '../../kit/inbox.ts';
import { overviewSources } from '../../kit/overview.ts';
import { teamsFeature } from '../../access/teams/index.ts';
import { variablesFeature } from '../../apps/variables/index.ts';
import { artifactsFeature } from '../artifacts/index.ts';
import { policiesFeature } from '../policies/index.ts';
import { releasesFeature } from '../releases/index.ts';
import { buildsFeature } from '../../engine/builds/index.ts';
import { events } from './promotions.events.ts';
import { enumWord, shown } from '../../kit/resource/index.ts';
import { approve, complete, create, reject, type PromotionsDeps } from './acts.ts';
import { deployed } from './deployed.ts';
import { ended, endedJob, expire } from './ended.ts';
import { present, presentForTeam, presentOne } from './present.ts';
import { pendingPromotions } from './inbox.ts';
import { environmentsNow } from './overview.ts';
import { preview } from './preview.ts';
import { running } from './running.ts';
import { promotions } from './schema.ts';
import { findPromotion, promotionRows, type PromotionRef } from './store.ts';
import { told, toldJob } from './told.ts';

export type { promotionApprovals } from './schema.ts';
export type { Promotion } from './store.ts';
export { isTelling } from './told.ts';
export {
  allDeployments,
  deployedElsewhere,
  deploymentsOfArtifact,
  placesOf,
  runsThere,
  whatRuns,
} from './what-runs.ts';

/** These effects of events write promotions and deployments. */
export const promotionEffects: readonly EventEffect[] = [ended, deployed, told];

export function createPromotions(deps: PromotionsDeps): Handlers<Ctx> {
  return implement(PromotionsService, {
    list: async (request, ctx: Ctx) => {
      const environment = await environmentRows.find(ctx, request.environmentId);
      const { id } = environment;
      const where = eq(promotions.environmentId, id);
      const { items, ...page } = await promotionRows.page(ctx, { ...request, of: id }, { where });
      return { ...page, promotions: await present(ctx, environment, items) };
    },
    listForTeam: async (request, ctx: Ctx) => {
      const { teamId } = request;
      const state = request.state === undefined ? undefined : enumWord(PromotionStateSchema, request.state);
      const ofState = state === undefined ? undefined : sql`${promotions.state} = ${state}`;
      const where = and(eq(promotions.teamId, teamId), ofState);
      const of = `${teamId}|${state ?? ''}`;
      const { items, ...page } = await promotionRows.page(ctx, { ...request, of }, { where });
      return { ...page, promotions: await presentForTeam(ctx, items) };
    },
    get: async (which, ctx: Ctx) => await answer(ctx, which),
    preview: async (which, ctx: Ctx) => {
      const { environment, promotion, word, subject, ...changes } = await preview(deps, ctx, which);
      const parts = Object.entries(subject?.parts ?? {}).map(([name, value]) => ({ name, value }));
      const message = shown(PromotionPreviewSchema, { ...changes, policies: word, subject: parts });
      message.promotion = await presentOne(ctx, environment, promotion);
      // The fingerprint is that of what is shown here, which is older than what was read since: what changes
      // in between is not approved unseen.
      if (subject !== undefined) message.promotion.fingerprint = subject.fingerprint;
      return message;
    },
    running: async (request, ctx: Ctx) => {
      const rows = await running(ctx, request);
      return { running: rows.map((row) => shown(RunningImageSchema, row)) };
    },
    create: async (request, ctx: Ctx) => {
      const { environment, promotion, word } = await create(deps, ctx, request);
      const message = await presentOne(ctx, environment, promotion);
      message.policyPreview = shown(PromotionPolicyPreviewSchema, { ...word });
      return message;
    },
    approve: async (request, ctx: Ctx) => await answer(ctx, request, approve(deps, ctx, request)),
    reject: async (request, ctx: Ctx) => await answer(ctx, request, reject(ctx, request)),
    complete: async ({ status, ...request }, ctx: Ctx) => {
      const state = status === CompletionStatus.DEPLOYED ? 'deployed' : 'failed';
      return await answer(ctx, request, complete(ctx, { ...request, state }));
    },
  });
}

/** Answers the promotion as it is after the act. */
async function answer(ctx: Ctx, which: PromotionRef, act?: Promise<void>): Promise<PromotionMessage> {
  await act;
  const environment = await environmentRows.find(ctx, which.environmentId);
  return await presentOne(ctx, environment, await findPromotion(ctx, environment, which.promotionId));
}

export const promotionsFeature = declareFeature({
  name: 'promotions',
  on: {
    teams: teamsFeature,
    environments: environmentsFeature,
    variables: variablesFeature,
    builds: buildsFeature,
    artifacts: artifactsFeature,
    policies: policiesFeature,
    releases: releasesFeature,
  },
  prefixes: ['apv'],
  events,
  reads: ['deployments', 'deployment_heads', 'promotions', 'promotion_approvals'],
  start: ({ db, clock }, { policies: { gates }, builds: { deployImage } }) => ({
    services: [createPromotions({ gates, deployImage })],
    fills: [
      findsById(described(promotions, 'release:read', promotions.version)),
      fill(inboxSources, pendingPromotions),
      fill(overviewSources, environmentsNow),
    ],
    effects: promotionEffects,
    jobs: [endedJob({ db, clock }), toldJob(db)],
    purges: [async (nowMs) => await expire({ db }, nowMs)],
  }),
});
