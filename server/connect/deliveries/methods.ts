/** Callers see and change the addresses, secrets and deliveries of webhooks. */
import { apiError } from '@svc/proto/http/errors.ts';
import { implementPart } from '@svc/proto/http/implement.ts';
import type { Handlers } from '@svc/proto/http/implement.ts';
import { CiService, WebhookSchemeSchema } from '@svc/proto/gen/svc/ci/v1/ci_pb.ts';
import type { Secrets } from '../../base/secrets.ts';
import type { Ctx } from '../../kit/context.ts';
import { notFound } from '../../kit/not-found.ts';
import { closePage, openPage } from '../../kit/paging.ts';
import { change, enumWord } from '../../kit/resource/index.ts';
import {
  canSubscribe,
  connectionRows,
  detailsOf,
  giveSecret,
  openSecrets,
  readWebhook,
  refusedField,
  schemesOf,
  startSubscription,
  takesWebhooks,
  webhookUrl,
} from '../connections/index.ts';
import type { Connection, Webhook } from '../connections/index.ts';
import type { Scheme } from '../providers/index.ts';
import { shownDelivery, shownWebhook } from './shown.ts';
import { lastDeliveriesAt, listDeliveries } from './store.ts';

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
    throw refusedField(
      'scheme',
      'in',
      `scheme is "${scheme}", webhooks of ${provider} have ${schemes.join(' or ')}`,
    );
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
