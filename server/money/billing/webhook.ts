/**
 * This file serves `POST /billing/webhooks/stripe`, where the provider tells of events. Their origin is
 * proved before anything in them is looked at. 200 means that it is stored, not that anything was done: the
 * provider sends what gets no 2xx again for three days.
 */
import { apiError } from '@svc/proto/http/errors.ts';
import type { Endpoint, EndpointRequest, PageResponse } from '@svc/proto/http/pages.ts';
import { mapDatabaseError } from '../../base/db/index.ts';
import type { System } from '../../kit/feature.ts';
import { addEvents } from './events.ts';
import { handlerOf } from './handle.ts';
import type { Provider } from './provider.ts';

/** The provider's events are some tens of kilobytes. */
const BODY_BYTES_MAX = 512 * 1024;

export interface WebhookDeps extends Pick<System, 'db' | 'clock'> {
  readonly provider: Provider | undefined;
  readonly hasSecret: boolean;
  onStored(): void;
}

export function createBillingWebhook(deps: WebhookDeps): Readonly<Record<string, Endpoint>> {
  return {
    '/billing/webhooks/stripe': {
      verbs: ['POST'],
      serve: async (request) => {
        try {
          return await take(deps, request);
        } catch (error) {
          throw mapDatabaseError(error);
        }
      },
    },
  };
}

async function take({ db, clock, provider, hasSecret, onStored }: WebhookDeps, request: EndpointRequest) {
  if (provider === undefined || !hasSecret)
    throw apiError(
      'billing_unconfigured',
      'this installation takes no events of payments: STRIPE_SECRET_KEY or STRIPE_WEBHOOK_SECRETS is not set',
    );
  const body = await request.body(BODY_BYTES_MAX);
  const header = request.header('stripe-signature') ?? '';
  const event = await provider.verified(body, { header, now: clock.now() });
  if (event === undefined)
    throw apiError(
      'signature_invalid',
      'the event does not prove that it comes from the provider of payments',
    );
  const { id, type, isLive, objectId, customerId } = event;
  // What the server makes for itself has no type of the provider's.
  if (
    isLive !== provider.isLive ||
    type.startsWith('svc.') ||
    handlerOf(type) === undefined ||
    objectId === ''
  )
    return answer({ ignored: true });
  const isNew = (await addEvents(db.sql, [{ id, type, lane: customerId ?? objectId, objectId }])) > 0;
  if (isNew) onStored();
  return answer(isNew ? { received: true } : { received: true, duplicate: true });
}

function answer(body: object): PageResponse {
  return {
    headers: { 'content-type': 'application/json; charset=utf-8' },
    body: JSON.stringify(body),
  };
}
