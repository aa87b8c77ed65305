import { describe, expect, it } from 'vitest';
import { useFakeApi } from '../testing/fake-api.ts';
import { svc } from '../testing/session.ts';

const api = await useFakeApi();
const PATH = '/environments/env_1/database';

const database = (more: object) => ({
  id: 'dba_1',
  environmentId: 'env_1',
  type: 'postgres',
  image: 'docker.io/library/postgres',
  imageVersion: '17',
  state: 'ready',
  variable: 'DATABASE_URL',
  ...more,
});

describe('svc database show', () => {
  it('says the version, the variable and the age of the newest backup', async () => {
    // The session's clock stands at noon.
    const goodAt = '2026-11-20T07:00:00Z';
    const backup = { at: goodAt, goodAt, state: 'good', problem: '', bytes: 2_048, sha256: '7' };
    api.on(`GET ${PATH}`, { body: database({ backup }) });
    const { code, out } = await svc(api, 'database show --env env_1');
    expect(code).toBe(0);
    expect(out).toMatch(/^database +postgres 17 \(docker\.io\/library\/postgres\), ready$/m);
    expect(out).toMatch(/^variable +DATABASE_URL, in the deployed container alone$/m);
    expect(out).toMatch(/^backup +5h ago, 2 KiB$/m);
  });

  it.each([
    [{ state: 'provisioning' }, 8, 'none yet'],
    [{ state: 'unhealthy', problem: 'it does not\u001B[2J answer' }, 1, 'it does not'],
    [
      {
        backup: {
          at: '2026-11-28T03:00:00Z',
          state: 'failed',
          problem: 'the disk is full',
          bytes: 0,
          sha256: '',
        },
      },
      0,
      'none yet; the last one failed: the disk is full',
    ],
  ])('ends for %j with %i', async (more, expected, text) => {
    api.on(`GET ${PATH}`, { body: database(more) });
    const { code, out } = await svc(api, 'database show --env env_1');
    expect([code, out]).toEqual([expected, expect.stringContaining(text)]);
    expect(out).not.toContain('\u001B[2J');
  });
});
