/** Webhooks of CI systems: their addresses, secrets and deliveries. */
import { apiError } from '@svc/proto/http/errors.ts';
import type { Implementation } from '@svc/proto/http/implement.ts';
import type { CiService } from '@svc/proto/gen/svc/ci/v1/ci_pb.ts';
import { recordAct } from '../../../kit/ledger/index.ts';
import type { Ctx } from '../../../kit/context.ts';
import { notFound } from '../../../kit/not-found.ts';
import { closePage, openPage } from '../../../kit/paging.ts';
import { act, connectionOf, refused } from '../connections.ts';
import { lockConnection } from '../connections-store.ts';
import type { Connection } from '../model/connection.ts';
import type { CiDeps } from '../deps.ts';
import { schemeWord } from '../words.ts';
import { lastDeliveryAt, listDeliveries } from './deliveries-store.ts';
import { presentDelivery, presentWebhook } from './present.ts';
import { openSecrets, schemesOf } from './secret.ts';
import type { Scheme } from '../model/webhook.ts';
import { readWebhook, webhookUrl } from './store.ts';
import type { Webhook } from '../model/webhook.ts';
import { canSubscribe, giveSecret, startSubscription, takesWebhooks } from './subscription.ts';

export { createAdminCiDeliveries } from './admin.ts';
export { purgeCiDeliveries } from './deliveries-store.ts';
export { createWebhookEndpoint } from './endpoint.ts';
export { createWebhooks } from './of-environment.ts';
export { startReading } from './reading.ts';
export { startSubscription } from './subscription.ts';

type Methods = Pick<
  Implementation<typeof CiService, Ctx>,
  'getWebhook' | 'rotateWebhookSecret' | 'subscribeWebhook' | 'listDeliveries'
>;

export function webhookMethods({ secrets, publicUrl }: CiDeps): Methods {
  const present = async (ctx: Ctx, connection: Connection) => {
    const webhook = await webhookOf(ctx, connection);
    const view = { connection, webhook, lastDeliveryAt: await lastDeliveryAt(ctx.db, connection.id) };
    return { webhook, shown: presentWebhook(view, publicUrl(), ctx.clock.now()) };
  };
  return {
    getWebhook: async ({ connectionId }, ctx) =>
      (await present(ctx, await connectionOf(ctx, connectionId))).shown,
    rotateWebhookSecret: async ({ connectionId, scheme }, ctx) => {
      const connection = await connectionOf(ctx, connectionId);
      const wanted = scheme === undefined ? undefined : schemeWord(scheme);
      if (wanted !== undefined) checkScheme(connection, wanted);
      await ctx.db.transact(async (db) => {
        const locked = await lockConnection(db, ctx.teams, connectionId);
        if (locked === undefined) throw notFound('CI connection');
        const used = await giveSecret(db, locked, { secrets, scheme: wanted, now: ctx.clock.now() });
        await recordAct(db, ctx, act('ci_webhook.secret_rotated', locked, { scheme: used }));
      });
      const { webhook, shown } = await present(ctx, connection);
      const [secret] = openSecrets(secrets, webhook, ctx.clock.now());
      if (secret === undefined) throw notFound('CI connection'); // taken back at this very moment
      const url = webhookUrl(publicUrl(), webhook, connection.provider === 'jenkins' ? secret : undefined);
      return { webhook: shown, secret, url };
    },
    subscribeWebhook: async ({ connectionId }, ctx) => {
      const connection = await connectionOf(ctx, connectionId);
      if (!canSubscribe(connection)) throw cannotSubscribe(connection);
      await ctx.db.transact(async (db) => {
        await startSubscription(db, connection, { secrets, now: ctx.clock.now() });
        await recordAct(db, ctx, act('ci_webhook.subscription_requested', connection));
      });
      return (await present(ctx, connection)).shown;
    },
    listDeliveries: async ({ connectionId, limit, cursor }, ctx) => {
      const { id } = await connectionOf(ctx, connectionId);
      const page = openPage(ctx, id, { limit, cursor });
      const after = page.after === undefined ? undefined : String(page.after[0]);
      const rows = await listDeliveries(ctx.db, { connectionId: id, take: page.take, after });
      const { items, nextCursor } = closePage(page, rows, (row) => [row.id]);
      return { deliveries: items.map(presentDelivery), ...(nextCursor === undefined ? {} : { nextCursor }) };
    },
  };
}

async function webhookOf(ctx: Ctx, { id }: Connection): Promise<Webhook> {
  const webhook = await readWebhook(ctx.db, id);
  if (webhook === undefined) throw notFound('CI connection'); // deleted at this very moment
  return webhook;
}

function checkScheme({ provider }: Connection, scheme: Scheme): void {
  const schemes = schemesOf(provider);
  if (!schemes.includes(scheme))
    throw refused(
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
