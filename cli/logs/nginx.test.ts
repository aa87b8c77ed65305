import { describe, expect, it } from 'vitest';
import { apiError, useFakeApi } from '../testing/fake-api.ts';
import { ends, svc } from '../testing/session.ts';

const api = await useFakeApi();

const PATH = '/environments/env_1/nginx-logs';
const at = '2026-01-02T03:04:05Z';
const access = (path: string) => ({
  at,
  remote: '203.0.113.0',
  method: 'GET',
  host: 'a.acme.dev',
  path,
  status: 200,
  bytes: 612,
  durationMs: 12,
  userAgent: 'curl/8',
});
const error = { at, level: 'error', text: 'no upstream' };
const page = (lines: readonly object[], position: string, more: object = {}) => ({
  body: { lines, dropped: 0, source: 'nginx', position, ...more },
});

describe('svc logs nginx', () => {
  it('shows the newest lines, and those of errors', async () => {
    api.on(`GET ${PATH}/access`, page([access('/x')], '1', { dropped: 3 }));
    const { code, out, err } = await svc(api, 'logs nginx --env env_1 --lines 5');
    expect([code, out, err]).toEqual([
      0,
      `${at} 200 GET a.acme.dev/x 12 ms 612 B 203.0.113.0 curl/8\n`,
      '3 lines are left out here\n',
    ]);
    expect(api.asked[0]?.target).toBe(`${PATH}/access?lines=5`);
    api.on(`GET ${PATH}/error`, page([error], '1'));
    expect((await svc(api, 'logs nginx --env env_1 --errors')).out).toBe(`${at} error: no upstream\n`);
    const { out: json } = await svc(api, 'logs nginx --env env_1 --errors --json');
    expect(JSON.parse(json)).toMatchObject({ lines: [error], position: '1' });
  });

  it('follows what is new, through an outage, until it fails', async () => {
    api.on(
      `GET ${PATH}/access`,
      page([access('/1')], '1'),
      ...Array.from({ length: 4 }, () => ({
        ...apiError(503, 'unavailable', 'restarting'),
        headers: { 'retry-after-ms': '1' },
      })),
      page([access('/2')], '2'),
      apiError(409, 'edge_unavailable', 'nobody tells of requests'),
    );
    const { code, out, err } = await svc(api, 'logs nginx --env env_1 -f --json');
    const lines = out.trim().split('\n');
    expect(lines.map((line) => (JSON.parse(line) as { path: string }).path)).toEqual(['/1', '/2']);
    expect([code, err]).toEqual([1, expect.stringContaining('nobody tells of requests')]);
    const targets = api.asked.map(({ target }) => target.replace(PATH, ''));
    expect(targets[0]).toBe('/access');
    expect(new Set(targets.slice(1))).toEqual(
      new Set(['/access?after=1&lines=1000', '/access?after=2&lines=1000']),
    );
  });

  it('is another command than the output of a run', async () => {
    api.on('GET /sandbox-runs/nginx', apiError(404, 'not_found', 'no run'));
    await ends(api, 'logs nginx', { code: 2, says: 'env' });
    expect(api.asked.filter(({ target }) => target.includes('sandbox-runs'))).toEqual([]);
  });
});
