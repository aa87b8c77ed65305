/** A connection says which repository of which CI system belongs to a team. */
import { isDeepStrictEqual } from 'node:util';
import { eq } from 'drizzle-orm';
import { apiError, ApiError } from '@svc/proto/http/errors.ts';
import {
  CiProviderSchema,
  CiService,
  ConnectionStatus as StatusNumber,
  CreateConnectionRequestSchema,
  UpdateConnectionRequestSchema,
  type CreateConnectionRequest,
  type GenericMapping as MappingMessage,
  type OidcPolicy as PolicyMessage,
  type UpdateConnectionRequest,
} from '@svc/proto/gen/svc/ci/v1/ci_pb.ts';
import { implementPart, type Handlers } from '@svc/proto/http/implement.ts';
import { projectRows } from '../../apps/projects/index.ts';
import type { Secrets } from '../../base/secrets.ts';
import type { Ctx } from '../../kit/context.ts';
import { notFound } from '../../kit/not-found.ts';
import { change, enumWord, lockTeam } from '../../kit/resource/index.ts';
import { wrongField } from '../../kit/wrong-field.ts';
import {
  forgeOf,
  mappingProblem,
  repositoryName,
  wrongPath,
  type CiProvider,
  type GenericMapping,
} from '../providers/index.ts';
import { detailsOf, nextSteps, notTaken, shownConnection, type Beside } from './shown.ts';
import {
  connectionOfRepository,
  connectionRows,
  countConnections,
  insertConnection,
  type Changed,
  type Connection,
  type NewConnection,
} from './rows.ts';
import type { OidcPolicy } from './schema.ts';
import {
  insertWebhook,
  readWebhook,
  startSubscription,
  stopSubscription,
  takesWebhooks,
} from './webhook/store.ts';

/** A team with more has made them by mistake. */
const CONNECTIONS_MAX = 1_000;

/** A feature above acts when a person has changed a connection, in the transaction of that. */
export type ConnectionFollower = (tx: Ctx, changed: Changed) => Promise<void>;

export interface ConnectionDeps {
  readonly secrets: Secrets;
  followers(): readonly ConnectionFollower[];
}

export function createConnections({ secrets, followers }: ConnectionDeps): Handlers<Ctx> {
  return implementPart(CiService, {
    listConnections: async ({ teamId, limit, cursor }, ctx) => {
      const query = { where: eq(connectionRows.table.teamId, teamId) };
      const { items, ...next } = await connectionRows.page(ctx, { of: teamId, limit, cursor }, query);
      return { connections: items.map((row) => shownConnection(row)), ...next };
    },
    createConnection: async (request, ctx) => {
      const wanted = await newConnection(ctx, request);
      const act = { action: 'ci_connection.created', details: detailsOf };
      const made = await change(ctx, act, async (tx) => await connect(tx, secrets, wanted));
      if (made !== undefined) return await withNextSteps(ctx, made);
      const known = await connectionOfRepository(ctx, wanted);
      if (known === undefined) throw notFound('CI connection'); // Deleted at this very moment.
      ctx.call.status = 200;
      return await withNextSteps(ctx, known, { notTaken: notTaken(known, wanted, request) });
    },
    getConnection: async ({ connectionId }, ctx) =>
      shownConnection(await connectionRows.find(ctx, connectionId)),
    updateConnection: async (request, ctx) => {
      const known = await connectionRows.find(ctx, request.connectionId);
      if (request.status === StatusNumber.ERROR)
        throw wrongField('status is "error", which only the service sets; expected active or paused', {
          field: 'status',
          rule: 'in',
        });
      await checkProject(ctx, known.teamId, request.projectId);
      let before = known;
      let fields: readonly Changeable[] = [];
      const details = (after: Connection) => ({
        ...detailsOf(after),
        before: valuesOf(before, fields),
        after: valuesOf(after, fields),
      });
      const after = await change(ctx, { action: 'ci_connection.updated', details }, async (tx) => {
        // A connection guards the environments of its project.
        await lockTeam(tx, known.teamId);
        // Columns that background work writes meanwhile are not to be overwritten.
        before = await connectionRows.lock(tx, known.id);
        checkOneProject(before, request.projectId);
        const set = { ...asked(before, request), updatedAt: ctx.clock.now() };
        const wanted = { ...before, ...set };
        fields = CHANGEABLE.filter((field) => !isDeepStrictEqual(before[field], wanted[field]));
        // Setting the mode anew, also to what it is, has refused statuses of commits tried again.
        if (fields.length === 0 && before.commitStatusStopped === wanted.commitStatusStopped)
          return undefined;
        await connectionRows.update(tx, known.id, { set });
        for (const follow of followers()) await follow(tx, { before, after: wanted });
        await followMode(tx, secrets, { before, after: wanted });
        return wanted;
      });
      if (after === undefined) return shownConnection(before);
      const isNextOther = fields.includes('ingestMode') || fields.includes('projectId');
      return isNextOther ? await withNextSteps(ctx, after) : shownConnection(after);
    },
    deleteConnection: async ({ connectionId }, ctx) => {
      await connectionRows.find(ctx, connectionId);
      const details = (was: Connection) => ({ ...detailsOf(was), before: valuesOf(was, CHANGEABLE) });
      await change(ctx, { action: 'ci_connection.deleted', details }, async (tx) => {
        const locked = await connectionRows.lock(tx, connectionId).catch(unlessGone);
        if (locked === undefined) return undefined;
        await stopSubscription(tx.db, locked);
        return await connectionRows.remove(tx, connectionId);
      });
      return {};
    },
  });
}

/** Returns undefined when somebody else has deleted it at this very moment. */
function unlessGone(error: unknown): undefined {
  if (error instanceof ApiError && error.code === 'not_found') return undefined;
  throw error;
}

async function withNextSteps({ db }: Ctx, connection: Connection, beside: Beside = {}) {
  const webhook = await readWebhook(db, connection.id);
  const hasSecret = (webhook?.secret ?? null) !== null;
  return shownConnection(connection, { ...beside, nextSteps: nextSteps(connection, hasSecret) });
}

/** Returns undefined when the team has connected the repository already. */
async function connect(tx: Ctx, secrets: Secrets, wanted: NewConnection): Promise<Connection | undefined> {
  if ((await connectionOfRepository(tx, wanted)) !== undefined) return undefined;
  const n = await countConnections(tx, wanted.teamId);
  if (n >= CONNECTIONS_MAX)
    throw apiError(
      'limit_reached',
      `the team has ${n} CI connections, at most ${CONNECTIONS_MAX} are allowed`,
      {
        details: { limit: CONNECTIONS_MAX, current: n },
      },
    );
  const made = await insertConnection(tx, wanted);
  // Somebody else's creation of the same repository was faster.
  if (made === undefined) return undefined;
  await insertWebhook(tx.db, made, made.createdAt);
  await startSubscription(tx.db, made, { secrets, now: made.createdAt });
  return made;
}

async function followMode({ db }: Ctx, secrets: Secrets, { before, after }: Changed): Promise<void> {
  if (before.ingestMode === after.ingestMode) return;
  if (takesWebhooks(after)) await startSubscription(db, after, { secrets, now: after.updatedAt });
  else await stopSubscription(db, after);
}

const CHANGEABLE = [
  'projectId',
  'defaultBranch',
  'ingestMode',
  'status',
  'commitStatusMode',
  'oidcPolicy',
  'genericMapping',
] as const;

type Changeable = (typeof CHANGEABLE)[number];

function valuesOf(connection: Connection, fields: readonly Changeable[]): Readonly<Record<string, unknown>> {
  return Object.fromEntries(fields.map((field) => [field, connection[field]]));
}

/**
 * Returns what the request sets, and what is over with that: a problem that was there before, and refusals of
 * statuses.
 */
function asked(before: Connection, request: UpdateConnectionRequest): Partial<Connection> {
  const set = connectionRows.changes(UpdateConnectionRequestSchema, request) as Partial<Connection>;
  // A problem with the subscription ends with it when the connection takes no webhooks any more.
  const isWell = before.status === 'error' && set.ingestMode === 'direct';
  const isStatusNew = isWell || set.status !== undefined;
  return {
    ...(isWell ? { status: 'active' } : {}),
    ...set,
    ...(isStatusNew ? { statusDetail: null } : {}),
    ...(set.commitStatusMode === undefined ? {} : { commitStatusDetail: null, commitStatusStopped: false }),
    ...(request.oidcPolicy === undefined ? {} : { oidcPolicy: policyOf(request.oidcPolicy) }),
    ...(request.genericMapping === undefined
      ? {}
      : { genericMapping: mappingOf(before, request.genericMapping) }),
  };
}

/** Null when it asks for nothing. */
function policyOf({ refs, files, environments }: PolicyMessage): OidcPolicy | null {
  const asks = refs.length + files.length + environments.length > 0;
  return asks ? { refs: [...refs], files: [...files], environments: [...environments] } : null;
}

/** Null when it maps nothing. */
function mappingOf({ provider }: Connection, { pointers, words }: MappingMessage): GenericMapping | null {
  if (Object.keys(pointers).length + Object.keys(words).length === 0) return null;
  if (provider !== 'generic')
    throw wrongField(`the connection's provider is ${provider}, a mapping is for generic`, {
      field: 'genericMapping',
      rule: 'provider',
    });
  const problem = mappingProblem({ pointers, words });
  if (problem !== undefined) throw wrongField(problem, { field: 'genericMapping', rule: 'mapping' });
  return { pointers: { ...pointers }, words: { ...words } };
}

async function newConnection(ctx: Ctx, request: CreateConnectionRequest): Promise<NewConnection> {
  const { teamId, repositoryHost, repositoryPath, projectId } = request;
  const name = repositoryName(repositoryHost, repositoryPath);
  if (name === undefined) throw noRepository(repositoryPath, 'owner/name');
  const provider = enumWord(CiProviderSchema, request.provider) as CiProvider;
  const form = wrongPath(forgeOf({ provider, repositoryHost: name.host, forge: null }), name.path);
  if (form !== undefined) throw noRepository(repositoryPath, form);
  await checkProject(ctx, teamId, projectId);
  return {
    defaultBranch: 'main',
    ingestMode: 'direct',
    ...connectionRows.changes(CreateConnectionRequestSchema, request),
    teamId,
    provider,
    repositoryHost: name.host,
    repositoryPath: name.path,
    repositoryKey: name.key,
    status: 'active',
    updatedAt: ctx.clock.now(),
  };
}

/** Checks the project, and throws `not_found` for a project of another team. */
async function checkProject(ctx: Ctx, teamId: string, projectId: string | undefined): Promise<void> {
  if (projectId === undefined) return;
  if ((await projectRows.find(ctx, projectId)).teamId !== teamId) throw notFound('project');
}

/**
 * Runs stand in the environments of one project: in those of another one they would appear as new although
 * they are old.
 */
function checkOneProject({ id, projectId: known }: Connection, asked: string | undefined): void {
  if (asked === undefined || known === null || asked === known) return;
  throw apiError(
    'state_conflict',
    `the CI connection belongs to the project ${known} and stays there, asked for was ${asked}; delete the connection and connect the repository anew`,
    { details: { ciConnectionId: id, projectId: known, asked } },
  );
}

function noRepository(path: string, form: string): Error {
  return wrongField(`repository path "${path.slice(0, 100)}" names no repository, expected ${form}`, {
    field: 'repositoryPath',
    rule: 'repository',
  });
}
