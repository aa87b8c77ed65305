/**
 * Makes a build, and the items that runners execute for it, durable: each in one transaction with the row
 * that it belongs to.
 */
import { apiError } from '@svc/proto/http/errors.ts';
import { environmentRows, type Deploy, type Environment } from '../../apps/environments/index.ts';
import type { Ctx } from '../../kit/context.ts';
import type { Database } from '../../base/db/index.ts';
import type { Secrets } from '../../base/secrets.ts';
import { projectRows } from '../../apps/projects/index.ts';
import { agentOf, type Placement, type Submit } from '../work/index.ts';
import type { PassedGate } from './gate.ts';
import {
  BUILD_LIMITS,
  BUILD_PLACEMENT,
  imageRepository,
  readInput,
  sealBuildInput,
  type BuildSpec,
} from './spec.ts';
import { insertBuild, nextNumber, type NewBuild } from './store.ts';

export interface SubmitItemDeps {
  readonly submit: Submit;
  readonly secrets: Pick<Secrets, 'seal' | 'open'>;
}

/** Open builds of one environment, the one that holds it included. */
const OPEN_MAX = 100;
/** The placement is as the environment has it, where a build says nothing else. */
export const placementIn = ({ runner }: Environment): Placement => ({
  ...BUILD_PLACEMENT,
  selector: runner ?? {},
});
/** The runner's own line about cut-off output still fits behind the limit. */
const LOG_SLACK_BYTES = 4_096;

/** Under the environment's lock, which the caller's transaction holds until its end. */
export async function addBuild(ctx: Ctx, environment: Environment, build: NewBuild): Promise<number> {
  await environmentRows.lock(ctx, environment.id);
  const { number, open } = await nextNumber(ctx.db, environment);
  if (open >= OPEN_MAX) {
    throw apiError(
      'limit_reached',
      `the environment has ${open} builds that have not ended, at most ${OPEN_MAX} may wait; cancel some or let them end`,
      { details: { resource: 'build', limit: OPEN_MAX, current: open } },
    );
  }
  await insertBuild(ctx.db, { ...build, number });
  return number;
}

/** No item deploys but by this: each has passed one gate `deploy`. */
export interface Deploying {
  readonly to: Deploy;
  /** It is the image with its digest; without it, that is the one that the item makes. */
  readonly image?: string;
  readonly passed: PassedGate;
}

export interface Item {
  readonly workId: string;
  readonly buildId: string;
  readonly number: number;
  readonly plan: Pick<BuildSpec, 'publishes' | 'source' | 'buildType'>;
  readonly deploying?: Deploying | undefined;
  readonly placement: Placement;
}

/** The item of a build whose row was written before, in the same transaction. */
export async function addItem(
  deps: SubmitItemDeps,
  { ctx, db, environment }: { readonly ctx: Ctx; readonly db: Database; readonly environment: Environment },
  { workId, buildId, number, plan, deploying, placement }: Item,
): Promise<void> {
  const project = await projectRows.find({ ...ctx, db }, environment.projectId);
  const input = await readInput(db, deps.secrets, {
    environment,
    only: { deployOnly: plan.source === undefined },
  });
  const spec: BuildSpec = {
    ...plan,
    ...(deploying && { deploy: deploying.to }),
    ...(deploying?.image !== undefined && { deployImage: deploying.image }),
    number,
    repository: imageRepository(project.slug, environment),
    timeoutSeconds: environment.buildTimeoutSeconds,
    steps: input.steps,
    variableNames: Object.keys(input.variables).toSorted(),
    secretNames: Object.keys(input.secrets).toSorted(),
    sealed: sealBuildInput(deps.secrets, workId, input),
  };
  await deps.submit.within(db, {
    work: {
      id: workId,
      kind: 'build',
      teamId: environment.teamId,
      createdBy: ctx.caller.userId,
      agent: agentOf(ctx.caller),
      createdAt: ctx.clock.now(),
      spec,
      labels: {},
      needsContainer: true,
      timeoutMs: spec.timeoutSeconds * 1_000,
      logLimit: BUILD_LIMITS.outputBytes + LOG_SLACK_BYTES,
      buildId,
      placement,
    },
  });
  await deploying?.passed.keep({ ...ctx, db });
}
