/**
 * These are whole flows of external CI against a running platform: webhooks that the provider's own
 * subscription sends, direct reports and id_tokens, mixed, out of order, delivered twice, with a retry and a
 * re-run, and a build of the service beside them. However they arrive, one right timeline comes of it.
 */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { createSvcSDK, type Environment, type SvcSDK, type TimelineEntry } from '@svc/sdk';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { proof } from '../setup/ci/sender.ts';
import type { CiProvider } from '../../server/connect/providers/words.ts';
import { startFakeForge, type FakeForge } from '../setup/forges/fake-forge.ts';
import { fakeHooks, githubHooks } from '../setup/forges/github-hooks.ts';
import { gitlabHooks } from '../setup/forges/gitlab-hooks.ts';
import { githubClaims, gitlabClaims, startOidcIssuers, type OidcIssuers } from '../setup/oidc-issuer.ts';
import { has } from '../setup/needs.ts';
import { runsItself } from '../setup/own-runners.ts';
import { startTestServer, type TestServer } from '../setup/server.ts';
import { waitFor } from '../setup/wait-for.ts';

const TOKEN = 'token-of-the-forge';
const OLD = 'a'.repeat(40);
const NEW = 'b'.repeat(40);
const FETCH_MS = 20_000;

/** One thing that reaches the platform. */
type Act = () => Promise<void>;

interface Place {
  readonly environment: Environment;
  readonly connectionId: string;
  /** Id at the provider. No two connections may take id_tokens of one repository. */
  readonly repositoryId: number;
  /** Address and secret that the subscription at the provider names. */
  readonly hook: { readonly url: string; readonly secret: string };
}

describe.skipIf(!(await has('postgres')))('flows of external CI', () => {
  let server: TestServer;
  let sdk: SvcSDK;
  let issuers: OidcIssuers;
  const forges: FakeForge[] = [];
  beforeAll(async () => {
    issuers = await startOidcIssuers();
    server = await startTestServer({ env: issuers.env });
    sdk = createSvcSDK({ baseUrl: server.baseUrl, apiKey: server.first.apiKey });
  }, 120_000);
  afterAll(async () => {
    await server.stop();
    await issuers.close();
    for (const forge of forges) await forge.close();
  });

  /** A team with an environment and a connection whose subscription the provider was asked for. */
  const place = async (provider: 'github' | 'gitlab', repositoryId: number): Promise<Place> => {
    const hooks = fakeHooks(TOKEN, 'acme/app');
    const forge = await startFakeForge(
      provider === 'github' ? githubHooks(hooks) : gitlabHooks(hooks, { canSign: true }),
    );
    forges.push(forge);
    const { id: teamId } = await sdk.teams.create(`team-${repositoryId}`);
    const staff = createSvcSDK({ baseUrl: server.baseUrl, apiKey: server.first.staffApiKey });
    await runsItself(staff, teamId);
    const project = await sdk.projects.create({ name: 'app', teamId });
    const environment = await sdk.environments.create(project.id, {
      name: 'production',
      branch: 'main',
      repository: `https://${provider}.com/acme/app.git`,
    });
    const { id } = await sdk.ci.createConnection(teamId, {
      provider,
      repositoryHost: `${provider}.com`,
      repositoryPath: 'acme/app',
      projectId: project.id,
      ingestMode: 'both',
    });
    await sdk.ci.setConnectionToken(id, TOKEN, { apiUrl: forge.url });
    const webhook = await waitFor('the subscription', async () => {
      const now = await sdk.ci.getWebhook(id);
      return now.subscription === 'active' ? now : undefined;
    });
    const [made] = hooks.hooks;
    const said = { ...made, ...(made?.['config'] as object | undefined) } as Record<string, unknown>;
    const hook = {
      url: String(said['url']),
      secret: String(said['secret'] ?? said['signing_token'] ?? said['token']),
    };
    expect(hook.url).toBe(webhook.url);
    return { environment, connectionId: id, repositoryId, hook };
  };

  interface Sender {
    readonly provider: CiProvider;
    readonly scheme: 'signature' | 'token';
    readonly headers: Record<string, string>;
  }

  const deliver =
    ({ hook }: Place, { provider, scheme, headers }: Sender, payload: object): Act =>
    async () => {
      const body = JSON.stringify(payload);
      const deliveryId = createHash('sha256').update(body).digest('hex').slice(0, 32);
      const response = await fetch(hook.url, {
        method: 'POST',
        body,
        headers: {
          'content-type': 'application/json',
          ...headers,
          ...proof({ provider, scheme, secret: hook.secret, deliveryId }, body),
        },
        signal: AbortSignal.timeout(FETCH_MS),
      });
      if (!response.ok)
        throw new Error(`a delivery was answered with ${response.status}: ${await response.text()}`);
    };

  /** Returns the report that a run of the old commit runs. */
  const begun = ({ connectionId: ciConnectionId }: Place, externalRunId: string) =>
    ({ ciConnectionId, externalRunId, status: 'running', commitSha: OLD, branch: 'main' }) as const;

  /** Each act twice, in an order that the seed decides, a few at a time. */
  const perform = async (acts: readonly Act[], seed: number): Promise<void> => {
    const place = (index: number) => createHash('sha256').update(`${seed}/${index}`).digest('hex');
    const all = [...acts, ...acts]
      .map((act, index) => ({ act, place: place(index) }))
      .sort((a, b) => (a.place < b.place ? -1 : 1));
    for (let from = 0; from < all.length; from += 4)
      await Promise.all(all.slice(from, from + 4).map(async ({ act }) => await act()));
  };

  const settled = async ({ connectionId }: Place): Promise<void> => {
    await waitFor('the deliveries to be read', async () => {
      const deliveries = await sdk.ci.listDeliveries(connectionId);
      const open = deliveries.filter(({ state }) => state === 'received' || state === 'failed');
      if (open.some(({ state }) => state === 'failed')) throw new Error(JSON.stringify(open));
      return open.length === 0 ? deliveries : undefined;
    });
  };

  /** Returns what is read by people of the timeline, without what differs from one round to the next. */
  const told = async ({ environment }: Place) =>
    (await sdk.timeline.get(environment.id, { limit: 200 })).entries.map((entry: TimelineEntry) => {
      const { kind, name, status, attempt, commitSha, branch, reason, provider } = entry;
      return { kind, name, status, attempt, commitSha, branch, reason, provider };
    });

  describe('GitHub-like', () => {
    interface Shown {
      readonly id: number;
      readonly attempt: number;
      readonly status: string;
      readonly conclusion?: string;
    }

    /** Returns a webhook of a run, sent at `second` of the attempt. */
    const run = (
      here: Place,
      { id, sha, attempt, second, status, conclusion }: Shown & { sha: string; second: number },
    ) => ({
      action: 'whatever',
      repository: { id: here.repositoryId, full_name: 'acme/app' },
      workflow_run: {
        id,
        name: 'CI',
        path: '.github/workflows/ci.yml',
        run_attempt: attempt,
        run_number: id,
        event: 'push',
        status,
        conclusion: conclusion ?? null,
        head_sha: sha,
        head_branch: 'main',
        html_url: `https://github.com/acme/app/actions/runs/${id}`,
        created_at: `2026-11-01T10:${id % 60}:00Z`,
        run_started_at: `2026-11-01T10:${id % 60}:${10 * attempt}Z`,
        updated_at: `2026-11-01T10:${id % 60}:${10 * attempt + second}Z`,
      },
    });
    const job = (here: Place, { id, attempt, status, conclusion }: Shown) => ({
      action: 'whatever',
      repository: { id: here.repositoryId, full_name: 'acme/app' },
      workflow_job: {
        id,
        run_id: 5001,
        run_attempt: attempt,
        name: 'test',
        workflow_name: 'CI',
        status,
        conclusion: conclusion ?? null,
        head_sha: OLD,
        head_branch: 'main',
        started_at: '2026-11-01T10:21:11Z',
        completed_at: conclusion === undefined ? null : '2026-11-01T10:21:15Z',
      },
    });

    const acts = (here: Place): readonly Act[] => {
      const hook = (event: string, payload: object): Act =>
        deliver(
          here,
          { provider: 'github', scheme: 'signature', headers: { 'x-github-event': event } },
          payload,
        );
      /** Returns a report that the job itself has sent, with an id_token of its own for each call. */
      const oidc =
        (attempt: number, call: (sdk: ReturnType<typeof createSvcSDK>) => Promise<unknown>): Act =>
        async () => {
          const claims = githubClaims({
            repository_id: String(here.repositoryId),
            run_id: '5001',
            run_attempt: String(attempt),
            sha: OLD,
          });
          const token = await issuers.sign('github', claims);
          await call(createSvcSDK({ baseUrl: server.baseUrl, token, maxRetries: 0 }));
        };
      const old = (fields: Omit<Shown, 'id'> & { second: number }): Act =>
        hook('workflow_run', run(here, { id: 5001, sha: OLD, ...fields }));
      const young = (fields: Omit<Shown, 'id' | 'attempt'> & { second: number }): Act =>
        hook('workflow_run', run(here, { id: 5002, sha: NEW, attempt: 1, ...fields }));
      const name = (attempt: number) => `${here.connectionId}:${attempt}:5001`;
      return [
        old({ attempt: 1, second: 0, status: 'requested' }),
        old({ attempt: 1, second: 1, status: 'in_progress' }),
        old({ attempt: 1, second: 6, status: 'completed', conclusion: 'failure' }),
        old({ attempt: 2, second: 0, status: 'queued' }),
        old({ attempt: 2, second: 1, status: 'in_progress' }),
        old({ attempt: 2, second: 7, status: 'completed', conclusion: 'success' }),
        hook('workflow_job', job(here, { id: 71, attempt: 1, status: 'in_progress' })),
        hook('workflow_job', job(here, { id: 71, attempt: 1, status: 'completed', conclusion: 'failure' })),
        hook('workflow_job', job(here, { id: 72, attempt: 2, status: 'queued' })),
        hook('workflow_job', job(here, { id: 72, attempt: 2, status: 'completed', conclusion: 'success' })),
        young({ second: 0, status: 'queued' }),
        young({ second: 5, status: 'completed', conclusion: 'cancelled' }),
        hook('star', { action: 'created', repository: { id: here.repositoryId, full_name: 'acme/app' } }),
        oidc(1, async (sdk) => sdk.ci.report({ ...begun(here, '5001'), pipelineName: 'CI' })),
        oidc(1, async (sdk) => sdk.ci.complete(name(1), 'failed')),
        oidc(2, async (sdk) => sdk.ci.complete(name(2), 'success', 7_000)),
      ];
    };

    it.each([1, 2, 3])('gives one right timeline, in order %i', async (seed) => {
      const here = await place('github', 1_000 + seed);
      const build = await sdk.builds.create(here.environment.id);
      await perform(acts(here), seed);
      await settled(here);

      const run = { kind: 'ci_run', name: 'CI', branch: 'main', provider: 'github', reason: undefined };
      expect((await told(here)).filter(({ kind }) => kind === 'ci_run')).toEqual([
        { ...run, status: 'cancelled', attempt: 1, commitSha: NEW },
        { ...run, status: 'success', attempt: 2, commitSha: OLD },
        { ...run, status: 'failed', attempt: 1, commitSha: OLD },
      ]);
      const { entries } = await sdk.timeline.get(here.environment.id);
      expect(entries.filter(({ kind }) => kind === 'build').map(({ id }) => id)).toEqual([build.id]);

      const jobs = async (attempt: number) =>
        (await sdk.ci.listRunJobs(`${here.connectionId}:${attempt}:5001`)).map(
          ({ externalJobId, name, status }) => [externalJobId, name, status],
        );
      expect(await jobs(1)).toEqual([['71', 'test', 'failed']]);
      expect(await jobs(2)).toEqual([['72', 'test', 'success']]);
      const ledger = await sdk.webhooks.deliveries(here.environment.id, { limit: 200 });
      expect(ledger.filter(({ state }) => state === 'ignored')).toHaveLength(1);
      expect(ledger).toHaveLength(13);
      expect(ledger.every(({ repeats }) => repeats === 1)).toBe(true);
    });
  });

  describe('GitLab-like', () => {
    const pipeline = (here: Place, status: string, jobs: readonly (readonly [number, string])[]) => ({
      object_kind: 'pipeline',
      object_attributes: {
        id: 31,
        iid: 3,
        name: 'Release',
        status,
        sha: OLD,
        ref: 'main',
        tag: false,
        source: 'push',
        created_at: '2026-11-01 10:00:00 UTC',
        finished_at: /failed|success/.test(status) ? '2026-11-01 10:05:00 UTC' : null,
      },
      project: { id: here.repositoryId, path_with_namespace: 'acme/app' },
      builds: jobs.map(([id, word]) => ({ id, status: word, name: 'test', stage: 'test' })),
    });

    const acts = (here: Place): readonly Act[] => {
      const scheme = here.hook.secret.startsWith('whsec_') ? 'signature' : 'token';
      const hook = (payload: object): Act =>
        deliver(
          here,
          { provider: 'gitlab', scheme, headers: { 'x-gitlab-event': 'Pipeline Hook' } },
          payload,
        );
      /** `svc ci report` in a job with an id_token, which the shell has but once. */
      const cli =
        (...flags: string[]): Act =>
        async () => {
          const token = await issuers.sign(
            'gitlab',
            gitlabClaims({
              job_project_id: String(here.repositoryId),
              project_id: String(here.repositoryId),
              pipeline_id: '31',
              sha: OLD,
            }),
          );
          await promisify(execFile)(
            process.execPath,
            ['cli/bin/svc.mjs', 'ci', 'report', '--connection', here.connectionId, ...flags],
            {
              cwd: new URL('../..', import.meta.url).pathname,
              timeout: FETCH_MS,
              env: {
                PATH: process.env['PATH'],
                HOME: server.dataDir,
                SVC_BASE_URL: server.baseUrl,
                SVC_ID_TOKEN: token,
                GITLAB_CI: 'true',
                CI: 'true',
                CI_PIPELINE_ID: '31',
                CI_JOB_ID: '901',
                CI_JOB_NAME: 'test',
                CI_COMMIT_SHA: OLD,
                CI_COMMIT_BRANCH: 'main',
                CI_COMMIT_REF_NAME: 'main',
                CI_PIPELINE_URL: 'https://gitlab.com/acme/app/-/pipelines/31',
              },
            },
          );
        };
      const key: Act = async () => void (await sdk.ci.report(begun(here, '31')));
      return [
        hook(pipeline(here, 'pending', [[10, 'pending']])),
        hook(pipeline(here, 'running', [[10, 'running']])),
        hook(pipeline(here, 'failed', [[10, 'failed']])),
        hook(pipeline(here, 'running', [[12, 'running']])),
        hook(pipeline(here, 'success', [[12, 'success']])),
        key,
        cli('--status', 'running'),
      ];
    };

    it.each([4, 5])('gives one right timeline, in order %i', async (seed) => {
      const here = await place('gitlab', 2_000 + seed);
      await perform(acts(here), seed);
      await settled(here);
      const run = { kind: 'ci_run', name: 'Release', branch: 'main', provider: 'gitlab', reason: undefined };
      expect(await told(here)).toEqual([{ ...run, status: 'success', attempt: 1, commitSha: OLD }]);
    });
  });
});
