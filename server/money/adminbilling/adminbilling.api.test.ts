/** Tests what staff do with prices, credit and months, over HTTP against the real server. */
import { createSvcSDK, type SvcSDK } from '@svc/sdk';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { publishAll } from '../../../test/setup/money/months.ts';
import { shownTime } from '../../../test/setup/shown-time.ts';
import { picked } from '../../../test/setup/money/picked.ts';
import { report } from '../../../test/setup/money/reports.ts';
import { has } from '../../../test/setup/needs.ts';
import { refused } from '../../../test/setup/refused.ts';
import { startTestServer, type TestServer } from '../../../test/setup/server.ts';
import type { System } from '../../kit/feature.ts';
import { createWorker } from '../../kit/jobs/index.ts';
import { useCredit } from '../credits/index.ts';
import { billingTaskJob } from './job.ts';
import { endTask } from './tasks.ts';

type Worker = Pick<System, 'config' | 'db' | 'onError'>;

describe.skipIf(!(await has('postgres')))('billing by staff', () => {
  let server: TestServer;
  let staff: SvcSDK;
  let teamId: string;
  const sdkOf = (token: string): SvcSDK => createSvcSDK({ baseUrl: server.baseUrl, token, maxRetries: 0 });
  const audited = async (chain: string, action: string) =>
    await server.db
      .sql`select target, details from audit_entries where chain = ${chain} and action = ${action} order by seq`;

  /** As a worker does it: nothing else closes months or publishes here. */
  const work = async (more: Partial<Worker> = {}): Promise<boolean> => {
    const deps = { db: server.db, onError: () => undefined, ...more };
    const pricing = { currency: 'usd', charges: false };
    const kinds = [billingTaskJob({ ...deps, pricing, reconciling: undefined as never })];
    const worker = createWorker({ ...deps, kinds }, { signal: new AbortController().signal });
    const begun = await worker.pass();
    await worker.settled();
    return begun > 0;
  };
  const ended = async ({ id = '' }: { readonly id?: string }) => {
    while (await work());
    return await staff.adminBilling.getTask(id);
  };
  const month = (back: number): string => {
    const now = new Date();
    return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - back, 1)).toISOString().slice(0, 10);
  };
  const openFrom = async (period: string) =>
    await server.asOwner(`update open_period set month = '${period}', settled_month = null`);

  beforeAll(async () => {
    server = await startTestServer({ env: { SVC_ROLES: 'api' } });
    ({ teamId } = server.first);
    staff = sdkOf(server.first.staffApiKey);
  });
  afterAll(async () => await server?.stop());

  it('is for staff alone', async () => {
    const { adminBilling } = sdkOf(server.first.apiKey);
    const calls = [
      () => adminBilling.listPrices(),
      () => adminBilling.publishPrice({ meter: 'run.runner', nanosPerSecond: 1 }),
      () => adminBilling.grantCredit(teamId, { amountCents: 1, reason: 'none' }),
      () => adminBilling.revokeGrant(teamId, 'crt_1', { reason: 'none' }),
      () => adminBilling.close(),
      () => adminBilling.reconcile(),
      () => adminBilling.getTask('btk_1'),
      () => adminBilling.listTasks(),
    ];
    for (const call of calls) expect(await refused(call())).toBe('403 scope_missing');
  });

  it('publishes prices ahead, for what is claimed from then on', async () => {
    const fromAt = shownTime(3_600_000);
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
    const shown = await sdkOf(server.first.apiKey).plans.listPrices();
    expect(picked(shown, 'meter', 'inForce', 'nanosPerSecond', 'fromAt')).toEqual([
      ['build.runner', true, 100_000, undefined],
      ['build.service', true, 100_000, undefined],
      ['run.runner', true, 100_000, undefined],
      ['run.runner', false, 0, fromAt],
      ['run.service', true, 100_000, undefined],
    ]);
    expect(await audited('platform', 'price.published')).toEqual([
      { target: price.id, details: { meter: 'run.runner', currency: 'usd', nanosPerSecond: 0, fromAt } },
    ]);
    // Work that was claimed a moment before it begins keeps the old one, though it ends hours later.
    const at = (ms: number) => new Date(Date.parse(fromAt) + ms).toISOString();
    const before = await report(server.db.sql, { teamId, at: at(7_199_999), ms: 7_200_000 });
    const since = await report(server.db.sql, { teamId, at: at(7_200_000), ms: 7_200_000 });
    await publishAll(server.db.sql);
    const rated = await server.db.sql`
      select work_id as id, rated::text from usage_events where team_id = ${teamId} order by reported_at`;
    expect(rated).toEqual([
      { id: before, rated: '720000000000' },
      { id: since, rated: '0' },
    ]);
  });

  it('tells whoever used the meter lately of a new price, before it begins', async () => {
    const { id: user } = await staff.teams.create('user of builds');
    const { id: other } = await staff.teams.create('none of it');
    await report(server.db.sql, { teamId: user, at: new Date().toISOString(), ms: 1_000, kind: 'build' });
    await publishAll(server.db.sql);
    const fromAt = shownTime(30 * 86_400_000);
    const price = await staff.adminBilling.publishPrice({
      meter: 'build.runner',
      nanosPerSecond: 160_000,
      fromAt,
    });
    const told = await server.db.sql`
      select team_id as team, payload from outbox where kind = 'price.published' and team_id in (${user}, ${other})`;
    expect(told).toMatchObject([
      {
        team: user,
        payload: {
          priceId: price.id,
          fromAt,
          nanosPerSecond: 160_000,
          body: expect.stringContaining('An hour costs 0.576 USD then.') as string,
        },
      },
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

  it('takes back what is left of a grant that was given twice, once', async () => {
    const { id: team } = await staff.teams.create('granted');
    const grant = async () =>
      await staff.adminBilling.grantCredit(team, { amountCents: 900, reason: 'an hour' });
    await grant();
    const { id: twice } = await grant();
    const use = { currency: 'usd', teamId: team, at: new Date() };
    await useCredit(server.db, { ...use, cents: 1_000, source: 'stm_1' });
    const revoke = async (of = team, id = twice) =>
      await staff.adminBilling.revokeGrant(of, id, { reason: 'it was given twice' });
    const taken = { kind: 'grant_revoked', amountCents: -800, balanceCents: 0, reason: 'it was given twice' };
    const first = await revoke();
    expect(first).toMatchObject(taken);
    expect(await revoke()).toEqual(first);
    expect((await staff.costs.creditBalance(team)).balanceCents).toBe(0);
    expect(await refused(revoke(teamId))).toBe('404 not_found');
    expect(await refused(revoke(team, 'crt_missing'))).toBe('404 not_found');
    const { id: used } = await grant();
    await useCredit(server.db, { ...use, cents: 900, source: 'stm_2' });
    expect(await refused(revoke(team, used))).toBe('409 state_conflict');
    expect(await audited(team, 'credit.revoked')).toMatchObject([
      { target: twice, details: { amountCents: 800, ofCents: 900 } },
    ]);
    expect(await staff.costs.verify(team)).toMatchObject({
      differences: [{ row: 'stm_1' }, { row: 'stm_2' }],
    });
  });

  it('closes what is due as a task, after it has said what that comes to', async () => {
    await openFrom(month(2));
    const { id } = await staff.teams.create('settled');
    await staff.adminBilling.grantCredit(id, { amountCents: 300, reason: 'an outage' });
    const at = new Date(Date.parse(month(1)) - 1).toISOString();
    await report(server.db.sql, { teamId: id, at, ms: 50_000_000 });
    await publishAll(server.db.sql);
    const begun = await staff.adminBilling.close({ dryRun: true });
    expect(begun).toMatchObject({ kind: 'rehearse', state: 'running', months: [] });
    const rehearsed = await ended(begun);
    expect(rehearsed).toMatchObject({ state: 'done', done: 1, total: 1 });
    expect(rehearsed.months?.[0]).toEqual({
      period: month(2).slice(0, 7),
      statements: 1,
      netCents: 500,
      dueCents: 200,
      currency: 'usd',
      decimals: 2,
    });
    expect(await server.db.sql`select from statements`).toHaveLength(0);
    expect(await audited(id, 'credit.used')).toEqual([]);
    const closed = await ended(await staff.adminBilling.close());
    expect(closed).toMatchObject({ kind: 'close', state: 'done', months: rehearsed.months });
    const [statement] = await server.db
      .sql`select net_cents as net, credit_cents as credit, due_cents as due from statements where team_id = ${id}`;
    expect(statement).toEqual({ net: 500, credit: 300, due: 200 });
    expect((await audited('platform', 'month.closed'))[0]).toEqual({
      target: month(2).slice(0, 7),
      details: { statements: 1, netCents: 500, dueCents: 200 },
    });
    expect((await ended(await staff.adminBilling.close())).months).toEqual([]);
    expect((await staff.adminBilling.listTasks()).map(({ kind }) => kind)).toEqual([
      'close',
      'close',
      'rehearse',
    ]);
  });

  it('closes hundreds of teams while calls that are made again name the same task, whose figures a worker that dies changes nothing of', async () => {
    await openFrom(month(1));
    const { sql } = server.db;
    const period = month(1);
    await sql`
      insert into cost_days (team_id, period, day, meter, price_id, project_id, environment_id, runner_id, events, metered_ms, self_reported_ms, self_reported_count)
      select 'team_gone_' || n, ${period}::date, ${period}::date, 'run.service', p.id, '', '', 'rnr_1', 1, 10000000, 0, 0
      from generate_series(1, 300) n, prices p where p.meter = 'run.service' and p.is_default`;
    const headers = { 'idempotency-key': 'closing' };
    const close = async () =>
      await server.call('POST /admin/billing/close', { as: server.first.staffApiKey, body: {}, headers });
    const [first, again] = [await close(), await close()];
    expect([first.status, again.body['id']]).toEqual([202, first.body['id']]);
    const id = String(first.body['id']);
    let left = 120;
    const dying: typeof server.db = {
      ...server.db,
      transact: async (act) => {
        if ((left -= 1) < 0) throw Object.assign(new Error('the server dies'), { code: 'ECONNRESET' });
        return await server.db.transact(act);
      },
    };
    await work({ db: dying, onError: () => undefined }).catch(() => undefined);
    const cut = await staff.adminBilling.getTask(id);
    expect(cut.total).toBeGreaterThanOrEqual(300);
    const made = async () => (await sql`select from statements where period = ${period}::date`).length;
    expect(await made()).toBeLessThan(300);
    if (cut.state === 'running') await sql`update jobs set due_at = now() where key = ${id}`;
    // What the dead worker says of it changes nothing.
    expect(await endTask(server.db, { id, epoch: 0 }, { state: 'failed', problem: 'too late' })).toBe(false);
    const closed = await ended(cut.state === 'running' ? { id } : await staff.adminBilling.close());
    expect(closed).toMatchObject({
      state: 'done',
      months: [{ period: period.slice(0, 7), netCents: 30_000 }],
    });
    expect(closed.months?.[0]?.statements).toBe(await made());
    expect((await close()).body['state']).toBe('running');
  });

  it('goes on with a task that a server of before began, and that has no job', async () => {
    const { sql } = server.db;
    while (await work());
    const id = 'btk_00000000000000000000000009';
    await sql`
      insert into billing_tasks (id, kind, actor, request_id, due_at, created_at)
      values (${id}, 'rehearse', '{"kind": "system", "id": "old", "display": "old"}', '', now(), now())`;
    expect(await work()).toBe(false);
    const begun = await staff.adminBilling.close({ dryRun: true });
    expect(begun).toMatchObject({ id, state: 'running' });
    expect(await ended(begun)).toMatchObject({ id, state: 'done' });
  });

  it('has nothing to reconcile without a provider', async () => {
    expect(await refused(staff.adminBilling.reconcile())).toBe('503 billing_unconfigured');
  });
});
