import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { apiError, startFakeApi, type Answer, type FakeApi } from '../testing/fake-api.ts';
import { svc } from '../testing/session.ts';

let api: FakeApi;

beforeAll(async () => {
  api = await startFakeApi();
});
afterEach(() => api.reset());
afterAll(() => api.close());

const resolver = 'GET /platform-features/resolved';
const line = 'runners list --team team_1';

function listing(answer: Answer) {
  api.on('GET /teams/team_1/runners', { body: { runners: [] } });
  api.on(resolver, answer);
  return svc(api, line);
}

describe('a gated command', () => {
  it('fails fast when the resolver says that its feature is off', async () => {
    const { code, err } = await listing({
      body: {
        features: {
          'host.runners': {
            enabled: false,
            reason: 'disabled',
            lifecycle: 'experimental',
            visibility: 'internal',
          },
        },
      },
    });
    expect(code).toBe(1);
    expect(err).toBe(
      'svc: "runners list" is unavailable: the platform feature "host.runners" is disabled on this environment\n',
    );
    expect(api.asked).toHaveLength(1);
  });

  const proceeding: readonly (readonly [string, Answer])[] = [
    ['that it is on', { body: { features: { 'host.runners': { enabled: true, reason: 'enabled' } } } }],
    ['true', { body: { features: { 'host.runners': true } } }],
    ['nothing about it, as to everyone who is not staff', { body: { features: { 'host.ci': true } } }],
    ['something else', { body: { features: { 'host.runners': { enabled: 'no' } } } }],
    ['nonsense', { body: ['x'] }],
    ['404, as servers without it do', apiError(404, 'not_found', 'no such route')],
    ['an error', apiError(500, 'internal', 'broken')],
    ['401', apiError(401, 'credentials_invalid', 'no')],
    ['nothing at all in time', () => undefined],
  ];
  it.each(proceeding)('proceeds when the resolver says %s', async (_what, answer) => {
    const startedAt = Date.now();
    expect(await listing(answer)).toMatchObject({ code: 0 });
    expect(Date.now() - startedAt).toBeLessThan(1_500);
    expect(api.asked.filter(({ target }) => target.startsWith('/platform-features'))).toHaveLength(1);
  });
});

it('leaves commands without a feature alone', async () => {
  api.on('GET /regions', { body: { regions: [] } });
  await svc(api, 'regions list');
  expect(api.asked.map(({ target }) => target)).toEqual(['/regions']);
});
