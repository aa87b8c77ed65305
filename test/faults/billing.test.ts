/**
 * This story tests money under fire: servers are killed while they close a month, make invoices and give what
 * was bought. Each server is a process, and the counterpart of the provider goes on.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { metered } from '../../server/money/metering/index.ts';
import { publish } from '../../server/kit/events/index.ts';
import { openDatabase } from '../../server/base/db/index.ts';
import { report } from '../setup/money/reports.ts';
import { has } from '../setup/needs.ts';
import { BACK, WEBHOOK_SECRETS } from '../setup/shop.ts';
import { startStripe, type TestStripe } from '../setup/stripe/index.ts';
import { waitFor } from '../setup/wait-for.ts';
import { moneyDifferences, type MoneyDifference } from './money.ts';
import { startTwoServers, WITHIN, type TwoServers } from './two-servers.ts';

const postgresHere = await has('postgres');
const TEAMS = 4;
const BOUGHT_CENTS = 5_000;
/** Its end is weeks ago, so that it is closed at once. */
const MONTH = new Date(Date.UTC(new Date().getUTCFullYear(), new Date().getUTCMonth() - 2, 1));
const PERIOD = MONTH.toISOString().slice(0, 10);
const DAY_MS = 86_400_000;
const RUN_MS = 50_000_000;
const RUNS = 10;

/** A place at which a server stands still. */
interface Stop {
  /** Undone by what it gives. */
  hold(): Promise<() => Promise<void>>;
  reached(): Promise<unknown>;
}

describe.skipIf(!postgresHere)('money', () => {
  let stripe: TestStripe;
  let servers: TwoServers;
  const teams: string[] = [];

  beforeAll(async () => {
    stripe = await startStripe();
    stripe.addPrice({ unitAmount: 2_900, lookupKey: 'svc_team_usd_v1' });
    stripe.addPrice({ unitAmount: 19_900, lookupKey: 'svc_business_usd_v1' });
    servers = await startTwoServers({
      STRIPE_SECRET_KEY: stripe.key,
      STRIPE_WEBHOOK_SECRETS: WEBHOOK_SECRETS.join(','),
      STRIPE_API_BASE: stripe.url,
      BILLING_RETURN_ORIGINS: 'https://app.example.com',
    });
    tellServer(0);
    for (let n = 0; n < TEAMS; n += 1) teams.push((await servers.sdkAt(0).teams.create(`t${n}`)).id);
    teams.sort();
  }, 120_000);
  afterAll(async () => {
    await servers?.stop();
    await stripe?.stop();
  });

  const tellServer = (n: 0 | 1): void => {
    const url = `${servers.urls[n]}/billing/webhooks/stripe`;
    stripe.webhooks.endpoint = { url, secrets: [WEBHOOK_SECRETS[0] ?? ''] };
  };
  const both = async (act: 'start' | 'kill') =>
    void (await Promise.all(servers.processes.map(async (each) => await each[act]())));
  /** Claims of dead workers end at once, and not after three minutes. */
  const loseClaims = async () =>
    await servers.sql`update billing_events set due_at = now() where done_at is null`;
  /** Whoever stops there is killed. Nobody is left. */
  const killedAt = async ({ hold, reached }: Stop, act: () => Promise<unknown>): Promise<void> => {
    const release = await hold();
    await act();
    await reached();
    await both('kill');
    await release();
    await loseClaims();
  };
  const atLock = (lock: string, text: string): Stop => ({
    hold: async () => await servers.hold(lock),
    reached: async () => await servers.untilWaiting(text, 1),
  });
  /** The provider has the call, and does what it says when its caller is dead. */
  const atCall = (fits: RegExp): Stop => {
    const seen = () => stripe.calls.filter(({ method, path }) => fits.test(`${method} ${path}`)).length;
    let before = 0;
    return {
      hold: async () => {
        before = seen();
        const release = stripe.api.pause(({ method, path }) => fits.test(`${method} ${path}`));
        return async () => release();
      },
      reached: async () => await waitFor(`a call ${String(fits)}`, () => seen() > before, WITHIN),
    };
  };
  const sessionOf = ({ url }: { readonly url: string }): string => /\/c\/pay\/(cs_\w+)/.exec(url)?.[1] ?? url;
  const differences = async () =>
    await moneyDifferences(async (text) => await servers.sql.unsafe<MoneyDifference[]>(text));
  const handled = async () => {
    await stripe.delivered();
    await waitFor(
      'all events to be handled',
      async () =>
        await servers.sql`select id, type, attempts, last_error, due_at from billing_events where done_at is null`,
      { ...WITHIN, holds: (rows) => rows.length === 0 },
    );
  };

  it('is given once for what was paid, by whoever is left', async () => {
    const [teamId = ''] = teams;
    const sdk = servers.sdkAt(0);
    const plan = sessionOf(await sdk.billing.checkout({ plan: 'team', ...BACK }));
    const paid = async (session: string) => {
      stripe.pay(session);
      await stripe.delivered();
    };
    await killedAt(
      atLock('lock table plan_changes in exclusive mode', 'plan_changes'),
      async () => await paid(plan),
    );
    await both('start');
    await handled();
    expect(await sdk.account.plan()).toMatchObject({ name: 'team' });
    expect(await servers.sql`select plan from plan_changes`).toEqual([{ plan: 'team' }]);

    const bought = await sdk.costs.createCreditCheckout(teamId, { amountCents: BOUGHT_CENTS, ...BACK });
    await killedAt(
      atLock(`select 1 from audit_heads where chain = '${teamId}' for update`, 'audit_heads'),
      async () => await paid(sessionOf(bought)),
    );
    await both('start');
    await handled();
    const { balanceCents, blocks } = await sdk.costs.creditBalance(teamId);
    expect([balanceCents, blocks.length]).toEqual([BOUGHT_CENTS, 1]);
    expect(await differences()).toEqual([]);
  });

  it(
    'is one statement and one invoice over its cents, wherever closers and invoicers are killed',
    { timeout: 120_000 },
    async () => {
      const { sql, databaseUrl, processes } = servers;
      await both('kill');
      await used(databaseUrl);
      const second = teams[1] ?? '';
      const starts = async () => await processes[0].start();
      const made = async () =>
        await sql<Array<{ id: string; state: string; due: number; invoice: string | null }>>`
        select id, state, due_cents::int as due, invoice_id as invoice from statements order by team_id`;
      // Both close at once, and one of them is in the middle of the second team.
      await killedAt(
        atLock(`select 1 from audit_heads where chain = '${second}' for update`, 'audit_heads'),
        async () => await both('start'),
      );
      expect(await sql`select team_id from statements order by team_id`).toEqual([{ team_id: teams[0] }]);
      await killedAt(
        {
          hold: async () => {
            stripe.api.down();
            return async () => stripe.api.up();
          },
          reached: async () =>
            await waitFor('all statements', made, { ...WITHIN, holds: (rows) => rows.length === TEAMS }),
        },
        starts,
      );
      await killedAt(atCall(/^POST \/v1\/invoices$/), starts);
      await killedAt(atCall(/^POST \/v1\/invoiceitems$/), starts);
      await killedAt(atCall(/^POST \/v1\/invoices\/\w+\/finalize$/), starts);
      await killedAt(atLock('lock table statements in share mode', 'update "statements"'), starts);
      tellServer(1);
      await both('start');
      await waitFor('invoices of all statements', made, {
        ...WITHIN,
        holds: (rows) =>
          rows.length === TEAMS && rows.every(({ state, due }) => due === 0 || state === 'invoiced'),
      });
      await handled();
      const statements = await made();
      const ours = [...stripe.tables.invoice.values()].filter(({ metadata }) => metadata?.['statement']);
      const due = statements.filter((each) => each.due > 0);
      expect(ours).toHaveLength(due.length);
      expect(ours.map(({ id, total, metadata }) => [metadata?.['statement'], id, total])).toEqual(
        expect.arrayContaining(due.map((each) => [each.id, each.invoice, each.due])),
      );
      // Each of them has used 500,000 s, less a quarter of the 600,000 s of the plan. The credit of the first
      // team pays for its own.
      expect(statements.map((each) => each.due)).toEqual([0, 3_500, 3_500, 3_500]);
      for (const { id } of ours) stripe.payInvoice(id);
      await handled();
      expect((await made()).map(({ state }) => state)).toEqual(['settled', 'paid', 'paid', 'paid']);
      expect(await differences()).toEqual([]);
      for (const teamId of teams)
        expect(await servers.sdkAt(1).costs.verify(teamId)).toMatchObject({ intact: true, statements: 1 });
    },
  );

  /** Reports of the month, published while no server is there, by a payer who had the plan. */
  const used = async (url: string): Promise<void> => {
    const db = openDatabase({ url, max: 1 });
    const { sql } = db;
    await sql`update open_period set month = ${PERIOD}::date`;
    await sql`insert into team_payers (team_id, from_at, payer_id)
      select team_id, ${MONTH}, payer_id from team_payers where team_id = any(${teams}::text[])`;
    await sql`insert into plan_changes (id, user_id, plan, standing, from_at)
      select id || '_before', user_id, plan, standing, ${MONTH} from plan_changes`;
    for (const teamId of teams)
      for (let n = 1; n <= RUNS; n += 1) {
        const at = new Date(MONTH.getTime() + 2 * n * DAY_MS).toISOString();
        await report(sql, { teamId, at, ms: RUN_MS });
      }
    while ((await publish({ sql, effects: [metered('usd')] })) > 0);
    await db.close();
  };
});
