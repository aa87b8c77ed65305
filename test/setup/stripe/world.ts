/** Everything that the counterpart knows, and its own time. */
import Stripe from 'stripe';
import type { Clock } from '@svc/proto/process/clock.ts';
import { missing } from './refusal.ts';

/** The only version that it speaks: that of the library. */
export const API_VERSION = Stripe.API_VERSION;

export interface StoredEvent {
  id: string;
  object: 'event';
  api_version: string;
  created: number;
  data: { object: Stripe.Event.Data.Object };
  livemode: boolean;
  pending_webhooks: number;
  request: Stripe.Event.Request | null;
  type: Stripe.Event['type'];
}

/** Purchase that a checkout session is for, beyond what its object shows. */
export interface Purchase {
  readonly lines: Stripe.LineItem[];
  readonly subscriptionMetadata: Record<string, string>;
  readonly paymentMetadata: Record<string, string>;
  readonly anchor?: Anchor;
  readonly prorates: boolean;
  /** End by the counterpart's own time, in seconds. */
  readonly endsAt: number;
}

/** Day of the month, UTC, on which periods begin. */
export interface Anchor {
  readonly dayOfMonth: number;
  readonly hour: number;
  readonly minute: number;
  readonly second: number;
}

export type Tables = ReturnType<typeof emptyTables>;

export type Kept<K extends keyof Tables> = Tables[K] extends Map<string, infer T> ? T : never;
type ObjectOf<T extends Stripe.Event['type']> = Extract<Stripe.Event, { type: T }>['data']['object'];

export interface World {
  readonly tables: Tables;
  readonly purchases: Map<string, Purchase>;
  /** All lines of an invoice; its object shows the first ten. */
  readonly lines: Map<string, Stripe.InvoiceLineItem[]>;
  /** Items that waited for any invoice before one took them. */
  readonly waited: Set<string>;
  /** Deleted customers by their ids. Nothing new is made for one of them. */
  readonly deletedCustomers: Map<string, Stripe.DeletedCustomer>;
  /** Answers of the cards that customers left. A customer who left none has no entry. */
  readonly cards: Map<string, 'works' | 'declines'>;
  readonly settings: Settings;
  /** Request that is being answered, for the events that it causes. */
  request: Stripe.Event.Request | null;
  /** Address of the counterpart itself, for its pages. */
  origin: string;
  /** Whole seconds of its own time, which `advance` moves. */
  now(): number;
  wallNow(): Date;
  /** Moves its own time to that second. */
  moveTo(second: number): void;
  nextId(prefix: string): string;
  find<K extends keyof Tables>(kind: K, id: string, param?: string): Kept<K>;
  emit<T extends Stripe.Event['type']>(type: T, object: ObjectOf<T>): void;
}

export interface Settings {
  readonly livemode: boolean;
  /** Part of every id, so that two counterparts of one database do not make the same. */
  readonly name: string;
  /** Added where `automatic_tax` is enabled. */
  readonly taxPercent: number;
  /** The end of a subscription whose invoice stays unpaid after all tries. */
  readonly afterRetries: 'canceled' | 'unpaid' | 'past_due';
}

export interface WorldOptions extends Settings {
  readonly clock: Clock;
  readonly told: (event: StoredEvent) => void;
}

export function createWorld({ clock, told, ...settings }: WorldOptions): World {
  const counters = new Map<string, number>();
  let aheadMs = 0;
  const tables = emptyTables();
  const world: World = {
    tables,
    purchases: new Map(),
    lines: new Map(),
    waited: new Set(),
    deletedCustomers: new Map(),
    cards: new Map(),
    settings,
    request: null,
    origin: '',
    now: () => Math.floor((clock.now().getTime() + aheadMs) / 1000),
    wallNow: () => clock.now(),
    moveTo: (second) => {
      aheadMs = second * 1000 - clock.now().getTime();
    },
    nextId: (prefix) => {
      const n = (counters.get(prefix) ?? 0) + 1;
      counters.set(prefix, n);
      return `${prefix}_${settings.name}${String(n).padStart(14, '0')}`;
    },
    find: (kind, id, param) => {
      const found = tables[kind].get(id);
      if (found === undefined) throw missing(kind, { id, ...(param === undefined ? {} : { param }) });
      return found as Kept<typeof kind>;
    },
    emit: (type, object) => {
      const event: StoredEvent = {
        id: world.nextId('evt'),
        object: 'event',
        api_version: API_VERSION,
        created: world.now(),
        // As it is now: it may be another one when the event is read.
        data: { object: JSON.parse(JSON.stringify(object)) as Stripe.Event.Data.Object },
        livemode: settings.livemode,
        pending_webhooks: 1,
        request: world.request,
        type,
      };
      tables.event.set(event.id, event);
      told(event);
    },
  };
  return world;
}

const emptyTables = () => ({
  customer: new Map<string, Stripe.Customer>(),
  product: new Map<string, Stripe.Product>(),
  price: new Map<string, Stripe.Price>(),
  'checkout.session': new Map<string, Stripe.Checkout.Session>(),
  'billing_portal.session': new Map<string, Stripe.BillingPortal.Session>(),
  subscription: new Map<string, Stripe.Subscription>(),
  invoice: new Map<string, Stripe.Invoice>(),
  invoiceitem: new Map<string, Stripe.InvoiceItem>(),
  invoice_payment: new Map<string, Stripe.InvoicePayment>(),
  payment_intent: new Map<string, Stripe.PaymentIntent>(),
  charge: new Map<string, Stripe.Charge>(),
  refund: new Map<string, Stripe.Refund>(),
  dispute: new Map<string, Stripe.Dispute>(),
  event: new Map<string, StoredEvent>(),
});

/** The id of what is shown as an id, or whole. */
export const idOf = (given: string | { id: string } | null | undefined): string =>
  given === null || given === undefined ? '' : typeof given === 'string' ? given : given.id;
