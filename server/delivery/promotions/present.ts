/**
 * A promotion as callers see it: one that a build deploys stands where the build stands, and an open one says
 * what it waits for.
 */
import {
  PromotionSchema,
  PromotionWaitingCode as Code,
  type Promotion as PromotionMessage,
} from '@svc/proto/gen/svc/promotions/v1/promotions_pb.ts';
import type { Environment } from '../../apps/environments/index.ts';
import { findBuilds, stateOf, type BuildRow } from '../../engine/builds/index.ts';
import { shown, type Who } from '../../kit/resource/index.ts';
import { approvalsOf, counted, standingOf, type Approval, type Standing } from './approvals.ts';
import type { HeldFor } from './image.ts';
import type { Promotion } from './store.ts';
import { subjectsOf } from './subject.ts';

type Ending = Pick<BuildRow, 'message' | 'workMessage' | 'reason'>;
type Build = Ending &
  Parameters<typeof stateOf>[0] &
  Pick<BuildRow, 'number' | 'environmentBusy' | 'finishedAt' | 'address' | 'runnerName'>;

/** As it is once its build has ended, which the copy in its own row follows a moment later. */
export function settledBy(promotion: Promotion, build: Build | undefined): Promotion {
  if (promotion.state !== 'approved' || build === undefined || build.finishedAt === null) return promotion;
  const isDeployed = build.state === 'succeeded';
  return {
    ...promotion,
    state: isDeployed ? 'deployed' : 'failed',
    reason: isDeployed ? null : whyFailed(build),
    url: build.address,
    endedAt: build.finishedAt,
  };
}

export const whyFailed = ({ message, workMessage, reason }: Ending): string | null =>
  message ?? workMessage ?? reason;

interface Waiting {
  readonly code: Code;
  readonly text: string;
}

const HELD: Readonly<Record<HeldFor, Waiting>> = {
  no_deploy_target: {
    code: Code.NO_DEPLOY_TARGET,
    text: 'the environment had no deploy target when it was approved; whoever deploys it calls complete',
  },
  ambiguous_image: {
    code: Code.AMBIGUOUS_IMAGE,
    text: 'the release has several images and none was named, or the address of the one is not known; name one in another promotion, or call complete',
  },
  external: {
    code: Code.EXTERNAL,
    text: 'the release has no image; whoever deploys it calls complete',
  },
};

const WAITS_FOR_APPROVALS: Waiting = { code: Code.APPROVAL, text: 'it waits for approvals' };

export function waitingFor(
  promotion: Promotion,
  { requiredApprovals }: Pick<Environment, 'requiredApprovals'>,
  {
    approvals,
    build,
  }: {
    readonly approvals: ReadonlyArray<Pick<Standing, 'voidReason'>>;
    readonly build: Build | undefined;
  },
): Waiting | undefined {
  if (promotion.state === 'pending') {
    const count = approvals.filter(({ voidReason }) => voidReason === null).length;
    const others = approvals.length - count;
    const text = `it has ${count} of ${requiredApprovals} approvals`;
    return { code: Code.APPROVAL, text: others === 0 ? text : `${text}, and ${others} that count no longer` };
  }
  return waitingForBuild(promotion, build);
}

function waitingForBuild({ state, held }: Promotion, build: Build | undefined): Waiting | undefined {
  if (state !== 'approved') return undefined;
  if (held !== null) return HELD[held];
  if (build === undefined) return { code: Code.RUNNER, text: 'its build is gone' };
  if (stateOf(build) !== 'queued')
    return { code: Code.RUNNER, text: `build ${build.number} is deployed by the runner ${build.runnerName}` };
  return build.environmentBusy
    ? { code: Code.ENVIRONMENT_BUSY, text: `build ${build.number} waits for the build before it to end` }
    : { code: Code.RUNNER, text: `build ${build.number} waits for a runner` };
}

export async function present(
  who: Who,
  environment: Environment,
  promotions: readonly Promotion[],
): Promise<PromotionMessage[]> {
  const pending = promotions.filter(({ state }) => state === 'pending');
  const [{ builds, approvals: all }, subjects] = await Promise.all([
    whatStandsBeside(who, promotions),
    subjectsOf(who, environment, pending),
  ]);
  return promotions.map((row) => {
    const build = builds.get(row.buildId ?? '');
    const promotion = settledBy(row, build);
    const subject = subjects.get(row.id);
    const approvals = standingOf(row, all.get(row.id) ?? [], subject);
    const missing = environment.requiredApprovals - counted(approvals).length;
    return shown(PromotionSchema, {
      ...promotion,
      approvals,
      fingerprint: subject?.fingerprint ?? (row.approvedAt === null ? null : row.fingerprint),
      missingApprovals: subject === undefined ? null : Math.max(0, missing),
      waitingFor: waitingFor(promotion, environment, { approvals, build }),
    });
  });
}

/**
 * Presents promotions to many environments. Which approvals of a pending one count, and what they would be
 * given for, is left out: only the state of its environment tells that.
 */
export async function presentForTeam(
  who: Who,
  promotions: readonly Promotion[],
): Promise<PromotionMessage[]> {
  const { builds, approvals } = await whatStandsBeside(who, promotions);
  return promotions.map((row) => {
    const build = builds.get(row.buildId ?? '');
    const promotion = settledBy(row, build);
    const isPending = promotion.state === 'pending';
    return shown(PromotionSchema, {
      ...promotion,
      approvals: isPending ? [] : standingOf(row, approvals.get(row.id) ?? [], undefined),
      fingerprint: row.approvedAt === null ? null : row.fingerprint,
      missingApprovals: null,
      waitingFor: isPending ? WAITS_FOR_APPROVALS : waitingForBuild(promotion, build),
    });
  });
}

/** The builds of those that are open, and approvals by promotion. */
async function whatStandsBeside(who: Who, promotions: readonly Promotion[]) {
  const open = promotions.filter(({ state }) => state === 'approved').flatMap(({ buildId }) => buildId ?? []);
  const ids = promotions.map(({ id }) => id);
  const [builds, all] = await Promise.all([findBuilds(who.db.sql, who.teams, open), approvalsOf(who, ids)]);
  const approvals = new Map(ids.map((id): [string, Approval[]] => [id, []]));
  for (const approval of all) approvals.get(approval.promotionId)?.push(approval);
  return { builds, approvals };
}

export async function presentOne(
  who: Who,
  environment: Environment,
  promotion: Promotion,
): Promise<PromotionMessage> {
  const [message] = await present(who, environment, [promotion]);
  if (message === undefined) throw new Error(`promotion ${promotion.id} is not presented`);
  return message;
}
