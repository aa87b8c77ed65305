/**
 * Environments have variables. A secret one is encrypted before it touches the database, bound to its row,
 * and opened for a build's spec alone; no answer, no ledger entry and no log line holds its value.
 */
import { eq } from 'drizzle-orm';
import { apiError } from '@svc/proto/http/errors.ts';
import { wrongField } from '../../kit/wrong-field.ts';
import { implement, type Handlers } from '@svc/proto/http/implement.ts';
import {
  VariableSchema,
  VariablesService,
  type Variable as Message,
} from '@svc/proto/gen/svc/variables/v1/variables_pb.ts';
import {
  environmentRows,
  environmentsFeature,
  type Environment,
  type Guards,
} from '../environments/index.ts';
import { systemScope } from '../../kit/authorise.ts';
import type { Ctx } from '../../kit/context.ts';
import type { Database } from '../../base/db/index.ts';
import { declareFeature, port } from '../../kit/feature.ts';
import { newId } from '../../base/ids.ts';
import { notFound } from '../../kit/not-found.ts';
import { change, rowsOf, shown, unlessTaken, type RowOf, type Who } from '../../kit/resource/index.ts';
import type { Secrets } from '../../base/secrets.ts';
import { variables } from './schema.ts';

const VARIABLES_MAX = 500;
/** It limits all values of an environment together, because they travel in one offer. */
const BYTES_MAX = 1_048_576;

const rows = rowsOf(variables);
type Variable = RowOf<typeof variables>;
type Stored = Pick<Variable, 'id' | 'name' | 'value' | 'sealed' | 'bytes'>;
type ChangedVariable = Stored & { readonly isNew: boolean };
type Seal = Pick<Secrets, 'seal'>;

export interface WantedVariable {
  readonly name: string;
  readonly value: string;
  /** Undefined leaves it as it was. */
  readonly secret: boolean | undefined;
  /** Id of the variable that becomes this; without it, it is the one of that name, or a new one. */
  readonly id?: string;
}

/** A variable that a feature above sets in the deployed container. */
export interface ManagedVariable extends Pick<Message, 'id' | 'name'> {
  /** Resource that sets it, such as `database`. */
  readonly managedBy: string;
  readonly createdAt: Date;
}

/** Returns those of an environment, within the teams of the call. */
export type ManagedVariables = (who: Who, environmentId: string) => Promise<readonly ManagedVariable[]>;

export const managedVariables = port<ManagedVariables>('variables that other features set');

interface VariablesDeps {
  readonly guards: Guards;
  readonly secrets: Seal;
  readonly managed: ManagedVariables;
}

function createVariables({ guards, secrets, managed }: VariablesDeps): Handlers<Ctx> {
  /** Under the environment's lock, so that limits hold and two calls with one name are one variable. */
  const begin = async (tx: Ctx, environment: Environment): Promise<void> => {
    const locked = await environmentRows.lock(tx, environment.id);
    await guards.refuse(tx, locked, { act: 'changing variables', about: 'content' });
  };
  const setAll = async (
    ctx: Ctx,
    environmentId: string,
    wanted: readonly WantedVariable[],
  ): Promise<Message[]> => {
    const environment = await environmentRows.find(ctx, environmentId);
    const set = await change(ctx, act('variables.set', environment), async (tx) => {
      await begin(tx, environment);
      refuseManaged(await managed(tx, environment.id), wanted);
      return await setVariables(tx, environment, { secrets, wanted });
    });
    return set.map((row) => shown(VariableSchema, row));
  };
  const setOne = async (ctx: Ctx, environmentId: string, wanted: WantedVariable): Promise<Message> => {
    const [message] = await setAll(ctx, environmentId, [wanted]);
    if (message === undefined) throw new Error('no variable was set');
    return message;
  };

  return implement(VariablesService, {
    list: async ({ environmentId }, ctx: Ctx) => {
      const { id } = await environmentRows.find(ctx, environmentId);
      const others = (await managed(ctx, id)).map((each) => ({
        ...each,
        environmentId: id,
        secret: true,
        updatedAt: each.createdAt,
      }));
      const all = [...(await listByName(ctx, id)), ...others].sort(byName);
      return { variables: all.map((row) => shown(VariableSchema, row)) };
    },
    set: async ({ environmentId, name, value, secret }, ctx: Ctx) =>
      await setOne(ctx, environmentId, { name, value, secret }),
    update: async ({ environmentId, variableId: id, name, value, secret }, ctx: Ctx) =>
      await setOne(ctx, environmentId, { id, name, value, secret }),
    setMany: async ({ environmentId, variables: values, secret }, ctx: Ctx) => {
      const wanted = Object.entries(values).map(([name, value]) => ({ name, value, secret }));
      return { variables: await setAll(ctx, environmentId, wanted.toSorted(byName)) };
    },
    delete: async ({ environmentId, variableId, name }, ctx: Ctx) => {
      const environment = await environmentRows.find(ctx, environmentId);
      const found = await rows.find(ctx, variableId);
      if (found.environmentId !== environment.id || (name ?? found.name) !== found.name)
        throw notFound(rows.kind);
      await change(ctx, act('variables.deleted', environment), async (tx) => {
        await begin(tx, environment);
        const gone = await rows.remove(tx, found.id);
        return gone && [gone];
      });
      return {};
    },
  });
}

export const variablesFeature = declareFeature({
  name: 'variables',
  on: { environments: environmentsFeature },
  start: (system, { environments: { guards } }) => {
    const managed: ManagedVariables = async (who, environmentId) => {
      const all: ManagedVariable[] = [];
      for (const of of system.filled(managedVariables)) all.push(...(await of(who, environmentId)));
      return all;
    };
    return {
      services: [createVariables({ guards, secrets: system.secrets, managed })],
      /** Returns those of the names that an environment has not, nor will have from another feature. */
      unset: async (
        who: Who,
        environmentId: string,
        names: readonly string[],
      ): Promise<readonly string[]> => {
        if (names.length === 0) return names;
        const [own, others] = await Promise.all([
          listByName(who, environmentId),
          managed(who, environmentId),
        ]);
        const set = new Set([...own, ...others].map(({ name }) => name));
        return names.filter((name) => !set.has(name));
      },
    };
  },
});

/** Reads what a build finds. It is for the build's spec, which is encrypted as a whole. */
export async function openVariables(
  db: Database,
  secrets: Pick<Secrets, 'open'>,
  { id, teamId }: Pick<Environment, 'id' | 'teamId'>,
): Promise<{
  readonly variables: Readonly<Record<string, string>>;
  readonly secrets: Readonly<Record<string, string>>;
}> {
  const plain: Record<string, string> = {};
  const secret: Record<string, string> = {};
  for (const row of await listByName({ db, teams: systemScope(teamId) }, id)) {
    if (row.sealed === null) plain[row.name] = row.value ?? '';
    else secret[row.name] = Buffer.from(secrets.open(sealedAt(row.id), row.sealed)).toString('utf8');
  }
  return { variables: plain, secrets: secret };
}

/**
 * Returns what tells whether the variables of an environment are still the same: each change of one gives it
 * another time. By name.
 */
export async function variableVersions(
  who: Who,
  environmentId: string,
): Promise<ReadonlyArray<Pick<Variable, 'id' | 'name' | 'updatedAt'>>> {
  return (await listByName(who, environmentId)).map(({ id, name, updatedAt }) => ({ id, name, updatedAt }));
}

/** By the characters of names, whatever order the database has for text. */
async function listByName(who: Who, environmentId: string): Promise<readonly Variable[]> {
  return (await rows.list(who, { where: eq(variables.environmentId, environmentId) })).sort(byName);
}

const byName = (a: { readonly name: string }, b: { readonly name: string }): number =>
  a.name < b.name ? -1 : 1;

const sealedAt = (id: string): string => `variables.sealed:${id}`;

/** Returns names of an environment's variables, and which of them are secret. By name. */
export async function variableNames(
  who: Who,
  environmentId: string,
): Promise<ReadonlyArray<Pick<Variable, 'name' | 'secret'>>> {
  return (await listByName(who, environmentId)).map(({ name, secret }) => ({ name, secret }));
}

interface Setting {
  readonly secrets: Seal;
  readonly wanted: readonly WantedVariable[];
}

/** Sets all or none. The caller's transaction holds the environment's lock, or has made it. */
export async function setVariables(
  tx: Ctx,
  environment: Environment,
  setting: Setting,
): Promise<readonly Variable[]> {
  const made: Variable[] = [];
  for (const each of await nextOf(tx, environment, setting)) made.push(await put(tx, environment, each));
  return made;
}

/** Returns what becomes of the environment's variables. */
async function nextOf(
  tx: Ctx,
  environment: Environment,
  { secrets, wanted }: Setting,
): Promise<readonly ChangedVariable[]> {
  const before = await listByName(tx, environment.id);
  const next = wanted.map((each): ChangedVariable => {
    const { name, value } = each;
    checkValue(each);
    const known = before.find((row) => (each.id === undefined ? row.name === name : row.id === each.id));
    if (each.id !== undefined && known === undefined) throw notFound(rows.kind);
    const id = known?.id ?? newId('var', tx.clock.now().getTime());
    const base = { id, isNew: known === undefined, name, bytes: Buffer.byteLength(value) };
    return (each.secret ?? known?.secret ?? false)
      ? { ...base, value: null, sealed: secrets.seal(sealedAt(id), Buffer.from(value)) }
      : { ...base, value, sealed: null };
  });
  checkLimits(before, next);
  return next;
}

async function put(
  tx: Ctx,
  { id: environmentId, teamId }: Environment,
  { id, isNew, ...columns }: ChangedVariable,
): Promise<Variable> {
  const set = { ...columns, updatedAt: tx.clock.now() };
  const work = isNew ? rows.insert(tx, { ...set, id, teamId, environmentId }) : rows.update(tx, id, { set });
  const taken = { index: 'variables_name', resource: rows.kind, field: 'name', value: columns.name };
  const row = await unlessTaken<Variable | undefined>(work, taken);
  if (row === undefined) throw new Error(`variable ${id} was not stored`);
  return row;
}

function refuseManaged(managed: readonly ManagedVariable[], wanted: readonly WantedVariable[]): void {
  const found = managed.find(({ name }) => wanted.some((each) => each.name === name));
  if (found === undefined) return;
  const { name, managedBy } = found;
  throw apiError(
    'variable_managed',
    `${name} is set by the ${managedBy} of the environment, in the deployed container alone`,
    { details: { resource: rows.kind, name, managedBy } },
  );
}

function checkValue({ name, value }: WantedVariable): void {
  if (!value.includes('\0')) return;
  const message = `the value of ${name} holds U+0000, which no environment can carry`;
  throw wrongField(message, { field: 'value', rule: 'text' });
}

function checkLimits(before: readonly Stored[], next: readonly Stored[]): void {
  const after = new Map([...before, ...next].map((each) => [each.id, each.bytes]));
  if (after.size > VARIABLES_MAX) {
    throw apiError(
      'limit_reached',
      `the environment would have ${after.size} variables, at most ${VARIABLES_MAX} are allowed`,
      { details: { resource: rows.kind, limit: VARIABLES_MAX, current: before.length } },
    );
  }
  const bytes = [...after.values()].reduce((sum, each) => sum + each, 0);
  if (bytes <= BYTES_MAX) return;
  throw apiError(
    'limit_reached',
    `the values of the environment would be ${bytes} bytes, at most ${BYTES_MAX} are allowed; put large data into the repository or a store of its own`,
    { details: { resource: 'bytes of variables', limit: BYTES_MAX } },
  );
}

/** The ledger holds names alone, never a value, secret or not. */
function act(action: string, on: Environment) {
  return { action, on, details: (set: readonly Variable[]) => ({ names: set.map(({ name }) => name) }) };
}
