/** These tests call the timeline of an environment over HTTP. */
import { beforeAll, describe, expect, it } from 'vitest';
import { has } from '../../../test/setup/needs.ts';
import { newKey, stranger } from '../../../test/setup/people.ts';
import { ownServer } from '../../../test/setup/engine/own-server.ts';
import { listen } from '../../../test/setup/told.ts';

interface Shown {
  readonly id: string;
  readonly kind: string;
  readonly commitSha?: string;
  readonly status: string;
  readonly chip?: string;
}

describe.skipIf(!(await has('postgres')))('the timeline', () => {
  const { server, call, ok, made, connection, sdk } = ownServer();
  let environmentId: string;
  let ciConnectionId: string;

  beforeAll(async () => {
    const projectId = await made('POST /projects', { name: 'p', teamId: server.first.teamId });
    const place = { name: 'e', repository: 'https://github.com/acme/app' };
    environmentId = await made(`POST /projects/${projectId}/environments`, place);
    ciConnectionId = await connection('acme/app', { projectId });
  });

  let run = 0;
  /** It reports a run at a second of one minute. */
  const report = async (second: number, commit: string, more: object = {}): Promise<string> => {
    run += 1;
    const body = {
      ciConnectionId,
      externalRunId: String(run),
      branch: 'main',
      commitSha: commit.repeat(40),
      startedAt: `2026-01-01T00:00:${String(second).padStart(2, '0')}Z`,
      ...more,
    };
    const reported = await call('POST /ci/runs', body);
    expect(reported.status, reported.text).toBe(201);
    return String(reported.body['id']);
  };
  const read = async (query = '', token?: string) =>
    await ok<{ entries: Shown[]; nextCursor?: string }>(
      `GET /environments/${environmentId}/timeline${query}`,
      undefined,
      token,
    );

  it('is read by any credential of the team, whatever its scopes are', async () => {
    const id = await report(5, 'f');
    for (const scope of ['audit:read', 'ci:write', 'billing:read', 'project:read']) {
      const { secret } = await newKey(server, server.first.apiKey, { scopes: [scope] });
      expect((await read('', secret)).entries.map((entry) => entry.id)).toEqual([id]);
      const told = listen(sdk(secret).timeline.watch(environmentId));
      expect((await told.event('the present', () => true)).entries[0]?.id).toBe(id);
    }
    await server.db.sql`delete from ci_runs where id = ${id}`;
  });

  it('shows builds and runs of a commit together, newest first, and who built', async () => {
    const older = await report(10, 'a');
    const newer = await report(20, 'b', { status: 'success', durationMs: 500 });
    const buildId = await made(`POST /environments/${environmentId}/builds`, { commit: 'a'.repeat(40) });
    const { entries, nextCursor } = await read();
    expect(nextCursor).toBeUndefined();
    // The build came last, and takes its commit's run along to the top.
    expect(entries.map(({ id, kind, status }) => [id, kind, status])).toEqual([
      [buildId, 'build', 'queued'],
      [older, 'ci_run', 'running'],
      [newer, 'ci_run', 'success'],
    ]);
    expect(entries[2]).toMatchObject({
      ciStatus: 'success',
      provider: 'github',
      name: 'default',
      branch: 'main',
      durationMs: 500,
      at: '2026-01-01T00:00:20Z',
    });
    expect(entries[0]).toMatchObject({ buildState: 'queued', name: 'build 1' });
    expect(entries[0]).not.toHaveProperty('chip');
    await server.asOwner(`
      insert into runners (id, team_id, name, public_key, key_id, enrolled_at)
      select 'rnr_00000000000000000000000001', team_id, 'rack 7', 'x', 'k', now() from builds where id = '${buildId}'`);
    await server.asOwner(`
      update work_items set runner_id = 'rnr_00000000000000000000000001' where id = (select work_id from builds where id = '${buildId}')`);
    expect((await read()).entries[0]).toMatchObject({ runnerName: 'rack 7', chip: 'via rack 7' });
  });

  it('goes back by its own cursors, past entries of the same time, and by a bare time', async () => {
    const before = (await read()).entries.map(({ id }) => id);
    const same = await Promise.all(Array.from({ length: 7 }, async () => await report(5, 'c')));
    const seen: string[] = [];
    for (let cursor = '', more = true; more;) {
      const page = await read(`?limit=2${cursor}`);
      expect(page.entries.length).toBeLessThanOrEqual(2);
      seen.push(...page.entries.map(({ id }) => id));
      more = page.nextCursor !== undefined;
      cursor = `&cursor=${encodeURIComponent(page.nextCursor ?? '')}`;
    }
    expect(seen.toSorted()).toEqual([...before, ...same].toSorted());
    const bare = await read('?cursor=2026-01-01T00:00:10Z');
    expect(bare.entries.map(({ id }) => id).toSorted()).toEqual(same.toSorted());
    const refused = await call(`GET /environments/${environmentId}/timeline?cursor=now`);
    expect(refused.code).toBe('validation_failed');
  });

  it('is for anybody of the team with any credential, and for nobody else', async () => {
    const other = await stranger(server);
    const route = `GET /environments/${environmentId}/timeline`;
    expect((await server.call(route, { as: other.token })).status).toBe(404);
    expect((await server.call(route)).status).toBe(401);
  });

  it('puts no run on top because its provider has a fast clock', async () => {
    const id = await report(1, 'd', { startedAt: '2099-01-01T00:00:00Z' });
    const found = await server.db.sql`select occurred_at <= created_at as ok from ci_runs where id = ${id}`;
    expect(found[0]?.['ok']).toBe(true);
  });
});
