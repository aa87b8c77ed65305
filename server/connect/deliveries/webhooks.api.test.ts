/**
 * These tests send webhooks of every provider over HTTP: what is taken, what is refused, and what comes of
 * it.
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { setFeature } from '../../../test/setup/features.ts';
import { has } from '../../../test/setup/needs.ts';
import { startTestServer } from '../../../test/setup/server.ts';
import type { TestServer } from '../../../test/setup/server.ts';
import type { CiProvider } from '../providers/words.ts';
import { hook, readDeliveries, post, rotate, runNamed, send } from '../../../test/setup/ci/hooked.ts';
import type { Hooked } from '../../../test/setup/ci/hooked.ts';
import { proof } from '../../../test/setup/ci/sender.ts';

const FOLDER = fileURLToPath(new URL('../../../test/fixtures/connect/payloads/', import.meta.url));
const fixture = (path: string): Record<string, unknown> =>
  JSON.parse(readFileSync(FOLDER + path, 'utf8')) as Record<string, unknown>;
const GITHUB = 'github/webhooks__payload-examples__api.github.com__';
const SHA = '3484a3fb816e0859fd6e1cea078d76385ff50625';

interface Real {
  readonly provider: CiProvider;
  readonly repositoryPath: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly payload: unknown;
  readonly run: string;
  readonly event: string | undefined;
  readonly end: Readonly<Record<string, unknown>>;
}

/** These are payloads that the providers publish, and for the others what their documents say. */
const REAL: readonly Real[] = [
  {
    provider: 'github',
    repositoryPath: 'Octo-Org/octo-repo',
    headers: { 'x-github-event': 'workflow_run' },
    payload: fixture(`${GITHUB}workflow_run__completed.with-pull-requests.payload.json`),
    run: '289782451',
    event: 'workflow_run',
    end: { status: 'success', commitSha: SHA, branch: 'master', actor: 'Codertocat' },
  },
  {
    provider: 'gitlab',
    repositoryPath: 'gitlab-org/gitlab-test',
    headers: { 'x-gitlab-event': 'Job Hook' },
    payload: fixture('gitlab/webhooks__testdata__gitlab__build-event.json'),
    run: '2366',
    event: 'Job Hook',
    end: { status: 'queued', branch: 'gitlab-script-trigger' },
  },
  {
    provider: 'bitbucket',
    repositoryPath: 'team_name/repo_name',
    headers: { 'x-event-key': 'repo:commit_status_created' },
    payload: fixture('bitbucket/webhooks__testdata__bitbucket__repo-commit-status-created.json'),
    run: '9fec847784abb10b2fa567ee63b85bd238955d0e:mybuildtool',
    event: 'repo:commit_status_created',
    end: { status: 'running', providerStatus: 'INPROGRESS' },
  },
  {
    provider: 'azure',
    repositoryPath: 'acme/app',
    headers: {},
    payload: fixture('azure/webhooks__testdata__azuredevops__build.complete.json'),
    run: '2',
    event: 'build.complete',
    end: { status: 'success', commitSha: '600c52d2d5b655caa111abfd863e5a9bd304bb0e' },
  },
  {
    provider: 'circleci',
    repositoryPath: 'acme/app',
    headers: { 'circleci-event-type': 'workflow-completed' },
    payload: {
      id: 'e5f1',
      type: 'workflow-completed',
      happened_at: '2026-07-01T10:00:00.5Z',
      workflow: { id: 'w1', name: 'build', status: 'failed' },
      project: { id: 'p', slug: 'gh/acme/app' },
      pipeline: { vcs: { revision: SHA, branch: 'main' } },
    },
    run: 'w1',
    event: 'workflow-completed',
    end: { status: 'failed', pipelineName: 'build', branch: 'main' },
  },
  {
    provider: 'buildkite',
    repositoryPath: 'acme/app',
    headers: { 'x-buildkite-event': 'build.finished' },
    payload: {
      event: 'build.finished',
      build: { id: 'b1', state: 'passed', commit: SHA, branch: 'main', finished_at: '2026-07-01T10:00:00Z' },
      pipeline: { slug: 'app', repository: 'git@github.com:acme/app.git' },
    },
    run: 'b1',
    event: 'build.finished',
    end: { status: 'success', commitSha: SHA },
  },
  {
    provider: 'drone',
    repositoryPath: 'acme/app',
    headers: { 'x-drone-event': 'build' },
    payload: {
      event: 'build',
      repo: { uid: '9', slug: 'acme/app' },
      build: { id: 100, number: 5, status: 'killed', version: 7, after: SHA, target: 'main' },
    },
    run: '100',
    event: 'build',
    end: { status: 'cancelled', providerStatus: 'killed' },
  },
  {
    provider: 'jenkins',
    repositoryPath: 'acme/app',
    headers: {},
    payload: {
      name: 'app',
      build: {
        full_url: 'https://ci.example.com/job/app/3/',
        number: 3,
        phase: 'COMPLETED',
        status: 'FAILURE',
        scm: { url: 'https://git.internal/acme/app.git', branch: 'origin/main', commit: SHA },
      },
    },
    run: 'https://ci.example.com/job/app/3/',
    event: 'COMPLETED',
    end: { status: 'failed', branch: 'main' },
  },
  {
    provider: 'generic',
    repositoryPath: 'acme/app',
    headers: {},
    payload: {
      externalRunId: 'r1',
      status: 'success',
      commitSha: SHA,
      jobs: [{ name: 'unit', status: 'success' }],
    },
    run: 'r1',
    event: undefined,
    end: { status: 'success', commitSha: SHA },
  },
];

describe.skipIf(!(await has('postgres')))('POST /ci/webhooks/{hook}', () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startTestServer();
  });
  afterAll(async () => await server.stop());

  describe.each(REAL.map((one) => [one.provider, one] as const))('%s', (provider, real) => {
    const { repositoryPath, headers, payload, run, event, end } = real;
    let hooked: Hooked;
    let otherSecret: string;
    beforeAll(async () => {
      hooked = await hook(server, provider, { repositoryPath });
      const other = await hook(server, provider, { repositoryPath, repositoryHost: 'other.example.com' });
      otherSecret = other.secret;
    });

    it('is stored, read, and told once however often it comes', async () => {
      const deliveryId = `d-${provider}`;
      const at = new Date();
      const first = await send(hooked, payload, { headers, sending: { deliveryId, at } });
      expect([first.status, Object.keys(first.body)]).toEqual([202, ['id']]);
      const again = await send(hooked, payload, { headers, sending: { deliveryId, at } });
      expect([again.status, again.body]).toEqual([200, { id: first.body['id'], duplicate: true }]);
      const [delivery, ...more] = await readDeliveries(server, hooked);
      expect(more).toEqual([]);
      expect(delivery).toMatchObject({ id: first.body['id'], state: 'processed', repeats: 1 });
      expect(delivery?.['event']).toBe(event);
      const shown = await runNamed(server, hooked, { externalRunId: run });
      expect(shown).toMatchObject(end);
      expect(shown['id']).toBe(delivery?.['runId']);
    });

    it('is refused with the secret of another connection, and leaves nothing', async () => {
      const before = (await readDeliveries(server, hooked)).length;
      const url = provider === 'jenkins' ? hooked.url.replace(/\.[^./]+$/, `.${otherSecret}`) : hooked.url;
      const refused = await send({ ...hooked, secret: otherSecret, url }, payload, { headers });
      expect([refused.status, refused.code]).toEqual([401, 'signature_invalid']);
      const bare = await post(url.replace(/\.[\w-]{20,}$/, ''), JSON.stringify(payload), headers);
      expect([bare.status, bare.code]).toEqual([401, 'signature_invalid']);
      expect(await readDeliveries(server, hooked)).toHaveLength(before);
    });

    it('goes on with the secret before a new one, and not with the one before that', async () => {
      const second = await rotate(server, provider, {
        connectionId: hooked.connectionId,
        as: server.first.apiKey,
      });
      const mark = (n: number) => ({ ...(payload as object), id: `mark ${n}` });
      expect((await send(second, mark(1), { headers })).status).toBe(202);
      expect((await send(hooked, mark(2), { headers })).status).toBe(202);
      const third = await rotate(server, provider, {
        connectionId: hooked.connectionId,
        as: server.first.apiKey,
      });
      expect((await send(third, mark(3), { headers })).status).toBe(202);
      expect((await send(hooked, mark(4), { headers })).status).toBe(401);
    });

    // Azure and Jenkins send the secret along and sign nothing.
    if (provider === 'azure' || provider === 'jenkins') return;
    it('is refused when its body was changed', async () => {
      const fresh = await rotate(server, provider, {
        connectionId: hooked.connectionId,
        as: server.first.apiKey,
      });
      const text = JSON.stringify(payload);
      const refused = await post(fresh.url, `${text} `, { ...headers, ...proof(fresh, text) });
      expect([refused.status, refused.code]).toEqual([401, 'signature_invalid']);
    });
  });

  describe('what proves it is the connection’s choice', () => {
    it('GitLab and Buildkite: the secret itself is no signature, unless that was chosen', async () => {
      for (const provider of ['gitlab', 'buildkite'] as const) {
        const hooked = await hook(server, provider, { repositoryPath: 'acme/downgraded' });
        const token = { 'x-gitlab-token': hooked.secret, 'x-buildkite-token': hooked.secret };
        expect((await post(hooked.url, '{}', token)).status).toBe(401);
        const chosen = await rotate(server, provider, {
          connectionId: hooked.connectionId,
          as: server.first.apiKey,
          body: {
            scheme: 'token',
          },
        });
        expect(chosen.secret).not.toMatch(/^whsec_/);
        expect((await send(chosen, '{}', { headers: {}, sending: { scheme: 'token' } })).status).toBe(202);
        // Another scheme counts at once: what was signed with the old secret is no longer taken.
        expect((await send(hooked, '{"a":1}')).status).toBe(401);
        expect((await send(chosen, '{"a":1}')).status).toBe(401);
      }
    });

    it('GitHub: SHA-1 and the header of another provider prove nothing', async () => {
      const hooked = await hook(server, 'github', { repositoryPath: 'acme/sha1' });
      const { 'x-hub-signature-256': signature } = proof(hooked, '{}');
      expect((await post(hooked.url, '{}', { 'x-hub-signature': signature })).status).toBe(401);
      expect(
        (await post(hooked.url, '{}', { 'circleci-signature': `v1=${signature?.slice(7)}` })).status,
      ).toBe(401);
    });

    it('signatures that carry their time are refused when it is old', async () => {
      for (const provider of ['gitlab', 'generic', 'buildkite', 'drone'] as const) {
        const hooked = await hook(server, provider, { repositoryPath: 'acme/old' });
        const old = new Date(Date.now() - 400_000);
        expect([provider, (await send(hooked, '{}', { headers: {}, sending: { at: old } })).status]).toEqual([
          provider,
          401,
        ]);
      }
    });

    it('refuses a scheme that the provider does not have', async () => {
      const { connectionId } = await hook(server, 'github', { repositoryPath: 'acme/scheme' });
      const refused = await server.call(`POST /ci/connections/${connectionId}/webhook/rotate-secret`, {
        as: server.first.apiKey,
        body: { scheme: 'token' },
      });
      expect(refused.code).toBe('validation_failed');
    });
  });

  describe('what is no run', () => {
    const reading = async (
      provider: CiProvider,
      path: string,
      { body, headers = {} }: { readonly body: string; readonly headers?: Record<string, string> },
    ) => {
      const hooked = await hook(server, provider, { repositoryPath: path });
      const answer = await send(hooked, body, { headers });
      const [delivery] = await readDeliveries(server, hooked);
      return { status: answer.status, delivery, hooked };
    };

    it('is kept as failed when it cannot be read', async () => {
      const cut = await reading('github', 'acme/cut', { body: '{"workflow_run":' });
      expect([cut.status, cut.delivery]).toEqual([
        202,
        expect.objectContaining({ state: 'failed', detail: 'the body is no JSON', bytes: 16 }),
      ]);
      const empty = await reading('github', 'acme/empty', { body: '' });
      expect([empty.status, empty.delivery]).toEqual([
        202,
        expect.objectContaining({ state: 'failed', detail: 'the body is empty', bytes: 0 }),
      ]);
    });

    it('is ignored with its reason: another event, a status of ours, another repository', async () => {
      const ping = await reading('github', 'acme/ping', {
        body: '{"zen":"Keep it logically awesome."}',
        headers: {
          'x-github-event': 'ping',
        },
      });
      expect(ping.delivery).toMatchObject({ state: 'ignored', event: 'ping', detail: 'event ping' });
      const ours = {
        context: 'svc/build',
        sha: SHA,
        state: 'success',
        repository: { full_name: 'acme/ours' },
      };
      const loop = await reading('github', 'acme/ours', {
        body: JSON.stringify(ours),
        headers: { 'x-github-event': 'status' },
      });
      expect(loop.delivery).toMatchObject({ state: 'ignored' });
      const real = JSON.stringify(
        fixture(`${GITHUB}workflow_run__completed.with-pull-requests.payload.json`),
      );
      const foreign = await reading('github', 'acme/foreign', {
        body: real,
        headers: { 'x-github-event': 'workflow_run' },
      });
      expect(foreign.delivery).toMatchObject({
        state: 'ignored',
        detail: "of the repository octo-org/octo-repo, the connection's is acme/foreign",
      });
      expect(await runNamed(server, foreign.hooked, { externalRunId: '289782451' })).toHaveProperty(
        'error.code',
        'not_found',
      );
    });

    it('is known by its id when the repository was renamed', async () => {
      const hooked = await hook(server, 'github', { repositoryPath: 'acme/before' });
      const event = { 'x-github-event': 'workflow_run' };
      const run = (id: number, repository: object) => ({
        workflow_run: { id, status: 'queued' },
        repository,
      });
      await send(hooked, run(1, { id: 77, full_name: 'acme/before' }), { headers: event });
      await readDeliveries(server, hooked);
      await send(hooked, run(2, { id: 77, full_name: 'acme/after' }), { headers: event });
      await send(hooked, run(3, { id: 78, full_name: 'acme/after' }), { headers: event });
      const states = (await readDeliveries(server, hooked)).map(({ state }) => state);
      expect(states).toEqual(['ignored', 'processed', 'processed']);
    });
  });

  it('takes statuses that another CI system posted', async () => {
    const hooked = await hook(server, 'github', { repositoryPath: 'acme/foreign-ci' });
    const status = (state: string, updated_at: string) => ({
      context: 'CI/Build',
      sha: SHA,
      state,
      updated_at,
      branches: [{ name: 'main' }],
      repository: { id: 5, full_name: 'acme/foreign-ci' },
    });
    const event = { 'x-github-event': 'status' };
    await send(hooked, status('success', '2026-07-01T10:00:09Z'), { headers: event });
    await send(hooked, status('pending', '2026-07-01T10:00:01Z'), { headers: event });
    await readDeliveries(server, hooked);
    expect(await runNamed(server, hooked, { externalRunId: `${SHA}:ci/build` })).toMatchObject({
      status: 'success',
      branch: 'main',
      pipelineName: 'CI/Build',
    });
  });

  it('lets a job call its pipeline what it can know, and keeps the provider’s name', async () => {
    const hooked = await hook(server, 'jenkins', { repositoryPath: 'acme/named', ingestMode: 'both' });
    const url = 'https://ci.example.com/job/app/job/main/9/';
    await send(hooked, { name: 'main', build: { full_url: url, number: 9, phase: 'STARTED' } });
    await readDeliveries(server, hooked);
    const report = { ciConnectionId: hooked.connectionId, externalRunId: url, pipelineName: 'app' };
    const told = await server.call('POST /ci/runs', { as: server.first.apiKey, body: report });
    expect([told.status, told.body['pipelineName']]).toEqual([200, 'app/main']);
  });

  it('reads forms of GitHub, signed over the form', async () => {
    const hooked = await hook(server, 'github', { repositoryPath: 'acme/form' });
    const payload = {
      workflow_run: { id: 9, status: 'in_progress' },
      repository: { full_name: 'acme/form' },
    };
    const form = new URLSearchParams({ payload: JSON.stringify(payload) }).toString();
    const headers = { 'x-github-event': 'workflow_run', 'content-type': 'application/x-www-form-urlencoded' };
    expect((await send(hooked, form, { headers })).status).toBe(202);
    await readDeliveries(server, hooked);
    expect(await runNamed(server, hooked, { externalRunId: '9' })).toMatchObject({ status: 'running' });
  });

  it('takes no part of a JSON body for a form, whatever the header says', async () => {
    const hooked = await hook(server, 'github', { repositoryPath: 'acme/forged' });
    const repository = { full_name: 'acme/forged' };
    const forged = { workflow_run: { id: 66, status: 'completed', conclusion: 'success' }, repository };
    const text = `&payload=${encodeURIComponent(JSON.stringify(forged))}&`;
    const sent = { workflow_run: { id: 67, status: 'in_progress', display_title: text }, repository };
    const headers = { 'x-github-event': 'workflow_run', 'content-type': 'application/x-www-form-urlencoded' };
    expect((await send(hooked, sent, { headers })).status).toBe(202);
    await readDeliveries(server, hooked);
    expect(await runNamed(server, hooked, { externalRunId: '67' })).toMatchObject({ status: 'running' });
    expect(await runNamed(server, hooked, { externalRunId: '66' })).toMatchObject({
      error: { code: 'not_found' },
    });
  });

  it('keeps how a run ended when it has more jobs than are kept', async () => {
    const hooked = await hook(server, 'gitlab', { repositoryPath: 'acme/wide' });
    const pipeline = (status: string, from: number) => ({
      object_kind: 'pipeline',
      object_attributes: { id: 5, status, sha: 'a'.repeat(40), ref: 'main' },
      project: { id: 1, path_with_namespace: 'acme/wide' },
      builds: Array.from({ length: 1_000 }, (_, n) => ({ id: from + n, name: `leg ${from + n}`, status })),
    });
    for (let from = 1; from < 5_001; from += 1_000)
      await send(hooked, pipeline('running', from), { headers: {}, sending: { deliveryId: `at-${from}` } });
    await readDeliveries(server, hooked);
    await send(hooked, pipeline('success', 5_001), { headers: {}, sending: { deliveryId: 'end' } });
    const [end] = await readDeliveries(server, hooked);
    expect(end).toMatchObject({ state: 'processed', detail: expect.stringContaining('at most 5000') });
    expect(await runNamed(server, hooked, { externalRunId: '5' })).toMatchObject({ status: 'success' });
  });

  it('reads what a generic system sends by the mapping of the connection', async () => {
    const hooked = await hook(server, 'generic', { repositoryPath: 'acme/mapped' });
    await server.call(`PATCH /ci/connections/${hooked.connectionId}`, {
      as: server.first.apiKey,
      body: {
        genericMapping: { pointers: { id: '/build/no', status: '/build/word' }, words: { ok: 'success' } },
      },
    });
    await send(hooked, { build: { no: 12, word: 'ok' } });
    await readDeliveries(server, hooked);
    expect(await runNamed(server, hooked, { externalRunId: '12' })).toMatchObject({
      status: 'success',
      providerStatus: 'ok',
    });
  });

  it('bounds bodies', async () => {
    const hooked = await hook(server, 'github', { repositoryPath: 'acme/large' });
    const large = await send(hooked, `"${'x'.repeat(5 * 1024 * 1024)}"`);
    expect([large.status, large.code]).toEqual([413, 'body_too_large']);
    expect((await send(hooked, `"${'x'.repeat(5 * 1024 * 1024 - 2)}"`)).status).toBe(202);
    expect(await readDeliveries(server, hooked)).toHaveLength(1);
  });

  it('knows no webhook by another name, and none without a secret', async () => {
    const base = `${server.baseUrl}/ci/webhooks`;
    for (const name of ['cih_00000000000000000000000000', 'x', 'cic_1', '%00', "cih_'--"])
      expect([name, (await post(`${base}/${name}`, '{}', {})).status]).toEqual([name, 404]);
    const hooked = await hook(server, 'github', { repositoryPath: 'acme/other-verb' });
    expect((await fetch(hooked.url)).status).toBe(405);
    const body = { provider: 'github', repositoryHost: 'github.com', repositoryPath: 'acme/direct' };
    const as = server.first.apiKey;
    const made = await server.call(`POST /teams/${server.first.teamId}/ci/connections`, { as, body });
    const shown = await server.call(`GET /ci/connections/${String(made.body['id'])}/webhook`, { as });
    expect(shown.body).toMatchObject({ hasSecret: false, subscription: 'none', scheme: 'signature' });
    expect((await post(String(shown.body['url']), '{}', {})).status).toBe(404);
  });

  it('keeps no header that proves where it comes from', async () => {
    const secrets: string[] = [];
    for (const { provider, repositoryPath, headers, payload } of REAL) {
      const hooked = await hook(server, provider, { repositoryPath, repositoryHost: 'kept.example.com' });
      const scheme = provider === 'gitlab' || provider === 'buildkite' ? 'token' : undefined;
      const own =
        scheme === undefined
          ? hooked
          : await rotate(server, provider, {
              connectionId: hooked.connectionId,
              as: server.first.apiKey,
              body: { scheme },
            });
      await send(own, payload, { headers, sending: scheme === undefined ? {} : { scheme } });
      secrets.push(own.secret, Buffer.from(`svc:${own.secret}`).toString('base64'));
    }
    const rows = await server.asOwner('select headers::text from ci_deliveries');
    const kept = rows.map(({ headers }) => String(headers)).join('\n');
    expect(rows.length).toBeGreaterThanOrEqual(REAL.length);
    for (const secret of secrets) expect(kept).not.toContain(secret);
    expect(kept).not.toMatch(/authorization|token|signature/i);
  });

  it('is closed while the feature is off', async () => {
    const hooked = await hook(server, 'github', { repositoryPath: 'acme/off' });
    await setFeature(server, 'host.ci', 'disabled');
    try {
      const refused = await send(hooked, '{}');
      expect([refused.status, refused.code]).toEqual([403, 'feature_disabled']);
    } finally {
      await setFeature(server, 'host.ci', 'enabled');
    }
    expect((await send(hooked, '{}')).status).toBe(202);
  });
});
