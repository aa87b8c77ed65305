/** These tests make, repair and take back subscriptions of webhooks at hosts on loopback. */
import { describe, expect, it } from 'vitest';
import { PUBLIC_URL, ownBackground } from '../../../../test/setup/forges/background.ts';
import { bitbucketHooks } from '../../../../test/setup/forges/bitbucket-hooks.ts';
import type { Route } from '../../../../test/setup/forges/fake-forge.ts';
import { fakeHooks, githubHooks, type FakeHooks } from '../../../../test/setup/forges/github-hooks.ts';
import { gitlabHooks } from '../../../../test/setup/forges/gitlab-hooks.ts';
import { has } from '../../../../test/setup/needs.ts';

const TOKEN = 'token-of-the-host';

interface Host {
  readonly host: string;
  readonly path: string;
  routes(state: FakeHooks): readonly Route[];
  /** Settings of a hook that this service made, without its secret. */
  readonly made: (url: string) => object;
  secretOf(hook: Record<string, unknown>): unknown;
  /** As the host leaves it after too many failures, or somebody who switched it off. */
  readonly off: object;
}

const HOSTS = {
  github: {
    host: 'github.com',
    path: 'acme/app',
    routes: githubHooks,
    made: (url: string) => ({
      name: 'web',
      active: true,
      events: ['workflow_run', 'workflow_job', 'status'],
      config: { url, content_type: 'json', insecure_ssl: '0' },
    }),
    secretOf: (hook) => (hook['config'] as { secret?: unknown }).secret,
    off: { active: false },
  },
  gitlab: {
    host: 'gitlab.com',
    path: 'acme/sub/app',
    routes: (state) => gitlabHooks(state, { canSign: true }),
    made: (url: string) => ({
      url,
      pipeline_events: true,
      job_events: true,
      push_events: false,
      enable_ssl_verification: true,
    }),
    secretOf: (hook) => hook['signing_token'],
    off: { alert_status: 'disabled' },
  },
  bitbucket: {
    host: 'bitbucket.org',
    path: 'acme/app',
    routes: bitbucketHooks,
    made: (url: string) => ({
      url,
      active: true,
      events: ['repo:commit_status_created', 'repo:commit_status_updated', 'pipeline:span_created'],
    }),
    secretOf: (hook) => hook['secret'],
    off: { active: false },
  },
} as const satisfies Record<string, Host>;
const NAMES = Object.keys(HOSTS) as ReadonlyArray<keyof typeof HOSTS>;

describe.skipIf(!(await has('postgres')))('webhook subscriptions', () => {
  const background = ownBackground();

  const call: typeof background.call = async (...args) => await background.call(...args);
  const connection = async (id: string) => (await call(`GET /ci/connections/${id}`)).body;
  const webhook = async (id: string) => (await call(`GET /ci/connections/${id}/webhook`)).body;

  async function connected(name: keyof typeof HOSTS, ingestMode = 'both', routes?: readonly Route[]) {
    const { host, path } = HOSTS[name];
    const state = fakeHooks(TOKEN, path);
    const forge = await background.startForge(routes ?? HOSTS[name].routes(state));
    const apiUrl = forge.url;
    const id = await background.connect({ provider: name, host, path, token: TOKEN, apiUrl, ingestMode });
    return { id, state, forge, hooks: state.hooks };
  }
  const isActive = async (id: string) => {
    expect(await webhook(id)).toMatchObject({ subscription: 'active' });
    expect(await connection(id)).toMatchObject({ status: 'active' });
    expect(await connection(id)).not.toHaveProperty('statusDetail');
  };

  describe.each(NAMES)('at %s', (name) => {
    const { made, secretOf, off } = HOSTS[name] as Host;

    it('are made once a connection that takes webhooks has a token', async () => {
      const { id, hooks } = await connected(name);
      expect(await webhook(id)).toMatchObject({ subscription: 'pending' });
      await background.work();
      const { id: webhookId } = await webhook(id);
      const url = `${PUBLIC_URL}/ci/webhooks/${String(webhookId)}`;
      expect(hooks).toMatchObject([made(url)]);
      expect(String(secretOf(hooks[0]!)).length).toBeGreaterThan(40);
      await isActive(id);
      expect(await webhook(id)).toMatchObject({ url });
    });

    it('are repaired and not made twice, and switched on again', async () => {
      const { id, hooks } = await connected(name);
      await background.work();
      const secret = secretOf(hooks[0]!);
      hooks[0] = { ...hooks[0]!, ...off, events: [] };
      await call(`POST /ci/connections/${id}/webhook/subscribe`);
      // A worker that died before it knew the id.
      await background.server.db.sql`update ci_webhooks set provider_hook_id = null`;
      await background.work();
      expect(hooks).toHaveLength(1);
      const url = (await webhook(id))['url'] as string;
      expect(hooks).toMatchObject([made(url)]);
      expect(hooks[0]).not.toMatchObject(off);
      expect(secretOf(hooks[0]!)).toBe(secret);
      await isActive(id);
    });

    it('are given a new secret', async () => {
      const { id, hooks } = await connected(name);
      await background.work();
      const before = secretOf(hooks[0]!);
      const rotated = await call(`POST /ci/connections/${id}/webhook/rotate-secret`);
      expect(rotated.status, rotated.text).toBe(200);
      await background.work();
      expect(hooks).toHaveLength(1);
      expect(secretOf(hooks[0]!)).toBe(rotated.body['secret']);
      expect(secretOf(hooks[0]!)).not.toBe(before);
    });

    it('are taken back with the mode, and with the connection', async () => {
      const { id, hooks } = await connected(name);
      await background.work();
      await call(`PATCH /ci/connections/${id}`, { ingestMode: 'direct' });
      await background.work();
      expect(hooks).toEqual([]);
      expect(await webhook(id)).toMatchObject({ subscription: 'none' });
      await call(`PATCH /ci/connections/${id}`, { ingestMode: 'webhook' });
      await background.work();
      expect(hooks).toHaveLength(1);
      await call(`DELETE /ci/connections/${id}`);
      await background.work();
      expect(hooks).toEqual([]);
      expect(await background.server.db.sql`select 1 from jobs`).toHaveLength(0);
    });

    it('are gone already when somebody took them away there', async () => {
      const { id, hooks } = await connected(name);
      await background.work();
      hooks.splice(0);
      await call(`PATCH /ci/connections/${id}`, { ingestMode: 'direct' });
      await background.work();
      expect(await webhook(id)).toMatchObject({ subscription: 'none' });
      expect(await webhook(id)).not.toHaveProperty('detail');
    });

    it('leave the webhooks of others alone', async () => {
      const { id, hooks, state } = await connected(name);
      const other = {
        id: `${'{'}00000099-0000-0000-0000-000000000000${'}'}`,
        url: 'https://other.example.com',
        config: { url: 'https://other.example.com' },
      };
      state.hooks.push(name === 'bitbucket' ? other : { ...other, id: 99 });
      await background.work();
      await call(`DELETE /ci/connections/${id}`);
      await background.work();
      expect(hooks).toHaveLength(1);
    });

    it.each([
      [403, { message: 'Resource not accessible' }],
      [404, { message: 'Not Found' }],
      [422, { message: 'Validation Failed', errors: [{ message: 'too many' }] }],
    ])('are refused with %i, which is shown until it works', async (status, body) => {
      const { id, forge } = await connected(name);
      let refuses = true;
      forge.instead(() => (refuses ? { status, body } : undefined));
      await background.work();
      const detail = expect.stringMatching(new RegExp(`was answered with ${status}: ${body.message}`));
      expect(await webhook(id)).toMatchObject({ subscription: 'failed', detail });
      expect(await connection(id)).toMatchObject({ status: 'error', statusDetail: detail });
      if (status !== 422) expect(String((await webhook(id))['detail'])).toContain('the token needs');
      refuses = false;
      await call(`POST /ci/connections/${id}/webhook/subscribe`);
      await background.work();
      await isActive(id);
    });
  });

  it('that failed are forgotten with the mode', async () => {
    const { id, forge } = await connected('github');
    forge.instead(() => ({ status: 403, body: { message: 'no' } }));
    await background.work();
    await call(`PATCH /ci/connections/${id}`, { ingestMode: 'direct' });
    await background.work();
    expect(await connection(id)).toMatchObject({ status: 'active' });
    expect(await connection(id)).not.toHaveProperty('statusDetail');
    expect(await webhook(id)).toMatchObject({ subscription: 'none' });
    expect(await webhook(id)).not.toHaveProperty('detail');
  });

  it('are tried again while the host is busy', async () => {
    const { id, forge, hooks } = await connected('github');
    const answers = [{ status: 503 }, { status: 429, headers: { 'retry-after': '30' } }];
    forge.instead(() => answers.shift());
    await background.work();
    background.later(6_000);
    await background.work();
    expect(await webhook(id)).toMatchObject({ subscription: 'pending' });
    background.later(31_000);
    await background.work();
    expect(hooks).toHaveLength(1);
    await isActive(id);
  });

  it('are not left where nobody wants them any more', async () => {
    const { id, forge, hooks } = await connected('github');
    let changed: Promise<unknown> | undefined;
    forge.instead(({ method }) => {
      if (method === 'POST') changed = call(`PATCH /ci/connections/${id}`, { ingestMode: 'direct' });
      return undefined;
    });
    // The mode changes while the host is asked.
    await background.work();
    await changed;
    await background.work();
    expect(hooks).toEqual([]);
    expect(await webhook(id)).toMatchObject({ subscription: 'none' });
  });

  it('are kept when they are wanted again before they were taken back', async () => {
    const { id, forge, hooks } = await connected('github');
    await background.work();
    let isDown = true;
    forge.instead(() => (isDown ? { status: 502 } : undefined));
    await call(`PATCH /ci/connections/${id}`, { ingestMode: 'direct' });
    await background.work();
    await call(`PATCH /ci/connections/${id}`, { ingestMode: 'both' });
    isDown = false;
    background.later(60_000);
    await background.work();
    expect(hooks).toHaveLength(1);
    await isActive(id);
  });

  it('leave a paused connection paused', async () => {
    const { id, forge } = await connected('github');
    await call(`PATCH /ci/connections/${id}`, { status: 'paused' });
    forge.instead(() => ({ status: 403, body: { message: 'no' } }));
    await background.work();
    expect(await connection(id)).toMatchObject({ status: 'paused' });
    expect(await webhook(id)).toMatchObject({ subscription: 'failed' });
  });

  it('send the token where a connection at GitLab has that scheme', async () => {
    const { id, hooks } = await connected('gitlab');
    const { body } = await call(`POST /ci/connections/${id}/webhook/rotate-secret`, { scheme: 'token' });
    await background.work();
    expect(hooks).toMatchObject([{ token: body['secret'] }]);
    expect(hooks[0]).not.toHaveProperty('signing_token');
    await isActive(id);
  });

  it('say so when a GitLab cannot sign, and leave nothing there that would be refused', async () => {
    const state = fakeHooks(TOKEN, HOSTS.gitlab.path);
    const { id } = await connected('gitlab', 'both', gitlabHooks(state, { canSign: false }));
    await background.work();
    expect(state.hooks).toEqual([]);
    expect(await webhook(id)).toMatchObject({
      subscription: 'failed',
      detail: 'this GitLab does not sign webhooks; rotate the secret of the webhook with the scheme token',
    });
    await call(`POST /ci/connections/${id}/webhook/rotate-secret`, { scheme: 'token' });
    await background.work();
    expect(state.hooks).toHaveLength(1);
    await isActive(id);
  });

  it('are found on later pages', async () => {
    const { id, hooks } = await connected('gitlab');
    await background.work();
    const own = hooks.shift()!;
    for (let n = 0; n < 150; n += 1) hooks.push({ id: 1_000 + n, url: `https://other.example.com/${n}` });
    hooks.push(own);
    await call(`POST /ci/connections/${id}/webhook/subscribe`);
    await background.work();
    expect(hooks).toHaveLength(151);
    await isActive(id);
  });

  it('follow the address of the service when it changes', async () => {
    const { id, hooks } = await connected('github');
    await background.work();
    const { body } = { body: hooks[0]!['config'] as { url: string } };
    hooks[0] = {
      ...hooks[0]!,
      config: { ...body, url: body.url.replace(PUBLIC_URL, 'https://old.example.com') },
    };
    await call(`POST /ci/connections/${id}/webhook/subscribe`);
    await background.work();
    expect(hooks).toHaveLength(1);
    expect(hooks[0]!['config']).toMatchObject({ url: body.url });
  });

  it('are not asked for with an address that no host reaches', async () => {
    const { id, forge } = await connected('github');
    await background.work({
      fetch: async () => await Promise.reject(new Error('nothing is sent')),
      publicUrl: () => 'http://127.0.0.1:8080',
      allowPrivate: false,
    });
    expect(forge.asked).toEqual([]);
    expect(await webhook(id)).toMatchObject({
      subscription: 'failed',
      detail: expect.stringContaining('the address of this service is http://127.0.0.1:8080'),
    });
  });
});
