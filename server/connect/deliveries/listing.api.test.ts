/** What teams and staff see of webhooks and do with them, over the real door. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { has } from '../../../test/setup/needs.ts';
import { join, newKey, stranger } from '../../../test/setup/people.ts';
import { startTestServer } from '../../../test/setup/server.ts';
import type { TestServer } from '../../../test/setup/server.ts';
import { newId } from '../../base/ids.ts';
import { wantCommitStatus } from '../commitstatus/handler.ts';
import { purgeCiDeliveries } from './store.ts';
import { readDue } from './reading.ts';
import { hook, readDeliveries, rotate, runNamed, send } from '../../../test/setup/ci/hooked.ts';

const EVENT = { 'x-github-event': 'workflow_run' };
const DAY_MS = 24 * 60 * 60_000;

describe.skipIf(!(await has('postgres')))('webhooks of a connection', () => {
  let server: TestServer;
  let as: string;
  let staff: string;
  let teamId: string;
  beforeAll(async () => {
    server = await startTestServer();
    ({ apiKey: as, staffApiKey: staff, teamId } = server.first);
  });
  afterAll(async () => await server.stop());

  const run = (repositoryPath: string, id: number, status = 'queued') => ({
    workflow_run: { id, status },
    repository: { full_name: repositoryPath },
  });
  const get = async (path: string, who = as) => await server.call(`GET ${path}`, { as: who });
  const actsOn = async (target: string) =>
    (await server.db.sql`select action from audit_entries where target = ${target} order by seq`).map(
      (row) => row['action'],
    );
  const environmentWith = async (repositoryPath: string) => {
    const project = await server.call('POST /projects', {
      as,
      body: { name: repositoryPath.replace('/', '-'), teamId },
    });
    const projectId = String(project.body['id']);
    const made = await server.call(`POST /projects/${projectId}/environments`, {
      as,
      body: { name: 'production' },
    });
    const hooked = await hook(server, 'github', { repositoryPath, projectId });
    return { environmentId: String(made.body['id']), hooked };
  };

  it('shows where they go and how they are set up, and the secret only when it is made', async () => {
    const hooked = await hook(server, 'gitlab', { repositoryPath: 'acme/shown' });
    expect(hooked.secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    const shown = await get(`/ci/connections/${hooked.connectionId}/webhook`);
    expect(shown.body).toMatchObject({
      id: hooked.hookId,
      ciConnectionId: hooked.connectionId,
      provider: 'gitlab',
      url: hooked.url,
      scheme: 'signature',
      hasSecret: true,
      subscription: 'none',
      instructions: expect.stringContaining('Pipeline events'),
    });
    expect(shown.text).not.toContain(hooked.secret);
    expect(shown.body).toHaveProperty('previousSecretUntil');
    const jenkins = await hook(server, 'jenkins', { repositoryPath: 'acme/shown' });
    expect(jenkins.url.endsWith(`.${jenkins.secret}`)).toBe(true);
    const hidden = await get(`/ci/connections/${jenkins.connectionId}/webhook`);
    expect([hidden.body['url'], hidden.text.includes(jenkins.secret)]).toEqual([undefined, false]);
    expect(await actsOn(jenkins.connectionId)).toEqual([
      'ci_connection.created',
      'ci_webhook.secret_rotated',
    ]);
    const rows = await server.asOwner(`select secret from ci_webhooks where id = '${hooked.hookId}'`);
    expect(String(rows[0]?.['secret'])).toMatch(/^v1\./);
    const text = JSON.stringify(await server.asOwner('select * from audit_entries'));
    expect([text.includes(hooked.secret), text.includes(jenkins.secret)]).toEqual([false, false]);
  });

  it('says why no subscription can be made', async () => {
    const subscribe = async (id: string) =>
      await server.call(`POST /ci/connections/${id}/webhook/subscribe`, { as, body: {} });
    const { connectionId } = await hook(server, 'github', { repositoryPath: 'acme/no-token' });
    const refused = await subscribe(connectionId);
    expect([refused.code, refused.text]).toEqual([
      'state_conflict',
      expect.stringContaining('it has no token'),
    ]);
    const circle = await hook(server, 'circleci', {
      repositoryPath: 'acme/by-hand',
      repositoryHost: 'github.com',
    });
    await server.call(`PUT /ci/connections/${circle.connectionId}/token`, { as, body: { token: 'ghp_x' } });
    expect((await subscribe(circle.connectionId)).text).toContain('set up by hand');
  });

  it('keeps what came, in pages', async () => {
    const hooked = await hook(server, 'github', { repositoryPath: 'acme/pages' });
    for (let n = 1; n <= 5; n += 1)
      await send(hooked, run('acme/pages', n), { headers: EVENT, sending: { deliveryId: `n${n}` } });
    await readDeliveries(server, hooked);
    const path = `/ci/connections/${hooked.connectionId}/deliveries?limit=2`;
    const seen: unknown[] = [];
    for (let cursor: unknown = ''; cursor !== undefined;) {
      const page = await get(
        `${path}${cursor === '' ? '' : `&cursor=${encodeURIComponent(String(cursor))}`}`,
      );
      seen.push(
        ...(page.body['deliveries'] as Array<Record<string, unknown>>).map(({ deliveryId }) => deliveryId),
      );
      cursor = page.body['nextCursor'];
    }
    expect(seen).toEqual(['n5', 'n4', 'n3', 'n2', 'n1']);
    const last = (await get(`/ci/connections/${hooked.connectionId}/webhook`)).body['lastDeliveryAt'];
    expect(Date.parse(String(last))).toBeGreaterThan(Date.now() - 60_000);
  });

  it('is another team’s business to nobody else', async () => {
    const other = await stranger(server);
    const { hooked, environmentId } = await environmentWith('acme/ours');
    await send(hooked, run('acme/ours', 1), { headers: EVENT });
    const [delivery] = await readDeliveries(server, hooked);
    const path = `/ci/connections/${hooked.connectionId}`;
    for (const route of [
      `GET ${path}/webhook`,
      `GET ${path}/deliveries`,
      `POST ${path}/webhook/rotate-secret`,
      `POST ${path}/webhook/subscribe`,
      `GET /environments/${environmentId}/webhooks`,
      `GET /environments/${environmentId}/webhook-deliveries`,
      `DELETE /environments/${environmentId}/webhooks/${hooked.hookId}`,
    ]) {
      const answer = await server.call(route, {
        as: other.token,
        ...(route.startsWith('POST') ? { body: {} } : {}),
      });
      expect([route, answer.code]).toEqual([route, 'not_found']);
    }
    for (const route of [
      'GET /admin/ci/deliveries',
      `POST /admin/ci/deliveries/${String(delivery?.['id'])}/replay`,
    ]) {
      const answer = await server.call(route, {
        as: other.token,
        ...(route.startsWith('POST') ? { body: {} } : {}),
      });
      expect([route, answer.status >= 400]).toEqual([route, true]);
    }
    // The other team's own connection of the same repository is another one.
    const theirs = await hook(server, 'github', {
      as: other.token,
      teamId: other.teamId,
      repositoryPath: 'acme/ours',
    });
    await send(theirs, run('acme/ours', 1, 'in_progress'), { headers: EVENT });
    await expect
      .poll(
        async () => (await get(`${`/ci/connections/${theirs.connectionId}`}/deliveries`, other.token)).text,
      )
      .toContain('processed');
    expect((await runNamed(server, hooked, { externalRunId: '1' }))['status']).toBe('queued');
  });

  it('needs ci:manage for what changes something', async () => {
    const { connectionId } = await hook(server, 'github', { repositoryPath: 'acme/scopes' });
    const key = await newKey(server, as, { scopes: ['ci:read', 'ci:write'] });
    const viewer = await join(server, as, { teamId, role: 'viewer' });
    for (const who of [key.secret, viewer.token]) {
      expect((await get(`/ci/connections/${connectionId}/webhook`, who)).status).toBe(200);
      const refused = await server.call(`POST /ci/connections/${connectionId}/webhook/rotate-secret`, {
        as: who,
        body: {},
      });
      expect(refused.status).toBe(403);
    }
  });

  describe('by environment', () => {
    it('are listed with what they were sent', async () => {
      const { environmentId, hooked } = await environmentWith('acme/listed');
      await send(hooked, run('acme/listed', 1), { headers: EVENT });
      await readDeliveries(server, hooked);
      const list = await get(`/environments/${environmentId}/webhooks`);
      const webhooks = list.body['webhooks'] as Array<Record<string, unknown>>;
      expect(webhooks.map(({ id }) => id)).toEqual([hooked.hookId]);
      expect(webhooks[0]).toHaveProperty('lastDeliveryAt');
      const sent = await get(`/environments/${environmentId}/webhook-deliveries`);
      expect(sent.body['deliveries']).toEqual([
        expect.objectContaining({ ciConnectionId: hooked.connectionId }),
      ]);
    });

    it('are taken back: the secret is forgotten, the connection takes direct reports alone', async () => {
      const { environmentId, hooked } = await environmentWith('acme/back');
      const path = `/environments/${environmentId}/webhooks`;
      expect((await server.call(`DELETE ${path}/cih_00000000000000000000000000`, { as })).status).toBe(404);
      expect((await server.call(`DELETE ${path}/${hooked.hookId}`, { as })).status).toBe(204);
      expect((await server.call(`DELETE ${path}/${hooked.hookId}`, { as })).status).toBe(404);
      expect((await get(path)).body['webhooks']).toEqual([]);
      expect((await get(`/ci/connections/${hooked.connectionId}`)).body['ingestMode']).toBe('direct');
      await expect
        .poll(async () => (await send(hooked, '{}')).status, { timeout: 5_000, interval: 100 })
        .toBe(404);
      expect(await actsOn(hooked.connectionId)).toContain('ci_webhook.deleted');
      // Taken up again it has another secret.
      await server.call(`PATCH /ci/connections/${hooked.connectionId}`, { as, body: { ingestMode: 'both' } });
      expect((await get(`/ci/connections/${hooked.connectionId}/webhook`)).body['hasSecret']).toBe(true);
      expect((await send(hooked, '{}')).status).toBe(401);
    });
  });

  describe('staff', () => {
    it('look through the deliveries of all teams', async () => {
      const hooked = await hook(server, 'github', { repositoryPath: 'acme/seen' });
      await send(hooked, '{', { headers: EVENT });
      await send(hooked, run('acme/seen', 1), { headers: EVENT });
      await readDeliveries(server, hooked);
      const list = async (query: string) =>
        (await get(`/admin/ci/deliveries?limit=200${query}`, staff)).body['deliveries'] as Array<
          Record<string, unknown>
        >;
      expect((await list('')).length).toBeGreaterThan(2);
      const own = await list(`&ciConnectionId=${hooked.connectionId}`);
      expect(own.map(({ state }) => state)).toEqual(['processed', 'failed']);
      const failed = await list(`&ciConnectionId=${hooked.connectionId}&state=failed`);
      expect(failed.map(({ id }) => id)).toEqual([own[1]?.['id']]);
      expect((await list('&state=ignored')).every(({ state }) => state === 'ignored')).toBe(true);
    });

    it('have a delivery read again, which changes nothing, and the list tells of it', async () => {
      const hooked = await hook(server, 'github', { repositoryPath: 'acme/replayed' });
      await send(hooked, run('acme/replayed', 7, 'in_progress'), { headers: EVENT });
      const [before] = await readDeliveries(server, hooked);
      const known = await runNamed(server, hooked, { externalRunId: '7' });
      const id = String(before?.['id']);
      const replayed = await server.call(`POST /admin/ci/deliveries/${id}/replay`, { as: staff, body: {} });
      expect([replayed.status, replayed.body['state']]).toEqual([202, 'received']);
      const [after] = await readDeliveries(server, hooked);
      expect({ ...after, processedAt: '' }).toEqual({ ...before, processedAt: '' });
      expect(await runNamed(server, hooked, { externalRunId: '7' })).toEqual(known);
      expect(await actsOn(id)).toEqual(['ci_delivery.replayed']);
      const none = await server.call('POST /admin/ci/deliveries/ciw_0/replay', { as: staff, body: {} });
      expect(none.code).toBe('not_found');
    });

    it('have one read that could not be read before', async () => {
      const hooked = await hook(server, 'generic', { repositoryPath: 'acme/mended' });
      await send(hooked, { no: 4, word: 'success' });
      const [before] = await readDeliveries(server, hooked);
      expect(before).toMatchObject({ state: 'ignored' });
      await server.call(`PATCH /ci/connections/${hooked.connectionId}`, {
        as,
        body: { genericMapping: { pointers: { id: '/no', status: '/word' } } },
      });
      await server.call(`POST /admin/ci/deliveries/${String(before?.['id'])}/replay`, {
        as: staff,
        body: {},
      });
      const [after] = await readDeliveries(server, hooked);
      expect(after).toMatchObject({ state: 'processed' });
      expect(after).not.toHaveProperty('detail');
      expect(await runNamed(server, hooked, { externalRunId: '4' })).toMatchObject({ status: 'success' });
    });
  });

  it('has each delivery read by one of many readers', async () => {
    const hooked = await hook(server, 'github', { repositoryPath: 'acme/many-readers' });
    await Promise.all(
      Array.from(
        { length: 60 },
        async (_one, n) => await send(hooked, run('acme/many-readers', n + 1), { headers: EVENT }),
      ),
    );
    const clock = { now: () => new Date(), monotonicMs: () => performance.now() };
    const failures: unknown[] = [];
    const onError = (error: unknown) => void failures.push(error);
    const deps = { db: server.db, clock, follow: wantCommitStatus, onError };
    await Promise.all(Array.from({ length: 4 }, async () => await readDue(deps)));
    const deliveries = await readDeliveries(server, hooked);
    expect(deliveries).toHaveLength(60);
    expect(deliveries.every(({ state }) => state === 'processed')).toBe(true);
    expect(failures).toEqual([]);
    const [row] = await server.asOwner(
      `select max(attempts) as most from ci_deliveries where connection_id = '${hooked.connectionId}'`,
    );
    expect(row?.['most']).toBe(1);
  });

  it('leaves out a job that is one too many, and holds up nobody', async () => {
    const hooked = await hook(server, 'github', { repositoryPath: 'acme/full' });
    await send(hooked, run('acme/full', 1), { headers: EVENT });
    await readDeliveries(server, hooked);
    const { id } = await runNamed(server, hooked, { externalRunId: '1' });
    // As many jobs as a run may have.
    await server.asOwner(`
      insert into ci_jobs (id, team_id, run_id, key, name, state, own_status, status, created_at)
      select 'cij_' || n, team_id, id, 'id ' || n, 'job', '{"facts":{}}', 'success', 'success', now()
      from ci_runs, generate_series(1, 5000) n where ci_runs.id = '${String(id)}'`);
    const job = {
      workflow_job: { id: 99_999, run_id: 1, name: 'one too many', status: 'queued' },
      repository: { full_name: 'acme/full' },
    };
    await send(hooked, job, { headers: { 'x-github-event': 'workflow_job' } });
    await send(hooked, run('acme/full', 1, 'in_progress'), { headers: EVENT });
    const [second, first] = await readDeliveries(server, hooked);
    const left = 'its jobs are left out: the run has 5000 jobs';
    expect(first).toMatchObject({ state: 'processed', detail: expect.stringContaining(left) });
    expect(second).toMatchObject({ state: 'processed' });
    expect(await runNamed(server, hooked, { externalRunId: '1' })).toMatchObject({ status: 'running' });
  });

  it('forgets what is older than 30 days, in batches, and nothing that waits', async () => {
    const hooked = await hook(server, 'github', { repositoryPath: 'acme/purged' });
    const now = Date.now();
    const insert = async (days: number, state: string, n: number) => {
      const id = newId('ciw', now - days * DAY_MS);
      const due = state === 'received' ? "now() + interval '1 day'" : 'null';
      await server.asOwner(`
        insert into ci_deliveries (id, team_id, connection_id, delivery_id, state, body, headers, due_at, received_at)
        select '${id}' || case when g = 1 then '' else g::text end, '${teamId}', '${hooked.connectionId}', '${n} ' || g, '${state}', '', '{}', ${due}, now()
        from generate_series(1, ${state === 'ignored' ? 2_500 : 1}) g`);
      return id;
    };
    await insert(31, 'ignored', 1);
    const waiting = await insert(31, 'received', 2);
    const young = await insert(29, 'processed', 3);
    expect(await purgeCiDeliveries(server.db.sql, now)).toBe(2_500);
    const left = await server.asOwner(
      `select id from ci_deliveries where connection_id = '${hooked.connectionId}' order by id`,
    );
    expect(left.map(({ id }) => id)).toEqual([waiting, young]);
  });

  it('is open to a new secret at once, at every server', async () => {
    const second = await startTestServer({ databaseUrl: server.databaseUrl, dataDir: server.dataDir });
    try {
      const hooked = await hook(server, 'github', { repositoryPath: 'acme/two-servers' });
      const there = (url: string) => url.replace(server.baseUrl, second.baseUrl);
      const at = { ...hooked, url: there(hooked.url) };
      expect((await send(at, run('acme/two-servers', 1), { headers: EVENT })).status).toBe(202);
      const fresh = await rotate(server, 'github', { connectionId: hooked.connectionId, as });
      expect(
        (await send({ ...fresh, url: there(fresh.url) }, run('acme/two-servers', 2), { headers: EVENT }))
          .status,
      ).toBe(202);
      expect((await send(at, run('acme/two-servers', 3), { headers: EVENT })).status).toBe(202);
      expect((await readDeliveries(server, hooked)).map(({ state }) => state)).toEqual([
        'processed',
        'processed',
        'processed',
      ]);
    } finally {
      await second.stop();
    }
  });

  it('goes with its connection', async () => {
    const hooked = await hook(server, 'github', { repositoryPath: 'acme/gone' });
    await send(hooked, run('acme/gone', 1), { headers: EVENT });
    await readDeliveries(server, hooked);
    expect((await server.call(`DELETE /ci/connections/${hooked.connectionId}`, { as })).status).toBe(204);
    expect((await send(hooked, run('acme/gone', 2), { headers: EVENT })).status).toBe(404);
    const left = await server.asOwner(
      `select 1 from ci_deliveries where connection_id = '${hooked.connectionId}'`,
    );
    expect(left).toEqual([]);
  });
});
