/**
 * Environments have databases. The runner of the machine brings them up and says what became of them; what is
 * here is what it should do.
 *
 * requested ──> provisioning ──> ready <──> unhealthy    any of them ──deleted──> deleting ──> retained
 */
import { notInArray, sql, type SQL } from 'drizzle-orm';
import { apiError } from '@svc/proto/http/errors.ts';
import { databaseImageProblem, DATABASES } from '@svc/proto/hosting/databases.ts';
import { implement, type Handlers } from '@svc/proto/http/implement.ts';
import {
  DatabaseService,
  HostedDatabaseSchema,
  TestDatabaseService,
  type CreateRequest,
  type HostedDatabase as Message,
} from '@svc/proto/gen/svc/databases/v1/databases_pb.ts';
import { DatabaseTypeSchema } from '@svc/proto/gen/svc/hosting/v1/hosting_pb.ts';
import {
  chooseHostRunner,
  hostRunnerOf,
  runnersFeature,
  type HostRunner,
} from '../../engine/runners/index.ts';
import { workFeature, type WorkSettings } from '../../engine/work/index.ts';
import type { Ctx } from '../../kit/context.ts';
import { declareFeature, fill } from '../../kit/feature.ts';
import { notFound } from '../../kit/not-found.ts';
import { change, enumWord, lockTeam, rowsOf, shown, type RowOf, type Who } from '../../kit/resource/index.ts';
import { wrongField } from '../../kit/wrong-field.ts';
import {
  environmentRows,
  environmentsFeature,
  type Environment,
  type Guards,
} from '../environments/index.ts';
import { hostChanged, hostingFeature, hostParts } from '../hosting/index.ts';
import {
  managedVariables,
  variablesFeature,
  variableVersions,
  type ManagedVariable,
} from '../variables/index.ts';
import { events } from './databases.events.ts';
import { databasesLost, databasesPart, purgeDatabases, testDatabasePart } from './host-part.ts';
import { databases } from './schema.ts';

/** Deleted ones count until their content goes. */
const OF_ENVIRONMENT_MAX = 4;
const GONE = ['deleting', 'retained'] as const;

const rows = rowsOf(databases);
type Database = RowOf<typeof databases>;
type Kind = Database['kind'];

export interface WantedDatabase extends Pick<Database, 'kind' | 'type'> {
  /** Without a tag; undefined: the official one. */
  readonly image?: string | undefined;
  readonly imageVersion?: string | undefined;
}

interface DatabasesDeps {
  readonly guards: Guards;
  readonly settings: WorkSettings;
}

const ACTS = { main: 'database', test: 'test_database' } as const;
const details = ({ environmentId, type, image, imageVersion }: Database) => ({
  environmentId,
  type,
  image: `${image}:${imageVersion}`,
});

function handlersOf(kind: Kind, { guards, settings }: DatabasesDeps) {
  const begin = async (tx: Ctx, environmentId: string): Promise<Environment> => {
    const locked = await environmentRows.lock(tx, environmentId);
    await guards.refuse(tx, locked, { act: 'changing the database', about: 'content' });
    return locked;
  };
  return {
    get: async ({ environmentId }: { readonly environmentId: string }, ctx: Ctx) => {
      const environment = await environmentRows.find(ctx, environmentId);
      const found = await newest(ctx, environment.id, kind);
      if (found === undefined) throw notFound(rows.kind);
      return messageOf(found, await hostRunnerOf(ctx.db.sql, environment));
    },
    create: async (request: CreateRequest, ctx: Ctx) => {
      const { environmentId, databaseType, image, imageVersion } = request;
      const type = enumWord(DatabaseTypeSchema, databaseType) as WantedDatabase['type'];
      const wanted: WantedDatabase = { kind, type, image, imageVersion };
      const software = softwareOf(wanted);
      const problem = databaseImageProblem(software.image, software.imageVersion);
      if (problem !== undefined) throw wrongImage(`image is ${JSON.stringify(software.image)}, ${problem}`);
      await environmentRows.find(ctx, environmentId);
      const made = await ctx.db.transact(async (db) => {
        const tx = { ...ctx, db };
        const environment = await begin(tx, environmentId);
        const there = await newest(tx, environmentId, kind);
        if (there !== undefined && isLive(there) && isOf(there, software)) return there;
        return await change(tx, { action: `${ACTS[kind]}.created`, details }, async (inner) =>
          putDatabase(inner, settings, { environment, wanted }),
        );
      });
      return messageOf(made, undefined);
    },
    delete: async ({ environmentId }: { readonly environmentId: string }, ctx: Ctx) => {
      const { id } = await environmentRows.find(ctx, environmentId);
      const found = await newest(ctx, id, kind);
      if (found === undefined || !isLive(found)) throw notFound(rows.kind);
      await ctx.db.transact(async (db) => {
        const tx = { ...ctx, db };
        const environment = await begin(tx, id);
        await change(tx, { action: `${ACTS[kind]}.deleted`, details }, async (inner) => {
          await hostChanged(inner, id);
          return await takeAway(inner, environment, found.id);
        });
      });
      return {};
    },
  };
}

const isLive = ({ state }: Database): boolean => state !== 'deleting' && state !== 'retained';

const ofKind = (environmentId: string, kind: Kind): SQL =>
  sql`${databases.environmentId} = ${environmentId} and ${databases.kind} = ${kind}`;

/** The one that lives, or else the one that was made last. */
async function newest(who: Who, environmentId: string, kind: Kind): Promise<Database | undefined> {
  const all = await rows.list(who, { where: ofKind(environmentId, kind) });
  return all.find(isLive) ?? all[0];
}

/** Returns the databases that live, at most one of each kind. */
export async function liveDatabases(who: Who, environmentId: string): Promise<readonly Database[]> {
  return (await rows.list(who, { where: sql`${databases.environmentId} = ${environmentId}` })).filter(isLive);
}

type Software = Pick<Database, 'type' | 'image' | 'imageVersion'>;

function softwareOf({ type, image, imageVersion }: WantedDatabase): Software {
  const defaults = DATABASES[type];
  return { type, image: image ?? defaults.image, imageVersion: imageVersion ?? defaults.version };
}

const isOf = (there: Database, { type, image, imageVersion }: Software): boolean =>
  there.type === type && there.image === image && there.imageVersion === imageVersion;

const wrongImage = (message: string): Error => wrongField(message, { field: 'image', rule: 'image' });

interface Putting {
  /** It is locked. */
  readonly environment: Environment;
  readonly wanted: WantedDatabase;
}

/** Runs in a transaction. Throws what `create` is documented to refuse, and writes nothing to the ledger. */
export async function putDatabase(
  tx: Ctx,
  settings: WorkSettings,
  { environment, wanted }: Putting,
): Promise<Database> {
  const { id: environmentId, teamId, deploy } = environment;
  const { kind, type } = wanted;
  if (deploy?.kind === 'dokku' && kind === 'main')
    throw apiError(
      'host_unavailable',
      'the environment is deployed by Dokku, whose apps have networks of their own: use a database plugin of Dokku',
    );
  // The team's lock comes before those of the machine, as where an environment is made with its database.
  await lockTeam(tx, teamId);
  const choice = { environment, ability: 'databases', what: 'a database' } as const;
  const runner = await chooseHostRunner(tx.db.sql, settings, choice);
  if (runner.shared && wanted.image !== undefined)
    throw wrongImage('image is set, and machines of the service run official images of databases alone');
  const all = await rows.list(tx, { where: ofKind(environmentId, kind) });
  const there = all.find(isLive);
  if (there !== undefined)
    throw apiError(
      'database_exists',
      `the environment has a database of type ${there.type}, ${there.image}:${there.imageVersion}; delete that first`,
      { details: { resource: rows.kind, type: there.type, image: `${there.image}:${there.imageVersion}` } },
    );
  if (kind === 'main') await refuseVariable(tx, environmentId, DATABASES[type].variable);
  await hostChanged(tx, environmentId);
  const software = softwareOf(wanted);
  const deleted = all.find((each) => isOf(each, software));
  const set = { state: 'requested', problem: null, retainedUntil: null } as const;
  const back = deleted && (await rows.update(tx, deleted.id, { set }));
  if (back !== undefined) return back;
  await rows.atMost(tx, {
    teamId,
    max: OF_ENVIRONMENT_MAX,
    of: 'environment',
    where: ofKind(environmentId, kind),
    hint: 'one that was deleted counts until its content goes, after 7 days',
  });
  const state = kind === 'test' ? 'configured' : 'requested';
  return await rows.insert(tx, { teamId, environmentId, kind, ...software, state });
}

async function refuseVariable(tx: Ctx, environmentId: string, name: string): Promise<void> {
  const all = await variableVersions(tx, environmentId);
  if (!all.some((each) => each.name === name)) return;
  throw apiError(
    'name_taken',
    `the environment has a variable ${name}, under which the database would be handed over; delete that first`,
    { details: { resource: 'variable', field: 'name', value: name } },
  );
}

/** Returns undefined when it was deleted before. */
async function takeAway(tx: Ctx, environment: Environment, id: string): Promise<Database | undefined> {
  const runner = await hostRunnerOf(tx.db.sql, environment);
  const { kind } = await rows.lock(tx, id);
  // Nobody can carry the end of the data out there, or there is none.
  if (kind === 'test' || runner === undefined || runner.gone) return await rows.remove(tx, id);
  return await rows.update(tx, id, {
    set: { state: 'deleting', problem: null },
    where: notInArray(databases.state, [...GONE]),
  });
}

function messageOf(row: Database, runner: HostRunner | undefined): Message {
  const { backup, kind, state, problem } = row;
  const lost = kind === 'main' && runner?.gone === true;
  return shown(HostedDatabaseSchema, {
    ...row,
    variable: DATABASES[row.type].variable,
    state: lost ? 'lost' : state,
    problem: lost
      ? `the runner ${runner.name} of its machine is revoked, or of another pool than the team's work: svc-runner database on that machine makes a backup`
      : problem,
    backup: backup && {
      problem: '',
      bytes: 0,
      sha256: '',
      ...backup,
      at: new Date(backup.at),
      goodAt: backup.goodAt === undefined ? undefined : new Date(backup.goodAt),
    },
  });
}

/** Names the address of its database, for the list of an environment's variables. */
async function managedBy(who: Who, environmentId: string): Promise<readonly ManagedVariable[]> {
  const found = await newest(who, environmentId, 'main');
  if (found === undefined || !isLive(found)) return [];
  const { id, type, createdAt } = found;
  return [{ id, name: DATABASES[type].variable, managedBy: 'database', createdAt }];
}

export const databasesFeature = declareFeature({
  name: 'databases',
  on: {
    environments: environmentsFeature,
    variables: variablesFeature,
    hosting: hostingFeature,
    work: workFeature,
    runners: runnersFeature,
  },
  events,
  start: ({ db }, { environments: { guards }, work: { engine } }) => {
    const deps = { guards, settings: engine.settings };
    const services: Array<Handlers<Ctx>> = [
      implement(DatabaseService, handlersOf('main', deps)),
      implement(TestDatabaseService, handlersOf('test', deps)),
    ];
    return {
      services,
      purges: [async () => await purgeDatabases(db.sql)],
      effects: [databasesLost],
      fills: [
        fill(hostParts, databasesPart),
        fill(hostParts, testDatabasePart),
        fill(managedVariables, managedBy),
      ],
    };
  },
});
