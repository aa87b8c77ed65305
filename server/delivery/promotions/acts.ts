/**
 * People do this with promotions, whose states are:
 *
 *     pending ──last approval──> approved ──end of its build, complete──> deployed | failed   (final)
 *        └──reject, a newer one is approved, 30 days──> rejected   (final)
 *
 * Approvals and rejections hold the environment's lock until their transaction ends, so that of all that come
 * at once exactly one decides, and the deploying build is made with the decision. What is counted is bound to
 * what is approved (subject.ts, approvals.ts).
 */
import { and, sql } from 'drizzle-orm';
import { apiError } from '@svc/proto/http/errors.ts';
import { wrongField } from '../../kit/wrong-field.ts';
import type {
  ApproveRequest,
  CreateRequest,
  RejectRequest,
} from '@svc/proto/gen/svc/promotions/v1/promotions_pb.ts';
import { environmentRows, type Environment } from '../../apps/environments/index.ts';
import { findBuilds, type DeployImage } from '../../engine/builds/index.ts';
import { requireRole } from '../../kit/authorise.ts';
import type { Ctx } from '../../kit/context.ts';
import { recordAct } from '../../kit/ledger/index.ts';
import { notFound } from '../../kit/not-found.ts';
import type { Changes } from '../../kit/resource/index.ts';
import type { Artifact } from '../artifacts/index.ts';
import type { Gates, Passage, Word } from '../policies/index.ts';
import { artifactsOf, releaseRows } from '../releases/index.ts';
import { addApproval, approvalsOf, countedNow, ownedAs, recount, type Count } from './approvals.ts';
import { deployWhatIsPromoted } from './image.ts';
import { callerOf, noteMoves, noteVoid, type Moved } from './moved.ts';
import { passageOf, promotedOf } from './passage.ts';
import { settledBy } from './present.ts';
import { withCaller, wordOf } from './preview.ts';
import { promotions } from './schema.ts';
import {
  findPromotion,
  isPending,
  pendingBefore,
  promotionRows,
  type Promotion,
  type PromotionRef,
} from './store.ts';
import { subjectOf } from './subject.ts';

/** Pending promotions of one environment. */
const PENDING_MAX = 100;

export interface PromotionsDeps {
  readonly gates: Gates;
  readonly deployImage: DeployImage;
}

export async function create(
  { gates }: PromotionsDeps,
  ctx: Ctx,
  { environmentId, releaseId, artifactId }: CreateRequest,
): Promise<{ readonly environment: Environment; readonly promotion: Promotion; readonly word: Word }> {
  const environment = await environmentRows.find(ctx, environmentId);
  const { teamId, projectId, name: environmentName } = environment;
  const release = await releaseRows.find(ctx, releaseId);
  if (release.projectId !== projectId) throw notFound(releaseRows.kind);
  const artifacts = await artifactsOf(ctx, releaseId);
  if (artifactId !== undefined) refuseNoImage(artifacts, artifactId);
  const promotion = await ctx.db.transact(async (db) => {
    const tx = { ...ctx, db };
    const where = sql`${promotions.environmentId} = ${environmentId} and ${isPending}`;
    await promotionRows.atMost(tx, { teamId, max: PENDING_MAX, of: 'environment', where });
    const made = await promotionRows.insert(tx, {
      teamId,
      projectId,
      environmentId,
      environmentName,
      releaseId,
      version: release.version,
      artifactId: artifactId ?? null,
      requestedBy: ctx.caller.userId,
    });
    await noteMoves(callerOf(tx), [{ promotion: made, word: 'created' }]);
    return made;
  });
  const approvals = await withCaller(ctx, environment, { promotion, approvals: [] });
  const word = await wordOf(gates, ctx, { environment, promotion, artifacts, approvals, isNew: true });
  return { environment, promotion, word };
}

function refuseNoImage(artifacts: readonly Artifact[], artifactId: string): void {
  const artifact = artifacts.find(({ id }) => id === artifactId);
  if (artifact === undefined) throw notFound('artifact');
  if (artifact.kind === 'image') return;
  const message = `artifact id ${artifactId} is of the kind ${artifact.kind}, expected an image of the release`;
  throw wrongField(message, { field: 'artifactId', rule: 'image' });
}

export async function approve(
  deps: PromotionsDeps,
  ctx: Ctx,
  { override, fingerprint: seen, ...which }: ApproveRequest,
): Promise<void> {
  await inTurn(ctx, which, async (tx, { environment, promotion }) => {
    const { teamId, allowSelfApproval, requiredApprovals } = environment;
    if (override !== undefined) requireRole(tx.teams.role(teamId), 'owner', { act: 'overriding a policy' });
    if (promotion.state !== 'pending') return await refuseUnlessMine(tx, promotion);
    if (!allowSelfApproval) await refuseOwn(tx, promotion);
    const before = await recount(tx, environment, promotion);
    if (seen !== undefined && seen !== before.subject.fingerprint) throw changedSince(promotion, seen);
    const isNew = await addApproval(tx, before.promotion);
    const count = { ...before, approvals: await countedNow(tx, before) };
    if (count.approvals.length >= requiredApprovals)
      return await decide(deps, tx, { environment, count, override });
    await noteVoid(callerOf(tx), count);
    if (!isNew) return;
    const approvals = count.approvals.length;
    const { fingerprint } = count.subject;
    const details = { environmentId: environment.id, approvals, requiredApprovals, fingerprint };
    const entry = { chain: teamId, action: 'promotion.approval_given', target: promotion.id, details };
    await recordAct(tx.db, tx, entry);
  });
}

/** A person who has approved it before may say so again for as long as it is open. */
async function refuseUnlessMine(tx: Ctx, promotion: Promotion): Promise<void> {
  const approvals = await approvalsOf(tx, [promotion.id]);
  const isMine = approvals.some(({ userId, voidAt }) => userId === tx.caller.userId && voidAt === null);
  if (promotion.state !== 'approved' || !isMine) throw notPending(promotion);
}

async function refuseOwn(tx: Ctx, promotion: Promotion): Promise<void> {
  const act = await ownedAs(tx, promotion, tx.caller.userId);
  if (act === undefined) return;
  throw apiError(
    'environment_protected',
    `the environment takes no approval of who ${act}; somebody else has to approve it`,
    { details: { requestedBy: promotion.requestedBy } },
  );
}

function changedSince({ id }: Promotion, seen: string): Error {
  return apiError(
    'state_conflict',
    `promotion ${id} is not what was seen, ${seen}, any more: its release, its target or the policies have changed; look at its preview again`,
    { details: { resource: promotionRows.kind, fingerprint: seen } },
  );
}

interface Decision {
  readonly environment: Environment;
  readonly count: Count;
  readonly override: Passage['override'];
}

/**
 * The last approval decides. What refuses it, a policy or the environment's limit of builds, takes the
 * approval back with the transaction.
 */
async function decide(
  { gates, deployImage }: PromotionsDeps,
  tx: Ctx,
  { environment, count, override }: Decision,
): Promise<void> {
  const { promotion, subject } = count;
  const approvals = count.approvals.map(({ userId }) => userId);
  const artifacts = await artifactsOf(tx, promotion.releaseId);
  const about = { environment, promotion, artifacts, approvals };
  const passage = await passageOf(tx, { ...about, action: 'promotion.approve' });
  const { isOverridden, keep } = await gates.judge(tx, { ...passage, override });
  const promoted = promotedOf(promotion, approvals);
  const asked = { environment, promotion, artifacts, promoted, override };
  const by = callerOf(tx);
  const approved = await leavePending(tx, promotion, {
    overrideReason: isOverridden ? (override?.reason ?? null) : null,
    ...(await deployWhatIsPromoted(deployImage, tx, asked)),
    state: 'approved',
    approvedAt: by.at,
  });
  // Policies and variables are changed without the environment's lock: what was deployed must be what was
  // counted.
  if ((await subjectOf(tx, environment, promotion)).fingerprint !== subject.fingerprint)
    throw changedSince(promotion, subject.fingerprint);
  await keep(tx);
  const moves: Moved[] = [{ promotion: approved, word: 'approved' }];
  for (const older of await pendingBefore(tx, promotion)) {
    const set = { state: 'rejected', rejection: 'superseded', endedAt: by.at } as const;
    const superseded = await promotionRows.update(tx, older.id, { set, where: isPending });
    if (superseded !== undefined) moves.push({ promotion: superseded, word: 'rejected' });
  }
  await noteVoid(by, count);
  await noteMoves(by, moves);
}

export async function reject(ctx: Ctx, { reason, ...which }: RejectRequest): Promise<void> {
  await inTurn(ctx, which, async (tx, { environment, promotion }) => {
    if (promotion.state !== 'pending') throw notPending(promotion);
    const count = await recount(tx, environment, promotion);
    const by = callerOf(tx);
    const set = { state: 'rejected', rejection: 'rejected', reason, endedAt: by.at } as const;
    const rejected = await leavePending(tx, count.promotion, set);
    await noteVoid(by, count);
    await noteMoves(by, [{ promotion: rejected, word: 'rejected' }]);
  });
}

export interface Completed extends PromotionRef {
  readonly state: 'deployed' | 'failed';
  readonly url?: string | undefined;
}

export async function complete(ctx: Ctx, { state, url, ...which }: Completed): Promise<void> {
  await inTurn(ctx, which, async (tx, { promotion }) => {
    const { id, buildId } = promotion;
    if (buildId === null && promotion.state === state) return;
    if (buildId !== null || promotion.state !== 'approved')
      throw apiError(
        'state_conflict',
        buildId === null
          ? `the promotion is ${promotion.state}, it becomes ${state} only from approved`
          : `the promotion is ${promotion.state}, and build ${buildId} decides how it ends`,
        { details: { resource: promotionRows.kind, state: promotion.state, target: state } },
      );
    const by = callerOf(tx);
    const ended = await promotionRows.update(tx, id, { set: { state, url: url ?? null, endedAt: by.at } });
    if (ended === undefined) throw notFound(promotionRows.kind);
    await noteMoves(by, [{ promotion: ended, word: state }]);
  });
}

interface LockedPromotion {
  readonly environment: Environment;
  /** Promotion as its build says. */
  readonly promotion: Promotion;
}

/** Under the environment's lock, with both rows as they are then. */
async function inTurn(
  ctx: Ctx,
  { environmentId, promotionId }: PromotionRef,
  work: (tx: Ctx, found: LockedPromotion) => Promise<void>,
): Promise<void> {
  await environmentRows.find(ctx, environmentId); // Role and scope, before anything is waited for.
  await ctx.db.transact(async (db) => {
    const tx = { ...ctx, db };
    const environment = await environmentRows.lock(tx, environmentId);
    const row = await findPromotion(tx, environment, promotionId);
    const { buildId } = row;
    const builds = await findBuilds(db.sql, tx.teams, buildId === null ? [] : [buildId]);
    await work(tx, { environment, promotion: settledBy(row, builds.get(buildId ?? '')) });
  });
}

async function leavePending(
  tx: Ctx,
  promotion: Promotion,
  set: Changes<typeof promotions>,
): Promise<Promotion> {
  const where = and(isPending, sql`${promotions.fingerprint} is not distinct from ${promotion.fingerprint}`);
  const moved = await promotionRows.update(tx, promotion.id, { set, where });
  if (moved === undefined) throw notPending(promotion);
  return moved;
}

function notPending({ id, state }: Promotion): Error {
  return apiError(
    'promotion_not_pending',
    `promotion ${id} is ${state}, it does not wait for approvals any more`,
    { details: { state } },
  );
}
