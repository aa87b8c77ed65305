/** A template is made of an environment, with names of its variables and neither values nor credentials. */
import { DATABASES } from '@svc/proto/hosting/databases.ts';
import { apiError } from '@svc/proto/http/errors.ts';
import type { CreateFromEnvironmentRequest } from '@svc/proto/gen/svc/templates/v1/templates_pb.ts';
import type { Who } from '../../kit/resource/index.ts';
import { listBuildSteps } from '../buildsteps/index.ts';
import type { Environment } from '../environments/index.ts';
import { liveDatabases } from '../databases/index.ts';
import { wantedMounts } from '../storage/index.ts';
import { variableNames } from '../variables/index.ts';
import { EMPTY, type Recipe, type RecipeService, type RecipeVariable } from './recipe.ts';
import { plainRepository } from './repository.ts';

export interface Taken {
  readonly recipe: Recipe;
  readonly repository: string;
  readonly branch: string;
  readonly warnings: readonly string[];
}

export async function takenFrom(
  who: Who,
  environment: Environment,
  { name, description = '', requiredVariables }: CreateFromEnvironmentRequest,
): Promise<Taken> {
  const { id, repository, branch, buildPath, buildType, dockerfile, context, target, deploy } = environment;
  if (repository === null)
    throw apiError(
      'environment_incomplete',
      'the environment has no repository, a template needs one; set it with environments.update',
    );
  const [steps, names, mounts, databases] = await Promise.all([
    listBuildSteps(who, id),
    variableNames(who, id),
    wantedMounts(who, id),
    liveDatabases(who, id),
  ]);
  const volumes = mounts.filter(({ kind }) => kind === 'volume');
  return {
    repository: plainRepository(repository),
    branch,
    recipe: {
      ...EMPTY,
      name,
      description,
      buildPath,
      buildType,
      dockerfile: dockerfile ?? '',
      context: context ?? '',
      target: target ?? '',
      buildCommand: commandOf(steps.map(({ command }) => command)),
      containerPort: deploy?.containerPort ?? 0,
      variables: variablesOf(names, requiredVariables),
      services: [...databases.map(databaseOf), ...storageOf(volumes)],
    },
    warnings: mounts
      .filter(({ kind }) => kind === 'path')
      .map(
        ({ hostPath, containerPath }) =>
          `the storage at ${containerPath} is left out: ${hostPath} is a path of one machine`,
      ),
  };
}

/** Several steps become one that runs them as they ran: each in its own shell, up to the first failure. */
function commandOf(commands: readonly string[]): string {
  const [only = '', ...others] = commands;
  if (others.length === 0) return only;
  return ['set -e', ...commands.map((command) => `(\n${command}\n)`)].join('\n');
}

type LiveDatabase = Awaited<ReturnType<typeof liveDatabases>>[number];

/** The version is that which it has, and the image only where it is another one than the official. */
function databaseOf({ kind, type: databaseType, image, imageVersion }: LiveDatabase): RecipeService {
  const own = image === DATABASES[databaseType].image ? {} : { image };
  const named = { databaseType, ...own, imageVersion };
  return kind === 'main'
    ? { name: 'database', kind: 'database', ...named }
    : { name: 'test-database', kind: 'test_database', ...named };
}

/** Storage is named by its number: its paths say what it is. */
function storageOf(
  volumes: ReadonlyArray<Required<Pick<RecipeService, 'hostPath' | 'containerPath'>>>,
): readonly RecipeService[] {
  return volumes.map(({ hostPath, containerPath }, at) => {
    const name = at === 0 ? 'storage' : `storage-${at + 1}`;
    return { name, kind: 'storage', hostPath, containerPath };
  });
}

function variablesOf(
  names: ReadonlyArray<Pick<RecipeVariable, 'name' | 'secret'>>,
  required: readonly string[],
): readonly RecipeVariable[] {
  const known = names.map(({ name, secret }) => ({
    name,
    secret,
    required: required.length === 0 || required.includes(name),
  }));
  const others = required.filter((name) => !names.some((each) => each.name === name));
  return [...known, ...others.map((name) => ({ name, secret: false, required: true }))];
}
