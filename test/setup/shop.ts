/**
 * A server whose payments go to the counterpart of Stripe, both on one clock that tests move, and people who
 * buy.
 */
import type { Clock } from '@svc/proto/process/clock.ts';
import { systemClock } from '@svc/proto/process/clock.ts';
import { createLog } from '@svc/proto/process/log.ts';
import Stripe from 'stripe';
import { readConfig } from '../../server/config.ts';
import { limitsFeature } from '../../server/engine/limits/index.ts';
import { amountsFeature } from '../../server/money/amounts/index.ts';
import type { BillingDeps } from '../../server/money/billing/billing-deps.ts';
import { addDunning, addLooks } from '../../server/money/billing/reconcile.ts';
import { openProvider } from '../../server/money/billing/stripe.ts';
import { createFollowPlans } from '../../server/money/plans/index.ts';
import { newKey, stranger } from './people.ts';
import type { Person } from './people.ts';
import { startTestServer } from './server.ts';
import type { TestResponse, TestServer } from './server.ts';
import { startStripe } from './stripe/index.ts';
import type { TestStripe } from './stripe/index.ts';
import { waitFor } from './wait-for.ts';

export const WEBHOOK_SECRETS = ['whsec_of_the_shop', 'whsec_of_the_shop_before'];
export const BACK = {
  successUrl: 'https://app.example.com/paid?session={CHECKOUT_SESSION_ID}',
  cancelUrl: 'https://app.example.com/left',
};
export const HOUR = 60 * 60_000;
export const DAY = 24 * HOUR;

export interface Buyer extends Person {
  readonly teamId: string;
  /** API key with every scope of billing; it outlives what the clock does to sessions. */
  readonly key: string;
}

export interface Shop {
  readonly server: TestServer;
  readonly stripe: TestStripe;
  readonly clock: Clock;
  /** The library as anybody with the key uses it. */
  readonly api: Stripe;
  /** Dependencies as those of the server. */
  readonly deps: BillingDeps;
  /** Lines that the server logged. */
  readonly logged: readonly string[];
  /** A second server beside the first one. The caller stops it. */
  another(): Promise<TestServer>;
  buyer(): Promise<Buyer>;
  checkout(buyer: Buyer, plan?: string): Promise<TestResponse>;
  buyCredit(buyer: Buyer, amountCents?: number): Promise<TestResponse>;
  /** Id of the session of an answer's address. */
  sessionOf(answer: TestResponse): string;
  customerOf(buyer: Buyer): Promise<string>;
  /** Buys, pays, and waits until it is known. */
  subscribe(buyer: Buyer, plan?: string): Promise<string>;
  /** Both clocks, in steps, so that what the counterpart does by itself happens in its time. */
  goOn(ms: number, stepMs?: number): Promise<void>;
  /** The same, for a provider that is away: nothing is waited for. */
  goOnAlone(ms: number): Promise<void>;
  /** Resolves when everything that was told is handled, and what the server looks at by itself. */
  settled(): Promise<void>;
  /** Resolves when everything that the provider told is handled. */
  heard(): Promise<void>;
  /** Everything that is open is read again, as staff ask for it. Returns the task when it is done. */
  reconcile(): Promise<Readonly<Record<string, unknown>>>;
  /** Looks at what the loop would look at by itself at this moment, and does what comes of it. */
  look(): Promise<void>;
  plan(buyer: Buyer): Promise<Record<string, unknown>>;
  /** Minor units of credit. */
  credit(buyer: Buyer): Promise<number>;
  /** Titles of the buyer's notifications, newest first. */
  told(buyer: Buyer): Promise<string[]>;
  /** Actions in the ledger about that target, oldest first. */
  acts(target: string): Promise<string[]>;
  stop(): Promise<void>;
}

export async function startShop(
  env: Readonly<Record<string, string>> = {},
  { taxPercent = 0 }: { readonly taxPercent?: number } = {},
): Promise<Shop> {
  let aheadMs = 0;
  const clock: Clock = { ...systemClock, now: () => new Date(Date.now() + aheadMs) };
  const stripe = await startStripe({ clock, taxPercent });
  stripe.addPrice({ unitAmount: 2_900, lookupKey: 'svc_team_usd_v1' });
  stripe.addPrice({ unitAmount: 19_900, lookupKey: 'svc_business_usd_v1' });
  const logged: string[] = [];
  const log = createLog({ level: 'warn', write: (line) => void logged.push(line) });
  const settings = {
    STRIPE_SECRET_KEY: stripe.key,
    STRIPE_WEBHOOK_SECRETS: WEBHOOK_SECRETS.join(','),
    STRIPE_API_BASE: stripe.url,
    BILLING_RETURN_ORIGINS: 'https://app.example.com',
    ...env,
  };
  const server = await startTestServer({ clock, log, env: settings });
  stripe.webhooks.endpoint = {
    url: `${server.baseUrl}/billing/webhooks/stripe`,
    secrets: [WEBHOOK_SECRETS[0] ?? ''],
  };
  const { db } = server;
  const { sql } = db;
  const config = readConfig(settings);
  const payments = config.of(amountsFeature);
  const provider = openProvider(payments);
  if (provider === undefined) throw new Error('the settings have no provider');
  const deps: BillingDeps = {
    db,
    clock,
    provider,
    currency: payments.currency,
    followPlans: createFollowPlans(config.of(limitsFeature), true),
    onError: (error) => void logged.push(String(error)),
  };
  /** Waits for what was told; with `own` it waits for what the server looks at by itself, too. */
  const handled = async (own: boolean): Promise<void> => {
    await stripe.delivered();
    await waitFor(
      'all events to be handled',
      async () =>
        await sql`
        select id, type, attempts, last_error from billing_events
        where done_at is null and (${own}::bool or type not like 'svc.%')`,
      { holds: (rows) => rows.length === 0 },
    );
  };
  const shop: Shop = {
    server,
    stripe,
    clock,
    api: new Stripe(stripe.key, { host: stripe.host, port: stripe.port, protocol: 'http', telemetry: false }),
    deps,
    logged,
    another: async () => {
      const { databaseUrl, dataDir } = server;
      return await startTestServer({ clock, log, databaseUrl, dataDir, env: settings });
    },
    buyer: async () => {
      const person = await stranger(server);
      const { secret: key } = await newKey(server, person.token, {
        scopes: ['billing:read', 'billing:manage', 'cost:read', 'team:read', 'team:manage'],
      });
      return { ...person, key };
    },
    checkout: async ({ key }, plan = 'team') =>
      await server.call('POST /billing/checkout', { as: key, body: { plan, ...BACK } }),
    buyCredit: async ({ key, teamId }, amountCents = 5_000) =>
      await server.call(`POST /teams/${teamId}/credits/checkout`, {
        as: key,
        body: { amountCents, ...BACK },
      }),
    sessionOf: ({ body, text }) => {
      const [, id] = /\/c\/pay\/(cs_\w+)/.exec(String(body['url'])) ?? [];
      if (id === undefined) throw new Error(`no session in ${text}`);
      return id;
    },
    customerOf: async ({ userId }) => {
      const [row] = await sql<Array<{ id: string }>>`
        select customer_id as id from billing_customers where user_id = ${userId}`;
      if (row === undefined) throw new Error('no customer');
      return row.id;
    },
    subscribe: async (buyer, plan = 'team') => {
      stripe.pay(shop.sessionOf(await shop.checkout(buyer, plan)));
      await shop.settled();
      const customer = await shop.customerOf(buyer);
      const found = [...stripe.tables.subscription.values()].findLast((each) => each.customer === customer);
      return found?.id ?? '';
    },
    goOn: async (ms, stepMs = HOUR) => {
      for (let left = ms; left > 0; left -= stepMs) {
        aheadMs += Math.min(stepMs, left);
        await stripe.advance(0);
      }
      await shop.settled();
    },
    goOnAlone: async (ms) => {
      aheadMs += ms;
      await stripe.advance(0);
    },
    settled: async () => await handled(true),
    heard: async () => await handled(false),
    reconcile: async () => {
      await shop.settled();
      const as = server.first.staffApiKey;
      const begun = await server.call('POST /admin/billing/reconcile', { as, body: {} });
      return await waitFor(
        'the provider to be asked',
        async () => (await server.call(`GET /admin/billing/tasks/${String(begun.body['id'])}`, { as })).body,
        { holds: ({ state }) => state === 'done' },
      );
    },
    look: async () => {
      await addLooks(sql, { now: clock.now(), all: false });
      await addDunning(sql, clock.now());
      await shop.settled();
    },
    credit: async ({ teamId }) => {
      const [row] = await sql<Array<{ balance: number }>>`
        select balance from credit_entries where team_id = ${teamId} and account = 'available' order by seq desc limit 1`;
      return row?.balance ?? 0;
    },
    told: async ({ userId }) => {
      await waitFor('events to be published', async () => (await sql`select 1 from outbox`).length === 0);
      const rows = await sql<Array<{ title: string }>>`
        select title from notifications where user_id = ${userId} order by created_at desc, id desc`;
      return rows.map(({ title }) => title);
    },
    plan: async ({ key }) => (await server.call('GET /account/plan', { as: key })).body,
    acts: async (target) => {
      const rows = await sql<Array<{ action: string }>>`
        select action from audit_entries where target = ${target} order by at, seq`;
      return rows.map(({ action }) => action);
    },
    stop: async () => {
      await server.stop();
      await stripe.stop();
    },
  };
  return shop;
}
