/**
 * These tests send webhooks of every provider over HTTP: what is taken, what is refused, and what comes of
 * it.
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import { setFeature } from '../../../test/setup/features.ts';
import { has } from '../../../test/setup/needs.ts';
import { ownServer } from '../../../test/setup/engine/own-server.ts';
import type { CiProvider } from '../providers/words.ts';
import { hook, post, type Hooked } from '../../../test/setup/ci/hooked.ts';
import { proof } from '../../../test/setup/ci/sender.ts';

const FOLDER = fileURLToPath(new URL('../../../test/fixtures/connect/payloads/', import.meta.url));
const fixture = (path: string): Record<string, unknown> =>
  JSON.parse(readFileSync(FOLDER + path, 'utf8')) as Record<string, unknown>;
const GITHUB = 'github/webhooks__payload-examples__api.github.com__';
const SHA = '3484a3fb816e0859fd6e1cea078d76385ff50625';
const EVENT = { 'x-github-event': 'workflow_run' };
const FORM = { ...EVENT, 'content-type': 'application/x-www-form-urlencoded' };

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
    headers: EVENT,
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
  const { server, call, connection } = ownServer();

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
      const first = await hooked.send(payload, headers, { deliveryId, at });
      expect([first.status, Object.keys(first.body)]).toEqual([202, ['id']]);
      const again = await hooked.send(payload, headers, { deliveryId, at });
      expect([again.status, again.body]).toEqual([200, { id: first.body['id'], duplicate: true }]);
      const [delivery, ...more] = await hooked.deliveries();
      expect(more).toEqual([]);
      expect(delivery).toMatchObject({ id: first.body['id'], state: 'processed', repeats: 1 });
      expect(delivery?.['event']).toBe(event);
      const shown = await hooked.run(run);
      expect(shown).toMatchObject(end);
      expect(shown['id']).toBe(delivery?.['runId']);
    });

    it('is refused with the secret of another connection, and leaves nothing', async () => {
      const before = (await hooked.deliveries()).length;
      const url = provider === 'jenkins' ? hooked.url.replace(/\.[^./]+$/, `.${otherSecret}`) : hooked.url;
      const refused = await hooked.with({ secret: otherSecret, url }).send(payload, headers);
      expect([refused.status, refused.code]).toEqual([401, 'signature_invalid']);
      const bare = await post(url.replace(/\.[\w-]{20,}$/, ''), JSON.stringify(payload), headers);
      expect([bare.status, bare.code]).toEqual([401, 'signature_invalid']);
      expect(await hooked.deliveries()).toHaveLength(before);
    });

    it('goes on with the secret before a new one, and not with the one before that', async () => {
      const second = await hooked.rotate();
      const mark = (n: number) => ({ ...(payload as object), id: `mark ${n}` });
      expect((await second.send(mark(1), headers)).status).toBe(202);
      expect((await hooked.send(mark(2), headers)).status).toBe(202);
      const third = await hooked.rotate();
      expect((await third.send(mark(3), headers)).status).toBe(202);
      expect((await hooked.send(mark(4), headers)).status).toBe(401);
    });

    // Azure and Jenkins send the secret along and sign nothing.
    if (provider === 'azure' || provider === 'jenkins') return;
    it('is refused when its body was changed', async () => {
      const fresh = await hooked.rotate();
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
        const chosen = await hooked.rotate({ scheme: 'token' });
        expect(chosen.secret).not.toMatch(/^whsec_/);
        expect((await chosen.send('{}', {}, { scheme: 'token' })).status).toBe(202);
        // Another scheme counts at once: what was signed with the old secret is no longer taken.
        expect((await hooked.send('{"a":1}')).status).toBe(401);
        expect((await chosen.send('{"a":1}')).status).toBe(401);
      }
    });

    it('GitHub: SHA-1 and the header of another provider prove nothing', async () => {
      const hooked = await hook(server, 'github', { repositoryPath: 'acme/sha1' });
      const { 'x-hub-signature-256': signature = '' } = proof(hooked, '{}');
      for (const headers of [
        { 'x-hub-signature': signature },
        { 'circleci-signature': `v1=${signature.slice(7)}` },
      ])
        expect((await post(hooked.url, '{}', headers)).status).toBe(401);
    });

    it('signatures that carry their time are refused when it is old', async () => {
      for (const provider of ['gitlab', 'generic', 'buildkite', 'drone'] as const) {
        const hooked = await hook(server, provider, { repositoryPath: 'acme/old' });
        const old = new Date(Date.now() - 400_000);
        expect([provider, (await hooked.send('{}', {}, { at: old })).status]).toEqual([provider, 401]);
      }
    });

    it('refuses a scheme that the provider does not have', async () => {
      const { connectionId } = await hook(server, 'github', { repositoryPath: 'acme/scheme' });
      const route = `POST /ci/connections/${connectionId}/webhook/rotate-secret`;
      expect((await call(route, { scheme: 'token' })).code).toBe('validation_failed');
    });
  });

  describe('what is no run', () => {
    const reading = async (repositoryPath: string, body: unknown, headers?: Record<string, string>) =>
      await (await hook(server, 'github', { repositoryPath })).deliver(body, headers);

    it('is kept as failed when it cannot be read', async () => {
      const cut = await reading('acme/cut', '{"workflow_run":');
      expect(cut).toMatchObject({ state: 'failed', detail: 'the body is no JSON', bytes: 16 });
      const empty = await reading('acme/empty', '');
      expect(empty).toMatchObject({ state: 'failed', detail: 'the body is empty', bytes: 0 });
    });

    it('is ignored with its reason: another event, a status of ours, another repository', async () => {
      const zen = '{"zen":"Keep it logically awesome."}';
      const ping = await reading('acme/ping', zen, { 'x-github-event': 'ping' });
      expect(ping).toMatchObject({ state: 'ignored', event: 'ping', detail: 'event ping' });
      const ours = {
        context: 'svc/build',
        sha: SHA,
        state: 'success',
        repository: { full_name: 'acme/ours' },
      };
      const loop = await reading('acme/ours', ours, { 'x-github-event': 'status' });
      expect(loop).toMatchObject({ state: 'ignored' });
      const foreign = await hook(server, 'github', { repositoryPath: 'acme/foreign' });
      const real = fixture(`${GITHUB}workflow_run__completed.with-pull-requests.payload.json`);
      expect(await foreign.deliver(real, EVENT)).toMatchObject({
        state: 'ignored',
        detail: "of the repository octo-org/octo-repo, the connection's is acme/foreign",
      });
      expect(await foreign.run('289782451')).toHaveProperty('error.code', 'not_found');
    });

    it('is known by its id when the repository was renamed', async () => {
      const hooked = await hook(server, 'github', { repositoryPath: 'acme/before' });
      const run = (id: number, repository: object) => ({
        workflow_run: { id, status: 'queued' },
        repository,
      });
      await hooked.deliver(run(1, { id: 77, full_name: 'acme/before' }), EVENT);
      await hooked.send(run(2, { id: 77, full_name: 'acme/after' }), EVENT);
      await hooked.send(run(3, { id: 78, full_name: 'acme/after' }), EVENT);
      expect(await hooked.states()).toEqual(['ignored', 'processed', 'processed']);
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
    await hooked.send(status('success', '2026-07-01T10:00:09Z'), event);
    await hooked.deliver(status('pending', '2026-07-01T10:00:01Z'), event);
    expect(await hooked.run(`${SHA}:ci/build`)).toMatchObject({
      status: 'success',
      branch: 'main',
      pipelineName: 'CI/Build',
    });
  });

  it('lets a job call its pipeline what it can know, and keeps the provider’s name', async () => {
    const hooked = await hook(server, 'jenkins', { repositoryPath: 'acme/named', ingestMode: 'both' });
    const url = 'https://ci.example.com/job/app/job/main/9/';
    await hooked.deliver({ name: 'main', build: { full_url: url, number: 9, phase: 'STARTED' } });
    const report = { ciConnectionId: hooked.connectionId, externalRunId: url, pipelineName: 'app' };
    const told = await call('POST /ci/runs', report);
    expect([told.status, told.body['pipelineName']]).toEqual([200, 'app/main']);
  });

  it('reads forms of GitHub, signed over the form', async () => {
    const hooked = await hook(server, 'github', { repositoryPath: 'acme/form' });
    const repository = { full_name: 'acme/form' };
    const payload = { workflow_run: { id: 9, status: 'in_progress' }, repository };
    const form = new URLSearchParams({ payload: JSON.stringify(payload) }).toString();
    await hooked.deliver(form, FORM);
    expect(await hooked.run('9')).toMatchObject({ status: 'running' });
  });

  it('takes no part of a JSON body for a form, whatever the header says', async () => {
    const hooked = await hook(server, 'github', { repositoryPath: 'acme/forged' });
    const repository = { full_name: 'acme/forged' };
    const forged = { workflow_run: { id: 66, status: 'completed', conclusion: 'success' }, repository };
    const text = `&payload=${encodeURIComponent(JSON.stringify(forged))}&`;
    const sent = { workflow_run: { id: 67, status: 'in_progress', display_title: text }, repository };
    await hooked.deliver(sent, FORM);
    expect(await hooked.run('67')).toMatchObject({ status: 'running' });
    expect(await hooked.run('66')).toMatchObject({ error: { code: 'not_found' } });
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
      await hooked.send(pipeline('running', from), {}, { deliveryId: `at-${from}` });
    await hooked.deliveries();
    const end = await hooked.deliver(pipeline('success', 5_001), {}, { deliveryId: 'end' });
    expect(end).toMatchObject({ state: 'processed', detail: expect.stringContaining('at most 5000') });
    expect(await hooked.run('5')).toMatchObject({ status: 'success' });
  });

  it('reads what a generic system sends by the mapping of the connection', async () => {
    const hooked = await hook(server, 'generic', { repositoryPath: 'acme/mapped' });
    await call(`PATCH /ci/connections/${hooked.connectionId}`, {
      genericMapping: { pointers: { id: '/build/no', status: '/build/word' }, words: { ok: 'success' } },
    });
    await hooked.deliver({ build: { no: 12, word: 'ok' } });
    expect(await hooked.run('12')).toMatchObject({ status: 'success', providerStatus: 'ok' });
  });

  it('bounds bodies', async () => {
    const hooked = await hook(server, 'github', { repositoryPath: 'acme/large' });
    const large = await hooked.send(`"${'x'.repeat(5 * 1024 * 1024)}"`);
    expect([large.status, large.code]).toEqual([413, 'body_too_large']);
    expect((await hooked.send(`"${'x'.repeat(5 * 1024 * 1024 - 2)}"`)).status).toBe(202);
    expect(await hooked.deliveries()).toHaveLength(1);
  });

  it('knows no webhook by another name, and none without a secret', async () => {
    const base = `${server.baseUrl}/ci/webhooks`;
    for (const name of ['cih_00000000000000000000000000', 'x', 'cic_1', '%00', "cih_'--"])
      expect([name, (await post(`${base}/${name}`, '{}', {})).status]).toEqual([name, 404]);
    const hooked = await hook(server, 'github', { repositoryPath: 'acme/other-verb' });
    expect((await fetch(hooked.url)).status).toBe(405);
    const shown = await call(`GET /ci/connections/${await connection('acme/direct')}/webhook`);
    expect(shown.body).toMatchObject({ hasSecret: false, subscription: 'none', scheme: 'signature' });
    expect((await post(String(shown.body['url']), '{}', {})).status).toBe(404);
  });

  it('keeps no header that proves where it comes from', async () => {
    const secrets: string[] = [];
    for (const { provider, repositoryPath, headers, payload } of REAL) {
      const hooked = await hook(server, provider, { repositoryPath, repositoryHost: 'kept.example.com' });
      const scheme = provider === 'gitlab' || provider === 'buildkite' ? 'token' : undefined;
      const own = scheme === undefined ? hooked : await hooked.rotate({ scheme });
      await own.send(payload, headers, scheme === undefined ? {} : { scheme });
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
      const refused = await hooked.send('{}');
      expect([refused.status, refused.code]).toEqual([403, 'feature_disabled']);
    } finally {
      await setFeature(server, 'host.ci', 'enabled');
    }
    expect((await hooked.send('{}')).status).toBe(202);
  });
});
