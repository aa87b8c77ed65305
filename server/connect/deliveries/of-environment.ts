/** Webhooks as an environment sees them: those of the connections of its project. */
import type { Handlers } from '@svc/proto/http/implement.ts';
import { implement } from '@svc/proto/http/implement.ts';
import { WebhooksService } from '@svc/proto/gen/svc/webhooks/v1/webhooks_pb.ts';
import { environmentRows } from '../../apps/environments/index.ts';
import type { Ctx } from '../../kit/context.ts';
import { notFound } from '../../kit/not-found.ts';
import { change } from '../../kit/resource/index.ts';
import {
  connectionRows,
  detailsOf,
  setWebhook,
  stopSubscription,
  webhooksOfProject,
} from '../connections/index.ts';
import type { Connection } from '../connections/index.ts';
import { shownDelivery, shownWebhook } from './shown.ts';
import { lastDeliveriesAt, newestDeliveries } from './store.ts';

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

/** Takes the webhook back. Deliveries stay in the ledger; nothing more is taken. */
async function takeBack(tx: Ctx, connectionId: string): Promise<Connection> {
  const connection = await connectionRows.lock(tx, connectionId);
  await stopSubscription(tx.db, connection);
  await setWebhook(tx.db, connectionId, { secret: null, previousSecret: null, previousUntil: null });
  const set = { ingestMode: 'direct', updatedAt: tx.clock.now() } as const;
  await connectionRows.update(tx, connectionId, { set });
  return connection;
}
