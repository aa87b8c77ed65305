/** Build steps of environments, in an order without gaps that is changed under the environment's lock. */
import type { Feature, System } from '../../platform/feature.ts';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { apiError } from '@svc/proto/http/errors.ts';
import { implement } from '@svc/proto/http/implement.ts';
import type { Handlers } from '@svc/proto/http/implement.ts';
import { BuildStepsService, Direction } from '@svc/proto/gen/svc/buildsteps/v1/buildsteps_pb.ts';
import { recordAct } from '../../platform/ledger/index.ts';
import { environmentRows } from '../environments/index.ts';
import type { Environment } from '../environments/index.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Ctx } from '../../platform/context.ts';
import type { Database } from '../../platform/db/index.ts';
import { newId } from '../../platform/ids.ts';
import { notFound } from '../../platform/not-found.ts';
import { deleteBuildStep, insertBuildStep, listBuildSteps, swapBuildSteps } from './store.ts';
import type { BuildStep } from './store.ts';

export { listBuildSteps } from './store.ts';

const STEPS_MAX = 50;

export function createBuildSteps({ clock }: { readonly clock: Clock }): Handlers<Ctx> {
  return implement(BuildStepsService, {
    list: async ({ environmentId }, ctx: Ctx) => {
      const environment = await environmentRows.find(ctx, environmentId);
      return { buildSteps: (await listBuildSteps(ctx.db, environment)).map(present) };
    },
    add: async ({ environmentId, command }, ctx: Ctx) =>
      await change(ctx, environmentId, async (db, environment, steps) => {
        if (steps.length >= STEPS_MAX) throw full(steps.length);
        const createdAt = clock.now();
        const id = newId('bst', createdAt.getTime());
        const step = { id, environmentId, position: steps.length + 1, command, createdAt };
        await insertBuildStep(db, environment, step);
        await recordAct(db, ctx, act('build_step.added', environment, step));
        return present(step);
      }),
    delete: async ({ environmentId, stepId }, ctx: Ctx) =>
      await change(ctx, environmentId, async (db, environment, steps) => {
        const step = stepOf(steps, stepId);
        await deleteBuildStep(db, environment, step);
        await recordAct(db, ctx, act('build_step.deleted', environment, step));
        return {};
      }),
    move: async ({ environmentId, stepId, direction }, ctx: Ctx) =>
      await change(ctx, environmentId, async (db, environment, steps) => {
        const step = stepOf(steps, stepId);
        const to = step.position + (direction === Direction.UP ? -1 : 1);
        if (to >= 1 && to <= steps.length) {
          await swapBuildSteps(db, environment, step.position, to);
          await recordAct(db, ctx, act('build_step.moved', environment, { ...step, position: to }));
        }
        return { buildSteps: (await listBuildSteps(db, environment)).map(present) };
      }),
  });
}

/** In one transaction, under the environment's lock, with the steps as they are then. */
async function change<T>(
  ctx: Ctx,
  environmentId: string,
  work: (db: Database, environment: Environment, steps: readonly BuildStep[]) => Promise<T>,
): Promise<T> {
  const environment = await environmentRows.find(ctx, environmentId);
  return await ctx.db.transact(async (db) => {
    await environmentRows.lock({ ...ctx, db }, environment.id);
    return await work(db, environment, await listBuildSteps(db, environment));
  });
}

function stepOf(steps: readonly BuildStep[], id: string): BuildStep {
  const step = steps.find((each) => each.id === id);
  if (step === undefined) throw notFound('build step');
  return step;
}

function full(n: number): Error {
  return apiError('limit_reached', `the environment has ${n} build steps, at most ${STEPS_MAX} are allowed`, {
    details: { limit: STEPS_MAX, current: n },
  });
}

/** Without the command: people write tokens into commands. */
function act(action: string, { id, teamId }: Environment, { id: stepId, position }: BuildStep) {
  return { chain: teamId, action, target: id, details: { stepId, position } };
}

function present({ createdAt, ...step }: BuildStep) {
  return { ...step, createdAt: timestampFromDate(createdAt) };
}

export function buildStepsFeature(system: System): Feature {
  return { services: [createBuildSteps(system)] };
}
