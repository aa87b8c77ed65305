import { describe, expect, it } from 'vitest';
import { useFakeServer } from './core/testing/fake-server.ts';
import { createSvcSDK } from './index.ts';

const server = useFakeServer();

const build = (state: string, more: object = {}) => ({ body: { id: 'bld_1', state, ...more } });
const sdk = () => createSvcSDK({ baseUrl: server.baseUrl, maxRetries: 0 });
const quick = { pollIntervalMs: 1 };

describe('deployAndWait', () => {
  it('submits a build and asks for it until it has ended', async () => {
    server.reply(
      { ...build('queued'), status: 201 },
      build('running'),
      build('publishing'),
      build('deploying'),
      build('succeeded', { address: 'http://10.0.0.7:8080' }),
    );
    expect(await sdk().environments.deployAndWait('env_1', quick)).toEqual({
      id: 'bld_1',
      state: 'succeeded',
      address: 'http://10.0.0.7:8080',
    });
    expect(server.seen.map(({ method, target }) => `${method} ${target}`)).toEqual([
      'POST /environments/env_1/builds',
      ...Array.from({ length: 4 }, () => 'GET /environments/env_1/builds/bld_1'),
    ]);
  });

  it('takes the options of a call where those of the wait stand', async () => {
    server.reply({ ...build('queued'), status: 201 }, build('succeeded'));
    await sdk().environments.deployAndWait('env_1', { ...quick, idempotencyKey: 'once' });
    expect(server.seen[0]).toMatchObject({ body: '{}', headers: { 'idempotency-key': 'once' } });
  });

  it.each(['failed', 'cancelled', 'awaiting_approval'])('answers a build that is %s', async (state) => {
    server.reply({ ...build('queued'), status: 201 }, build(state));
    expect(await sdk().environments.deployAndWait('env_1', quick)).toMatchObject({ state });
  });

  it('outlives answers that may be better next time, and no others', async () => {
    const error = (status: number, code: string, retryable: boolean) => ({
      status,
      body: { error: { code, message: code, retryable } },
    });
    server.reply(
      { ...build('queued'), status: 201 },
      error(503, 'unavailable', true),
      error(500, 'internal', true),
      build('succeeded'),
    );
    expect(await sdk().environments.deployAndWait('env_1', quick)).toMatchObject({ state: 'succeeded' });
    server.reply({ ...build('queued'), status: 201 }, error(404, 'not_found', false));
    await expect(sdk().environments.deployAndWait('env_1', quick)).rejects.toMatchObject({
      code: 'not_found',
    });
  });

  it('says that the build goes on when the time is over', async () => {
    server.reply({ ...build('queued'), status: 201 }, ...Array.from({ length: 50 }, () => build('running')));
    const waiting = sdk().environments.deployAndWait('env_1', { pollIntervalMs: 5, pollTimeoutMs: 40 });
    await expect(waiting).rejects.toThrow(/build bld_1 is (queued|running) after 40 ms; it goes on/);
  });

  it('ends at once with its signal, and sends a given key with the submission alone', async () => {
    const leaving = new AbortController();
    server.reply({ ...build('queued'), status: 201 }, build('running'));
    const waiting = sdk().environments.deployAndWait(
      'env_1',
      { pollIntervalMs: 60_000 },
      { signal: leaving.signal, idempotencyKey: 'mine' },
    );
    await server.request(0);
    leaving.abort();
    await expect(waiting).rejects.toThrow(/aborted/);
    expect(server.seen[0]?.headers['idempotency-key']).toBe('mine');
  });

  it.each([{ pollIntervalMs: 0 }, { pollTimeoutMs: Number.NaN }])(
    'refuses %o before it submits',
    async (params) => {
      await expect(sdk().environments.deployAndWait('env_1', params)).rejects.toThrow(/expected a number/);
      expect(server.seen).toEqual([]);
    },
  );
});
