/**
 * Variables of environments. A secret one is encrypted before it touches the database, bound to its row, and opened for a build's spec alone; no answer, no
 * ledger entry and no log line holds its value.
 */
import type { Feature, System } from '../../platform/feature.ts';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { apiError } from '@svc/proto/http/errors.ts';
import { implement } from '@svc/proto/http/implement.ts';
import type { Handlers } from '@svc/proto/http/implement.ts';
import { VariablesService } from '@svc/proto/gen/svc/variables/v1/variables_pb.ts';
import { recordAct } from '../../platform/ledger/index.ts';
import { environmentRows } from '../environments/index.ts';
import type { Environment } from '../environments/index.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Ctx } from '../../platform/context.ts';
import type { Database } from '../../platform/db/index.ts';
import { newId } from '../../platform/ids.ts';
import { notFound } from '../../platform/not-found.ts';
import type { Secrets } from '../../platform/secrets.ts';
import { deleteVariable, findVariable, listVariables, putVariable, sizesOf } from './store.ts';
import type { Stored, Variable } from './store.ts';

const VARIABLES_MAX = 500;
/** Of all values of an environment: they travel in one offer. */
const BYTES_MAX = 1_048_576;

export interface VariablesDeps {
  readonly clock: Clock;
  readonly secrets: Secrets;
}

interface Wanted {
  readonly name: string;
  readonly value: string;
  /** Undefined: as it was. */
  readonly secret: boolean | undefined;
  /** Of the variable that becomes this; undefined: the one of that name, or a new one. */
  readonly id?: string;
}

const sealedAt = (id: string): string => `variables.sealed:${id}`;

export function createVariables({ clock, secrets }: VariablesDeps): Handlers<Ctx> {
  const stored = (id: string, { name, value }: Wanted, secret: boolean): Stored => ({
    id,
    name,
    value: secret ? null : value,
    sealed: secret ? secrets.seal(sealedAt(id), Buffer.from(value)) : null,
    bytes: Buffer.byteLength(value),
  });

  /** All or none, under the environment's lock, so that limits hold and two calls with one name are one variable. */
  const setAll = async (ctx: Ctx, environment: Environment, wanted: readonly Wanted[]): Promise<Variable[]> =>
    await ctx.db.transact(async (db) => {
      await environmentRows.lock({ ...ctx, db }, environment.id);
      const now = clock.now();
      const before = await sizesOf(db, environment);
      const byId = new Map([...before.values()].map((row) => [row.id, row]));
      const next = wanted.map((each) => {
        checkValue(each);
        const known = each.id === undefined ? before.get(each.name) : byId.get(each.id);
        if (each.id !== undefined && known === undefined) throw notFound('variable');
        const secret = each.secret ?? (known !== undefined && known.value === null);
        return stored(known?.id ?? newId('var', now.getTime()), each, secret);
      });
      checkLimits([...before.values()], next);
      const made: Variable[] = [];
      for (const each of next) made.push(await putVariable(db, environment, each, now));
      await recordAct(db, ctx, act('variables.set', environment, { names: next.map(({ name }) => name) }));
      return made;
    });

  return implement(VariablesService, {
    list: async ({ environmentId }, ctx: Ctx) => {
      const environment = await environmentRows.find(ctx, environmentId);
      return { variables: (await listVariables(ctx.db, environment)).map(present) };
    },
    set: async ({ environmentId, name, value, secret }, ctx: Ctx) =>
      present(
        one(await setAll(ctx, await environmentRows.find(ctx, environmentId), [{ name, value, secret }])),
      ),
    update: async ({ environmentId, variableId: id, name, value, secret }, ctx: Ctx) =>
      present(
        one(await setAll(ctx, await environmentRows.find(ctx, environmentId), [{ id, name, value, secret }])),
      ),
    setMany: async ({ environmentId, variables, secret }, ctx: Ctx) => {
      const environment = await environmentRows.find(ctx, environmentId);
      const wanted = Object.entries(variables)
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([name, value]) => ({ name, value, secret }));
      return { variables: (await setAll(ctx, environment, wanted)).map(present) };
    },
    delete: async ({ environmentId, variableId, name }, ctx: Ctx) => {
      const environment = await environmentRows.find(ctx, environmentId);
      await ctx.db.transact(async (db) => {
        const variable = await findVariable(db, environment, variableId);
        if (variable === undefined || (name !== undefined && name !== variable.name))
          throw notFound('variable');
        if (await deleteVariable(db, environment, variableId))
          await recordAct(db, ctx, act('variables.deleted', environment, { names: [variable.name] }));
      });
      return {};
    },
  });
}

/** What a build finds: for its spec, which is encrypted as a whole. */
export async function openVariables(
  { sql }: Database,
  secrets: Pick<Secrets, 'open'>,
  { id, teamId }: Pick<Environment, 'id' | 'teamId'>,
): Promise<{
  readonly variables: Readonly<Record<string, string>>;
  readonly secrets: Readonly<Record<string, string>>;
}> {
  const rows = await sql<Stored[]>`
    select id, name, value, sealed, bytes from variables where team_id = ${teamId} and environment_id = ${id} order by name`;
  const plain: Record<string, string> = {};
  const secret: Record<string, string> = {};
  for (const row of rows) {
    if (row.sealed === null) plain[row.name] = row.value ?? '';
    else secret[row.name] = Buffer.from(secrets.open(sealedAt(row.id), row.sealed)).toString('utf8');
  }
  return { variables: plain, secrets: secret };
}

function checkValue({ name, value }: Wanted): void {
  if (!value.includes('\0')) return;
  const message = `the value of ${name} holds U+0000, which no environment can carry`;
  throw apiError('validation_failed', message, {
    details: { fields: [{ field: 'value', rule: 'text', message }] },
  });
}

function checkLimits(before: readonly Stored[], next: readonly Stored[]): void {
  const after = new Map([...before, ...next].map((each) => [each.id, each.bytes]));
  if (after.size > VARIABLES_MAX) {
    throw apiError(
      'limit_reached',
      `the environment would have ${after.size} variables, at most ${VARIABLES_MAX} are allowed`,
      { details: { limit: VARIABLES_MAX, current: before.length } },
    );
  }
  const bytes = [...after.values()].reduce((sum, each) => sum + each, 0);
  if (bytes <= BYTES_MAX) return;
  throw apiError(
    'limit_reached',
    `the values of the environment would be ${bytes} bytes, at most ${BYTES_MAX} are allowed; put large data into the repository or a store of its own`,
    { details: { limit: BYTES_MAX } },
  );
}

function one(variables: readonly Variable[]): Variable {
  const [variable] = variables;
  if (variable === undefined) throw new Error('no variable was set');
  return variable;
}

/** Names alone: the ledger never holds a value, secret or not. */
function act(action: string, { id, teamId }: Environment, details: object) {
  return { chain: teamId, action, target: id, details: { ...details } };
}

function present({ value, createdAt, updatedAt, id, environmentId, name }: Variable) {
  return {
    id,
    environmentId,
    name,
    secret: value === null,
    ...(value === null ? {} : { value }),
    createdAt: timestampFromDate(createdAt),
    updatedAt: timestampFromDate(updatedAt),
  };
}

export function variablesFeature(system: System): Feature {
  return { services: [createVariables(system)] };
}
