import { describe, expect, it } from 'vitest';
import { useFakeServer } from './core/testing/fake-server.ts';
import { createSvcSDK } from './index.ts';

const server = useFakeServer();

const run = (status: string, more: object = {}) => ({
  body: { id: 'cir_1', status, blocked: false, ...more },
});
const sdk = () => createSvcSDK({ baseUrl: server.baseUrl, maxRetries: 0 });
const data = { ciConnectionId: 'cic_1', externalRunId: '42' };
const quick = { pollIntervalMs: 1 };

describe('reportAndWait', () => {
  it('reports a run and asks for it until it has ended', async () => {
    server.reply({ ...run('queued'), status: 201 }, run('running'), run('success', { durationMs: 5 }));
    expect(await sdk().ci.reportAndWait(data, quick)).toEqual({
      id: 'cir_1',
      status: 'success',
      blocked: false,
      durationMs: 5,
    });
    expect(server.seen.map(({ method, target }) => `${method} ${target}`)).toEqual([
      'POST /ci/runs',
      'GET /ci/runs/cir_1',
      'GET /ci/runs/cir_1',
    ]);
  });

  it.each([
    ['failed', {}],
    ['cancelled', {}],
    ['unknown', {}],
    ['queued', { blocked: true }],
  ])('answers a run that is %s %j', async (status, more) => {
    server.reply({ ...run('running'), status: 201 }, run(status, more));
    expect(await sdk().ci.reportAndWait(data, quick)).toMatchObject({ status, ...more });
  });

  it('asks for nothing when the report says the end already', async () => {
    server.reply(run('failed'));
    expect(await sdk().ci.reportAndWait({ ...data, status: 'failed' })).toMatchObject({ status: 'failed' });
    expect(server.seen).toHaveLength(1);
  });

  it('reports a run without a status as queued, and one with a status as it says', async () => {
    for (const given of [{}, { status: 'running' } as const]) {
      server.reply({ ...run('failed'), status: 201 });
      await sdk().ci.reportAndWait({ ...data, ...given });
      expect(JSON.parse(server.seen.at(-1)?.body ?? '')).toEqual({ ...data, status: 'queued', ...given });
    }
  });

  it('outlives answers that may be better next time, and no others', async () => {
    const error = (status: number, code: string, retryable: boolean) => ({
      status,
      body: { error: { code, message: code, retryable } },
    });
    server.reply({ ...run('running'), status: 201 }, error(503, 'unavailable', true), run('success'));
    expect(await sdk().ci.reportAndWait(data, quick)).toMatchObject({ status: 'success' });
    server.reply({ ...run('running'), status: 201 }, error(404, 'not_found', false));
    await expect(sdk().ci.reportAndWait(data, quick)).rejects.toMatchObject({ code: 'not_found' });
  });

  it('says that the run goes on when the time is over', async () => {
    server.reply({ ...run('running'), status: 201 }, ...Array.from({ length: 50 }, () => run('running')));
    const waiting = sdk().ci.reportAndWait(data, { pollIntervalMs: 5, timeoutMs: 40 });
    await expect(waiting).rejects.toMatchObject({
      name: 'SvcTimeoutError',
      message: 'run cir_1 is running after 40 ms; it goes on, ci.getRun shows how it ends',
    });
  });

  it('ends with the signal', async () => {
    server.reply({ ...run('running'), status: 201 }, run('running'));
    const controller = new AbortController();
    const waiting = sdk().ci.reportAndWait(data, { pollIntervalMs: 60_000 }, { signal: controller.signal });
    setTimeout(() => controller.abort(), 20);
    await expect(waiting).rejects.toMatchObject({ name: 'SvcAbortError' });
  });

  it.each([{ pollIntervalMs: 0 }, { timeoutMs: -1 }, { pollIntervalMs: Number.NaN }])(
    'refuses %j',
    async (bad) => {
      await expect(sdk().ci.reportAndWait(data, bad)).rejects.toThrow(TypeError);
      expect(server.seen).toEqual([]);
    },
  );
});
