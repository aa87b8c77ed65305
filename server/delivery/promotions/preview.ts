/**
 * A preview tells what a promotion changes against what its environment runs, and what would be said to its
 * approval now. Writes nothing.
 */
import type {
  PromotionArtifactChange,
  PromotionImage,
} from '@svc/proto/gen/svc/promotions/v1/promotions_pb.ts';
import { environmentRows, type Environment } from '../../apps/environments/index.ts';
import type { Ctx } from '../../kit/context.ts';
import { roleGrants } from '../../kit/scopes.ts';
import {
  comparePackages,
  readArtifacts,
  type Artifact,
  type ArtifactRow,
  type PackageChanges,
} from '../artifacts/index.ts';
import { passageOfBuild, type Gates, type Word } from '../policies/index.ts';
import { artifactsOf } from '../releases/index.ts';
import { approvalsOf, counted, ownedAs, standingOf } from './approvals.ts';
import { deployOf, imageAsked } from './image.ts';
import { passageOf, promotedOf, type Passing } from './passage.ts';
import { factsOf, runningIn } from './running.ts';
import { findPromotion, type Promotion, type PromotionRef } from './store.ts';
import { subjectOf } from './subject.ts';
import type { Row } from '../../kit/resource/index.ts';

/** A side is what runs, or what is brought. */
interface Side {
  readonly image: Row<PromotionImage>;
  readonly artifact: ArtifactRow | undefined;
  readonly artifacts: ReadonlyArray<Pick<ArtifactRow, 'kind' | 'name' | 'digest'>>;
}

export async function preview({ gates }: { readonly gates: Gates }, ctx: Ctx, which: PromotionRef) {
  const environment = await environmentRows.find(ctx, which.environmentId);
  const promotion = await findPromotion(ctx, environment, which.promotionId);
  const artifacts = await artifactsOf(ctx, promotion.releaseId);
  const isPending = promotion.state === 'pending';
  const [brought, running, given, subject] = await Promise.all([
    broughtBy(ctx, promotion, artifacts),
    runningSide(ctx, environment),
    approvalsOf(ctx, [promotion.id]),
    isPending ? subjectOf(ctx, environment, promotion) : undefined,
  ]);
  const approvals = counted(standingOf(promotion, given, subject)).map(({ userId }) => userId);
  const compared = await packagesOf(ctx, running?.artifact, brought.artifact);
  const withOwn = await withCaller(ctx, environment, { promotion, approvals });
  const asked = { environment, promotion, artifacts, approvals: withOwn };
  return {
    environment,
    promotion,
    running: running?.image,
    brought: brought.image,
    artifacts: changesOf(running?.artifacts ?? [], brought.artifacts),
    packages: typeof compared === 'string' ? undefined : compared,
    packagesProblem: typeof compared === 'string' ? compared : undefined,
    approvals: approvals.length,
    requiredApprovals: environment.requiredApprovals,
    word: isPending ? await wordOf(gates, ctx, asked) : undefined,
    subject,
  };
}

/**
 * It is what all gates say that the last approval passes: its own and, where it makes a build, that of the
 * deploy. A policy may be on both. Before it is asked for, that of its creation is passed as well.
 */
export async function wordOf(
  gates: Gates,
  ctx: Ctx,
  { approvals: given, ...asked }: Omit<Passing, 'action'> & { readonly isNew?: boolean },
): Promise<Word> {
  const { environment, promotion } = asked;
  const missing = environment.requiredApprovals - given.length;
  // Who will give them is not known.
  const approvals = [...given, ...Array.from({ length: Math.max(0, missing) }, () => '')];
  const passages = [await passageOf(ctx, { ...asked, approvals, action: 'promotion.approve' })];
  if (asked.isNew === true)
    passages.unshift(await passageOf(ctx, { ...asked, approvals: [], action: 'promotion.create' }));
  const deploying = await deployOf(ctx, asked);
  if (!('held' in deploying)) {
    const { image: name, digest, branch, commit } = deploying.of;
    const build = { id: '', number: 0, branch, commit, trigger: 'promotion' };
    const promoted = promotedOf(promotion, approvals);
    const of = { environment, build, image: { name, digest }, promoted };
    passages.push(await passageOfBuild(ctx, { ...of, action: 'deploy' }));
  }
  return await gates.preview(ctx, passages);
}

/** Who looks may be the one whose approval decides. */
export async function withCaller(
  ctx: Ctx,
  { teamId, allowSelfApproval }: Environment,
  { promotion, approvals }: { readonly promotion: Promotion; readonly approvals: readonly string[] },
): Promise<readonly string[]> {
  const { userId } = ctx.caller;
  const role = ctx.teams.role(teamId);
  const mayApprove = role !== undefined && roleGrants(role, 'release:approve');
  const counts = mayApprove && (allowSelfApproval || (await ownedAs(ctx, promotion, userId)) === undefined);
  return counts ? [...new Set([...approvals, userId])] : approvals;
}

async function broughtBy(
  ctx: Ctx,
  { teamId, releaseId, version, artifactId }: Promotion,
  artifacts: readonly Artifact[],
): Promise<Side> {
  const image = imageAsked({ artifactId }, artifacts);
  const [artifact] = image === undefined ? [] : await readArtifacts(ctx, teamId, [image.id]);
  return { image: { releaseId, version, ...factsOf(artifact) }, artifact, artifacts };
}

async function runningSide(ctx: Ctx, { id, teamId }: Environment): Promise<Side | undefined> {
  const [running] = await runningIn(ctx, { teamId, environmentIds: [id] });
  if (running === undefined) return undefined;
  const { image, artifact } = running;
  const { promotionId, releaseId } = image;
  // A release of which the image alone was deployed is no release that runs.
  const isRelease = typeof promotionId === 'string' && typeof releaseId === 'string';
  const alone = artifact === undefined ? [] : [artifact];
  return { image, artifact, artifacts: isRelease ? await artifactsOf(ctx, releaseId) : alone };
}

/**
 * There may be several of one kind and name: what both sides have is the same, and the others go in pairs.
 */
function changesOf(
  before: Side['artifacts'],
  after: Side['artifacts'],
): readonly Row<PromotionArtifactChange>[] {
  const gone = before.filter(({ digest }) => !after.some((each) => each.digest === digest));
  const come = after.filter(({ digest }) => !before.some((each) => each.digest === digest));
  const changes = come.map(({ kind, name, digest }): Row<PromotionArtifactChange> => {
    const place = gone.findIndex((each) => each.kind === kind && each.name === name);
    const [old] = place === -1 ? [] : gone.splice(place, 1);
    return { kind, name, before: old?.digest, after: digest };
  });
  return [...changes, ...gone.map(({ kind, name, digest }) => ({ kind, name, before: digest }))];
}

/** Or why they are not compared. */
async function packagesOf(
  { db, teams }: Ctx,
  before: ArtifactRow | undefined,
  after: ArtifactRow | undefined,
): Promise<PackageChanges | string> {
  if (before === undefined || after === undefined) return 'there are not two images';
  const unknown = ({ name, id }: ArtifactRow) =>
    `nothing is known of the packages of ${name}, artifact ${id}`;
  if (before.packageSetIds.length === 0) return unknown(before);
  if (after.packageSetIds.length === 0) return unknown(after);
  return await comparePackages(db.sql, teams, { before: before.packageSetIds, after: after.packageSetIds });
}
