import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Api } from '../control-plane/api.ts';
import { CallError, type Failure } from '../control-plane/retryable.ts';
import type { HostLogsRequest } from '../control-plane/wire.ts';
import type { LogBatch } from '../edge/logs/edge-logs.ts';
import { collectedLog } from '../../test/setup/runner/collected-log.ts';
import { createLogTeller } from './tell-logs.ts';

const line = (path: string) => ({
  at: '2026-01-01T00:00:00.000Z',
  remote: '',
  method: 'GET',
  path,
  status: 200,
  bytes: 1,
  userAgent: '',
});
const minute = (n: number) => ({
  minute: new Date(n * 60_000).toISOString(),
  requests: 1,
  s2xx: 1,
  s3xx: 0,
  s4xx: 0,
  s5xx: 0,
  p50Ms: 1,
  p95Ms: 1,
  bytes: 1,
});
const batch = (more: Partial<LogBatch> = {}): LogBatch => ({
  environmentId: 'env_1',
  kind: 'access',
  lines: [line('/')],
  dropped: 0,
  minutes: [],
  ...more,
});

describe('logs of apps', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['performance', 'hrtime'] }));
  afterEach(() => void vi.useRealTimers());

  function rig(batches: LogBatch[]) {
    const said: HostLogsRequest[] = [];
    const confirmed: number[] = [];
    const log = collectedLog();
    const rigged = {
      said,
      confirmed,
      text: () => log.text(),
      taken: 0,
      batches,
      failure: undefined as Failure | undefined,
      later: async (ms: number) => {
        vi.advanceTimersByTime(ms);
        await tell();
      },
    };
    const call = async (name: string, body: HostLogsRequest) => {
      expect(name).toBe('host-logs');
      said.push(body);
      if (rigged.failure !== undefined) throw new CallError(rigged.failure);
      return await Promise.resolve({ value: { nextMs: 20_000 }, sentMonotonicMs: 0 });
    };
    const source = {
      take: async () => {
        rigged.taken += 1;
        return await Promise.resolve(
          rigged.batches.length === 0 ? undefined : { seq: 7, batches: rigged.batches },
        );
      },
      confirm: async (seq: number) => {
        confirmed.push(seq);
        rigged.batches = [];
        await Promise.resolve();
      },
    };
    const tell = createLogTeller({
      api: { call: call as unknown as Api['call'] },
      bootId: 'boot_1',
      sources: [source],
      log,
    });
    return rigged;
  }

  it('are told once, as often as the control plane asks for it, and only if there are some', async () => {
    const r = rig([batch({ dropped: 2 })]);
    await r.later(0);
    expect(r.said).toEqual([{ bootId: 'boot_1', logs: [{ ...batch({ dropped: 2 }), seq: 7 }] }]);
    expect(r.confirmed).toEqual([7]);
    await r.later(10_001);
    expect(r.taken).toBe(1);
    await r.later(10_001);
    expect([r.taken, r.said.length]).toEqual([2, 1]);
  });

  it('go into as many calls as they need, and counters go under the same number', async () => {
    const minutes = Array.from({ length: 130 }, (_, n) => minute(n));
    const others = Array.from({ length: 20 }, (_, n) => batch({ environmentId: `env_o${n}` }));
    const long = Array.from({ length: 200 }, () => line('x'.repeat(1_024)));
    const r = rig([batch({ minutes }), ...others, batch({ kind: 'error', lines: long, dropped: 1 })]);
    await r.later(0);
    const sent = r.said.flatMap(({ logs = [] }) => logs);
    expect(new Set(sent.map(({ seq }) => seq))).toEqual(new Set([7]));
    const own = sent.filter(({ environmentId, kind }) => environmentId === 'env_1' && kind === 'access');
    expect(own.map(({ lines = [], minutes: of = [] }) => [lines.length, of.length])).toEqual([
      [1, 60],
      [0, 60],
      [0, 10],
    ]);
    expect(own.flatMap(({ minutes: of = [] }) => of)).toEqual(minutes);
    for (const { logs = [], ...body } of r.said) {
      expect(logs.length).toBeLessThanOrEqual(16);
      expect(JSON.stringify({ ...body, logs }).length).toBeLessThan(65_536);
      const keys = logs.map(({ environmentId, kind }) => `${environmentId} ${kind}`);
      expect(new Set(keys).size).toBe(keys.length);
    }
    const { lines = [], dropped } = sent.find(({ kind }) => kind === 'error') ?? {};
    expect(lines.length).toBeGreaterThan(40);
    expect(lines.length + Number(dropped)).toBe(201);
  });

  it('are kept while the control plane is away', async () => {
    const r = rig([batch()]);
    r.failure = { verdict: 'retry', code: 'unavailable', message: 'away' };
    await r.later(0);
    await r.later(120_000);
    expect([r.said.length, r.confirmed]).toEqual([2, []]);
    expect(r.text().match(/"warn"/g)).toHaveLength(1);
    r.failure = undefined;
    await r.later(120_000);
    expect(r.confirmed).toEqual([7]);
  });

  it('are given up where they are refused, or where nobody takes any', async () => {
    const r = rig([batch()]);
    r.failure = { verdict: 'refused', code: 'validation_failed', message: 'no line' };
    await r.later(0);
    expect(r.confirmed).toEqual([7]);
    expect(r.text()).toContain('is refused, and given up');
    r.batches = [batch()];
    r.failure = { verdict: 'retry', code: 'not_found', message: 'no such route', unserved: true };
    await r.later(20_001);
    expect(r.confirmed).toEqual([7, 7]);
    r.batches = [batch()];
    await r.later(200_000);
    expect(r.said).toHaveLength(2);
    await r.later(100_001);
    expect(r.said).toHaveLength(3);
  });
});
