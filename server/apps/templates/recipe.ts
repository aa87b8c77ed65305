/**
 * A recipe is the content of a template, which a revision keeps. Files, people and environments make one, and
 * each is held to the same limits.
 */
import { isDeepStrictEqual } from 'node:util';
import { databaseImageProblem, DATABASES, type DatabaseType } from '@svc/proto/hosting/databases.ts';
import { containerPathProblem, hostPathProblem } from '@svc/proto/hosting/mount-paths.ts';
import { valueProblem, type Format, type Generate } from './values.ts';

export interface RecipeVariable {
  readonly name: string;
  readonly description?: string;
  readonly required: boolean;
  readonly secret: boolean;
  readonly default?: string;
  readonly generate?: Generate;
  readonly format?: Format;
}

export type DatabaseKind = 'database' | 'test_database';

export interface RecipeService {
  readonly name: string;
  readonly kind: DatabaseKind | 'storage';
  readonly databaseType?: DatabaseType;
  readonly image?: string;
  readonly imageVersion?: string;
  readonly hostPath?: string;
  readonly containerPath?: string;
}

/** Empty texts stand for what is not set. */
export interface Recipe {
  readonly name: string;
  readonly description: string;
  readonly buildPath: string;
  readonly buildType: 'auto' | 'dockerfile' | 'buildpack';
  readonly dockerfile: string;
  readonly context: string;
  readonly target: string;
  readonly buildCommand: string;
  /** 0: nothing is deployed. */
  readonly containerPort: number;
  readonly variables: readonly RecipeVariable[];
  readonly services: readonly RecipeService[];
}

export type Field = keyof Recipe;

export const EMPTY: Recipe = {
  name: '',
  description: '',
  buildPath: '.',
  buildType: 'auto',
  dockerfile: '',
  context: '',
  target: '',
  buildCommand: '',
  containerPort: 8_080,
  variables: [],
  services: [],
};

export const FIELDS = Object.keys(EMPTY) as readonly Field[];

export const VARIABLES_MAX = 100;
export const SERVICES_MAX = 10;
/** Characters of a build step, which the command becomes. */
const COMMAND_MAX = 8_192;
/** Bytes of a file, and of a recipe as JSON. */
export const BYTES_MAX = 131_072;

/** Names the fields in which two recipes differ. */
export const differing = (one: Recipe, other: Recipe): readonly Field[] =>
  FIELDS.filter((field) => !isDeepStrictEqual(one[field], other[field]));

export interface Merged {
  readonly recipe: Recipe;
  /** Fields of which the file says something else, and that stay as they were set by hand. */
  readonly kept: readonly Field[];
}

/**
 * Returns what a file makes of a recipe. A field that is as the base has it, which is what was read last,
 * takes what the file says of it. One that was changed since stays, and so does one that the file leaves out.
 */
export function merge(current: Recipe, base: Recipe, file: Partial<Recipe>): Merged {
  const said = FIELDS.filter(
    (field) => file[field] !== undefined && !isDeepStrictEqual(file[field], current[field]),
  );
  const kept = said.filter((field) => !isDeepStrictEqual(current[field], base[field]));
  const taken = said.filter((field) => !kept.includes(field));
  return { recipe: { ...current, ...Object.fromEntries(taken.map((field) => [field, file[field]])) }, kept };
}

export interface RecipeProblem {
  /** Path of the field, such as `services[0].hostPath`. */
  readonly field: string;
  readonly message: string;
}

/** Returns what is wrong beyond the rules of the contract; undefined: nothing. */
export function recipeProblem(recipe: Recipe): RecipeProblem | undefined {
  const { variables, services, containerPort } = recipe;
  const climbs = (['buildPath', 'dockerfile', 'context'] as const).find((field) =>
    recipe[field].split(/[/\\]/).includes('..'),
  );
  if (climbs !== undefined)
    return { field: climbs, message: 'holds "..", expected a path of the repository' };
  const { length } = recipe.buildCommand;
  if (length > COMMAND_MAX)
    return { field: 'buildCommand', message: `has ${length} characters, at most ${COMMAND_MAX} are allowed` };
  return (
    tooMany(recipe) ??
    doubled('variables', variables) ??
    doubled('services', services) ??
    first('variables', variables, variableProblem) ??
    first('services', services, (service) => serviceProblem(service, containerPort)) ??
    secondDatabase(services) ??
    broughtVariable(recipe) ??
    tooLarge(recipe)
  );
}

function tooMany({ variables, services }: Recipe): RecipeProblem | undefined {
  const of = { variables: [variables.length, VARIABLES_MAX], services: [services.length, SERVICES_MAX] };
  const [field, [count, max] = []] = Object.entries(of).find(([, [count = 0, max = 0]]) => count > max) ?? [];
  return field === undefined ? undefined : { field, message: `are ${count}, at most ${max} are allowed` };
}

function tooLarge(recipe: Recipe): RecipeProblem | undefined {
  const bytes = Buffer.byteLength(JSON.stringify(recipe));
  if (bytes <= BYTES_MAX) return undefined;
  return {
    field: 'variables',
    message: `make a template of ${bytes} bytes, at most ${BYTES_MAX} are allowed`,
  };
}

type Named = readonly { readonly name: string }[];

function doubled(list: 'variables' | 'services', items: Named): RecipeProblem | undefined {
  const at = items.findIndex(({ name }, index) => items.findIndex((each) => each.name === name) !== index);
  if (at === -1) return undefined;
  return { field: `${list}[${at}].name`, message: `is ${items[at]?.name}, which another one has` };
}

function first<T>(
  list: string,
  items: readonly T[],
  problemOf: (item: T) => RecipeProblem | undefined,
): RecipeProblem | undefined {
  for (const [at, item] of items.entries()) {
    const problem = problemOf(item);
    if (problem !== undefined) return { ...problem, field: `${list}[${at}].${problem.field}` };
  }
  return undefined;
}

function variableProblem({
  secret,
  default: value,
  generate,
  format,
}: RecipeVariable): RecipeProblem | undefined {
  if (value === undefined) return undefined;
  if (generate !== undefined)
    return { field: 'default', message: 'stands beside generate, expected one of them' };
  if (secret)
    return {
      field: 'default',
      message: 'would be a secret that everybody reads; leave it out, or generate it',
    };
  const problem = valueProblem(value, format);
  return problem === undefined ? undefined : { field: 'default', message: problem };
}

function serviceProblem(service: RecipeService, containerPort: number): RecipeProblem | undefined {
  const { kind, hostPath, containerPath } = service;
  const isStorage = kind === 'storage';
  const foreign = isStorage
    ? (['databaseType', 'image', 'imageVersion'] as const)
    : (['hostPath', 'containerPath'] as const);
  const wrong = foreign.find((field) => service[field] !== undefined);
  if (wrong !== undefined) return { field: wrong, message: `is nothing that a service of kind ${kind} has` };
  if (containerPort === 0)
    return {
      field: 'kind',
      message: `is ${kind}, which needs something that is deployed: set containerPort`,
    };
  if (!isStorage) return databaseProblem(service);
  if (hostPath === undefined) return { field: 'hostPath', message: 'is missing' };
  if (containerPath === undefined) return { field: 'containerPath', message: 'is missing' };
  if (hostPath.startsWith('/'))
    return {
      field: 'hostPath',
      message: 'is a path of a machine, expected the name of data, such as uploads',
    };
  const problems = {
    hostPath: hostPathProblem(hostPath),
    containerPath: containerPathProblem(containerPath),
  };
  const [field, message] = Object.entries(problems).find(([, problem]) => problem !== undefined) ?? [];
  return field === undefined || message === undefined ? undefined : { field, message };
}

function databaseProblem({ databaseType, image, imageVersion }: RecipeService): RecipeProblem | undefined {
  if (databaseType === undefined) return { field: 'databaseType', message: 'is missing' };
  if (image === undefined) return undefined;
  const problem = databaseImageProblem(image, imageVersion ?? DATABASES[databaseType].version);
  return problem === undefined ? undefined : { field: 'image', message: `is ${image}, ${problem}` };
}

/** The database itself brings its address, under a name that no variable of the environment has then. */
function broughtVariable({ variables, services }: Recipe): RecipeProblem | undefined {
  const names = services.flatMap(({ kind, databaseType }) =>
    kind === 'database' && databaseType !== undefined ? [DATABASES[databaseType].variable as string] : [],
  );
  const at = variables.findIndex(({ name }) => names.includes(name));
  if (at === -1) return undefined;
  return { field: `variables[${at}].name`, message: `is ${variables[at]?.name}, which the database brings` };
}

function secondDatabase(services: readonly RecipeService[]): RecipeProblem | undefined {
  const at = services.findIndex(
    ({ kind }, index) => kind !== 'storage' && services.findIndex((each) => each.kind === kind) !== index,
  );
  if (at === -1) return undefined;
  return { field: `services[${at}].kind`, message: 'is that of another one: an environment has one of each' };
}
