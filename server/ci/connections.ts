/** Connections: which repository of which CI system belongs to a team. */
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { apiError } from '@svc/proto/http/errors.ts';
import type { CiService } from '@svc/proto/gen/svc/ci/v1/ci_pb.ts';
import { ConnectionStatus as StatusNumber } from '@svc/proto/gen/svc/ci/v1/ci_pb.ts';
import type { CreateConnectionRequest } from '@svc/proto/gen/svc/ci/v1/ci_pb.ts';
import type { Implementation } from '@svc/proto/http/implement.ts';
import { recordAct } from '../audit/index.ts';
import type { Ctx } from '../platform/context.ts';
import { newId } from '../platform/ids.ts';
import { notFound } from '../platform/not-found.ts';
import { closePage, openPage } from '../platform/paging.ts';
import { findProject } from '../projects/index.ts';
import {
  countConnections,
  deleteConnection,
  findConnection,
  findConnectionOfRepository,
  insertConnection,
  listConnections,
  updateConnection,
} from './connections-store.ts';
import type { Connection } from './connections-store.ts';
import type { CiDeps } from './index.ts';
import { repositoryName } from './repository.ts';
import {
  connectionStatusNumber,
  connectionStatusWord,
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

export function connectionMethods({ clock, cursors }: CiDeps): Methods {
  return {
    listConnections: async ({ teamId, limit, cursor }, ctx) => {
      const page = openPage(ctx.call.rpc, cursors, teamId, { limit, cursor });
      const [at, id] = page.after ?? [];
      const after = page.after === undefined ? undefined : { at: new Date(String(at)), id: String(id) };
      const rows = await listConnections(ctx.db, { teamId, take: page.take, after });
      const { items, nextCursor } = closePage(ctx.call.rpc, cursors, teamId, page, rows, (row) => [
        row.createdAt.toISOString(),
        row.id,
      ]);
      return {
        connections: items.map(presentConnection),
        ...(nextCursor === undefined ? {} : { nextCursor }),
      };
    },
    createConnection: async (request, ctx) => {
      const wanted = await newConnection(ctx, request, clock.now());
      const { connection, isNew } = await ctx.db.transact(async (db) => {
        const known = await findConnectionOfRepository(db, wanted);
        if (known !== undefined) return { connection: known, isNew: false };
        const n = await countConnections(db, wanted.teamId);
        if (n >= CONNECTIONS_MAX) throw full(n);
        const made = await insertConnection(db, wanted);
        // Somebody else's creation of the same repository was faster.
        if (made === undefined)
          return { connection: (await findConnectionOfRepository(db, wanted)) ?? wanted, isNew: false };
        await recordAct(db, ctx, act('ci_connection.created', made));
        return { connection: made, isNew: true };
      });
      if (!isNew) ctx.call.status = 200;
      return presentConnection(connection);
    },
    getConnection: async ({ connectionId }, ctx) => presentConnection(await connectionOf(ctx, connectionId)),
    updateConnection: async (request, ctx) => {
      const before = await connectionOf(ctx, request.connectionId);
      if (request.status === StatusNumber.ERROR) throw errorIsOurs();
      const after: Connection = {
        ...before,
        defaultBranch: request.defaultBranch ?? before.defaultBranch,
        ingestMode: request.ingestMode === undefined ? before.ingestMode : modeWord(request.ingestMode),
        status: request.status === undefined ? before.status : connectionStatusWord(request.status),
        updatedAt: clock.now(),
      };
      const fields = CHANGEABLE.filter((field) => before[field] !== after[field]);
      if (fields.length === 0) return presentConnection(before);
      await ctx.db.transact(async (db) => {
        if (!(await updateConnection(db, after))) throw notFound('CI connection');
        const changed = Object.fromEntries(fields.map((field) => [field, after[field]]));
        await recordAct(db, ctx, act('ci_connection.updated', after, changed));
      });
      return presentConnection(after);
    },
    deleteConnection: async ({ connectionId }, ctx) => {
      const connection = await connectionOf(ctx, connectionId);
      await ctx.db.transact(async (db) => {
        if (await deleteConnection(db, connection))
          await recordAct(db, ctx, act('ci_connection.deleted', connection));
      });
      return {};
    },
  };
}

const CHANGEABLE = ['defaultBranch', 'ingestMode', 'status'] as const;

/** The connection of a call, if the caller may do this there. */
export async function connectionOf(ctx: Ctx, id: string): Promise<Connection> {
  const connection = await findConnection(ctx.db, ctx.teams, id);
  if (connection === undefined) throw notFound('CI connection');
  ctx.teams.require(connection.teamId);
  return connection;
}

async function newConnection(ctx: Ctx, request: CreateConnectionRequest, now: Date): Promise<Connection> {
  const { teamId, repositoryHost, repositoryPath, projectId } = request;
  const name = repositoryName(repositoryHost, repositoryPath);
  if (name === undefined) throw noRepository(repositoryPath);
  if (projectId !== undefined && (await findProject(ctx.db, ctx.teams, projectId)) === undefined)
    throw notFound('project');
  return {
    id: newId('cic', now.getTime()),
    teamId,
    provider: providerWord(request.provider),
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

function act(action: string, { id, teamId, provider, repositoryKey }: Connection, more: object = {}) {
  return { chain: teamId, action, target: id, details: { provider, repository: repositoryKey, ...more } };
}

function refused(field: string, rule: string, message: string): Error {
  return apiError('validation_failed', message, { details: { fields: [{ field, rule, message }] } });
}

function noRepository(path: string): Error {
  return refused(
    'repositoryPath',
    'repository',
    `repository path "${path.slice(0, 100)}" names no repository, expected one such as owner/name`,
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
  const {
    repositoryKey: _,
    projectId,
    provider,
    ingestMode,
    status,
    createdAt,
    updatedAt,
    ...rest
  } = connection;
  return {
    ...rest,
    ...(projectId === null ? {} : { projectId }),
    provider: providerNumber(provider),
    ingestMode: modeNumber(ingestMode),
    status: connectionStatusNumber(status),
    createdAt: timestampFromDate(createdAt),
    updatedAt: timestampFromDate(updatedAt),
  };
}
