/** Runs that no report comes of any more, and reports of them that come after all. */
import { beforeAll, describe, expect, it } from 'vitest';
import { has } from '../../../test/setup/needs.ts';
import { ownServer } from '../../../test/setup/engine/own-server.ts';
import { wantCommitStatus } from '../commitstatus/handler.ts';
import { giveUpLost } from './health.ts';

const HOUR_MS = 3_600_000;

describe.skipIf(!(await has('postgres')))('giveUpLost()', () => {
  const { server, call, made, connection } = ownServer();
  const connections = new Map<string, string>();

  beforeAll(async () => {
    for (const provider of ['github', 'gitlab']) {
      const at = { provider, repositoryHost: `${provider}.com` };
      connections.set(provider, await connection('acme/app', at));
    }
  });

  let n = 0;
  const report = async (provider: string, status: string): Promise<string> => {
    n += 1;
    const body = { ciConnectionId: connections.get(provider), externalRunId: String(n), status };
    return await made('POST /ci/runs', body);
  };
  const later = async (hours: number) =>
    await giveUpLost({ db: server.db, follow: wantCommitStatus }, new Date(Date.now() + hours * HOUR_MS));
  const run = async (id: string) => (await call(`GET /ci/runs/${id}`)).body;
  const statuses = async (...ids: readonly string[]) =>
    await Promise.all(ids.map(async (id) => (await run(id))['status']));

  it('waits for as long as the provider allows, and longest for people', async () => {
    const running = await report('gitlab', 'running');
    const queued = await report('gitlab', 'queued');
    const atGithub = await report('github', 'queued');
    const blocked = await report('gitlab', 'queued');
    const done = await report('gitlab', 'success');
    await server.db.sql`update ci_runs set blocked = true where id = ${blocked}`;
    const all = [running, queued, atGithub, blocked, done] as const;
    expect(await later(6.9)).toBe(0);
    expect(await later(7.1)).toBe(1);
    expect(await statuses(...all)).toEqual(['unknown', 'queued', 'queued', 'queued', 'success']);
    expect(await later(25.1)).toBe(1);
    expect(await statuses(...all)).toEqual(['unknown', 'unknown', 'queued', 'queued', 'success']);
    expect(await later(49.1)).toBe(1);
    expect(await later(29 * 24)).toBe(0);
    expect(await later(31 * 24)).toBe(1);
    expect(await statuses(...all)).toEqual(['unknown', 'unknown', 'unknown', 'unknown', 'success']);
    expect(await run(running)).toMatchObject({ reason: 'lost' });
  });

  it('gives up jobs with their run, and takes both back when a report comes', async () => {
    const id = await report('gitlab', 'running');
    const jobs = [{ name: 'build', status: 'success' }, { name: 'test' }];
    await call(`POST /ci/runs/${id}/jobs`, { jobs });
    await later(8);
    const jobStatuses = async () =>
      ((await call(`GET /ci/runs/${id}/jobs`)).body['jobs'] as Array<{ status: string }>).map(
        ({ status }) => status,
      );
    expect([await statuses(id), await jobStatuses()]).toEqual([['unknown'], ['success', 'unknown']]);
    // A sign of life, though it says nothing new.
    const alive = await call(`PATCH /ci/runs/${id}`, { status: 'running' });
    expect(alive.body['status']).toBe('running');
    expect(alive.body).not.toHaveProperty('reason');
    expect(await jobStatuses()).toEqual(['success', 'running']);
    await later(8);
    const ended = await call(`POST /ci/runs/${id}/complete`, { status: 'success' });
    expect(ended.body['status']).toBe('success');
    expect(await jobStatuses()).toEqual(['success', 'success']);
  });

  it('gives up more than fit into one statement', async () => {
    const id = await report('gitlab', 'running');
    await server.asOwner(`
      insert into ci_runs select (jsonb_populate_record(r, jsonb_build_object('id', 'cir_' || lpad(n::text, 26, '0'), 'external_run_id', 'x' || n))).*
      from ci_runs r, generate_series(1, 1200) n where r.id = '${id}'`);
    expect(await later(8)).toBe(1_201);
  });
});
