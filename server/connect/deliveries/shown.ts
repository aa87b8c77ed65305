/** Webhooks and deliveries as callers see them. A secret is never among it. */
import { CiDeliverySchema, CiWebhookSchema } from '@svc/proto/gen/svc/ci/v1/ci_pb.ts';
import type { CiDelivery, CiWebhook } from '@svc/proto/gen/svc/ci/v1/ci_pb.ts';
import { shown } from '../../kit/resource/index.ts';
import { webhookUrl } from '../connections/index.ts';
import type { Connection, Webhook } from '../connections/index.ts';
import { instructionsFor } from './instructions.ts';
import type { Delivery } from './store.ts';

export interface WebhookView {
  readonly connection: Pick<Connection, 'provider'>;
  readonly webhook: Webhook;
  readonly lastDeliveryAt: Date | null;
}

export function shownWebhook(
  { connection: { provider }, webhook, lastDeliveryAt }: WebhookView,
  publicUrl: string,
  now: Date,
): CiWebhook {
  const { connectionId, previousUntil } = webhook;
  return shown(CiWebhookSchema, webhook, {
    ciConnectionId: connectionId,
    provider,
    url: provider === 'jenkins' ? null : webhookUrl(publicUrl, webhook),
    hasSecret: webhook.secret !== null,
    previousSecretUntil: previousUntil !== null && previousUntil > now ? previousUntil : null,
    instructions: `${instructionsFor(provider, webhook.scheme)} The secret is shown when it is made: svc ci webhook rotate-secret ${connectionId} makes a new one.`,
    lastDeliveryAt,
  });
}

export const shownDelivery = (delivery: Delivery): CiDelivery =>
  shown(CiDeliverySchema, delivery, { ciConnectionId: delivery.connectionId });
