/** A team has outgoing webhooks. A secret leaves the server once: when it is made. */
import { and, eq, sql } from 'drizzle-orm';
import { apiError } from '@svc/proto/http/errors.ts';
import {
  DeliverySchema,
  UpdateRequestSchema,
  WebhookEndpointSchema,
  WebhookEndpointsService,
  type CreateRequest,
  type UpdateRequest,
} from '@svc/proto/gen/svc/webhookendpoints/v1/webhookendpoints_pb.ts';
import { implement, type Handlers } from '@svc/proto/http/implement.ts';
import type { Caller, Ctx } from '../../kit/context.ts';
import { deliveredEvents, scopeOfEvent } from '../../kit/events/index.ts';
import { declareFeature } from '../../kit/feature.ts';
import { described, findsByName } from '../../kit/search.ts';
import { assertHoldsAll } from '../../kit/grants.ts';
import { newId } from '../../base/ids.ts';
import { wrongField } from '../../kit/wrong-field.ts';
import { change, inTeams, rowsOf, shown, type RowOf } from '../../kit/resource/index.ts';
import { urlProblem } from '../../base/safe-fetch.ts';
import type { Secrets } from '../../base/secrets.ts';
import { teamsFeature } from '../../access/teams/index.ts';
import { buildsFeature } from '../../engine/builds/index.ts';
import { workFeature } from '../../engine/work/index.ts';
import { deliveryJob, secretPlace } from './deliver.ts';
import { webhookDeliveries, webhookEndpoints } from './schema.ts';
import { newSecret } from './sign.ts';
import { deliveriesMade, eventsOnTheirWay, insertTest, purgeDeliveries } from './store.ts';

export { deliveriesMade } from './store.ts';

const ENDPOINTS_MAX = 20;
/** Time for which the secret before a new one signs too. */
const OVERLAP_HOURS = 24;

const endpoints = rowsOf(webhookEndpoints);
const deliveries = rowsOf(webhookDeliveries);
type Endpoint = RowOf<typeof webhookEndpoints>;
type Delivery = RowOf<typeof webhookDeliveries>;

interface Deps {
  readonly secrets: Pick<Secrets, 'seal'>;
  /** Addresses on this machine and in private networks may be named; see base/safe-fetch.ts. */
  readonly allowPrivate: boolean;
}

function createWebhookEndpoints(deps: Deps): Handlers<Ctx> {
  const { secrets, allowPrivate } = deps;
  return implement(WebhookEndpointsService, {
    list: async (_request, ctx: Ctx) => {
      const oldest = { by: webhookEndpoints.id, descending: false };
      return { endpoints: (await endpoints.list(ctx, oldest)).map((row) => show(ctx, row)) };
    },
    get: async ({ endpointId }, ctx: Ctx) => show(ctx, await endpoints.find(ctx, endpointId)),
    create: async (request, ctx: Ctx) => {
      checkUrl(request.url, allowPrivate);
      assertDelivered(request.events);
      assertMaySee(ctx.caller, request.events);
      return await create(ctx, secrets, request);
    },
    update: async (request, ctx: Ctx) => {
      if (request.url !== undefined) checkUrl(request.url, allowPrivate);
      assertDelivered(request.events);
      return show(ctx, await update(ctx, request));
    },
    rotateSecret: async ({ endpointId }, ctx: Ctx) => {
      await endpoints.find(ctx, endpointId);
      return await rotateSecret(ctx, secrets, endpointId);
    },
    delete: async ({ endpointId }, ctx: Ctx) => {
      await endpoints.find(ctx, endpointId);
      await change(ctx, { action: 'webhook_endpoint.deleted' }, async (tx) =>
        endpoints.remove(tx, endpointId),
      );
      return {};
    },
    test: async ({ teamId, endpointId }, ctx: Ctx) => {
      const { enabled } = await endpoints.find(ctx, endpointId);
      const id = await insertTest(ctx.db, { teamId, endpointId });
      if (id !== undefined) return showDelivery(await deliveries.find(ctx, id));
      throw apiError('state_conflict', 'the endpoint is disabled and is sent nothing; enable it first', {
        details: { resource: endpoints.kind, enabled },
      });
    },
    listDeliveries: async (request, ctx: Ctx) => {
      const { id } = await endpoints.find(ctx, request.endpointId);
      const where = eq(webhookDeliveries.endpointId, id);
      const { items, ...page } = await deliveries.page(ctx, { ...request, of: id }, { where });
      return { ...page, deliveries: items.map(showDelivery) };
    },
  });
}

export const webhookEndpointsFeature = declareFeature({
  name: 'webhookendpoints',
  on: { teams: teamsFeature, builds: buildsFeature, work: workFeature },
  events: {
    'webhook_endpoint.disabled': {
      when: 'A webhook endpoint was switched off, because it answered nothing well for five days, or 410.',
      scope: 'team:manage',
      notifies: true,
    },
  },
  start: (system) => {
    const { config, db } = system;
    return {
      services: [createWebhookEndpoints({ ...system, allowPrivate: config.webhooksAllowPrivate })],
      jobs: [deliveryJob({ ...system, sql: db.sql })],
      fills: [findsByName(described(webhookEndpoints, 'team:read', webhookEndpoints.url))],
      purges: [async (nowMs) => await purgeDeliveries(db.sql, nowMs)],
      effects: [deliveriesMade],
    };
  },
});

/**
 * An endpoint tells its receiver, for as long as it is there, what the events hold: a key names only those
 * that it could read itself.
 */
function assertMaySee(caller: Caller, events: readonly string[]): void {
  const scopes = new Set(events.map(scopeOfEvent));
  assertHoldsAll(caller, scopes, `have ${events.join(', ')} sent somewhere`);
}

function assertDelivered(events: readonly string[]): void {
  const delivered = deliveredEvents();
  const unknown = events.filter((event) => !delivered.includes(event));
  if (unknown.length === 0) return;
  const message = `events holds ${unknown.map((event) => `"${event}"`).join(', ')}, expected some of ${delivered.join(', ')}`;
  throw wrongField(message, { resource: endpoints.kind, field: 'events', rule: 'event' });
}

function checkUrl(url: string, allowPrivate: boolean): void {
  const problem = urlProblem(url, allowPrivate);
  if (problem === undefined) return;
  throw wrongField(`url cannot be called: ${problem}`, {
    resource: endpoints.kind,
    field: 'url',
    rule: 'callable',
  });
}

const hostOf = ({ url }: Endpoint): string => new URL(url).host;

async function create(ctx: Ctx, secrets: Deps['secrets'], request: CreateRequest) {
  const { teamId, url, events, description } = request;
  const id = newId('whe', ctx.clock.now().getTime());
  const secret = newSecret();
  const details = (row: Endpoint) => ({ host: hostOf(row), events });
  const made = await change(ctx, { action: 'webhook_endpoint.created', details }, async (tx) => {
    await endpoints.atMost(tx, { teamId, max: ENDPOINTS_MAX });
    const sealed = secrets.seal(secretPlace(id), Buffer.from(secret));
    return await endpoints.insert(tx, { id, teamId, url, events, description, secret: sealed });
  });
  return { endpoint: show(ctx, made), secret };
}

/** A disabled endpoint is sent nothing any more, also of what waits; an enabled one begins without a past. */
async function update(ctx: Ctx, request: UpdateRequest): Promise<Endpoint> {
  const { teamId, endpointId, enabled } = request;
  await endpoints.find(ctx, endpointId);
  const act = {
    action: 'webhook_endpoint.updated',
    details: (row: Endpoint) => ({ host: hostOf(row), events: row.events, enabled: row.enabled }),
  };
  const set = {
    ...endpoints.changes(UpdateRequestSchema, request),
    ...(enabled === undefined ? {} : { disabledReason: '' }),
    ...(enabled === true ? { failingSince: null } : {}),
  };
  const after = await change(ctx, act, async (tx) => {
    const before = await eventsOnTheirWay(tx.db.sql, { teamId, endpointId });
    const changed = await endpoints.update(tx, endpointId, { set });
    assertMaySee(ctx.caller, [...new Set([...before, ...(changed?.events ?? [])])]);
    if (enabled === false) await giveUp(tx, endpointId);
    return changed;
  });
  return after ?? (await endpoints.find(ctx, endpointId));
}

async function giveUp({ db, teams }: Ctx, endpointId: string): Promise<void> {
  await db.orm
    .update(webhookDeliveries)
    .set({ state: 'failed', nextAttemptAt: null })
    .where(
      and(
        inTeams(webhookDeliveries, teams),
        eq(webhookDeliveries.endpointId, endpointId),
        eq(webhookDeliveries.state, 'pending'),
      ),
    );
}

/** Both secrets are sealed for the same place, so that the old one only moves. */
async function rotateSecret(ctx: Ctx, secrets: Deps['secrets'], endpointId: string) {
  const secret = newSecret();
  const set = {
    secret: secrets.seal(secretPlace(endpointId), Buffer.from(secret)),
    previousSecret: sql`${webhookEndpoints.secret}`,
    previousSecretUntil: sql`now() + ${OVERLAP_HOURS}::int * interval '1 hour'`,
  };
  const details = () => ({ overlapHours: OVERLAP_HOURS });
  const act = { action: 'webhook_endpoint.secret_rotated', details };
  const rotated = await change(ctx, act, async (tx) => endpoints.update(tx, endpointId, { set }));
  return { endpoint: show(ctx, rotated ?? (await endpoints.find(ctx, endpointId))), secret };
}

function show({ clock }: Ctx, { previousSecretUntil, ...row }: Endpoint) {
  const isGood = previousSecretUntil !== null && previousSecretUntil > clock.now();
  const until = isGood ? { previousSecretUntil } : {};
  return shown(WebhookEndpointSchema, { ...row, ...until });
}

function showDelivery({ attempts, ...row }: Delivery) {
  const made = attempts.map((attempt) => ({ ...attempt, at: new Date(attempt.at) }));
  return shown(DeliverySchema, { ...row, attempts: made });
}
