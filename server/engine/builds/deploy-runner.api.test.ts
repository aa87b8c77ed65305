/**
 * These tests show over HTTP that builds go to the runner that deployed their environment last, say that they
 * wait for it, and are free once it is revoked.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { has } from '../../../test/setup/needs.ts';
import { startTestServer } from '../../../test/setup/server.ts';
import type { TestServer } from '../../../test/setup/server.ts';
import { scriptedRunner } from '../../../test/setup/builds/scripted-runner.ts';
import type { ScriptedRunner } from '../../../test/setup/builds/scripted-runner.ts';

describe.skipIf(!(await has('postgres')))('builds that deploy', () => {
  let server: TestServer;
  let teamId: string;
  beforeAll(async () => {
    server = await startTestServer({ env: { LEASE_MS: '3600000', OFFER_MS: '3600000' } });
    teamId = (await ok<{ id: string }>('POST /teams', { name: 'deployers' })).id;
    const { regions } = await ok<{ regions: Array<{ id: string; operator: string }> }>('GET /regions');
    const regionId = regions.find(({ operator }) => operator === 'customer')?.id;
    await ok(`PUT /admin/teams/${teamId}/region`, { regionId }, server.first.staffApiKey);
  }, 120_000);
  afterAll(async () => await server?.stop());

  const ok = async <T = Record<string, unknown>>(
    route: string,
    body?: unknown,
    as = server.first.apiKey,
  ): Promise<T> => {
    const answer = await server.call(route, { as, body });
    expect(answer.status, `${route}: ${answer.text}`).toBeLessThan(300);
    return answer.body as T;
  };
  const newRunner = async (name: string): Promise<ScriptedRunner> => {
    const { token } = await ok<{ token: string }>(`POST /teams/${teamId}/runners/enroll-tokens`, {});
    return await scriptedRunner(server.baseUrl, token, name);
  };

  it('go to one runner until it is revoked, and then to another, also one that was asking already', async () => {
    const project = await ok<{ id: string }>('POST /projects', { name: 'web', teamId });
    const environment = await ok<{ id: string }>(`POST /projects/${project.id}/environments`, {
      name: 'production',
      repository: 'https://git.example.com/acme/web',
      deploy: { kind: 'container', app: 'web' },
    });
    const path = `/environments/${environment.id}/builds`;
    const submit = async () => await ok<{ id: string }>(`POST ${path}`, {});
    const [first, other] = [await newRunner('box-a'), await newRunner('box-b')];
    const one = await submit();
    await first.finish(await first.take());

    const back = await ok<{ id: string }>(`POST ${path}/${one.id}/rollback`, {});
    expect(await other.poll()).toBeUndefined();
    await server.db
      .sql`update runners set last_seen_at = now() - interval '1 hour' where id = ${first.runnerId}`;
    expect(await ok(`GET ${path}/${back.id}`)).toMatchObject({
      waiting: {
        reason: 'no_live_runner',
        detail:
          'it waits for runner box-a, on which its environment is deployed: it has not called within 60 s; start it again, or revoke it with: svc runners revoke, after which any other runner may take the build',
      },
    });
    await first.finish(await first.take());

    const two = await submit();
    const polled = other.wait();
    await ok(`DELETE /teams/${teamId}/runners/${first.runnerId}`);
    const offer = await polled;
    expect(offer?.id).toBe(two.id);
    await other.finish(offer!);
    await submit();
    expect(await (await newRunner('box-c')).poll()).toBeUndefined();
    await other.finish(await other.take());
  });
});
