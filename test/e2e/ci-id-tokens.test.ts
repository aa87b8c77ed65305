/**
 * `svc ci report` as it is shipped, in jobs without a key, against a real server and issuers of id_tokens.
 */
import { createSvcSDK } from '@svc/sdk';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bundleCli, type BundledCli, type Ended } from '../../cli/testing/bundle.ts';
import { has } from '../setup/needs.ts';
import {
  AUDIENCE,
  githubClaims,
  gitlabClaims,
  SHA,
  startOidcIssuers,
  type OidcIssuers,
} from '../setup/oidc-issuer.ts';
import { startTestServer, type TestServer } from '../setup/server.ts';

const postgresHere = await has('postgres');

describe.skipIf(!postgresHere)('jobs that report without a key', () => {
  let issuers: OidcIssuers;
  let server: TestServer;
  let cli: BundledCli;
  let sdk: ReturnType<typeof createSvcSDK>;

  beforeAll(async () => {
    issuers = await startOidcIssuers();
    [cli, server] = await Promise.all([bundleCli(), startTestServer({ env: issuers.env })]);
    sdk = createSvcSDK({ baseUrl: server.baseUrl, apiKey: server.first.apiKey });
  }, 60_000);
  afterAll(async () => {
    await server?.stop();
    await cli?.remove();
    await issuers?.close();
  });

  const connect = async (provider: 'github' | 'gitlab'): Promise<string> => {
    const repository = { provider, repositoryHost: `${provider}.com`, repositoryPath: 'acme/app' };
    return (await sdk.ci.createConnection(server.first.teamId, repository)).id;
  };
  const job = async (words: readonly string[], env: Record<string, string>): Promise<Ended> =>
    await cli.run(['ci', 'report', ...words], {
      env: { PATH: process.env['PATH'] ?? '', SVC_BASE_URL: server.baseUrl, ...env },
    });
  const runOf = async (connection: string, name: string) => {
    const run = await sdk.ci.getRun(`${connection}:${name}`);
    return { run, jobs: await sdk.ci.listRunJobs(run.id) };
  };

  it('at GitHub: a program from its start to its end', async () => {
    const connection = await connect('github');
    issuers.mints(githubClaims());
    const env = {
      ...issuers.githubEnv,
      SVC_OIDC_AUDIENCE: AUDIENCE,
      GITHUB_ACTIONS: 'true',
      GITHUB_SERVER_URL: 'https://github.com',
      GITHUB_REPOSITORY: 'acme/app',
      GITHUB_RUN_ID: '5001',
      GITHUB_RUN_ATTEMPT: '1',
      GITHUB_SHA: SHA,
      GITHUB_REF: 'refs/heads/main',
      GITHUB_REF_TYPE: 'branch',
      GITHUB_REF_NAME: 'main',
      GITHUB_WORKFLOW: 'CI',
      GITHUB_JOB: 'unit',
      GITHUB_EVENT_NAME: 'push',
      GITHUB_ACTOR: 'octocat',
    };
    const ended = await job(['--connection', connection, '--', 'sh', '-c', 'echo tested; exit 3'], env);
    expect([ended.code, ended.stdout, ended.stderr]).toEqual([
      3,
      'tested\n',
      expect.not.stringContaining('warning'),
    ]);
    const { run, jobs } = await runOf(connection, '1:5001');
    expect(run).toMatchObject({
      status: 'failed',
      commitSha: SHA,
      branch: 'main',
      pipelineName: 'CI',
      actor: 'octocat',
      trigger: 'push',
      externalUrl: 'https://github.com/acme/app/actions/runs/5001/attempts/1',
    });
    expect(jobs).toMatchObject([{ name: 'unit', status: 'failed' }]);
    expect(issuers.minted).toHaveLength(3);
    for (const token of issuers.minted) expect(ended.stdout + ended.stderr).not.toContain(token);
    // Another run's variables do not make it another run's job.
    const forged = await job(['--connection', connection], { ...env, GITHUB_RUN_ID: '5002' });
    expect([forged.code === 0, forged.stderr]).toEqual([false, expect.stringContaining('run_id')]);
    const wrapped = await job(['--connection', connection, '--', 'true'], { ...env, GITHUB_RUN_ID: '5002' });
    expect([wrapped.code, wrapped.stderr]).toEqual([
      0,
      expect.stringContaining('the start was not reported'),
    ]);
  }, 60_000);

  it('at GitLab: with the one id_token of the job', async () => {
    const connection = await connect('gitlab');
    const idToken = await issuers.sign('gitlab', gitlabClaims());
    const env = {
      SVC_ID_TOKEN: idToken,
      GITLAB_CI: 'true',
      CI_PIPELINE_ID: '9001',
      CI_PIPELINE_URL: 'https://gitlab.com/acme/app/-/pipelines/9001',
      CI_PIPELINE_SOURCE: 'push',
      CI_PROJECT_PATH: 'acme/app',
      CI_COMMIT_SHA: SHA,
      CI_COMMIT_BRANCH: 'main',
      CI_COMMIT_REF_NAME: 'main',
      CI_JOB_ID: '77',
      CI_JOB_NAME: 'unit',
      GITLAB_USER_LOGIN: 'sam',
    };
    const ended = await job(['--connection', connection, '--', 'true'], env);
    expect([ended.code, ended.stderr]).toEqual([0, expect.not.stringContaining('warning')]);
    const { run, jobs } = await runOf(connection, '1:9001');
    expect(run).toMatchObject({ status: 'success', commitSha: SHA, branch: 'main', actor: 'sam' });
    expect(jobs).toMatchObject([{ name: 'unit', externalJobId: '77', status: 'success' }]);
    const again = await job(['--connection', connection, '--', 'sh', '-c', 'exit 5'], env);
    expect([again.code, again.stderr]).toEqual([5, expect.stringContaining('each is good once')]);
    expect(again.stderr).not.toContain(idToken);
  }, 60_000);

  it('over the SDK: exchanged once, and waited for', async () => {
    const connection = (await sdk.ci.listConnections(server.first.teamId)).find(
      ({ provider }) => provider === 'gitlab',
    );
    const ciConnectionId = connection?.id ?? '';
    const idToken = await issuers.sign('gitlab', gitlabClaims({ pipeline_id: '9100' }));
    const { token } = await createSvcSDK({ baseUrl: server.baseUrl }).ci.exchangeIdToken(
      ciConnectionId,
      idToken,
    );
    const reporter = createSvcSDK({ baseUrl: server.baseUrl, token });
    const waiting = reporter.ci.reportAndWait(
      { ciConnectionId, externalRunId: '9100' },
      { pollIntervalMs: 20, timeoutMs: 30_000 },
    );
    const isThere = async () => await sdk.ci.getRun(`${ciConnectionId}:1:9100`).then(Boolean, () => false);
    await expect.poll(isThere, { timeout: 10_000 }).toBe(true);
    await reporter.ci.complete(`${ciConnectionId}:1:9100`, 'success');
    expect(await waiting).toMatchObject({ status: 'success', commitSha: SHA });
  }, 60_000);
});
