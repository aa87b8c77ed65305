/** Webhooks and deliveries as callers see them. A secret is never among it. */
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import type { Connection } from '../model/connection.ts';
import { deliveryStateNumber, providerNumber, schemeNumber, subscriptionNumber } from '../words.ts';
import type { Delivery } from './deliveries-store.ts';
import { instructionsFor } from './instructions.ts';
import { webhookUrl } from './store.ts';
import type { Webhook } from '../model/webhook.ts';

export interface WebhookView {
  readonly connection: Pick<Connection, 'provider'>;
  readonly webhook: Webhook;
  readonly lastDeliveryAt: Date | null;
}

export function presentWebhook(
  { connection: { provider }, webhook, lastDeliveryAt }: WebhookView,
  publicUrl: string,
  now: Date,
) {
  const { previousUntil, detail } = webhook;
  return {
    id: webhook.id,
    ciConnectionId: webhook.connectionId,
    provider: providerNumber(provider),
    ...(provider === 'jenkins' ? {} : { url: webhookUrl(publicUrl, webhook) }),
    scheme: schemeNumber(webhook.scheme),
    hasSecret: webhook.secret !== null,
    ...(previousUntil === null || previousUntil <= now
      ? {}
      : { previousSecretUntil: timestampFromDate(previousUntil) }),
    subscription: subscriptionNumber(webhook.subscription),
    ...(detail === null ? {} : { detail }),
    instructions: `${instructionsFor(provider, webhook.scheme)} The secret is shown when it is made: svc ci webhook rotate-secret ${webhook.connectionId} makes a new one.`,
    ...(lastDeliveryAt === null ? {} : { lastDeliveryAt: timestampFromDate(lastDeliveryAt) }),
  };
}

export function presentDelivery(delivery: Delivery) {
  const { event, detail, changed, runId, processedAt } = delivery;
  return {
    id: delivery.id,
    ciConnectionId: delivery.connectionId,
    teamId: delivery.teamId,
    deliveryId: delivery.deliveryId,
    ...(event === null ? {} : { event }),
    state: deliveryStateNumber(delivery.state),
    ...(detail === null ? {} : { detail }),
    ...(changed === null ? {} : { changed }),
    ...(runId === null ? {} : { runId }),
    bytes: delivery.bytes,
    receivedAt: timestampFromDate(delivery.receivedAt),
    ...(processedAt === null ? {} : { processedAt: timestampFromDate(processedAt) }),
    repeats: delivery.repeats,
  };
}
