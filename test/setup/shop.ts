/**
 * A server whose payments go to the counterpart of Stripe, both on one clock that tests move, and people who
 * buy.
 */
import { systemClock, type Clock } from '@svc/proto/process/clock.ts';
import { createLog } from '@svc/proto/process/log.ts';
import Stripe from 'stripe';
import { readConfig } from '../../server/config.ts';
import { limitsFeature } from '../../server/engine/limits/index.ts';
import { amountsFeature } from '../../server/money/amounts/index.ts';
import type { BillingDeps } from '../../server/money/billing/billing-deps.ts';
import { addDunning, addLooks } from '../../server/money/billing/reconcile.ts';
import { openProvider } from '../../server/money/billing/stripe.ts';
import { createFollowPlans } from '../../server/money/plans/index.ts';
import { newKey, stranger, type Person } from './people.ts';
import { startTestServer, type TestResponse } from './server.ts';
import { startStripe } from './stripe/index.ts';
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

export type Shop = Awaited<ReturnType<typeof startShop>>;

export async function startShop(
  env: Readonly<Record<string, string>> = {},
  { taxPercent = 0 }: { readonly taxPercent?: number } = {},
) {
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
  /** Resolves when everything that was told is handled, and what the server looks at by itself. */
  const settled = async (): Promise<void> => await handled(true);
  const checkout = async ({ key }: Buyer, plan = 'team'): Promise<TestResponse> =>
    await server.call('POST /billing/checkout', { as: key, body: { plan, ...BACK } });
  /** Returns the id of the session of an answer's address. */
  const sessionOf = ({ body, text }: TestResponse): string => {
    const [, id] = /\/c\/pay\/(cs_\w+)/.exec(String(body['url'])) ?? [];
    if (id === undefined) throw new Error(`no session in ${text}`);
    return id;
  };
  const customerOf = async ({ userId }: Buyer): Promise<string> => {
    const [row] = await sql<Array<{ id: string }>>`
      select customer_id as id from billing_customers where user_id = ${userId}`;
    if (row === undefined) throw new Error('no customer');
    return row.id;
  };
  return {
    server,
    stripe,
    /** Clock of both, which tests move. */
    clock,
    /** It is the library as anybody with the key uses it. */
    api: new Stripe(stripe.key, { host: stripe.host, port: stripe.port, protocol: 'http', telemetry: false }),
    /** Dependencies are as those of the server. */
    deps,
    /** Lines that the server logged are kept. */
    logged,
    /** Starts a second server beside the first one. The caller stops it. */
    another: async () => {
      const { databaseUrl, dataDir } = server;
      return await startTestServer({ clock, log, databaseUrl, dataDir, env: settings });
    },
    buyer: async (): Promise<Buyer> => {
      const person = await stranger(server);
      const { secret: key } = await newKey(server, person.token, {
        scopes: ['billing:read', 'billing:manage', 'cost:read', 'team:read', 'team:manage'],
      });
      return { ...person, key };
    },
    checkout,
    buyCredit: async ({ key, teamId }: Buyer, amountCents = 5_000) =>
      await server.call(`POST /teams/${teamId}/credits/checkout`, {
        as: key,
        body: { amountCents, ...BACK },
      }),
    sessionOf,
    /** Returns each answer that differs from those before it, as its status and its text. */
    different: (answers: readonly TestResponse[]): string[] => [
      ...new Set(answers.map(({ status, text }) => `${status} ${text}`)),
    ],
    customerOf,
    /** Buys, pays, and waits until it is known. */
    subscribe: async (buyer: Buyer, plan = 'team'): Promise<string> => {
      stripe.pay(sessionOf(await checkout(buyer, plan)));
      await settled();
      const customer = await customerOf(buyer);
      const found = [...stripe.tables.subscription.values()].findLast((each) => each.customer === customer);
      return found?.id ?? '';
    },
    /** Moves both clocks, in steps, so that what the counterpart does by itself happens in its time. */
    goOn: async (ms: number, stepMs = HOUR): Promise<void> => {
      for (let left = ms; left > 0; left -= stepMs) {
        aheadMs += Math.min(stepMs, left);
        await stripe.advance(0);
      }
      await settled();
    },
    /** Does the same for a provider that is away: nothing is waited for. */
    goOnAlone: async (ms: number): Promise<void> => {
      aheadMs += ms;
      await stripe.advance(0);
    },
    settled,
    /** Resolves when everything that the provider told is handled. */
    heard: async () => await handled(false),
    /** Everything that is open is read again, as staff ask for it. Returns the task when it is done. */
    reconcile: async (): Promise<Readonly<Record<string, unknown>>> => {
      await settled();
      const as = server.first.staffApiKey;
      const begun = await server.call('POST /admin/billing/reconcile', { as, body: {} });
      return await waitFor(
        'the provider to be asked',
        async () => (await server.call(`GET /admin/billing/tasks/${String(begun.body['id'])}`, { as })).body,
        { holds: ({ state }) => state === 'done' },
      );
    },
    /** Looks at what the loop would look at by itself at this moment, and does what comes of it. */
    look: async (): Promise<void> => {
      await addLooks(sql, { now: clock.now(), all: false });
      await addDunning(sql, clock.now());
      await settled();
    },
    /** Returns the credit in minor units. */
    credit: async ({ teamId }: Buyer): Promise<number> => {
      const [row] = await sql<Array<{ balance: number }>>`
        select balance from credit_entries where team_id = ${teamId} and account = 'available' order by seq desc limit 1`;
      return row?.balance ?? 0;
    },
    /** Returns the titles of the buyer's notifications, newest first. */
    told: async ({ userId }: Buyer): Promise<string[]> => {
      await waitFor('events to be published', async () => (await sql`select 1 from outbox`).length === 0);
      const rows = await sql<Array<{ title: string }>>`
        select title from notifications where user_id = ${userId} order by created_at desc, id desc`;
      return rows.map(({ title }) => title);
    },
    plan: async ({ key }: Buyer) => (await server.call('GET /account/plan', { as: key })).body,
    /** Returns the actions in the ledger about that target, oldest first. */
    acts: async (target: string): Promise<string[]> => {
      const rows = await sql<Array<{ action: string }>>`
        select action from audit_entries where target = ${target} order by at, seq`;
      return rows.map(({ action }) => action);
    },
    stop: async (): Promise<void> => {
      await server.stop();
      await stripe.stop();
    },
  };
}
