/**
 * An environment is made from a template in one transaction: whatever is refused, such as storage without a
 * machine for it, leaves nothing behind.
 */
import { create } from '@bufbuild/protobuf';
import { and, eq } from 'drizzle-orm';
import {
  BuildTypeSchema,
  CreateRequestSchema,
  DeployMethod,
} from '@svc/proto/gen/svc/environments/v1/environments_pb.ts';
import type { Build } from '@svc/proto/gen/svc/builds/v1/builds_pb.ts';
import type { DeployRequest } from '@svc/proto/gen/svc/templates/v1/templates_pb.ts';
import type { buildsFeature } from '../../engine/builds/index.ts';
import type { Secrets } from '../../base/secrets.ts';
import type { WorkSettings } from '../../engine/work/index.ts';
import type { Ctx } from '../../kit/context.ts';
import { recordAct } from '../../kit/ledger/index.ts';
import { enumNumber, inTeams, type Who } from '../../kit/resource/index.ts';
import { wrongField } from '../../kit/wrong-field.ts';
import { addBuildStep } from '../buildsteps/index.ts';
import { putDatabase } from '../databases/index.ts';
import type { environmentsFeature, Environment } from '../environments/index.ts';
import { putMount } from '../storage/index.ts';
import { setVariables, type WantedVariable } from '../variables/index.ts';
import type { Recipe, RecipeService } from './recipe.ts';
import type { Template } from './rows.ts';
import { templateEnvironments } from './schema.ts';
import { generated, valueProblem } from './values.ts';

type Started<F extends { start(...of: never[]): unknown }> = Awaited<ReturnType<F['start']>>;

export interface DeployDeps {
  readonly secrets: Pick<Secrets, 'seal'>;
  readonly settings: WorkSettings;
  readonly environments: Pick<Started<typeof environmentsFeature>, 'create' | 'missingRegistry'>;
  readonly builds: Pick<Started<typeof buildsFeature>, 'submit'>;
}

export interface Deployed {
  readonly environment: Environment;
  readonly build: Build | undefined;
  readonly missing: readonly string[];
}

export interface Deploying {
  readonly template: Template;
  readonly request: DeployRequest;
  /** Why a build cannot succeed; undefined: nothing is known of that kind. */
  readonly notice: string | undefined;
}

export async function deploy(
  deps: DeployDeps,
  ctx: Ctx,
  { template, request, notice }: Deploying,
): Promise<Deployed> {
  const { recipe, revision, slug, id: templateId } = template;
  const { wanted, missing } = valuesOf(recipe, request.variables);
  const names = {
    variables: wanted.map(({ name }) => name),
    services: recipe.services.map(({ name }) => name),
  };
  const details = { templateId, slug, revision, ...names, missing };
  return await ctx.db.transact(async (db) => {
    const tx = { ...ctx, db };
    const first: { build?: Build } = {};
    const environment = await deps.environments.create(tx, {
      request: environmentOf(template, request),
      furnish: async (inner, made) => {
        await furnish(deps, inner, { environment: made, template, wanted });
        if (missing.length === 0 && notice === undefined) first.build = await deps.builds.submit(inner, made);
      },
    });
    const { id: target, teamId: chain } = environment;
    await recordAct(db, ctx, { chain, action: 'template.deployed', target, details });
    return { environment, build: first.build, missing };
  });
}

interface Furnishing {
  readonly environment: Environment;
  readonly template: Template;
  readonly wanted: readonly WantedVariable[];
}

async function furnish(
  deps: DeployDeps,
  tx: Ctx,
  { environment, template: { id: templateId, revision, recipe }, wanted }: Furnishing,
): Promise<void> {
  const { id: environmentId, teamId } = environment;
  if (recipe.buildCommand !== '') await addBuildStep(tx, environment, recipe.buildCommand);
  await setVariables(tx, environment, { secrets: deps.secrets, wanted });
  for (const service of recipe.services) await putService(deps, tx, { environment, service });
  const required = recipe.variables.filter((each) => each.required).map(({ name }) => name);
  await tx.db.orm
    .insert(templateEnvironments)
    .values({ environmentId, teamId, templateId, revision, required });
}

function environmentOf({ recipe, repository, branch, slug }: Template, { projectId, name }: DeployRequest) {
  const { buildPath, buildType, dockerfile, context, target, containerPort } = recipe;
  return create(CreateRequestSchema, {
    projectId,
    name: name ?? slug,
    repository,
    ...(branch !== null && { branch }),
    buildPath,
    buildType: enumNumber(BuildTypeSchema, buildType),
    ...(dockerfile !== '' && { dockerfile }),
    ...(context !== '' && { context }),
    ...(target !== '' && { target }),
    ...(containerPort > 0 && { deploy: { kind: DeployMethod.CONTAINER, containerPort } }),
  });
}

interface Values {
  readonly wanted: readonly WantedVariable[];
  /** Names of required variables that are not given, by name. */
  readonly missing: readonly string[];
}

/** Values that are given come before defaults, and those before generated ones. */
function valuesOf({ variables }: Recipe, given: Readonly<Record<string, string>>): Values {
  const unknown = Object.keys(given).find((name) => !variables.some((each) => each.name === name));
  if (unknown !== undefined) {
    const names = variables.map(({ name }) => name).join(', ');
    throw wrongValue(unknown, `is no variable of the template, which has ${names === '' ? 'none' : names}`);
  }
  const wanted: WantedVariable[] = [];
  const missing: string[] = [];
  for (const { name, required, secret, default: fallback, generate, format } of variables) {
    const own = Object.hasOwn(given, name) ? given[name] : undefined;
    const problem = own === undefined ? undefined : valueProblem(own, format);
    if (problem !== undefined) throw wrongValue(name, problem);
    const value = own ?? fallback ?? (generate && generated(generate));
    if (value !== undefined) wanted.push({ name, value, secret });
    else if (required) missing.push(name);
  }
  return { wanted, missing: missing.toSorted() };
}

const wrongValue = (name: string, problem: string): Error =>
  wrongField(`variables.${name} ${problem}`, { field: `variables.${name}`, rule: 'template' });

interface Putting {
  readonly environment: Environment;
  readonly service: RecipeService;
}

async function putService(
  { settings }: Pick<DeployDeps, 'settings'>,
  tx: Ctx,
  { environment, service }: Putting,
): Promise<void> {
  const { kind, databaseType: type, image, imageVersion, hostPath = '', containerPath = '' } = service;
  if (kind === 'storage') await putMount(tx, settings, { environment, paths: { hostPath, containerPath } });
  else if (type !== undefined) {
    const wanted = { kind: kind === 'database' ? 'main' : 'test', type, image, imageVersion } as const;
    await putDatabase(tx, settings, { environment, wanted });
  }
}

export type Origin = typeof templateEnvironments.$inferSelect;

/** Returns undefined for an environment that was made otherwise. */
export async function originOf({ db, teams }: Who, environmentId: string): Promise<Origin | undefined> {
  const isIt = and(
    eq(templateEnvironments.environmentId, environmentId),
    inTeams(templateEnvironments, teams),
  );
  return (await db.orm.select().from(templateEnvironments).where(isIt))[0];
}
