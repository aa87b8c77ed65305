/** Connections: which repository of which CI system belongs to a team. */
import { isDeepStrictEqual } from 'node:util';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { apiError } from '@svc/proto/http/errors.ts';
import type { CiService } from '@svc/proto/gen/svc/ci/v1/ci_pb.ts';
import { ConnectionStatus as StatusNumber } from '@svc/proto/gen/svc/ci/v1/ci_pb.ts';
import type {
  CreateConnectionRequest,
  GenericMapping as MappingMessage,
  OidcPolicy as PolicyMessage,
  UpdateConnectionRequest,
} from '@svc/proto/gen/svc/ci/v1/ci_pb.ts';
import type { Implementation } from '@svc/proto/http/implement.ts';
import { recordAct } from '../../kit/ledger/index.ts';
import type { Ctx } from '../../kit/context.ts';
import type { Database } from '../../base/db/index.ts';
import { newId } from '../../base/ids.ts';
import { notFound } from '../../kit/not-found.ts';
import { closePage, openPage } from '../../kit/paging.ts';
import { lockTeam } from '../../kit/resource/index.ts';
import { projectRows } from '../../apps/projects/index.ts';
import {
  countConnections,
  deleteConnection,
  findConnection,
  findConnectionOfRepository,
  insertConnection,
  listConnections,
  lockConnection,
  updateConnection,
} from './connections-store.ts';
import type { NewConnection } from './connections-store.ts';
import type { Connection } from './model/connection.ts';
import type { CiDeps } from './deps.ts';
import { placeRuns } from './environment.ts';
import { forgeOf } from './forges/forge.ts';
import { nextSteps, notTaken } from './next-steps.ts';
import type { GenericMapping } from './model/connection.ts';
import { mappingProblem } from './providers/generic/mapping.ts';
import { repositoryName, wrongPath } from './repository.ts';
import type { OidcPolicy } from './model/connection.ts';
import { releaseHeld } from './webhooks/deliveries-store.ts';
import { insertWebhook, readWebhook } from './webhooks/store.ts';
import { startSubscription, stopSubscription, takesWebhooks } from './webhooks/subscription.ts';
import {
  commitStatusModeNumber,
  commitStatusModeWord,
  connectionStatusNumber,
  connectionStatusWord,
  forgeNumber,
  modeNumber,
  modeWord,
  providerNumber,
  providerWord,
} from './words.ts';

/** A team with more has made them by mistake. */
const CONNECTIONS_MAX = 1_000;

type Methods = Pick<
  Implementation<typeof CiService, Ctx>,
  'listConnections' | 'createConnection' | 'getConnection' | 'updateConnection' | 'deleteConnection'
>;

export function connectionMethods({ clock, secrets }: CiDeps): Methods {
  return {
    listConnections: async ({ teamId, limit, cursor }, ctx) => {
      const page = openPage(ctx, teamId, { limit, cursor });
      const [at, id] = page.after ?? [];
      const after = page.after === undefined ? undefined : { at: new Date(String(at)), id: String(id) };
      const rows = await listConnections(ctx.db, ctx.teams, { teamId, take: page.take, after });
      const { items, nextCursor } = closePage(page, rows, (row) => [row.createdAt.toISOString(), row.id]);
      return {
        connections: items.map(presentConnection),
        ...(nextCursor === undefined ? {} : { nextCursor }),
      };
    },
    createConnection: async (request, ctx) => {
      const wanted = await newConnection(ctx, request, clock.now());
      const { connection, isNew } = await ctx.db.transact(
        async (db) => await connect({ ...ctx, db }, secrets, wanted),
      );
      const shown = await withNextSteps(ctx.db, connection);
      if (isNew) return shown;
      ctx.call.status = 200;
      const given = (['projectId', 'defaultBranch', 'ingestMode'] as const).filter(
        (name) => request[name] !== undefined,
      );
      return { ...shown, notTaken: notTaken(connection, wanted, new Set(given)) };
    },
    getConnection: async ({ connectionId }, ctx) => presentConnection(await connectionOf(ctx, connectionId)),
    updateConnection: async (request, ctx) => {
      const known = await connectionOf(ctx, request.connectionId);
      if (request.status === StatusNumber.ERROR) throw errorIsOurs();
      await checkProject(ctx, known.teamId, request.projectId);
      return await ctx.db.transact(async (db) => {
        // A connection guards the environments of its project.
        await lockTeam({ db }, known.teamId);
        // Columns that background work writes meanwhile are not to be overwritten.
        const before = await lockConnection(db, ctx.teams, known.id);
        if (before === undefined) throw notFound('CI connection');
        checkOneProject(before, request.projectId);
        const after = changed(before, request, clock.now());
        const fields = CHANGEABLE.filter((field) => !isDeepStrictEqual(before[field], after[field]));
        // Setting the mode anew, also to what it is, has refused statuses of commits tried again.
        if (fields.length === 0 && before.commitStatusStopped === after.commitStatusStopped)
          return presentConnection(before);
        await updateConnection(db, ctx.teams, after);
        await followChange({ ...ctx, db }, secrets, { before, after });
        const changes = { before: valuesOf(before, fields), after: valuesOf(after, fields) };
        await recordAct(db, ctx, act('ci_connection.updated', after, changes));
        const isNextOther = fields.includes('ingestMode') || fields.includes('projectId');
        return isNextOther ? await withNextSteps(db, after) : presentConnection(after);
      });
    },
    deleteConnection: async ({ connectionId }, ctx) => {
      await connectionOf(ctx, connectionId);
      await ctx.db.transact(async (db) => {
        const locked = await lockConnection(db, ctx.teams, connectionId);
        if (locked === undefined) return;
        await stopSubscription(db, locked);
        if (await deleteConnection(db, ctx.teams, connectionId)) {
          const was = { before: valuesOf(locked, CHANGEABLE) };
          await recordAct(db, ctx, act('ci_connection.deleted', locked, was));
        }
      });
      return {};
    },
  };
}

async function withNextSteps(db: Database, connection: Connection) {
  const webhook = await readWebhook(db, connection.id);
  const hasSecret = (webhook?.secret ?? null) !== null;
  return { ...presentConnection(connection), nextSteps: [...nextSteps(connection, hasSecret)] };
}

/** Makes it, unless the team has connected the repository already. */
async function connect(ctx: Ctx, secrets: CiDeps['secrets'], wanted: NewConnection) {
  const { db, teams } = ctx;
  const known = await findConnectionOfRepository(db, teams, wanted);
  if (known !== undefined) return { connection: known, isNew: false };
  const n = await countConnections(db, teams, wanted.teamId);
  if (n >= CONNECTIONS_MAX) throw full(n);
  const made = await insertConnection(db, teams, wanted);
  // Somebody else's creation of the same repository was faster.
  if (made === undefined) {
    const theirs = await findConnectionOfRepository(db, teams, wanted);
    if (theirs === undefined) throw new Error(`connection of ${wanted.repositoryKey} cannot be made`);
    return { connection: theirs, isNew: false };
  }
  await insertWebhook(db, made, made.createdAt);
  await startSubscription(db, made, { secrets, now: made.createdAt });
  await recordAct(db, ctx, act('ci_connection.created', made));
  return { connection: made, isNew: true };
}

/** Does what follows from a change of the connection's project, mode or status. */
async function followChange(
  { db, teams }: Pick<Ctx, 'db' | 'teams'>,
  secrets: CiDeps['secrets'],
  { before, after }: { readonly before: Connection; readonly after: Connection },
): Promise<void> {
  if (before.projectId !== after.projectId) await placeRuns(db, teams, after);
  if (before.status === 'paused' && after.status !== 'paused') await releaseHeld(db, after.id);
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

function valuesOf(
  connection: Connection,
  fields: ReadonlyArray<(typeof CHANGEABLE)[number]>,
): Readonly<Record<string, unknown>> {
  return Object.fromEntries(fields.map((field) => [field, connection[field]]));
}

function changed(before: Connection, request: UpdateConnectionRequest, now: Date): Connection {
  return {
    ...before,
    projectId: request.projectId ?? before.projectId,
    defaultBranch: request.defaultBranch ?? before.defaultBranch,
    ...changedMode(before, request),
    ...(request.status === undefined
      ? {}
      : { status: connectionStatusWord(request.status), statusDetail: null }),
    ...(request.commitStatusMode === undefined
      ? {}
      : {
          commitStatusMode: commitStatusModeWord(request.commitStatusMode),
          commitStatusDetail: null,
          commitStatusStopped: false,
        }),
    oidcPolicy: request.oidcPolicy === undefined ? before.oidcPolicy : policyOf(request.oidcPolicy),
    genericMapping:
      request.genericMapping === undefined
        ? before.genericMapping
        : mappingOf(before, request.genericMapping),
    updatedAt: now,
  };
}

/** A problem with the subscription ends with it when the connection takes no webhooks any more. */
function changedMode(before: Connection, { ingestMode }: UpdateConnectionRequest) {
  if (ingestMode === undefined) return {};
  const isWell = before.status === 'error' && modeWord(ingestMode) === 'direct';
  return {
    ingestMode: modeWord(ingestMode),
    ...(isWell ? { status: 'active' as const, statusDetail: null } : {}),
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
    throw refused(
      'genericMapping',
      'provider',
      `the connection's provider is ${provider}, a mapping is for generic`,
    );
  const problem = mappingProblem({ pointers, words });
  if (problem !== undefined) throw refused('genericMapping', 'mapping', problem);
  return { pointers: { ...pointers }, words: { ...words } };
}

/** The connection of a call, if the caller may do this there. */
export async function connectionOf(ctx: Ctx, id: string): Promise<Connection> {
  const connection = await findConnection(ctx.db, ctx.teams, id);
  if (connection === undefined) throw notFound('CI connection');
  ctx.teams.require(connection.teamId);
  return connection;
}

async function newConnection(ctx: Ctx, request: CreateConnectionRequest, now: Date): Promise<NewConnection> {
  const { teamId, repositoryHost, repositoryPath, projectId } = request;
  const name = repositoryName(repositoryHost, repositoryPath);
  if (name === undefined) throw noRepository(repositoryPath, 'owner/name');
  const provider = providerWord(request.provider);
  const form = wrongPath(forgeOf({ provider, repositoryHost: name.host, forge: null }), name.path);
  if (form !== undefined) throw noRepository(repositoryPath, form);
  await checkProject(ctx, teamId, projectId);
  return {
    id: newId('cic', now.getTime()),
    teamId,
    provider,
    repositoryHost: name.host,
    repositoryPath: name.path,
    repositoryKey: name.key,
    projectId: projectId ?? null,
    defaultBranch: request.defaultBranch ?? 'main',
    ingestMode: request.ingestMode === undefined ? 'direct' : modeWord(request.ingestMode),
    status: 'active',
    createdAt: now,
    updatedAt: now,
  };
}

/** Throws `not_found` for a project of another team. */
async function checkProject(ctx: Ctx, teamId: string, projectId: string | undefined): Promise<void> {
  if (projectId === undefined) return;
  if ((await projectRows.find(ctx, projectId)).teamId !== teamId) throw notFound('project');
}

/** Runs stand in the environments of one project: in those of another one they would appear as new although they are old. */
function checkOneProject({ id, projectId: known }: Connection, asked: string | undefined): void {
  if (asked === undefined || known === null || asked === known) return;
  throw apiError(
    'state_conflict',
    `the CI connection belongs to the project ${known} and stays there, asked for was ${asked}; delete the connection and connect the repository anew`,
    { details: { ciConnectionId: id, projectId: known, asked } },
  );
}

export function act(action: string, { id, teamId, provider, repositoryKey }: Connection, more: object = {}) {
  return { chain: teamId, action, target: id, details: { provider, repository: repositoryKey, ...more } };
}

export function refused(field: string, rule: string, message: string): Error {
  return apiError('validation_failed', message, { details: { fields: [{ field, rule, message }] } });
}

function noRepository(path: string, form: string): Error {
  return refused(
    'repositoryPath',
    'repository',
    `repository path "${path.slice(0, 100)}" names no repository, expected ${form}`,
  );
}

function errorIsOurs(): Error {
  return refused('status', 'in', 'status is "error", which only the service sets; expected active or paused');
}

function full(n: number): Error {
  return apiError(
    'limit_reached',
    `the team has ${n} CI connections, at most ${CONNECTIONS_MAX} are allowed`,
    {
      details: { limit: CONNECTIONS_MAX, current: n },
    },
  );
}

export function presentConnection(connection: Connection) {
  const { id, teamId, repositoryHost, repositoryPath, defaultBranch } = connection;
  const { projectId, apiUrl, statusDetail, commitStatusDetail, oidcPolicy, genericMapping } = connection;
  const forge = forgeOf(connection);
  return {
    id,
    teamId,
    provider: providerNumber(connection.provider),
    repositoryHost,
    repositoryPath,
    ...(projectId === null ? {} : { projectId }),
    defaultBranch,
    ingestMode: modeNumber(connection.ingestMode),
    status: connectionStatusNumber(connection.status),
    ...(statusDetail === null ? {} : { statusDetail }),
    ...(forge === undefined ? {} : { forge: forgeNumber(forge) }),
    ...(apiUrl === null ? {} : { apiUrl }),
    hasToken: connection.token !== null,
    commitStatusMode: commitStatusModeNumber(connection.commitStatusMode),
    ...(commitStatusDetail === null ? {} : { commitStatusDetail }),
    ...presentPin(connection),
    ...(oidcPolicy === null
      ? {}
      : {
          oidcPolicy: {
            refs: [...oidcPolicy.refs],
            files: [...oidcPolicy.files],
            environments: [...oidcPolicy.environments],
          },
        }),
    ...(genericMapping === null
      ? {}
      : {
          genericMapping: {
            pointers: { ...genericMapping.pointers },
            words: { ...genericMapping.words },
          },
        }),
    createdAt: timestampFromDate(connection.createdAt),
    updatedAt: timestampFromDate(connection.updatedAt),
  };
}

function presentPin(connection: Connection) {
  const { oidcIssuer, oidcRepositoryId, oidcOwnerId, oidcPinnedAt, oidcRepositoryPath } = connection;
  if (oidcIssuer === null || oidcRepositoryId === null || oidcPinnedAt === null) return {};
  return {
    oidcPin: {
      issuer: oidcIssuer,
      repositoryId: oidcRepositoryId,
      ...(oidcOwnerId === null ? {} : { ownerId: oidcOwnerId }),
      pinnedAt: timestampFromDate(oidcPinnedAt),
      repositoryPath: oidcRepositoryPath ?? connection.repositoryPath,
    },
  };
}
