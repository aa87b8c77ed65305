/**
 * This is a stateful counterpart of Stripe's API: what it keeps, charges and tells is what Stripe would, by
 * its own clock.
 */
import { systemClock, type Clock } from '@svc/proto/process/clock.ts';
import { onLoopback } from '../listen.ts';
import { catalogueRoutes } from './catalogue.ts';
import { customerRoutes } from './customers.ts';
import { createDeliveries, type Deliveries, type Endpoint } from './deliveries.ts';
import { disputeRoutes } from './disputes.ts';
import { eventRoutes } from './events.ts';
import { createFaults, type ApiFaults, type CallRecord } from './faults.ts';
import { createDoor } from './http.ts';
import { createIdempotency } from './idempotency.ts';
import { invoiceItemRoutes } from './invoice-item-routes.ts';
import { invoiceRoutes } from './invoice-routes.ts';
import { paymentRoutes } from './payments.ts';
import { createPeople } from './people.ts';
import { portalRoutes } from './portal.ts';
import { refundRoutes } from './refunds.ts';
import { sessionRoutes } from './sessions.ts';
import { LIVE } from './standing.ts';
import { subscriptionRoutes } from './subscription-routes.ts';
import { goOn } from './time.ts';
import { createWorld, idOf, type Settings, type World } from './world.ts';

export { signatureOf } from './signature.ts';
export { sendSigned } from './deliveries.ts';

export interface StripeOptions extends Partial<Settings> {
  /** The wall clock. Its own time is this one and what `advance` added. */
  readonly clock?: Clock;
  readonly webhook?: Endpoint;
  readonly key?: string;
}

export type TestStripe = Awaited<ReturnType<typeof startStripe>>;

export async function startStripe(options: StripeOptions = {}) {
  const { clock = systemClock, webhook, key = 'sk_test_counterpart' } = options;
  const deliveries = createDeliveries(() => world);
  deliveries.endpoint = webhook;
  const world = createWorld({
    clock,
    told: deliveries.tell,
    livemode: options.livemode ?? key.startsWith('sk_live'),
    afterRetries: options.afterRetries ?? 'canceled',
    name: options.name ?? '',
    taxPercent: options.taxPercent ?? 0,
  });
  const calls: CallRecord[] = [];
  const faults = createFaults(() => server.closeAllConnections());
  const idempotency = createIdempotency(world.now);
  const server = createDoor({ world, routes: ROUTES, key, faults, idempotency, calls });
  const { port, url, close } = await onLoopback(server);
  world.origin = url;
  return {
    ...createPeople(world),
    url,
    host: '127.0.0.1',
    port,
    key,
    api: faults as ApiFaults,
    webhooks: deliveries as Deliveries,
    calls,
    /** Everything that it keeps is there to look at. */
    tables: world.tables,
    /** Whole seconds of its own time. */
    now: world.now,
    /**
     * Its own time goes on: subscriptions renew, charges and deliveries are tried again, sessions end. It
     * resolves when all is delivered.
     */
    advance: async (ms: number): Promise<void> => {
      goOn(world, ms);
      await deliveries.delivered();
      deliveries.passed();
      await deliveries.delivered();
    },
    delivered: deliveries.delivered,
    /** Returns the calls of a method and path, such as `POST /v1/invoices`. */
    callsOf: (name: string): CallRecord[] => calls.filter((call) => `${call.method} ${call.path}` === name),
    countsOf: (customerId: string) => countsOf(world, customerId),
    stop: async (): Promise<void> => {
      deliveries.stop();
      await close();
    },
  };
}

const ROUTES = [
  ...customerRoutes,
  ...catalogueRoutes,
  ...sessionRoutes,
  ...portalRoutes,
  ...subscriptionRoutes,
  ...invoiceRoutes,
  ...invoiceItemRoutes,
  ...paymentRoutes,
  ...refundRoutes,
  ...disputeRoutes,
  ...eventRoutes,
];

function countsOf({ tables }: World, customerId: string) {
  const of = <T extends { customer: string | { id: string } | null }>(all: Map<string, T>) =>
    [...all.values()].filter((each) => idOf(each.customer) === customerId);
  const charges = of(tables.charge).filter((each) => each.status === 'succeeded');
  const invoices = of(tables.invoice);
  return {
    liveSubscriptions: of(tables.subscription).filter((each) => LIVE.includes(each.status)).length,
    /** Number of charges that succeeded. */
    charges: charges.length,
    chargedCents: charges.reduce((sum, each) => sum + each.amount, 0),
    refundedCents: charges.reduce((sum, each) => sum + each.amount_refunded, 0),
    /** They are counted without drafts and voided ones. */
    invoices: invoices.filter((each) => each.status !== 'draft' && each.status !== 'void').length,
    drafts: invoices.filter((each) => each.status === 'draft').length,
  };
}
