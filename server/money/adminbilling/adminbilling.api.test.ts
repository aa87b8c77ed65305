/** What staff do with prices, credit and months, over the real door. */
import { createSvcSDK } from '@svc/sdk';
import type { SvcApiError, SvcSDK } from '@svc/sdk';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { report } from '../../../test/setup/money/reports.ts';
import { has } from '../../../test/setup/needs.ts';
import { startTestServer } from '../../../test/setup/server.ts';
import type { TestServer } from '../../../test/setup/server.ts';
import { publish } from '../../engine/outbox/index.ts';
import { metered } from '../metering/index.ts';

const postgresHere = await has('postgres');

describe.skipIf(!postgresHere)('billing by staff', () => {
  let server: TestServer;
  let staff: SvcSDK;
  let teamId: string;
  const sdkOf = (token: string): SvcSDK => createSvcSDK({ baseUrl: server.baseUrl, token, maxRetries: 0 });
  const refused = async (call: PromiseLike<unknown>): Promise<string> => {
    try {
      await call;
    } catch (error) {
      const { status, code } = error as SvcApiError;
      return `${status} ${code}`;
    }
    return 'not refused';
  };
  const audited = async (chain: string, action: string) =>
    await server.db
      .sql`select target, details from audit_entries where chain = ${chain} and action = ${action} order by seq`;
  const publishAll = async (): Promise<void> => {
    while ((await publish({ sql: server.db.sql, effects: [metered('usd')] })) > 0);
  };

  beforeAll(async () => {
    // Nothing closes months or publishes but the test.
    server = await startTestServer({ env: { SVC_ROLES: 'api' } });
    ({ teamId } = server.first);
    staff = sdkOf(server.first.staffApiKey);
  });
  afterAll(async () => await server?.stop());

  it('is for staff alone', async () => {
    const { adminBilling } = sdkOf(server.first.apiKey);
    const calls = [
      adminBilling.listPrices(),
      adminBilling.publishPrice({ meter: 'run.runner', nanosPerSecond: 1 }),
      adminBilling.grantCredit(teamId, { amountCents: 1, reason: 'none' }),
      adminBilling.close(),
      adminBilling.reconcile(),
    ];
    for (const call of calls) expect(await refused(call)).toBe('403 scope_missing');
  });

  it('publishes prices ahead, for what is claimed from then on', async () => {
    const fromAt = new Date(Date.now() + 3_600_000).toISOString();
    const price = await staff.adminBilling.publishPrice({ meter: 'run.runner', nanosPerSecond: 0, fromAt });
    expect(price).toMatchObject({
      meter: 'run.runner',
      currency: 'usd',
      nanosPerSecond: 0,
      fromAt,
      isDefault: false,
    });
    const [first, ...others] = await staff.adminBilling.listPrices();
    expect(first).toEqual(price);
    expect(others).toHaveLength(4);
    expect(await audited('platform', 'price.published')).toEqual([
      { target: price.id, details: { meter: 'run.runner', currency: 'usd', nanosPerSecond: 0, fromAt } },
    ]);
    // Work that was claimed a moment before it begins keeps the old one, though it ends hours later.
    const at = (ms: number) => new Date(Date.parse(fromAt) + ms).toISOString();
    const before = await report(server.db.sql, { teamId, at: at(7_199_999), ms: 7_200_000 });
    const since = await report(server.db.sql, { teamId, at: at(7_200_000), ms: 7_200_000 });
    await publishAll();
    const rated = await server.db.sql`
      select work_id as id, rated::text from usage_events where team_id = ${teamId} order by reported_at`;
    expect(rated).toEqual([
      { id: before, rated: '720000000000' },
      { id: since, rated: '0' },
    ]);
  });

  it('refuses prices that begin too soon or together with another one, and what is no price', async () => {
    const { adminBilling } = staff;
    const soon = new Date(Date.now() + 30_000).toISOString();
    const price = { meter: 'build.runner', nanosPerSecond: 5 };
    expect(await refused(adminBilling.publishPrice({ ...price, fromAt: soon }))).toBe(
      '400 validation_failed',
    );
    const fromAt = new Date(Date.now() + 7_200_000).toISOString();
    await adminBilling.publishPrice({ ...price, fromAt });
    expect(await refused(adminBilling.publishPrice({ ...price, fromAt }))).toBe('409 state_conflict');
    for (const wrong of [
      { meter: 'run.cloud' },
      { nanosPerSecond: -1 },
      { nanosPerSecond: 1_000_000_001 },
      { nanosPerSecond: 0.5 },
      { nanosPerSecond: undefined },
    ]) {
      const answer = await server.call('POST /admin/billing/prices', {
        as: server.first.staffApiKey,
        body: { ...price, ...wrong },
      });
      expect(answer.status, answer.text).toBe(400);
    }
  });

  it('grants credit with a reason', async () => {
    const entry = await staff.adminBilling.grantCredit(teamId, { amountCents: 300, reason: 'an outage' });
    expect(entry).toMatchObject({ kind: 'grant', amountCents: 300, balanceCents: 300, reason: 'an outage' });
    const missing = staff.adminBilling.grantCredit('team_missing', { amountCents: 300, reason: 'none' });
    expect(await refused(missing)).toBe('404 not_found');
  });

  it('closes what is due, after it has said what that comes to', async () => {
    const now = new Date();
    const [before, last] = [2, 1].map((months) =>
      new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - months, 1)).toISOString(),
    ) as [string, string];
    await server.asOwner(`update open_period set month = '${before.slice(0, 10)}'`);
    const { id } = await staff.teams.create('settled');
    await staff.adminBilling.grantCredit(id, { amountCents: 300, reason: 'an outage' });
    const at = new Date(Date.parse(last) - 1).toISOString();
    await report(server.db.sql, { teamId: id, at, ms: 50_000_000 });
    await publishAll();
    const rehearsed = await staff.adminBilling.close({ dryRun: true });
    expect(rehearsed.months[0]).toEqual({
      period: before.slice(0, 7),
      statements: 1,
      netCents: 500,
      dueCents: 200,
    });
    expect(await server.db.sql`select from statements`).toHaveLength(0);
    expect(await audited(id, 'credit.used')).toEqual([]);
    const closed = await staff.adminBilling.close();
    expect(closed).toEqual(rehearsed);
    const [statement] = await server.db
      .sql`select net_cents as net, credit_cents as credit, due_cents as due from statements where team_id = ${id}`;
    expect(statement).toEqual({ net: 500, credit: 300, due: 200 });
    expect((await audited('platform', 'month.closed'))[0]).toEqual({
      target: before.slice(0, 7),
      details: { statements: 1, netCents: 500, dueCents: 200 },
    });
    expect(await staff.adminBilling.close()).toEqual({ months: [] });
  });

  it('has nothing to reconcile without a provider', async () => {
    expect(await refused(staff.adminBilling.reconcile())).toBe('503 billing_unconfigured');
  });
});
