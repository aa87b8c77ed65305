/** What people do with builds: submit, roll back, approve, cancel, unlock. */
import { randomBytes } from 'node:crypto';
import { apiError } from '@svc/proto/http/errors.ts';
import type { WorkQueue } from '@svc/proto/queue/queue.ts';
import { recordAct } from '../../kit/ledger/index.ts';
import { environmentRows, type Deploy, type Environment } from '../../apps/environments/index.ts';
import type { Ctx } from '../../kit/context.ts';
import type { Database } from '../../base/db/index.ts';
import type { Who } from '../../kit/resource/index.ts';
import { newId } from '../../base/ids.ts';
import { notFound } from '../../kit/not-found.ts';
import { cancel, type Placement, type Wake } from '../work/index.ts';
import type { BuildGate, Override, Promoted } from './gate.ts';
import { refuseOthersImage } from '../registries/index.ts';
import { findBuild, stateOf, type BuildRow } from './row.ts';
import { approveBuild, endWaiting, holderOf, wasPromoted, type NewBuild } from './store.ts';
import { addBuild, addItem, placementIn, type SubmitItemDeps } from './submit-item.ts';

export interface DeployDeps extends SubmitItemDeps {
  readonly gate: BuildGate;
  /** Host and port of the service's local registry. */
  readonly localRegistry: string;
}

/** Returns names of variables that the environment must have before it is built and does not have. */
export type MissingVariables = (who: Who, environment: Environment) => Promise<readonly string[]>;

export interface ActsDeps extends DeployDeps {
  /** Why images of a team's builds have nowhere to go. Undefined: they have. */
  readonly missingRegistry: (teamId: string) => Promise<string | undefined>;
  readonly missingVariables: MissingVariables;
  readonly queue: WorkQueue;
  readonly wake: Wake;
  wakeRelay(): void;
  /** A notice that could not be sent; gateways find out what it would have said a moment later. */
  onError(error: unknown): void;
}

type Fresh = Pick<NewBuild, 'id' | 'teamId' | 'environmentId' | 'traceId' | 'createdBy' | 'createdAt'>;

function fresh(ctx: Ctx, environment: Environment): Fresh {
  const createdAt = ctx.clock.now();
  const { id: environmentId, teamId } = environment;
  return {
    id: newId('bld', createdAt.getTime()),
    teamId,
    environmentId,
    traceId: randomBytes(16).toString('hex'),
    createdBy: ctx.caller.userId,
    createdAt,
  };
}

const approvalOf = ({ deployApproval, deploy }: Environment): NewBuild['approval'] =>
  deployApproval && deploy !== null ? 'required' : 'none';

/** Takes what the environment sets of the fields about its Dockerfile. */
function dockerfileOf({
  dockerfile,
  context,
  target,
}: Environment): Partial<Record<'dockerfile' | 'context' | 'target', string>> {
  return {
    ...(dockerfile === null ? {} : { dockerfile }),
    ...(context === null ? {} : { context }),
    ...(target === null ? {} : { target }),
  };
}

async function refuseMissingVariables(
  { missingVariables: missing }: Pick<ActsDeps, 'missingVariables'>,
  ctx: Ctx,
  environment: Environment,
): Promise<void> {
  const missingVariables = await missing(ctx, environment);
  if (missingVariables.length === 0) return;
  throw apiError(
    'environment_incomplete',
    `variables that the environment was made to need are not set: ${missingVariables.join(', ')}; set them with variables.set`,
    { details: { missingVariables } },
  );
}

export async function createBuild(
  deps: ActsDeps,
  ctx: Ctx,
  {
    environment,
    commit,
    placement,
    override,
  }: {
    readonly environment: Environment;
    readonly commit: string | undefined;
    readonly placement: Placement;
    readonly override: Override | undefined;
  },
): Promise<string> {
  const { repository, branch, buildPath, submodules, cloneDepth, tags, buildType } = environment;
  const deploy = environment.promotionsOnly ? null : environment.deploy;
  if (repository === null) {
    throw apiError(
      'environment_incomplete',
      'the environment has no repository, a build needs one; set it with environments.update',
    );
  }
  const missing = await deps.missingRegistry(environment.teamId);
  if (missing !== undefined) throw apiError('environment_incomplete', missing);
  await refuseMissingVariables(deps, ctx, environment);
  const build = { ...fresh(ctx, environment), approval: approvalOf({ ...environment, deploy }) };
  const { id } = build;
  // It is not known that the branch has a commit that was named: that is no word of the environment, by which
  // policies go.
  const of = { branch: commit === undefined ? branch : '', commit: commit ?? null };
  await ctx.db.transact(async (db) => {
    const tx = { ...ctx, db };
    const about = { id, number: 0, ...of, trigger: 'manual' };
    const asked = { environment, build: about, override };
    const created = await deps.gate(tx, { ...asked, action: 'build.create' });
    const deploying =
      deploy === null || build.approval === 'required'
        ? undefined
        : { to: deploy, passed: await deps.gate(tx, { ...asked, action: 'deploy' }) };
    const number = await addBuild(tx, environment, {
      ...build,
      state: 'open',
      trigger: 'manual',
      rollbackOf: null,
      ...of,
      buildType,
      image: null,
      digest: null,
      tag: null,
      workId: id,
    });
    const source = {
      repository,
      branch,
      buildPath,
      ...dockerfileOf(environment),
      submodules,
      cloneDepth,
      tags,
      ...(commit === undefined ? {} : { commit }),
    };
    const plan = { publishes: true, source, buildType };
    const item = { workId: id, buildId: id, number, plan, deploying, placement };
    await addItem(deps, { ctx, db, environment }, item);
    await created.keep(tx);
    await recordAct(db, ctx, act('build.submitted', environment, { buildId: id, number }));
  });
  return id;
}

export async function rollbackTo(
  deps: ActsDeps,
  ctx: Ctx,
  {
    environment,
    target,
    override,
  }: {
    readonly environment: Environment;
    readonly target: BuildRow;
    readonly override: Override | undefined;
  },
): Promise<string> {
  const { state, image, digest, tag, branch, commit, buildType } = target;
  const { deploy } = environment;
  if (state !== 'succeeded' || image === null || digest === null)
    throw notDeployable(
      `build ${target.number} is ${stateOf(target)} and ${image === null || digest === null ? 'published no image' : 'cannot be trusted'}`,
    );
  if (deploy === null) throw notDeployable('the environment has no deploy target');
  return await ctx.db.transact(async (db) => {
    await refuseUnpromoted(db, environment, digest);
    const { id, number } = await deployImage(
      deps,
      { ...ctx, db },
      {
        environment,
        deploy,
        trigger: 'rollback',
        rollbackOf: target.id,
        approval: approvalOf(environment),
        of: { image, digest, tag, branch, commit, buildType },
        override,
      },
    );
    const details = { buildId: id, number, rollbackOf: target.id };
    await recordAct(db, ctx, act('build.rolled_back', environment, details));
    return id;
  });
}

export interface ImageDeploy extends Pick<NewBuild, 'trigger' | 'rollbackOf' | 'approval'> {
  readonly environment: Environment;
  readonly deploy: Deploy;
  /** The image, and what it was made of. */
  readonly of: Pick<NewBuild, 'branch' | 'commit' | 'buildType' | 'tag'> & {
    readonly image: string;
    readonly digest: string;
  };
  readonly promoted?: Promoted;
  readonly override: Override | undefined;
}

export interface ImageDeployed {
  readonly id: string;
  readonly number: number;
  /** An owner let it pass its gate. */
  readonly isOverridden: boolean;
}

/**
 * A build that deploys an existing image by its digest, on the environment's runner. Within the caller's
 * transaction.
 */
export async function deployImage(
  deps: DeployDeps,
  ctx: Ctx,
  { environment, deploy, trigger, rollbackOf, approval, of, promoted, override }: ImageDeploy,
): Promise<ImageDeployed> {
  const build = { ...fresh(ctx, environment), approval };
  const { id } = build;
  const { branch, commit, buildType, image: name, digest } = of;
  refuseOthersImage({ ...deps, teamId: environment.teamId }, name);
  const about = { id, number: 0, branch, commit, trigger };
  const image = { name, digest };
  const waits = approval === 'required';
  const passed = waits
    ? undefined
    : await deps.gate(ctx, { action: 'deploy', environment, build: about, image, promoted, override });
  const state = waits ? 'awaiting_approval' : 'open';
  const number = await addBuild(ctx, environment, {
    ...build,
    ...of,
    state,
    trigger,
    rollbackOf,
    workId: id,
  });
  if (passed === undefined) return { id, number, isOverridden: false };
  const deploying = { to: deploy, image: `${name}@${digest}`, passed };
  const plan = { publishes: false, buildType };
  const item = { workId: id, buildId: id, number, plan, deploying, placement: placementIn(environment) };
  await addItem(deps, { ctx, db: ctx.db, environment }, item);
  return { id, number, isOverridden: passed.isOverridden };
}

export interface Deciding {
  readonly environment: Environment;
  readonly build: BuildRow;
  readonly override: Override | undefined;
}

export async function approve(
  deps: ActsDeps,
  ctx: Ctx,
  { environment: { id: environmentId }, build, override }: Deciding,
): Promise<void> {
  const { image: name, digest } = build;
  if (build.state !== 'awaiting_approval' || name === null || digest === null) throw notWaiting(build);
  const workId = newId('bld', ctx.clock.now().getTime());
  await ctx.db.transact(async (db) => {
    // Under its lock: what is deployed, and whether, is what the environment says then.
    const environment = await environmentRows.lock({ ...ctx, db }, environmentId);
    const { deploy } = environment;
    if (deploy === null)
      throw notDeployable('the environment has no deploy target any more; set one, or reject the deploy');
    refuseOwn(ctx, environment, build);
    refuseOthersImage({ ...deps, teamId: environment.teamId }, name);
    await refuseUnpromoted(db, environment, digest);
    const image = { name, digest };
    const passed = await deps.gate({ ...ctx, db }, { action: 'deploy', environment, build, image, override });
    if (!(await approveBuild(db, build, { workId, by: ctx.caller.userId }))) throw notWaiting(build);
    const plan = { publishes: false, buildType: build.buildType };
    // It is the build's own placement; that of a rollback, which has had no item yet, is the environment's.
    const { number, placement } = build;
    const item = {
      workId,
      buildId: build.id,
      number,
      plan,
      deploying: { to: deploy, image: `${name}@${digest}`, passed },
      placement: placement ?? placementIn(environment),
    };
    await addItem(deps, { ctx, db, environment }, item);
    await recordAct(db, ctx, act('build.deploy_approved', environment, { buildId: build.id }));
    db.afterCommit(() => deps.wake.notify(build.workId));
  });
}

export async function reject(
  deps: ActsDeps,
  ctx: Ctx,
  { environment, build }: Pick<Deciding, 'environment' | 'build'>,
): Promise<void> {
  await ctx.db.transact(async (db) => {
    const end = { message: 'its deploy was rejected; the image stays', rejectedBy: ctx.caller.userId };
    if (!(await endWaiting(db, build, end))) throw notWaiting(build);
    await recordAct(db, ctx, act('build.deploy_rejected', environment, { buildId: build.id }));
    notifyFollowers(deps, db, build.workId);
  });
}

/**
 * Tries: a build that is being reported or approved at this very moment has moved on from where it was looked
 * for.
 */
const CANCEL_TRIES = 3;

/**
 * Queued, or waiting for approval: ends now. With a runner: the wish is told with the runner's next call.
 * Ended: nothing.
 */
export async function cancelBuild(
  deps: ActsDeps,
  ctx: Ctx,
  { environment, buildId }: { readonly environment: Environment; readonly buildId: string },
): Promise<void> {
  await ctx.db.transact(async (db) => {
    for (let tries = 0; tries < CANCEL_TRIES; tries += 1) {
      const build = await findBuild(db.sql, ctx.teams, { environmentId: environment.id, buildId });
      if (build === undefined) throw notFound('build');
      if (build.finishedAt !== null) return;
      const isDone =
        build.state === 'awaiting_approval'
          ? await endWaiting(db, build, {
              message: 'it was cancelled before its deploy was approved; the image stays',
              rejectedBy: null,
            })
          : await cancelItem(deps, db, build);
      if (!isDone) continue;
      await recordAct(db, ctx, act('build.cancelled', environment, { buildId }));
      notifyFollowers(deps, db, build.workId);
      return;
    }
    throw apiError('state_conflict', `build ${buildId} moves on each time it is looked at; try again`, {
      details: { resource: 'build' },
      retryable: true,
    });
  });
}

/** Returns false when the item has ended, and the build is elsewhere now. */
async function cancelItem(
  { queue, onError }: ActsDeps,
  db: Database,
  { workId, teamId }: BuildRow,
): Promise<boolean> {
  const cancelled = await cancel(db.sql, [teamId], workId);
  if (cancelled === undefined) return false;
  const { notifyRunner, runnerId, state } = cancelled;
  if (notifyRunner && runnerId !== null)
    db.afterCommit(
      () => void queue.publishControl({ type: 'work_cancelled', workId, runnerId }).catch(onError),
    );
  return state === 'cancelled' || state === 'offered' || state === 'running';
}

/** Frees the environment. Answers the build that held it. */
export async function unlock(
  deps: ActsDeps,
  ctx: Ctx,
  { environment, force }: { readonly environment: Environment; readonly force: boolean },
): Promise<string | undefined> {
  const holder = await holderOf(ctx.db, environment);
  if (holder === undefined) return undefined;
  if (!force && !holder.lostRunner) {
    throw apiError(
      'environment_locked',
      `build ${holder.number} holds the environment and has not lost its runner; wait for it, or unlock with force, which cancels it`,
      { details: { buildId: holder.id } },
    );
  }
  await ctx.db.transact(async (db) => {
    await cancelBuild(deps, { ...ctx, db }, { environment, buildId: holder.id });
    await recordAct(db, ctx, act('environment.unlocked', environment, { buildId: holder.id, force }));
  });
  return holder.id;
}

function notifyFollowers({ wake, wakeRelay }: ActsDeps, db: Database, workId: string): void {
  db.afterCommit(() => {
    wake.notify(workId);
    wakeRelay();
  });
}

function refuseOwn({ caller }: Ctx, { allowSelfApproval }: Environment, build: BuildRow): void {
  if (allowSelfApproval || build.createdBy !== caller.userId) return;
  throw apiError(
    'environment_protected',
    'the environment takes no approval of who submitted the build; somebody else has to approve its deploy',
    { details: { submittedBy: build.createdBy } },
  );
}

async function refuseUnpromoted(db: Database, environment: Environment, digest: string): Promise<void> {
  if (!environment.promotionsOnly || (await wasPromoted(db, environment, digest))) return;
  throw apiError(
    'environment_protected',
    `the environment takes promotions alone, and none deployed ${digest} there; promote a release of it`,
    { details: { digest } },
  );
}

function notDeployable(why: string): Error {
  return apiError('build_not_deployable', `there is nothing to deploy: ${why}`);
}

function notWaiting(build: BuildRow): Error {
  const state = stateOf(build);
  return apiError('build_not_waiting', `build ${build.number} is ${state}, it does not wait for approval`, {
    details: { state },
  });
}

function act(action: string, { id, teamId }: Environment, details: object) {
  return { chain: teamId, action, target: id, details: { ...details } };
}
