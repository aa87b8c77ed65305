import { beforeEach, expect, it } from 'vitest';
import { useFakeServer } from './core/testing/fake-server.ts';
import { createSvcSDK, SvcTimeoutError, type SvcSDK } from './index.ts';

const server = useFakeServer();
let sdk: SvcSDK;
beforeEach(() => {
  sdk = createSvcSDK({ baseUrl: server.baseUrl, maxRetries: 0 });
});

const KEY = { idempotencyKey: 'mine' };
const done = { status: 201, body: {} };

it.each<[string, () => PromiseLike<unknown>, object]>([
  ['alone in the place of parameters', () => sdk.builds.create('env_1', KEY), {}],
  ['among parameters', () => sdk.builds.create('env_1', { commit: 'c0ffee', ...KEY }), { commit: 'c0ffee' }],
  ['behind them', () => sdk.builds.create('env_1', { commit: 'c0ffee' }, KEY), { commit: 'c0ffee' }],
  ['and win there', () => sdk.builds.create('env_1', { idempotencyKey: 'another' }, KEY), {}],
  ['behind an argument that is left out', () => sdk.teams.create('acme', undefined, KEY), { name: 'acme' }],
  ['behind a list', () => sdk.teams.create('acme', [], KEY), { name: 'acme', members: [] }],
  [
    'with parameters that must be there',
    () => sdk.projects.create({ name: 'web', teamId: 't', ...KEY }),
    { name: 'web', teamId: 't' },
  ],
  ['behind positional values', () => sdk.variables.set('env_1', 'A', 'b', KEY), { name: 'A', value: 'b' }],
])('options of a call are taken %s', async (_, call, body) => {
  server.reply(done);
  await call();
  const [seen] = server.seen;
  expect(seen?.headers['idempotency-key']).toBe('mine');
  expect(JSON.parse(seen?.body ?? '')).toEqual(body);
});

it('other options of a call are taken among its parameters too, and none of them is sent', async () => {
  server.reply({ ...done, then: 'hang', status: 0 }, { body: { artifacts: [] } });
  await expect(sdk.builds.create('env_1', { timeoutMs: 20 })).rejects.toThrow(SvcTimeoutError);
  const { signal } = new AbortController();
  await sdk.artifacts.list('team_1', { signal, headers: { 'x-own': '1' }, maxRetries: 0 });
  expect(server.seen[1]).toMatchObject({ target: '/teams/team_1/artifacts', headers: { 'x-own': '1' } });
});
