/** Jobs that report with an id_token in place of a key, over the real door. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { has } from '../../../test/setup/needs.ts';
import {
  githubClaims,
  gitlabClaims,
  SHA,
  startOidcIssuers,
  type Claims,
  type IssuerName,
  type OidcIssuers,
} from '../../../test/setup/oidc-issuer.ts';
import { startTestServer, type TestServer } from '../../../test/setup/server.ts';
import { systemClock } from '../../base/clock.ts';
import { purgeIdTokens } from './store.ts';

const jtiOf = (token: string): string =>
  (JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as { jti: string }).jti;

describe.skipIf(!(await has('postgres')))('id_tokens of CI jobs', () => {
  let issuers: OidcIssuers;
  let server: TestServer;
  let as: string;
  let n = 0;

  beforeAll(async () => {
    issuers = await startOidcIssuers();
    server = await startTestServer({ env: issuers.env });
    as = server.first.apiKey;
  });
  afterAll(async () => {
    await server.stop();
    await issuers.close();
  });

  /** Makes a connection of a repository of its own, and claims of its jobs. */
  const connect = async (provider: IssuerName, more: Claims = {}) => {
    n += 1;
    const path = `acme/app-${n}`;
    const made = await server.call(`POST /teams/${server.first.teamId}/ci/connections`, {
      as,
      body: { provider, repositoryHost: `${provider}.com`, repositoryPath: path },
    });
    expect(made.status, made.text).toBe(201);
    const claims =
      provider === 'github'
        ? githubClaims({
            repository: path,
            repository_id: String(1_000 + n),
            workflow_ref: `${path}/.github/workflows/ci.yml@refs/heads/main`,
            ...more,
          })
        : gitlabClaims({
            project_path: path,
            job_project_path: path,
            project_id: String(1_000 + n),
            job_project_id: String(1_000 + n),
            ci_config_ref_uri: `gitlab.com/${path}//.gitlab-ci.yml@refs/heads/main`,
            ...more,
          });
    return { id: String(made.body['id']), path, claims };
  };
  const sign = async (provider: IssuerName, claims: Claims) => await issuers.sign(provider, claims);
  const report = async (token: string, body: object) =>
    await server.call('POST /ci/runs', { as: token, body });
  const change = async (id: string, body: object) =>
    await server.call(`PATCH /ci/connections/${id}`, { as, body });
  const show = async (id: string) => (await server.call(`GET /ci/connections/${id}`, { as })).body;

  it('name no commit where the claim is zeros, and leave the claim to tell it where the request does', async () => {
    const zeros = '0'.repeat(40);
    const bare = await connect('github', { sha: zeros });
    const first = await report(await sign('github', bare.claims), {
      ciConnectionId: bare.id,
      externalRunId: String(bare.claims['run_id']),
    });
    expect([first.status, first.body['commitSha']], first.text).toEqual([201, undefined]);
    const { id, claims } = await connect('github');
    const told = await report(await sign('github', claims), {
      ciConnectionId: id,
      externalRunId: String(claims['run_id']),
      commitSha: zeros,
    });
    expect([told.status, told.body['commitSha']], told.text).toEqual([201, SHA]);
  });

  it('report, move on, add jobs and end the one run of their own, and read it', async () => {
    const { id, claims } = await connect('github');
    const fresh = async () => await sign('github', claims);
    const made = await report(await fresh(), { ciConnectionId: id, externalRunId: '5001' });
    expect([made.status, made.text]).toEqual([201, expect.any(String)]);
    // What the request does not say the claims say.
    expect(made.body).toMatchObject({ commitSha: SHA, branch: 'main', trigger: 'push', pipelineName: 'CI' });
    const run = String(made.body['id']);
    const call = async (route: string, body?: object) =>
      await server.call(route, { as: await fresh(), ...(body === undefined ? {} : { body }) });
    expect((await call(`PATCH /ci/runs/${run}`, { durationMs: 5 })).status).toBe(200);
    expect((await call(`POST /ci/runs/${run}/jobs`, { jobs: [{ name: 'unit' }] })).status).toBe(200);
    expect((await call(`GET /ci/runs/${run}/jobs`)).body).toMatchObject({ jobs: [{ name: 'unit' }] });
    expect((await call(`POST /ci/runs/${id}:1:5001/complete`, { status: 'success' })).status).toBe(200);
    expect((await call(`GET /ci/runs/${run}`)).body).toMatchObject({ id: run, status: 'success' });
  });

  it('pin the repository by its ids at first, and the ledger tells of it', async () => {
    const { id, path, claims } = await connect('github');
    expect(await show(id)).not.toHaveProperty('oidcPin');
    await report(await sign('github', claims), { ciConnectionId: id, externalRunId: '5001' });
    const { oidcPin } = await show(id);
    expect(oidcPin).toMatchObject({
      issuer: `${issuers.url}/github`,
      repositoryId: claims['repository_id'],
      ownerId: '11',
      repositoryPath: path,
    });
    const acts = await server.db.sql`
      select action, actor_kind, actor_id from audit_entries where target = ${id} order by seq`;
    expect(acts.at(-1)).toEqual({
      action: 'ci_connection.oidc_pinned',
      actor_kind: 'ci_job',
      actor_id: `github:${String(claims['repository_id'])}:5001:1`,
    });
  });

  it('go on after a rename, whose new name is told', async () => {
    const { id, claims } = await connect('github');
    const body = { ciConnectionId: id, externalRunId: '5001' };
    await report(await sign('github', claims), body);
    const renamed = { ...claims, repository: 'acme/renamed' };
    expect((await report(await sign('github', renamed), body)).status).toBe(200);
    expect((await show(id))['oidcPin']).toMatchObject({ repositoryPath: 'acme/renamed' });
    const [last] = await server.db
      .sql`select action from audit_entries where target = ${id} order by seq desc limit 1`;
    expect(last).toEqual({ action: 'ci_connection.oidc_renamed' });
  });

  it('are refused from the repository made again, until the pin is taken back', async () => {
    const { id, claims } = await connect('github');
    const body = { ciConnectionId: id, externalRunId: '5001' };
    await report(await sign('github', claims), body);
    const again = { ...claims, repository_id: `9${String(claims['repository_id'])}` };
    const refused = await report(await sign('github', again), body);
    expect([refused.status, refused.code]).toEqual([403, 'id_token_refused']);
    expect(refused.text).toContain('reset-oidc-pin');
    const reset = await server.call(`DELETE /ci/connections/${id}/oidc-pin`, { as });
    expect([reset.status, reset.body['oidcPin']]).toEqual([200, undefined]);
    expect((await report(await sign('github', again), body)).status).toBe(200);
  });

  it('keep the head of a pull request as the job says it, and the merge as a fact', async () => {
    const head = 'b'.repeat(40);
    const { id, claims } = await connect('github', {
      event_name: 'pull_request',
      ref: 'refs/pull/3/merge',
      head_ref: 'feature',
    });
    const body = { ciConnectionId: id, externalRunId: '5001', commitSha: head, branch: 'feature' };
    const made = await report(await sign('github', claims), body);
    expect(made.body).toMatchObject({ commitSha: head, branch: 'feature', trigger: 'pull_request' });
    const [row] = await server.db.sql`select state from ci_runs where id = ${String(made.body['id'])}`;
    expect(row?.['state']).toMatchObject({ facts: { mergeSha: [expect.any(String), SHA] } });
  });

  it('for pull_request_target say how the run stands, and nothing more', async () => {
    const { id, claims } = await connect('github', { event_name: 'pull_request_target', head_ref: 'main' });
    const body = { ciConnectionId: id, externalRunId: '5001', branch: 'main', commitSha: 'b'.repeat(40) };
    const placed = await report(await sign('github', claims), { ...body, environmentId: 'env_1' });
    expect([placed.code, placed.text]).toEqual(['id_token_refused', expect.stringContaining('event_name')]);
    const made = await report(await sign('github', claims), body);
    expect([made.status, made.body['branch']]).toEqual([201, undefined]);
    const jobs = await server.call(`POST /ci/runs/${String(made.body['id'])}/jobs`, {
      as: await sign('github', claims),
      body: { jobs: [{ name: 'x' }] },
    });
    expect(jobs.code).toBe('id_token_refused');
  });

  it.each([
    [{ refs: ['refs/heads/*'] }, 201],
    [{ refs: ['refs/heads/release/**', 'refs/tags/*'] }, 403],
    [{ files: ['.github/workflows/ci.yml'] }, 201],
    [{ files: ['.github/workflows/other.yml'] }, 403],
    [{ environments: ['production'] }, 403],
  ])('are held against the policy %j', async (oidcPolicy, status) => {
    const { id, claims } = await connect('github');
    expect((await change(id, { oidcPolicy })).status).toBe(200);
    const reply = await report(await sign('github', claims), { ciConnectionId: id, externalRunId: '5001' });
    expect(reply.status, reply.text).toBe(status);
  });

  it('answer a repeated call as the first one, also with another id_token, and take none up for it', async () => {
    const { id, claims } = await connect('github');
    const body = { ciConnectionId: id, externalRunId: '5001' };
    const headers = { 'idempotency-key': 'the same' };
    const token = await sign('github', claims);
    const first = await server.call('POST /ci/runs', { as: token, body, headers });
    for (const each of [token, await sign('github', claims)]) {
      const again = await server.call('POST /ci/runs', { as: each, body, headers });
      expect([again.status, again.body, again.headers.get('idempotent-replayed')]).toEqual([
        201,
        first.body,
        'true',
      ]);
    }
  });

  it('stay good when the call is refused for another reason', async () => {
    const { id, claims } = await connect('github');
    const token = await sign('github', claims);
    await change(id, { status: 'paused' });
    const body = { ciConnectionId: id, externalRunId: '5001' };
    expect((await report(token, body)).code).toBe('ci_connection_paused');
    await change(id, { status: 'active' });
    expect((await report(token, body)).status).toBe(201);
    expect((await report(token, body)).code).toBe('id_token_used');
  });

  it('are forgotten when they have ended, and not before', async () => {
    const { id, claims } = await connect('gitlab');
    const token = await sign('gitlab', claims);
    await server.call('POST /ci/id-tokens/exchange', { body: { ciConnectionId: id, idToken: token } });
    const kept = async () => [
      (await server.db.sql`select 1 from ci_used_id_tokens where jti = ${jtiOf(token)}`).length,
      (await server.db.sql`select 1 from ci_job_tokens where connection_id = ${id}`).length,
    ];
    const later = (ms: number) => ({ ...systemClock, now: () => new Date(Date.now() + ms) });
    await purgeIdTokens(server.db.sql, systemClock);
    expect(await kept()).toEqual([1, 1]);
    await purgeIdTokens(server.db.sql, later(5.5 * 60_000), 1);
    expect(await kept()).toEqual([1, 0]); // As long as a clock that is late would take it.
    await purgeIdTokens(server.db.sql, later(11 * 60_000), 1);
    expect(await kept()).toEqual([0, 0]);
  });

  describe('that were exchanged', () => {
    const exchange = async (ciConnectionId: string, idToken: string) =>
      await server.call('POST /ci/id-tokens/exchange', { body: { ciConnectionId, idToken } });

    it('report as often as the job likes, for an hour at most', async () => {
      const { id, claims } = await connect('gitlab', { exp: Math.floor(Date.now() / 1_000) + 86_400 });
      const given = await exchange(id, await sign('gitlab', claims));
      expect([given.status, given.text]).toEqual([200, expect.any(String)]);
      expect(given.body).toMatchObject({ externalRunId: '9001', externalAttempt: 1 });
      const lifeMs = new Date(String(given.body['expiresAt'])).getTime() - Date.now();
      expect(lifeMs).toBeGreaterThan(3_500_000);
      expect(lifeMs).toBeLessThanOrEqual(3_600_000);
      const token = String(given.body['token']);
      const made = await report(token, { ciConnectionId: id, externalRunId: '9001', actor: 'sam' });
      expect([made.status, made.body['actor']]).toEqual([201, 'sam']);
      const path = `/ci/runs/${String(made.body['id'])}`;
      const jobs = await server.call(`POST ${path}/jobs`, { as: token, body: { jobs: [{ name: 'a' }] } });
      expect(jobs.status, jobs.text).toBe(200);
      expect(
        (await server.call(`POST ${path}/complete`, { as: token, body: { status: 'failed' } })).status,
      ).toBe(200);
      expect((await report(token, { ciConnectionId: id, externalRunId: '9002' })).code).toBe(
        'id_token_refused',
      );
    });

    it('are exchanged once, and stored as a hash', async () => {
      const { id, claims } = await connect('gitlab');
      const idToken = await sign('gitlab', claims);
      const given = await exchange(id, idToken);
      expect((await exchange(id, idToken)).code).toBe('id_token_used');
      const rows = await server.db.sql`select * from ci_job_tokens where connection_id = ${id}`;
      expect(rows).toHaveLength(1);
      expect(JSON.stringify(rows)).not.toContain(String(given.body['token']));
    });

    it('end with the connection, with its pin, and with a policy that they do not meet', async () => {
      const use = async (token: string, id: string) =>
        (await report(token, { ciConnectionId: id, externalRunId: '9001' })).code;
      const made = async () => {
        const { id, claims } = await connect('gitlab');
        const given = await exchange(id, await sign('gitlab', claims));
        return { id, token: String(given.body['token']), claims };
      };
      const policed = await made();
      await change(policed.id, { oidcPolicy: { refs: ['refs/heads/release'] } });
      expect(await use(policed.token, policed.id)).toBe('id_token_refused');
      const unpinned = await made();
      await server.call(`DELETE /ci/connections/${unpinned.id}/oidc-pin`, { as });
      expect(['credentials_invalid', 'id_token_refused']).toContain(await use(unpinned.token, unpinned.id));
      const deleted = await made();
      await server.call(`DELETE /ci/connections/${deleted.id}`, { as });
      expect(['credentials_invalid', 'not_found']).toContain(await use(deleted.token, deleted.id));
      expect(await server.db.sql`select 1 from ci_job_tokens where connection_id = ${deleted.id}`).toEqual(
        [],
      );
    });

    it('are of their connection alone', async () => {
      const [one, other] = [await connect('gitlab'), await connect('gitlab')];
      const given = await exchange(one.id, await sign('gitlab', one.claims));
      const elsewhere = await report(String(given.body['token']), {
        ciConnectionId: other.id,
        externalRunId: '9001',
      });
      expect([elsewhere.status, elsewhere.code]).toEqual([403, 'id_token_refused']);
    });
  });
});
