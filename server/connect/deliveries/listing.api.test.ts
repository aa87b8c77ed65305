/** What teams and staff see of webhooks and do with them, over the real door. */
import { describe, expect, it } from 'vitest';
import { has } from '../../../test/setup/needs.ts';
import { join, newKey, stranger } from '../../../test/setup/people.ts';
import { startTestServer } from '../../../test/setup/server.ts';
import { ownServer } from '../../../test/setup/engine/own-server.ts';
import { newId } from '../../base/ids.ts';
import { wantCommitStatus } from '../commitstatus/handler.ts';
import { purgeCiDeliveries } from './store.ts';
import { readDue } from './reading.ts';
import { hook } from '../../../test/setup/ci/hooked.ts';

const EVENT = { 'x-github-event': 'workflow_run' };
const DAY_MS = 24 * 60 * 60_000;

type Row = Record<string, unknown>;

describe.skipIf(!(await has('postgres')))('webhooks of a connection', () => {
  const { server, call, made } = ownServer();

  const run = (repositoryPath: string, id: number, status = 'queued') => ({
    workflow_run: { id, status },
    repository: { full_name: repositoryPath },
  });
  const get = async (path: string, as?: string) => await call(`GET ${path}`, undefined, as);
  const staff = async (route: string, body?: object) => await call(route, body, server.first.staffApiKey);
  const github = async (repositoryPath: string) => await hook(server, 'github', { repositoryPath });
  const actsOn = async (target: string) =>
    (await server.db.sql`select action from audit_entries where target = ${target} order by seq`).map(
      (row) => row['action'],
    );
  const environmentWith = async (repositoryPath: string) => {
    const { teamId } = server.first;
    const projectId = await made('POST /projects', { name: repositoryPath.replace('/', '-'), teamId });
    const environmentId = await made(`POST /projects/${projectId}/environments`, { name: 'production' });
    return { environmentId, hooked: await hook(server, 'github', { repositoryPath, projectId }) };
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
    const subscribe = async (id: string) => await call(`POST /ci/connections/${id}/webhook/subscribe`, {});
    const { connectionId } = await github('acme/no-token');
    const refused = await subscribe(connectionId);
    expect([refused.code, refused.text]).toEqual([
      'state_conflict',
      expect.stringContaining('it has no token'),
    ]);
    const circle = await hook(server, 'circleci', {
      repositoryPath: 'acme/by-hand',
      repositoryHost: 'github.com',
    });
    await call(`PUT /ci/connections/${circle.connectionId}/token`, { token: 'ghp_x' });
    expect((await subscribe(circle.connectionId)).text).toContain('set up by hand');
  });

  it('keeps what came, in pages', async () => {
    const hooked = await github('acme/pages');
    for (let n = 1; n <= 5; n += 1) await hooked.send(run('acme/pages', n), EVENT, { deliveryId: `n${n}` });
    await hooked.deliveries();
    const path = `/ci/connections/${hooked.connectionId}/deliveries?limit=2`;
    const seen: unknown[] = [];
    for (let cursor: unknown = ''; cursor !== undefined;) {
      const { body } = await get(
        `${path}${cursor === '' ? '' : `&cursor=${encodeURIComponent(String(cursor))}`}`,
      );
      seen.push(...(body['deliveries'] as Row[]).map(({ deliveryId }) => deliveryId));
      cursor = body['nextCursor'];
    }
    expect(seen).toEqual(['n5', 'n4', 'n3', 'n2', 'n1']);
    const last = (await get(`/ci/connections/${hooked.connectionId}/webhook`)).body['lastDeliveryAt'];
    expect(Date.parse(String(last))).toBeGreaterThan(Date.now() - 60_000);
  });

  it('is another team’s business to nobody else', async () => {
    const other = await stranger(server);
    const { hooked, environmentId } = await environmentWith('acme/ours');
    const delivery = await hooked.deliver(run('acme/ours', 1), EVENT);
    const path = `/ci/connections/${hooked.connectionId}`;
    const foreign = async (route: string) =>
      await call(route, route.startsWith('POST') ? {} : undefined, other.token);
    for (const route of [
      `GET ${path}/webhook`,
      `GET ${path}/deliveries`,
      `POST ${path}/webhook/rotate-secret`,
      `POST ${path}/webhook/subscribe`,
      `GET /environments/${environmentId}/webhooks`,
      `GET /environments/${environmentId}/webhook-deliveries`,
      `DELETE /environments/${environmentId}/webhooks/${hooked.hookId}`,
    ])
      expect([route, (await foreign(route)).code]).toEqual([route, 'not_found']);
    for (const route of [
      'GET /admin/ci/deliveries',
      `POST /admin/ci/deliveries/${String(delivery?.['id'])}/replay`,
    ])
      expect([route, (await foreign(route)).status >= 400]).toEqual([route, true]);
    // The other team's own connection of the same repository is another one.
    const of = { as: other.token, teamId: other.teamId, repositoryPath: 'acme/ours' };
    const theirs = await hook(server, 'github', of);
    const told = await theirs.deliver(run('acme/ours', 1, 'in_progress'), EVENT);
    expect(told).toMatchObject({ state: 'processed' });
    expect((await hooked.run('1'))['status']).toBe('queued');
  });

  it('needs ci:manage for what changes something', async () => {
    const { connectionId } = await github('acme/scopes');
    const { apiKey, teamId } = server.first;
    const key = await newKey(server, apiKey, { scopes: ['ci:read', 'ci:write'] });
    const viewer = await join(server, apiKey, { teamId, role: 'viewer' });
    const path = `/ci/connections/${connectionId}/webhook`;
    for (const who of [key.secret, viewer.token]) {
      expect((await get(path, who)).status).toBe(200);
      expect((await call(`POST ${path}/rotate-secret`, {}, who)).status).toBe(403);
    }
  });

  describe('by environment', () => {
    it('are listed with what they were sent', async () => {
      const { environmentId, hooked } = await environmentWith('acme/listed');
      await hooked.deliver(run('acme/listed', 1), EVENT);
      const list = await get(`/environments/${environmentId}/webhooks`);
      const webhooks = list.body['webhooks'] as Row[];
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
      expect((await call(`DELETE ${path}/cih_00000000000000000000000000`)).status).toBe(404);
      expect((await call(`DELETE ${path}/${hooked.hookId}`)).status).toBe(204);
      expect((await call(`DELETE ${path}/${hooked.hookId}`)).status).toBe(404);
      expect((await get(path)).body['webhooks']).toEqual([]);
      expect((await get(`/ci/connections/${hooked.connectionId}`)).body['ingestMode']).toBe('direct');
      await expect
        .poll(async () => (await hooked.send('{}')).status, { timeout: 5_000, interval: 100 })
        .toBe(404);
      expect(await actsOn(hooked.connectionId)).toContain('ci_webhook.deleted');
      // Taken up again it has another secret.
      await call(`PATCH /ci/connections/${hooked.connectionId}`, { ingestMode: 'both' });
      expect((await get(`/ci/connections/${hooked.connectionId}/webhook`)).body['hasSecret']).toBe(true);
      expect((await hooked.send('{}')).status).toBe(401);
    });
  });

  describe('staff', () => {
    it('look through the deliveries of all teams', async () => {
      const hooked = await github('acme/seen');
      await hooked.send('{', EVENT);
      await hooked.deliver(run('acme/seen', 1), EVENT);
      const list = async (query: string) =>
        (await staff(`GET /admin/ci/deliveries?limit=200${query}`)).body['deliveries'] as Row[];
      expect((await list('')).length).toBeGreaterThan(2);
      const own = await list(`&ciConnectionId=${hooked.connectionId}`);
      expect(own.map(({ state }) => state)).toEqual(['processed', 'failed']);
      const failed = await list(`&ciConnectionId=${hooked.connectionId}&state=failed`);
      expect(failed.map(({ id }) => id)).toEqual([own[1]?.['id']]);
      expect((await list('&state=ignored')).every(({ state }) => state === 'ignored')).toBe(true);
    });

    it('have a delivery read again, which changes nothing, and the list tells of it', async () => {
      const hooked = await github('acme/replayed');
      const before = await hooked.deliver(run('acme/replayed', 7, 'in_progress'), EVENT);
      const known = await hooked.run('7');
      const id = String(before?.['id']);
      const replayed = await staff(`POST /admin/ci/deliveries/${id}/replay`, {});
      expect([replayed.status, replayed.body['state']]).toEqual([202, 'received']);
      const [after] = await hooked.deliveries();
      expect({ ...after, processedAt: '' }).toEqual({ ...before, processedAt: '' });
      expect(await hooked.run('7')).toEqual(known);
      expect(await actsOn(id)).toEqual(['ci_delivery.replayed']);
      const none = await staff('POST /admin/ci/deliveries/ciw_0/replay', {});
      expect(none.code).toBe('not_found');
    });

    it('have one read that could not be read before', async () => {
      const hooked = await hook(server, 'generic', { repositoryPath: 'acme/mended' });
      const before = await hooked.deliver({ no: 4, word: 'success' });
      expect(before).toMatchObject({ state: 'ignored' });
      const genericMapping = { pointers: { id: '/no', status: '/word' } };
      await call(`PATCH /ci/connections/${hooked.connectionId}`, { genericMapping });
      await staff(`POST /admin/ci/deliveries/${String(before?.['id'])}/replay`, {});
      const [after] = await hooked.deliveries();
      expect(after).toMatchObject({ state: 'processed' });
      expect(after).not.toHaveProperty('detail');
      expect(await hooked.run('4')).toMatchObject({ status: 'success' });
    });
  });

  it('has each delivery read by one of many readers', async () => {
    const hooked = await github('acme/many-readers');
    await Promise.all(
      Array.from(
        { length: 60 },
        async (_one, n) => await hooked.send(run('acme/many-readers', n + 1), EVENT),
      ),
    );
    const clock = { now: () => new Date(), monotonicMs: () => performance.now() };
    const failures: unknown[] = [];
    const onError = (error: unknown) => void failures.push(error);
    const deps = { db: server.db, clock, follow: wantCommitStatus, onError };
    await Promise.all(Array.from({ length: 4 }, async () => await readDue(deps)));
    const deliveries = await hooked.deliveries();
    expect(deliveries).toHaveLength(60);
    expect(deliveries.every(({ state }) => state === 'processed')).toBe(true);
    expect(failures).toEqual([]);
    const [row] = await server.asOwner(
      `select max(attempts) as most from ci_deliveries where connection_id = '${hooked.connectionId}'`,
    );
    expect(row?.['most']).toBe(1);
  });

  it('leaves out a job that is one too many, and holds up nobody', async () => {
    const hooked = await github('acme/full');
    await hooked.deliver(run('acme/full', 1), EVENT);
    const { id } = await hooked.run('1');
    // As many jobs as a run may have.
    await server.asOwner(`
      insert into ci_jobs (id, team_id, run_id, key, name, state, own_status, status, created_at)
      select 'cij_' || n, team_id, id, 'id ' || n, 'job', '{"facts":{}}', 'success', 'success', now()
      from ci_runs, generate_series(1, 5000) n where ci_runs.id = '${String(id)}'`);
    const job = {
      workflow_job: { id: 99_999, run_id: 1, name: 'one too many', status: 'queued' },
      repository: { full_name: 'acme/full' },
    };
    await hooked.send(job, { 'x-github-event': 'workflow_job' });
    await hooked.send(run('acme/full', 1, 'in_progress'), EVENT);
    const [second, first] = await hooked.deliveries();
    const left = 'its jobs are left out: the run has 5000 jobs';
    expect(first).toMatchObject({ state: 'processed', detail: expect.stringContaining(left) });
    expect(second).toMatchObject({ state: 'processed' });
    expect(await hooked.run('1')).toMatchObject({ status: 'running' });
  });

  it('forgets what is older than 30 days, in batches, and nothing that waits', async () => {
    const hooked = await github('acme/purged');
    const now = Date.now();
    const insert = async (days: number, state: string, n: number) => {
      const id = newId('ciw', now - days * DAY_MS);
      const due = state === 'received' ? "now() + interval '1 day'" : 'null';
      await server.asOwner(`
        insert into ci_deliveries (id, team_id, connection_id, delivery_id, state, body, headers, due_at, received_at)
        select '${id}' || case when g = 1 then '' else g::text end, '${server.first.teamId}', '${hooked.connectionId}', '${n} ' || g, '${state}', '', '{}', ${due}, now()
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
      const hooked = await github('acme/two-servers');
      const there = (url: string) => url.replace(server.baseUrl, second.baseUrl);
      const at = hooked.with({ url: there(hooked.url) });
      expect((await at.send(run('acme/two-servers', 1), EVENT)).status).toBe(202);
      const fresh = await hooked.rotate();
      expect(
        (await fresh.with({ url: there(fresh.url) }).send(run('acme/two-servers', 2), EVENT)).status,
      ).toBe(202);
      expect((await at.send(run('acme/two-servers', 3), EVENT)).status).toBe(202);
      expect(await hooked.states()).toEqual(['processed', 'processed', 'processed']);
    } finally {
      await second.stop();
    }
  });

  it('goes with its connection', async () => {
    const hooked = await github('acme/gone');
    await hooked.deliver(run('acme/gone', 1), EVENT);
    expect((await call(`DELETE /ci/connections/${hooked.connectionId}`)).status).toBe(204);
    expect((await hooked.send(run('acme/gone', 2), EVENT)).status).toBe(404);
    const left = await server.asOwner(
      `select 1 from ci_deliveries where connection_id = '${hooked.connectionId}'`,
    );
    expect(left).toEqual([]);
  });
});
