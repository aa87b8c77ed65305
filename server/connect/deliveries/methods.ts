/** Callers see and change the addresses, secrets and deliveries of webhooks. */
import { apiError } from '@svc/proto/http/errors.ts';
import { implement, implementPart, type Handlers } from '@svc/proto/http/implement.ts';
import {
  AdminCiDeliveriesService,
  CiDeliveryStateSchema,
  CiService,
  WebhookSchemeSchema,
} from '@svc/proto/gen/svc/ci/v1/ci_pb.ts';
import type { Secrets } from '../../base/secrets.ts';
import type { Ctx } from '../../kit/context.ts';
import { notFound } from '../../kit/not-found.ts';
import { closePage, openPage } from '../../kit/paging.ts';
import { change, enumWord } from '../../kit/resource/index.ts';
import { wrongField } from '../../kit/wrong-field.ts';
import {
  canSubscribe,
  connectionRows,
  detailsOf,
  giveSecret,
  openSecrets,
  readWebhook,
  schemesOf,
  setWebhook,
  startSubscription,
  stopSubscription,
  takesWebhooks,
  webhooksOfProject,
  webhookUrl,
  type Connection,
  type Webhook,
} from '../connections/index.ts';
import type { Scheme } from '../providers/index.ts';
import { shownDelivery, shownWebhook } from './shown.ts';
import {
  lastDeliveriesAt,
  listAllDeliveries,
  listDeliveries,
  newestDeliveries,
  readAgain,
  type Delivery,
} from './store.ts';
import { WebhooksService } from '@svc/proto/gen/svc/webhooks/v1/webhooks_pb.ts';
import { environmentRows } from '../../apps/environments/index.ts';

export interface WebhookDeps {
  readonly secrets: Secrets;
  /** The address at which providers reach this service. */
  publicUrl(): string;
}

export function createWebhookCalls({ secrets, publicUrl }: WebhookDeps): Handlers<Ctx> {
  const present = async (ctx: Ctx, connection: Connection) => {
    const webhook = await webhookOf(ctx, connection);
    const lastAt = await lastDeliveriesAt(ctx.db, [connection.id]);
    const view = { connection, webhook, lastDeliveryAt: lastAt.get(connection.id) ?? null };
    return { webhook, message: shownWebhook(view, publicUrl(), ctx.clock.now()) };
  };
  return implementPart(CiService, {
    getWebhook: async ({ connectionId }, ctx) =>
      (await present(ctx, await connectionRows.find(ctx, connectionId))).message,
    rotateWebhookSecret: async ({ connectionId, scheme }, ctx) => {
      const connection = await connectionRows.find(ctx, connectionId);
      const wanted = scheme === undefined ? undefined : (enumWord(WebhookSchemeSchema, scheme) as Scheme);
      if (wanted !== undefined) checkScheme(connection, wanted);
      let used = wanted;
      const details = (of: Connection) => ({ ...detailsOf(of), scheme: used });
      await change(ctx, { action: 'ci_webhook.secret_rotated', details }, async (tx) => {
        const locked = await connectionRows.lock(tx, connectionId);
        used = await giveSecret(tx.db, locked, { secrets, scheme: wanted, now: ctx.clock.now() });
        return locked;
      });
      const { webhook, message } = await present(ctx, connection);
      const [secret] = openSecrets(secrets, webhook, ctx.clock.now());
      if (secret === undefined) throw notFound('CI connection'); // taken back at this very moment
      const url = webhookUrl(publicUrl(), webhook, connection.provider === 'jenkins' ? secret : undefined);
      return { webhook: message, secret, url };
    },
    subscribeWebhook: async ({ connectionId }, ctx) => {
      const connection = await connectionRows.find(ctx, connectionId);
      if (!canSubscribe(connection)) throw cannotSubscribe(connection);
      const act = { action: 'ci_webhook.subscription_requested', details: detailsOf };
      await change(ctx, act, async (tx) => {
        await startSubscription(tx.db, connection, { secrets, now: ctx.clock.now() });
        return connection;
      });
      return (await present(ctx, connection)).message;
    },
    listDeliveries: async ({ connectionId, limit, cursor }, ctx) => {
      const { id } = await connectionRows.find(ctx, connectionId);
      const page = openPage(ctx, id, { limit, cursor });
      const after = page.after === undefined ? undefined : String(page.after[0]);
      const rows = await listDeliveries(ctx.db, { connectionId: id, take: page.take, after });
      const { items, ...next } = closePage(page, rows, (row) => [row.id]);
      return { deliveries: items.map(shownDelivery), ...next };
    },
  });
}

async function webhookOf(ctx: Ctx, { id }: Connection): Promise<Webhook> {
  const webhook = await readWebhook(ctx.db, id);
  if (webhook === undefined) throw notFound('CI connection'); // deleted at this very moment
  return webhook;
}

function checkScheme({ provider }: Connection, scheme: Scheme): void {
  const schemes = schemesOf(provider);
  if (!schemes.includes(scheme))
    throw wrongField(`scheme is "${scheme}", webhooks of ${provider} have ${schemes.join(' or ')}`, {
      field: 'scheme',
      rule: 'in',
    });
}

function cannotSubscribe(connection: Connection): Error {
  const { id, provider, ingestMode, token, repositoryHost } = connection;
  const why = !takesWebhooks(connection)
    ? `its ingest mode is ${ingestMode}; set webhook or both first`
    : token === null
      ? 'it has no token; set one first'
      : `webhooks of ${provider} at ${repositoryHost} are set up by hand, as the webhook's instructions say`;
  return apiError('state_conflict', `no subscription can be made for the CI connection: ${why}`, {
    details: { ciConnectionId: id, provider, ingestMode, hasToken: token !== null },
  });
}

export interface AdminCiDeliveriesDeps {
  /** Something waits to be read. */
  wakeReading(): void;
}

export function createAdminCiDeliveries({ wakeReading }: AdminCiDeliveriesDeps): Handlers<Ctx> {
  return implement(AdminCiDeliveriesService, {
    list: async ({ limit, cursor, ciConnectionId, state: number }, ctx) => {
      const state = number === undefined ? undefined : enumWord(CiDeliveryStateSchema, number);
      const binding = `${ciConnectionId ?? ''} ${state ?? ''}`;
      const page = openPage(ctx, binding, { limit, cursor });
      const after = page.after === undefined ? undefined : String(page.after[0]);
      const query = {
        take: page.take,
        after,
        connectionId: ciConnectionId,
        state: state as Delivery['state'],
      };
      const { items, ...next } = closePage(page, await listAllDeliveries(ctx.db, query), ({ id }) => [id]);
      return { deliveries: items.map(shownDelivery), ...next };
    },
    replay: async ({ deliveryId }, ctx) => {
      const details = ({ connectionId }: Delivery) => ({ ciConnectionId: connectionId });
      const delivery = await change(ctx, { action: 'ci_delivery.replayed', details }, async ({ db }) => {
        const found = await readAgain(db, deliveryId);
        if (found === undefined) throw notFound('delivery');
        db.afterCommit(wakeReading);
        return found;
      });
      return shownDelivery(delivery);
    },
  });
}

const DELIVERIES_DEFAULT = 50;

export function createWebhooks({ publicUrl }: { publicUrl(): string }): Handlers<Ctx> {
  const ofEnvironment = async (ctx: Ctx, environmentId: string) =>
    await webhooksOfProject(ctx, await environmentRows.find(ctx, environmentId));
  return implement(WebhooksService, {
    list: async ({ environmentId }, ctx) => {
      const all = await ofEnvironment(ctx, environmentId);
      const withSecret = all.filter(({ webhook: { secret } }) => secret !== null);
      const ids = withSecret.map(({ webhook: { connectionId } }) => connectionId);
      const lastAt = await lastDeliveriesAt(ctx.db, ids);
      return {
        webhooks: withSecret.map(({ webhook, ...connection }) => {
          const lastDeliveryAt = lastAt.get(webhook.connectionId) ?? null;
          return shownWebhook({ connection, webhook, lastDeliveryAt }, publicUrl(), ctx.clock.now());
        }),
      };
    },
    delete: async ({ environmentId, hookId }, ctx) => {
      const all = await ofEnvironment(ctx, environmentId);
      const found = all.find(({ webhook: { id, secret } }) => id === hookId && secret !== null);
      if (found === undefined) throw notFound('webhook');
      const { connectionId } = found.webhook;
      const act = { action: 'ci_webhook.deleted', details: detailsOf };
      await change(ctx, act, async (tx) => await takeBack(tx, connectionId));
      return {};
    },
    deliveries: async ({ environmentId, limit = DELIVERIES_DEFAULT }, ctx) => {
      const all = await ofEnvironment(ctx, environmentId);
      const ids = all.map(({ webhook: { connectionId } }) => connectionId);
      return { deliveries: (await newestDeliveries(ctx.db, ids, limit)).map(shownDelivery) };
    },
  });
}

/** Takes the webhook back. Deliveries stay listed; nothing more is taken. */
async function takeBack(tx: Ctx, connectionId: string): Promise<Connection> {
  const connection = await connectionRows.lock(tx, connectionId);
  await stopSubscription(tx.db, connection);
  await setWebhook(tx.db, connectionId, { secret: null, previousSecret: null, previousUntil: null });
  const set = { ingestMode: 'direct', updatedAt: tx.clock.now() } as const;
  await connectionRows.update(tx, connectionId, { set });
  return connection;
}
