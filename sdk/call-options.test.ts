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

it.each<[string, () => PromiseLike<unknown>, string]>([
  [
    'parameter',
    () => sdk.builds.create('env_1', { comit: 'c0ffee' } as object),
    'unknown option "comit", did you mean "commit"?',
  ],
  [
    'option among parameters',
    () => sdk.builds.create('env_1', { idempotencykey: 'mine' } as object),
    'did you mean "idempotencyKey"?',
  ],
  [
    'option behind them',
    () => sdk.builds.create('env_1', {}, { retries: 1 } as object),
    'POST /environments/{environmentId}/builds: unknown option "retries", expected some of',
  ],
  [
    'option of a call without parameters',
    () => sdk.teams.list({ pageSize: 5 } as object),
    'unknown option "pageSize"',
  ],
  [
    'parameter of a list',
    () => sdk.projects.list({ limt: 5 } as object),
    'GET /projects: unknown option "limt", did you mean "limit"?',
  ],
  ['parameter of a page', () => sdk.projects.listPage({ curser: 'c' } as object), 'did you mean "cursor"?'],
  [
    'option of a wait',
    () => sdk.environments.deployAndWait('env_1', { pollInterval: 5 } as object),
    'environments.deployAndWait: unknown option "pollInterval", did you mean "pollIntervalMs"?',
  ],
])('an unknown %s is refused by its name, and nothing is sent', async (_, call, message) => {
  const error: unknown = await call().then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(TypeError);
  expect(String(error)).toContain(message);
  expect(server.seen).toHaveLength(0);
});

it('other options of a call are taken among its parameters too, and none of them is sent', async () => {
  server.reply({ ...done, then: 'hang', status: 0 }, { body: { artifacts: [] } });
  await expect(sdk.builds.create('env_1', { timeoutMs: 20 })).rejects.toThrow(SvcTimeoutError);
  const { signal } = new AbortController();
  await sdk.artifacts.list('team_1', { signal, headers: { 'x-own': '1' }, maxRetries: 0 });
  expect(server.seen[1]).toMatchObject({ target: '/teams/team_1/artifacts', headers: { 'x-own': '1' } });
});
