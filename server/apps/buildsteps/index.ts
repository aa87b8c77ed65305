/** Build steps of environments, in an order without gaps that is changed under the environment's lock. */
import { and, eq, gt, sql } from 'drizzle-orm';
import { implement, type Handlers } from '@svc/proto/http/implement.ts';
import {
  BuildStepSchema,
  BuildStepsService,
  Direction,
} from '@svc/proto/gen/svc/buildsteps/v1/buildsteps_pb.ts';
import {
  environmentRows,
  environmentsFeature,
  type Environment,
  type Guards,
} from '../environments/index.ts';
import type { Ctx } from '../../kit/context.ts';
import { declareFeature } from '../../kit/feature.ts';
import { notFound } from '../../kit/not-found.ts';
import { change, rowsOf, shown, type RowOf, type Who } from '../../kit/resource/index.ts';
import { buildSteps } from './schema.ts';

const STEPS_MAX = 50;

const rows = rowsOf(buildSteps);
type Step = RowOf<typeof buildSteps>;

function createBuildSteps(guards: Guards): Handlers<Ctx> {
  /** Under the environment's lock, so that places stay what they are until the transaction ends. */
  const begin = async (tx: Ctx, environment: Environment): Promise<void> => {
    const locked = await environmentRows.lock(tx, environment.id);
    await guards.refuse(tx, locked, { act: 'changing build steps', about: 'content' });
  };
  return implement(BuildStepsService, {
    list: async ({ environmentId }, ctx: Ctx) => {
      const { id } = await environmentRows.find(ctx, environmentId);
      return { buildSteps: await showAll(ctx, id) };
    },
    add: async ({ environmentId, command }, ctx: Ctx) => {
      const environment = await environmentRows.find(ctx, environmentId);
      const added = await change(ctx, act('build_step.added', environment), async (tx) => {
        await begin(tx, environment);
        return await addBuildStep(tx, environment, command);
      });
      return shown(BuildStepSchema, added);
    },
    delete: async ({ environmentId, stepId }, ctx: Ctx) => {
      const environment = await environmentRows.find(ctx, environmentId);
      await change(ctx, act('build_step.deleted', environment), async (tx) => {
        await begin(tx, environment);
        const step = await stepOf(tx, environment, stepId);
        await rows.remove(tx, step.id);
        await closeGap(tx, step);
        return step;
      });
      return {};
    },
    move: async ({ environmentId, stepId, direction }, ctx: Ctx) => {
      const environment = await environmentRows.find(ctx, environmentId);
      await change(ctx, act('build_step.moved', environment), async (tx) => {
        await begin(tx, environment);
        const { id, position } = await stepOf(tx, environment, stepId);
        const to = position + (direction === Direction.UP ? -1 : 1);
        const [other] = await rows.list(tx, {
          where: and(eq(buildSteps.environmentId, environment.id), eq(buildSteps.position, to)),
        });
        if (other === undefined) return undefined;
        await rows.update(tx, other.id, { set: { position } });
        return await rows.update(tx, id, { set: { position: to } });
      });
      return { buildSteps: await showAll(ctx, environment.id) };
    },
  });
}

export const buildStepsFeature = declareFeature({
  name: 'buildsteps',
  on: { environments: environmentsFeature },
  start: (_system, { environments: { guards } }) => ({ services: [createBuildSteps(guards)] }),
});

/** Adds the last one. The caller's transaction holds the environment's lock, or has made it. */
export async function addBuildStep(
  tx: Ctx,
  { id: environmentId, teamId }: Environment,
  command: string,
): Promise<Step> {
  const where = eq(buildSteps.environmentId, environmentId);
  await rows.atMost(tx, { teamId, max: STEPS_MAX, of: 'environment', where });
  const position = (await listBuildSteps(tx, environmentId)).length + 1;
  return await rows.insert(tx, { teamId, environmentId, command, position });
}

/** Returns steps in the order in which they run. */
export async function listBuildSteps(who: Who, environmentId: string): Promise<readonly Step[]> {
  return await rows.list(who, {
    where: eq(buildSteps.environmentId, environmentId),
    by: buildSteps.position,
  });
}

async function showAll(who: Who, environmentId: string) {
  return (await listBuildSteps(who, environmentId)).map((row) => shown(BuildStepSchema, row));
}

async function stepOf(tx: Ctx, environment: Environment, id: string): Promise<Step> {
  const step = await rows.find(tx, id);
  if (step.environmentId !== environment.id) throw notFound(rows.kind);
  return step;
}

async function closeGap({ db }: Ctx, { teamId, environmentId, position }: Step): Promise<void> {
  const { orm } = db;
  await orm
    .update(buildSteps)
    .set({ position: sql`${buildSteps.position} - 1` })
    .where(
      and(
        eq(buildSteps.teamId, teamId),
        eq(buildSteps.environmentId, environmentId),
        gt(buildSteps.position, position),
      ),
    );
}

/** The ledger does not hold the command: people write tokens into commands. */
function act(action: string, on: Environment) {
  return { action, on, details: ({ id, position }: Step) => ({ stepId: id, position }) };
}
