import { describe, expect, it } from 'vitest';
import { useFakeApi } from '../testing/fake-api.ts';
import { svc } from '../testing/session.ts';

const api = await useFakeApi();

const PATH = '/environments/env_1/domains';
const RECORD = { recordName: '_svc-challenge.app.example.com', recordValue: 'svc-domain-verification=1' };
const domain = (more: object) => ({
  id: 'dom_1',
  environmentId: 'env_1',
  name: 'app.example.com',
  displayName: 'app.example.com',
  state: 'active',
  ssl: true,
  ...more,
});
const unproved = domain({ state: 'pending_verification', ...RECORD });
const active = domain({ certificate: { state: 'active' }, dns: { state: 'ok', expected: [], seen: [] } });
const wrong = domain({
  dns: { state: 'wrong', expected: ['203.0.113.7'], seen: ['198.51.100.2'] },
  certificate: { state: 'waiting_dns' },
});

describe('svc domains add', () => {
  it('adds one and shows its record', async () => {
    api.on(`POST ${PATH}`, { status: 201, body: unproved });
    const { code, out } = await svc(api, 'domains add app.example.com --env env_1 --json');
    expect([code, JSON.parse(out)]).toEqual([0, unproved]);
    expect(api.asked).toHaveLength(1);
    expect(api.asked[0]?.body).toEqual({ domain: 'app.example.com' });
  });

  it('looks the record up with --wait, and ends when the name is served', async () => {
    api.on(`POST ${PATH}`, { status: 201, body: unproved });
    api.on(`GET ${PATH}`, ...[unproved, wrong, active].map((each) => ({ body: { domains: [each] } })));
    api.on(`POST ${PATH}/dom_1/verify`, { body: domain({ state: 'pending_deploy' }) });
    const { code, out, err } = await svc(api, 'domains add app.example.com --env env_1 --wait', {
      terminal: true,
    });
    expect([code, out]).toEqual([0, expect.stringContaining('app.example.com')]);
    expect(err).toContain(
      'set this record: _svc-challenge.app.example.com.  TXT  "svc-domain-verification=1"',
    );
    expect(err).toContain(
      'app.example.com active: DNS wrong (expected 203.0.113.7, seen 198.51.100.2) · certificate waiting dns',
    );
    expect(api.asked.filter(({ target }) => target.endsWith('/verify'))).toHaveLength(1);
  });

  it.each([
    [{ state: 'external', hint: 'a proxy of your own' }, 0],
    [{ state: 'conflicting' }, 1],
    [{ certificate: { state: 'failed' } }, 1],
    [{ ssl: false }, 0],
  ])('ends for %j with %i', async (more, expected) => {
    api.on(`POST ${PATH}`, { status: 201, body: domain(more) });
    expect((await svc(api, 'domains add app.example.com --env env_1 --wait')).code).toBe(expected);
  });
});

describe('svc domains check', () => {
  it.each([
    [[active], 0],
    [[], 0],
    [[active, wrong], 8],
    [[wrong, domain({ state: 'conflicting' })], 1],
  ])('ends by the worst of them', async (domains, expected) => {
    api.on(`GET ${PATH}`, { body: { domains } });
    expect((await svc(api, 'domains check env_1')).code).toBe(expected);
  });

  it('says in a line how each stands, without what a terminal would obey', async () => {
    const odd = { ...unproved, hint: 'there is no\u001B[2J record' };
    api.on(`GET ${PATH}`, { body: { domains: [odd, active] } });
    const { out } = await svc(api, 'domains check env_1');
    expect(out).not.toContain('\u001B[2J');
    expect(out.split('\n')).toEqual([
      expect.stringContaining(
        'app.example.com pending verification: TXT missing · certificate none; there is no',
      ),
      '  set this record: _svc-challenge.app.example.com.  TXT  "svc-domain-verification=1"',
      'app.example.com active: DNS ok · certificate active',
      '',
    ]);
    const { out: json } = await svc(api, 'domains check env_1 --json');
    expect(JSON.parse(json)).toEqual([odd, active]);
  });
});
