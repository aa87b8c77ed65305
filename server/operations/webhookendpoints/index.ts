/** Outgoing webhooks of a team. Secrets leave the server twice: when they are made, and never again. */
import type { Feature, System } from '../../platform/feature.ts';
import { startDeliveries } from './deliver.ts';
import { deliveriesMade, purgeDeliveries } from './store.ts';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { apiError } from '@svc/proto/http/errors.ts';
import {
  DeliveryState,
  WebhookEndpointsService,
} from '@svc/proto/gen/svc/webhookendpoints/v1/webhookendpoints_pb.ts';
import { implement } from '@svc/proto/http/implement.ts';
import type { Handlers, Implementation } from '@svc/proto/http/implement.ts';
import { recordAct } from '../../platform/ledger/index.ts';
import type { Caller, Ctx } from '../../platform/context.ts';
import { scopeOfEvent } from '../../platform/events.ts';
import { assertHoldsAll } from '../../platform/grants.ts';
import { newId } from '../../platform/ids.ts';
import { notFound } from '../../platform/not-found.ts';
import { closePage, openPage } from '../../platform/paging.ts';
import { urlProblem } from '../../platform/safe-fetch.ts';
import type { Secrets } from '../../platform/secrets.ts';
import { secretPlace } from './deliver.ts';
import { newSecret } from './sign.ts';
import {
  deleteEndpoint,
  ENDPOINTS_MAX,
  eventsOnTheirWay,
  findEndpoint,
  insertEndpoint,
  insertTest,
  listDeliveries,
  listEndpoints,
  OVERLAP_HOURS,
  rotateSecret,
  updateEndpoint,
} from './store.ts';
import type { DeliveryRow, EndpointRow } from './store.ts';

export { deliveriesMade } from './store.ts';

export interface WebhookEndpointsDeps {
  readonly secrets: Pick<Secrets, 'seal'>;
  /** Addresses on this machine and in private networks may be named; see platform/safe-fetch.ts. */
  readonly allowPrivate: boolean;
}

type Service = Implementation<typeof WebhookEndpointsService, Ctx>;
type Reads = 'list' | 'get' | 'listDeliveries';
type WithSecrets = 'create' | 'rotateSecret';

export function createWebhookEndpoints(deps: WebhookEndpointsDeps): Handlers<Ctx> {
  return implement(WebhookEndpointsService, {
    ...readCalls(),
    ...changeCalls(deps),
    ...secretCalls(deps),
  });
}

function readCalls(): Pick<Service, Reads> {
  return {
    list: async ({ teamId }, { db }) => ({ endpoints: (await listEndpoints(db.sql, teamId)).map(present) }),
    get: async (which, { db }) => present(found(await findEndpoint(db.sql, which))),
    listDeliveries: async ({ teamId, endpointId, limit, cursor }, ctx) => {
      const { db } = ctx;
      found(await findEndpoint(db.sql, { teamId, endpointId }));
      const page = openPage(ctx, endpointId, { limit, cursor });
      const [createdAt, id] = page.after ?? [];
      const after = page.after === undefined ? undefined : { createdAt: String(createdAt), id: String(id) };
      const rows = await listDeliveries(db.sql, { teamId, endpointId, take: page.take, after });
      const { items, nextCursor } = closePage(page, rows, (row) => [row.createdText, row.id]);
      return { deliveries: items.map(presentDelivery), ...(nextCursor === undefined ? {} : { nextCursor }) };
    },
  };
}

function secretCalls({ secrets, allowPrivate }: WebhookEndpointsDeps): Pick<Service, WithSecrets> {
  const sealed = (id: string, secret: string): string => secrets.seal(secretPlace(id), Buffer.from(secret));
  return {
    create: async ({ teamId, url, events, description = '' }, ctx) => {
      checkUrl(url, allowPrivate);
      assertMaySee(ctx.caller, events);
      const id = newId('whe');
      const secret = newSecret();
      return await ctx.db.transact(async (db) => {
        const endpoint = await insertEndpoint(db.sql, {
          id,
          teamId,
          url,
          description,
          events,
          sealed: sealed(id, secret),
        });
        if (endpoint === undefined) {
          throw apiError(
            'limit_reached',
            `the team has ${ENDPOINTS_MAX} webhook endpoints, which is the limit; delete one first`,
            { details: { limit: ENDPOINTS_MAX } },
          );
        }
        const details = { host: new URL(url).host, events };
        await recordAct(db, ctx, { chain: teamId, action: 'webhook_endpoint.created', target: id, details });
        return { endpoint: present(endpoint), secret };
      });
    },
    rotateSecret: async ({ teamId, endpointId }, ctx) => {
      const secret = newSecret();
      return await ctx.db.transact(async (db) => {
        const endpoint = found(
          await rotateSecret(db.sql, { teamId, endpointId }, sealed(endpointId, secret)),
        );
        await recordAct(db, ctx, {
          chain: teamId,
          action: 'webhook_endpoint.secret_rotated',
          target: endpointId,
          details: { overlapHours: OVERLAP_HOURS },
        });
        return { endpoint: present(endpoint), secret };
      });
    },
  };
}

/** An endpoint tells its receiver, for as long as it is there, what the events hold: a key names only those that it could read itself. */
function assertMaySee(caller: Caller, events: readonly string[]): void {
  const scopes = new Set(events.map(scopeOfEvent));
  assertHoldsAll(caller, scopes, `have ${events.join(', ')} sent somewhere`);
}

function checkUrl(url: string, allowPrivate: boolean): void {
  const problem = urlProblem(url, allowPrivate);
  if (problem !== undefined) throw apiError('validation_failed', `url cannot be called: ${problem}`);
}

function changeCalls({ allowPrivate }: WebhookEndpointsDeps): Omit<Service, Reads | WithSecrets> {
  return {
    update: async ({ teamId, endpointId, url, description, events, enabled }, ctx) => {
      if (url !== undefined) checkUrl(url, allowPrivate);
      return await ctx.db.transact(async (db) => {
        const change = { url, description, events: events.length === 0 ? undefined : events, enabled };
        const before = await eventsOnTheirWay(db.sql, { teamId, endpointId });
        const endpoint = found(await updateEndpoint(db.sql, { teamId, endpointId }, change));
        assertMaySee(ctx.caller, [...new Set([...before, ...endpoint.events])]);
        const details = {
          host: new URL(endpoint.url).host,
          events: [...endpoint.events],
          enabled: endpoint.enabled,
        };
        await recordAct(db, ctx, {
          chain: teamId,
          action: 'webhook_endpoint.updated',
          target: endpointId,
          details,
        });
        return present(endpoint);
      });
    },
    delete: async ({ teamId, endpointId }, ctx) =>
      await ctx.db.transact(async (db) => {
        if (!(await deleteEndpoint(db.sql, { teamId, endpointId }))) throw notFound('webhook endpoint');
        await recordAct(db, ctx, { chain: teamId, action: 'webhook_endpoint.deleted', target: endpointId });
        return {};
      }),
    test: async ({ teamId, endpointId }, { db }) => {
      const { enabled } = found(await findEndpoint(db.sql, { teamId, endpointId }));
      const made = enabled ? await insertTest(db.sql, { teamId, endpointId }) : undefined;
      if (made === undefined) {
        throw apiError('state_conflict', 'the endpoint is disabled and is sent nothing; enable it first', {
          details: { enabled },
        });
      }
      return presentDelivery(made);
    },
  };
}

function found(row: EndpointRow | undefined): EndpointRow {
  if (row === undefined) throw notFound('webhook endpoint');
  return row;
}

function present({ failingSince, previousUntil, createdAt, events, ...rest }: EndpointRow) {
  return {
    ...rest,
    events: [...events],
    createdAt: timestampFromDate(createdAt),
    ...(failingSince === null ? {} : { failingSince: timestampFromDate(failingSince) }),
    ...(previousUntil === null ? {} : { previousSecretUntil: timestampFromDate(previousUntil) }),
  };
}

const STATES = {
  pending: DeliveryState.PENDING,
  delivered: DeliveryState.DELIVERED,
  failed: DeliveryState.FAILED,
} as const;

function presentDelivery({
  id,
  event,
  state,
  attemptCount,
  attempts,
  nextAttemptAt,
  createdAt,
}: DeliveryRow) {
  return {
    id,
    event,
    state: STATES[state],
    attemptCount,
    attempts: attempts.map(({ at, durationMs, status, error }) => ({
      at: timestampFromDate(new Date(at)),
      durationMs,
      error,
      ...(status === null ? {} : { status }),
    })),
    createdAt: timestampFromDate(createdAt),
    ...(nextAttemptAt === null ? {} : { nextAttemptAt: timestampFromDate(nextAttemptAt) }),
  };
}

export function webhookEndpointsFeature(system: System): Feature {
  const { config, db } = system;
  return {
    services: [createWebhookEndpoints({ ...system, allowPrivate: config.webhooksAllowPrivate })],
    jobs: [() => startDeliveries({ ...system, sql: db.sql })],
    purges: [async (nowMs) => await purgeDeliveries(db.sql, nowMs)],
    effects: [deliveriesMade],
  };
}
