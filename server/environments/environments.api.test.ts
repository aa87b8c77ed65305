/** Environments over the real door: whose credentials go where. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { has } from '../../test/setup/needs.ts';
import { join } from '../../test/setup/people.ts';
import { startTestServer } from '../../test/setup/server.ts';
import type { TestServer } from '../../test/setup/server.ts';
import { scriptedRunner } from '../builds/testing/scripted-runner.ts';

const TOKEN = 'canary-9a1f03be77';
const HOME = 'https://git.example.com/acme/web';
const ELSEWHERE = 'https://evil.example.org/acme/web';

interface Answer {
  readonly status: number;
  readonly code: string | undefined;
  readonly text: string;
  readonly body: Record<string, unknown>;
}

describe.skipIf(!(await has('postgres')))('environments', () => {
  let server: TestServer;
  let as: string;
  let teamId: string;
  let projectId: string;
  let names = 0;

  const call = async (route: string, body?: unknown, who = as) =>
    (await server.call(route, { as: who, body })) as unknown as Answer;
  const ok = async <T = Record<string, unknown>>(route: string, body?: unknown): Promise<T> => {
    const answer = await call(route, body);
    expect(answer.status, `${route}: ${answer.text}`).toBeLessThan(300);
    return answer.body as T;
  };
  const create = async (more: object = {}): Promise<string> =>
    (
      await ok<{ id: string }>(`POST /projects/${projectId}/environments`, {
        name: `e${(names += 1)}`,
        ...more,
      })
    ).id;

  beforeAll(async () => {
    server = await startTestServer({ env: { LEASE_MS: '3600000', OFFER_MS: '3600000' } });
    as = server.first.apiKey;
  });
  afterAll(async () => await server?.stop());
  beforeEach(async () => {
    teamId = (await ok<{ id: string }>('POST /teams', { name: `team ${(names += 1)}` })).id;
    const { regions } = await ok<{ regions: Array<{ id: string; operator: string }> }>('GET /regions');
    const regionId = regions.find(({ operator }) => operator === 'customer')?.id;
    expect(
      (await call(`PUT /admin/teams/${teamId}/region`, { regionId }, server.first.staffApiKey)).status,
    ).toBe(200);
    projectId = (await ok<{ id: string }>('POST /projects', { name: 'web', teamId })).id;
  });

  describe('with git credentials', () => {
    it('keep them from another host, whoever names it, and say what to do', async () => {
      const id = await create({ repository: HOME, gitCredentials: { token: TOKEN } });
      const { token } = await join(server, as, teamId, 'developer');
      const refused = await call(`PATCH /environments/${id}`, { repository: ELSEWHERE, branch: 'x' }, token);
      expect(refused).toMatchObject({ status: 400, code: 'validation_failed' });
      expect(refused.text).toContain('https://evil.example.org');
      expect(refused.text).toMatch(/send gitCredentials .* or an empty gitCredentials object/);
      expect(await ok(`GET /environments/${id}`)).toMatchObject({ repository: HOME, branch: 'main' });

      const moved = { repository: 'https://git.example.com/acme/api' };
      expect(await ok(`PATCH /environments/${id}`, moved)).toMatchObject({ hasGitCredentials: true });
      await ok(`POST /environments/${id}/builds`, {});
      const enroll = await ok<{ token: string }>(`POST /teams/${teamId}/runners/enroll-tokens`, {});
      const runner = await scriptedRunner(server.baseUrl, enroll.token);
      expect(await runner.take()).toMatchObject({ source: { ...moved, token: TOKEN } });
    });

    it('go to another host with new ones, or with none', async () => {
      const id = await create({ repository: HOME, gitCredentials: { token: TOKEN } });
      const path = `PATCH /environments/${id}`;
      expect(await ok(path, { repository: ELSEWHERE, gitCredentials: { token: 'other' } })).toMatchObject({
        repository: ELSEWHERE,
        hasGitCredentials: true,
      });
      expect(await ok(path, { repository: HOME, gitCredentials: {} })).toMatchObject({
        hasGitCredentials: false,
      });
      expect(await ok(path, { repository: ELSEWHERE })).toMatchObject({ repository: ELSEWHERE });
    });

    it('go to no other host either when both are changed at once', async () => {
      for (let round = 0; round < 8; round += 1) {
        const id = await create({ repository: HOME });
        await Promise.all([
          ok(`PATCH /environments/${id}`, { gitCredentials: { token: TOKEN } }),
          call(`PATCH /environments/${id}`, { repository: ELSEWHERE }),
        ]);
        const { repository, hasGitCredentials } = await ok(`GET /environments/${id}`);
        // Credentials that came after the move were sent for whatever is there then.
        expect(hasGitCredentials).toBe(true);
        const [last] = await server.db.sql<Array<{ fields: string[] }>>`
          select details -> 'fields' as fields from audit_entries where target = ${id} order by seq desc limit 1`;
        if (repository === ELSEWHERE) expect(last?.fields).toEqual(['gitCredentials']);
      }
    });
  });
});
