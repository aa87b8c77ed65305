/** These tests show `svc costs …` to people and to scripts. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { useFakeApi, useFolder } from '../testing/fake-api.ts';
import { NOW_MS } from '../testing/fake-io.ts';
import { ends, svc } from '../testing/session.ts';
import { amount, cents, readAmount } from '../shell/money.ts';

const api = await useFakeApi();
const folder = useFolder('costs');

const part = (net: string, more: object = {}) => ({
  meteredSeconds: 1,
  list: net,
  included: '0.000000000000',
  net,
  netCents: 0,
  ...more,
});
const SUMMARY = {
  currency: 'usd',
  decimals: 2,
  since: '2026-11-01',
  until: '2026-11-21',
  asOf: new Date(NOW_MS - 3_000).toISOString(),
  usage: { meteredSeconds: 7_500, selfReportedSeconds: 0, events: 12 },
  list: '40.000000000000',
  included: '10.000000000000',
  net: '30.005000000000',
  netCents: 3_001,
  byDay: [],
  byProject: [
    part('20.000000000000', { id: 'prj_1', name: 'shop' }),
    part('0.000000000001'),
    ...['a', 'b', 'c', 'd'].map((name) => part('1.000000000000', { id: `prj_${name}`, name: `x${name}` })),
    part('2.000000000000', { others: 30 }),
  ],
  byEnvironment: [],
  byRunner: [],
  byMeter: [],
  forecast: { list: '80.000000000000', net: '70.000000000000', method: 'weekdays' },
};

describe('svc costs summary', () => {
  it('says what the month has come to, and as of when', async () => {
    api.on('GET /teams/team_1/costs', { body: SUMMARY });
    const { code, out } = await svc(api, 'costs summary --team team_1', { terminal: true });
    expect(code).toBe(0);
    expect(out).toBe(`net       30.01 USD
included  [########----------------------]  10.00 USD of 40.00 USD
forecast  70.00 USD for the whole month, by the weekdays of four weeks
used      2h 5m in 12 reports
projects  shop          20.00 USD
          (no project)  < 0.01 USD
          xa            1.00 USD
          xb            1.00 USD
          xc            1.00 USD
          and 2 more: --json shows them
days      2026-11-01 to before 2026-11-21 (UTC)
as of     3s ago
`);
  });

  it('gives a script what the API answered', async () => {
    api.on('GET /teams/team_1/costs', { body: SUMMARY });
    const { out } = await svc(api, 'costs summary --team team_1 --since 2026-11-01 --json');
    expect(JSON.parse(out)).toEqual(SUMMARY);
    expect(api.asked[0]!.target).toBe('/teams/team_1/costs?since=2026-11-01');
  });
});

describe('svc costs explain', () => {
  it('ends with milliseconds times price', async () => {
    const line = {
      workId: 'run_1',
      meter: 'run.runner',
      runnerId: 'rnr_1',
      epoch: 1,
      claimedAt: '2026-11-20T11:00:00.000Z',
      reportedAt: '2026-11-20T11:00:01.234Z',
      meteredMs: 1_234,
      selfReportedMs: 1_200,
      priceId: 'prc_1',
      nanosPerSecond: 100_000,
      cost: '0.000123400000',
    };
    api.on('GET /teams/team_1/costs/items/run_1', {
      body: { itemId: 'run_1', currency: 'usd', cost: line.cost, lines: [line] },
    });
    const { out } = await svc(api, 'costs explain run_1 --team team_1', { terminal: true });
    expect(out.trimEnd().split('\n').at(-1)).toBe(
      'cost      1234 ms x 0.000100000 USD/s = 0.000123400000 USD',
    );
  });
});

describe('svc costs verify', () => {
  it('ends with 1 when something differs, and prints it', async () => {
    const counts = { events: 10, days: 5, statements: 1, entries: 2 };
    const differences = [
      { table: 'cost_days', row: 'team_1 2026-11-01', problem: 'has 5 ms, its events have 6' },
    ];
    api.on(
      'GET /teams/team_1/costs/verify',
      { body: { intact: false, ...counts, differences } },
      { body: { intact: true, ...counts, differences: [] } },
    );
    const found = await svc(api, 'costs verify --team team_1');
    expect(found).toMatchObject({
      code: 1,
      out: 'table\trow\tproblem\ncost_days\tteam_1 2026-11-01\thas 5 ms, its events have 6\n',
    });
    expect(found.err).toContain('not intact: 1 differences');
    const whole = await svc(api, 'costs verify --team team_1');
    expect(whole).toMatchObject({ code: 0, out: expect.stringContaining('intact: 10 events') as string });
    expect(whole.err).toContain('intact: 10 events, 5 rows of days');
  });
});

describe('svc costs export', () => {
  it('writes a file that is whole, or none', async () => {
    const file = join(folder, 'costs.csv');
    api.on('GET /teams/team_1/costs/export.csv', (response) => {
      response.writeHead(200, { 'content-type': 'text/csv' }).write('a,b\r\n');
      setImmediate(() => response.destroy());
    });
    const cut = await svc(api, `costs export --team team_1 --out ${file}`);
    expect(cut.code).toBe(7);
    expect(readdirSync(folder)).toEqual([]);
    api.on('GET /teams/team_1/costs/export.csv', (response) => {
      response.writeHead(200, { 'content-type': 'text/csv' }).end('a,b\r\n1,2\r\n');
    });
    expect(
      await svc(api, `costs export --team team_1 --since 2026-10-01 --detail items --out ${file}`),
    ).toMatchObject({ code: 0, out: '' });
    expect(readFileSync(file, 'utf8')).toBe('a,b\r\n1,2\r\n');
    expect(api.asked.at(-1)!.target).toBe('/teams/team_1/costs/export.csv?since=2026-10-01&detail=items');
  });

  it('writes to standard output otherwise', async () => {
    api.on('GET /teams/team_1/costs/export.json', (response) => {
      response.writeHead(200, { 'content-type': 'application/x-ndjson' }).end('{"rows":0}\n');
    });
    expect(await svc(api, 'costs export --team team_1 --format json --out -')).toMatchObject({
      code: 0,
      out: '{"rows":0}\n',
    });
    expect(await svc(api, 'costs export --team team_1 --format xml')).toMatchObject({ code: 2 });
  });
});

describe('svc costs buy-credit', () => {
  const balance = (...ids: string[]) => ({
    body: {
      currency: 'usd',
      decimals: 2,
      balanceCents: 5_000 * ids.length,
      pendingCents: 0,
      availableCents: 5_000 * ids.length,
      blocks: ids.map((id) => ({
        id,
        kind: 'purchase',
        remainingCents: 5_000,
        createdAt: '2026-11-20T11:00:00Z',
      })),
    },
  });

  it('prints where to pay, and waits until the credit is there', async () => {
    api.on(
      'GET /teams/team_1/credits',
      balance('crt_old'),
      balance('crt_old'),
      balance('crt_new', 'crt_old'),
    );
    api.on('POST /teams/team_1/credits/checkout', {
      status: 201,
      body: { id: 'chk_1', url: 'https://pay.example/1', kind: 'payment' },
    });
    await ends(api, 'costs buy-credit 50 --team team_1', {
      code: 0,
      says: 'Pay 50.00 USD here:\n\n  https://pay.example/1',
    });
    expect(api.asked.find(({ method }) => method === 'POST')!.body).toEqual({
      amountCents: 5_000,
      successUrl: `${api.url}/console/teams/team_1/costs`,
      cancelUrl: `${api.url}/console/teams/team_1/costs`,
    });
  });

  it('ends with 8 when it is not paid in time, and takes no amount that is none', async () => {
    api.on('GET /teams/team_1/credits', balance());
    api.on('POST /teams/team_1/credits/checkout', {
      status: 201,
      body: { id: 'chk_1', url: 'https://pay.example/1', kind: 'payment' },
    });
    expect(await svc(api, 'costs buy-credit 50 --team team_1 --timeout 100ms')).toMatchObject({ code: 8 });
    for (const wrong of ['1.234', '1e3', 'fifty']) {
      await ends(api, `costs buy-credit ${wrong} --team team_1`, { code: 2, says: 'is no amount in USD' });
    }
  });
});

describe('an amount', () => {
  it('has the decimals of its currency', () => {
    expect([
      amount('1.005000000000', { currency: 'usd', decimals: 2 }),
      amount('1.500000000000', { currency: 'jpy', decimals: 0 }),
      amount('0.000400000000', { currency: 'kwd', decimals: 3 }),
    ]).toEqual(['1.01 USD', '2 JPY', '< 0.001 KWD']);
    expect(amount('-0.050000000000', { currency: 'usd', decimals: 2 })).toBe('-0.05 USD');
    const of = [2, 0, 3].map((decimals) => ({ currency: 'abc', decimals }));
    expect(of.map((each) => cents(-5, each))).toEqual(['-0.05 ABC', '-5 ABC', '-0.005 ABC']);
    expect(of.map((each) => cents(2n ** 53n + 1n, each))).toEqual([
      '90071992547409.93 ABC',
      '9007199254740993 ABC',
      '9007199254740.993 ABC',
    ]);
    expect([
      readAmount('12.5', 2),
      readAmount('12', 0),
      readAmount('12.5', 0),
      readAmount('0.125', 3),
    ]).toEqual([1_250, 12, undefined, 125]);
  });
});

describe('tables of money', () => {
  const dinars = { currency: 'kwd', decimals: 3 };
  const statement = {
    ...dinars,
    id: 'stm_1',
    period: '2026-10',
    plan: 'team',
    state: 'paid',
    listCents: 303_030,
    includedCents: 12_000,
    netCents: 291_030,
    creditCents: 291_020,
    dueCents: 10,
    refundedCents: 0,
    lines: [],
  };

  it('have amounts for people, and the fields of the contract for programs', async () => {
    api.on('GET /teams/team_1/statements', { body: { statements: [statement] } });
    const asked = 'billing statements --team team_1';
    const { out } = await svc(api, asked, { terminal: true, columns: 140 });
    expect(out.split('\n').map((line) => line.split(/ {2,}/))).toEqual([
      ['ID', 'PERIOD', 'STATE', 'LIST', 'INCLUDED', 'CREDIT', 'DUE', 'REFUNDED'],
      ['stm_1', '2026-10', 'paid', '303.030 KWD', '12.000 KWD', '291.020 KWD', '0.010 KWD', '0.000 KWD'],
      [''],
    ]);
    expect((await svc(api, asked)).out).toContain('\tlistCents\tincludedCents\t');
    expect(JSON.parse((await svc(api, `${asked} --json`)).out)).toEqual([statement]);
  });

  it('are so of credit, of its ledger, and of plans', async () => {
    const entry = { ...dinars, id: 'crt_1', kind: 'usage', amountCents: -291_020, balanceCents: 5 };
    api.on('GET /teams/team_1/credits/ledger', { body: { entries: [entry] } });
    const ledger = await svc(api, 'costs credits ledger --team team_1', { terminal: true });
    expect(ledger.out).toContain('-291.020 KWD  0.005 KWD');
    const blocks = [{ id: 'crt_0', kind: 'grant', remainingCents: 5 }];
    api.on('GET /teams/team_1/credits', { body: { ...dinars, balanceCents: 5, blocks } });
    const credit = await svc(api, 'costs credits balance --team team_1', { terminal: true });
    expect(credit.out).toMatch(/balance +0\.005 KWD\n(.*\n)* +remaining +0\.005 KWD/);
    api.on('GET /plans', { body: { plans: [{ ...dinars, id: 'team', name: 'Team', priceCents: 2_900 }] } });
    expect((await svc(api, 'plans list', { terminal: true })).out).toContain('2.900 KWD');
  });
});
