/**
 * What comes while a connection is paused or takes direct reports alone: nothing is taken, and nothing is
 * lost. Two servers, one database.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { has } from '../../../test/setup/needs.ts';
import { ownServer } from '../../../test/setup/engine/own-server.ts';
import { startTestServer, type TestServer } from '../../../test/setup/server.ts';
import { hook, type Hooked } from '../../../test/setup/ci/hooked.ts';

const EVENT = { 'x-github-event': 'workflow_run' };

const run = (path: string, id: number, status: string, second = id) => ({
  workflow_run: {
    id,
    status,
    conclusion: status === 'completed' ? 'success' : null,
    updated_at: `2026-07-01T10:00:${String(second).padStart(2, '0')}Z`,
  },
  repository: { full_name: path },
});

describe.skipIf(!(await has('postgres')))('a connection that takes nothing for a while', () => {
  const { server, call, ok } = ownServer();
  let other: TestServer;
  beforeAll(async () => {
    const { databaseUrl, dataDir } = server;
    other = await startTestServer({ databaseUrl, dataDir });
  });
  afterAll(async () => await other.stop());

  const change = async ({ connectionId }: Hooked, body: object) =>
    await ok(`PATCH /ci/connections/${connectionId}`, body);
  /** The same webhook at one of the servers, of which each has its own memory of it. */
  const at = (hooked: Hooked, { baseUrl }: TestServer): Hooked =>
    hooked.with({ url: hooked.url.replace(/^https?:\/\/[^/]+/, baseUrl) });
  const made = async (repositoryPath: string, more: object = {}) => {
    const hooked = at(await hook(server, 'github', { repositoryPath, ingestMode: 'both', ...more }), server);
    return { hooked, there: at(hooked, other) };
  };

  it('is paused at every server at once, and loses nothing when it is active again', async () => {
    const path = 'acme/paused';
    const { hooked, there } = await made(path);
    const report = { ciConnectionId: hooked.connectionId, externalRunId: 'direct' };
    const direct = await call('POST /ci/runs', report);
    for (const at of [hooked, there]) expect((await at.send(run(path, 1, 'queued'), EVENT)).status).toBe(202);
    await hooked.deliveries();
    await change(hooked, { status: 'paused' });
    // In the moment after, at a server that was not asked to pause it.
    const held = await there.send(run(path, 1, 'completed', 30), EVENT);
    expect(held).toMatchObject({ status: 202, body: { held: expect.stringContaining('paused') } });
    expect((await there.with({ secret: 'wrong' }).send(run(path, 2, 'queued'), EVENT)).status).toBe(401);
    const id = String(direct.body['id']);
    for (const [route, body] of [
      ['POST /ci/runs', report],
      ['POST /ci/runs', { ...report, externalRunId: 'new' }],
      [`PATCH /ci/runs/${id}`, { status: 'success' }],
      [`POST /ci/runs/${id}/complete`, { status: 'success' }],
      [`POST /ci/runs/${id}/jobs`, { jobs: [{ name: 'unit' }] }],
    ] as const) {
      const refused = await other.call(route, { as: server.first.apiKey, body });
      expect([route, refused.status, refused.code]).toEqual([route, 409, 'ci_connection_paused']);
    }
    for (const second of [31, 32]) await hooked.send(run(path, second, 'completed'), EVENT);
    expect(await hooked.states()).toEqual(['held', 'held', 'held', 'processed', 'processed']);
    expect((await hooked.run('1'))['status']).toBe('queued');
    expect((await call(`GET /ci/runs/${id}`)).body['status']).toBe('running');
    await change(hooked, { status: 'active' });
    const next = await there.send(run(path, 33, 'completed'), EVENT);
    expect(next).toMatchObject({ status: 202, body: { id: expect.any(String) } });
    expect(next.body).not.toHaveProperty('held');
    const after = await hooked.deliveries();
    expect(after.map(({ state }) => state)).toEqual(Array.from({ length: 6 }, () => 'processed'));
    expect(after.some(({ detail }) => detail !== undefined)).toBe(false);
    for (const name of ['1', '31', '32', '33']) expect((await hooked.run(name))['status']).toBe('success');
  });

  it('neither loses nor takes wrongly what comes around the change', async () => {
    const path = 'acme/toggled';
    const { hooked, there } = await made(path);
    let sent = 0;
    let isPaused = false;
    const post = async (at: Hooked): Promise<void> => {
      sent += 1;
      expect((await at.send(run(path, sent, 'completed', 1), EVENT)).status).toBe(202);
    };
    const storm = async (at: Hooked): Promise<void> => {
      while (!isPaused) await post(at);
      await post(at);
    };
    const toggle = async (): Promise<void> => {
      for (const status of ['paused', 'active', 'paused', 'active', 'paused']) {
        await post(hooked);
        await change(hooked, { status });
      }
      isPaused = true;
    };
    await Promise.all([storm(hooked), storm(there), storm(hooked), toggle()]);
    const count = async (table: 'runs' | 'held' | 'processed'): Promise<number> => {
      const { connectionId } = hooked;
      const [row] =
        table === 'runs'
          ? await server.db.sql`select count(*)::int as n from ci_runs where connection_id = ${connectionId}`
          : await server.db
              .sql`select count(*)::int as n from ci_deliveries where connection_id = ${connectionId} and state = ${table}`;
      return Number(row?.['n']);
    };
    // Whatever was accepted before the pause and not read is held as well: from here on nothing moves.
    await expect.poll(async () => (await count('held')) + (await count('processed'))).toBe(sent);
    expect(await count('held')).toBeGreaterThan(0);
    expect(await count('runs')).toBe(await count('processed'));
    await change(hooked, { status: 'active' });
    await expect.poll(async () => await count('processed')).toBe(sent);
    expect(await count('runs')).toBe(sent);
  });

  it('is read in the order in which it came, the first end of a run counts', async () => {
    const path = 'acme/in-order';
    const { hooked } = await made(path);
    await change(hooked, { status: 'paused' });
    const end = (conclusion: string) => ({
      workflow_run: { id: 1, status: 'completed', conclusion },
      repository: { full_name: path },
    });
    for (const conclusion of ['cancelled', 'success', 'failure']) await hooked.send(end(conclusion), EVENT);
    await change(hooked, { status: 'active' });
    expect(await hooked.states()).toEqual(['ignored', 'ignored', 'processed']);
    expect((await hooked.run('1'))['status']).toBe('cancelled');
  });

  it('shows what its mode turned away, with the command that changes it, and takes it when it is sent again', async () => {
    const path = 'acme/direct';
    const { hooked, there } = await made(path, { ingestMode: undefined });
    const first = await hooked.send(run(path, 1, 'queued'), EVENT, { deliveryId: 'd1' });
    const command = `svc ci connections update ${hooked.connectionId} --ingest-mode both`;
    expect(first).toMatchObject({ status: 200, body: { ignored: expect.stringContaining(command) } });
    const [entry] = await hooked.deliveries();
    expect(entry).toMatchObject({
      state: 'ignored',
      event: 'workflow_run',
      detail: expect.stringContaining(command),
    });
    expect(entry).toHaveProperty('processedAt');
    // Nobody fills the list without the secret.
    expect((await hooked.with({ secret: 'wrong' }).send(run(path, 2, 'queued'), EVENT)).status).toBe(401);
    expect(await hooked.deliveries()).toHaveLength(1);
    await change(hooked, { ingestMode: 'both' });
    await there.send(run(path, 1, 'queued'), EVENT, { deliveryId: 'd1' });
    const [again] = await hooked.deliveries();
    expect(again).toMatchObject({
      id: entry?.['id'],
      state: 'processed',
      repeats: 1,
      changed: 'run made, queued',
    });
  });

  it('tells what each delivery changed, and of which run', async () => {
    const path = 'acme/told';
    const { hooked } = await made(path);
    const job = (status: string, conclusion: string | null) => ({
      workflow_job: { id: 5, run_id: 1, status, conclusion, name: 'unit', head_sha: 'c'.repeat(40) },
      repository: { full_name: path },
    });
    const steps: ReadonlyArray<readonly [object, Record<string, string>, string]> = [
      [run(path, 1, 'queued', 1), EVENT, 'run made, queued'],
      [run(path, 1, 'in_progress', 2), EVENT, 'queued → running; providerStatus'],
      [job('completed', 'success'), { 'x-github-event': 'workflow_job' }, 'commitSha; 1 job'],
      [run(path, 1, 'queued', 1), EVENT, 'nothing: later news was known'],
      [
        run(path, 1, 'completed', 3),
        EVENT,
        'running → success; providerStatus, providerConclusion, finishedAt',
      ],
      [run(path, 1, 'completed', 3), EVENT, 'nothing: it was known'],
    ];
    for (const [payload, headers, changed] of steps) {
      const last = await hooked.deliver(payload, headers);
      expect(last).toMatchObject({
        state: 'processed',
        changed,
        runId: (await hooked.run('1'))['id'],
      });
    }
  });
});
