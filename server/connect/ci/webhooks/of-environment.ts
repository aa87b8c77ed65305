/** Webhooks as an environment sees them: those of the connections of its project. */
// No TeamScope: called by gateways, workers and the outbox, which act for no caller.
import type { Handlers } from '@svc/proto/http/implement.ts';
import { implement } from '@svc/proto/http/implement.ts';
import { WebhooksService } from '@svc/proto/gen/svc/webhooks/v1/webhooks_pb.ts';
import { recordAct } from '../../../kit/ledger/index.ts';
import { environmentRows } from '../../../apps/environments/index.ts';
import type { Environment } from '../../../apps/environments/index.ts';
import type { Ctx } from '../../../kit/context.ts';
import type { Database } from '../../../base/db/index.ts';
import { notFound } from '../../../kit/not-found.ts';
import { act } from '../connections.ts';
import { findConnection, lockConnection, updateConnection } from '../connections-store.ts';
import type { CiDeps } from '../deps.ts';
import type { CiProvider } from '../words.ts';
import { newestDeliveries } from './deliveries-store.ts';
import { presentDelivery, presentWebhook } from './present.ts';
import { updateSecret, webhookColumns } from './store.ts';
import type { Webhook } from '../model/webhook.ts';
import { stopSubscription } from './subscription.ts';

const DELIVERIES_DEFAULT = 50;

export function createWebhooks({ publicUrl }: Pick<CiDeps, 'publicUrl'>): Handlers<Ctx> {
  return implement(WebhooksService, {
    list: async ({ environmentId }, ctx) => {
      const rows = await webhooksOf(ctx.db, await environmentRows.find(ctx, environmentId));
      const shown = rows.filter(({ secret }) => secret !== null);
      return {
        webhooks: shown.map(({ provider, lastDeliveryAt, ...webhook }) =>
          presentWebhook({ connection: { provider }, webhook, lastDeliveryAt }, publicUrl(), ctx.clock.now()),
        ),
      };
    },
    delete: async ({ environmentId, hookId }, ctx) => {
      const rows = await webhooksOf(ctx.db, await environmentRows.find(ctx, environmentId));
      const webhook = rows.find(({ id, secret }) => id === hookId && secret !== null);
      if (webhook === undefined) throw notFound('webhook');
      await ctx.db.transact(async (db) => await takeBack(db, ctx, webhook));
      return {};
    },
    deliveries: async ({ environmentId, limit = DELIVERIES_DEFAULT }, ctx) => {
      const rows = await webhooksOf(ctx.db, await environmentRows.find(ctx, environmentId));
      const ids = rows.map(({ connectionId }) => connectionId);
      return { deliveries: (await newestDeliveries(ctx.db, ids, limit)).map(presentDelivery) };
    },
  });
}

interface Row extends Webhook {
  readonly provider: CiProvider;
  readonly lastDeliveryAt: Date | null;
}

/** The webhooks of all connections of the environment's project, oldest first. */
async function webhooksOf({ sql }: Database, { teamId, projectId }: Environment): Promise<readonly Row[]> {
  return await sql<Row[]>`
    select ${webhookColumns(sql)}, c.provider, (
      select d.received_at from ci_deliveries d where d.connection_id = c.id order by d.id desc nulls last limit 1
    ) as "lastDeliveryAt"
    from ci_connections c join ci_webhooks w on w.connection_id = c.id
    where c.team_id = ${teamId} and c.project_id = ${projectId} order by c.created_at, c.id`;
}

/** Takes the webhook back. Deliveries stay in the ledger; nothing more is taken. */
async function takeBack(db: Database, ctx: Ctx, { connectionId }: Webhook): Promise<void> {
  const known = await findConnection(db, ctx.teams, connectionId);
  const connection = known === undefined ? undefined : await lockConnection(db, ctx.teams, connectionId);
  if (connection === undefined) throw notFound('webhook');
  const now = ctx.clock.now();
  await stopSubscription(db, connection);
  await updateSecret(db, connectionId, { secret: null, previousSecret: null, previousUntil: null });
  await updateConnection(db, ctx.teams, { ...connection, ingestMode: 'direct', updatedAt: now });
  await recordAct(db, ctx, act('ci_webhook.deleted', connection));
}
