/** Discovery over the real door, from fake hosts on loopback that answer as the real ones do. */
import { beforeAll, describe, expect, it } from 'vitest';
import { azureTrees } from '../../../test/setup/forges/azure-trees.ts';
import { ownBackground } from '../../../test/setup/forges/background.ts';
import { bitbucketTrees } from '../../../test/setup/forges/bitbucket-trees.ts';
import type { Route } from '../../../test/setup/forges/fake-forge.ts';
import {
  fakeRepository,
  type FakeFile,
  type FakeRepository,
} from '../../../test/setup/forges/fake-repository.ts';
import { githubTrees } from '../../../test/setup/forges/github-trees.ts';
import { gitlabTrees } from '../../../test/setup/forges/gitlab-trees.ts';
import { has } from '../../../test/setup/needs.ts';
import { join, stranger } from '../../../test/setup/people.ts';
import type { TestServer } from '../../../test/setup/server.ts';
import type { Job } from '../../kit/jobs/index.ts';

const TOKEN = 'a-token-of-the-host';
const HOUR_MS = 3_600_000;
const TRIES_MAX = 20;

const CI = `name: CI
on: [push, pull_request]
jobs:
  test:
    runs-on: ubuntu-latest
    steps: [{ run: npm test }]
  lint:
    runs-on: ubuntu-latest
    steps: [{ run: npm run lint }]
`;
const DEPLOY = `name: Deploy
on: { push: { branches: [main] } }
jobs:
  ship:
    runs-on: ubuntu-latest
    environment: production
    steps: [{ run: ./ship.sh }]
`;
const GITLAB = `stages: [build]
compile: { stage: build, script: [make] }
`;
const CIRCLE = `version: 2.1
jobs: { unit: { docker: [{ image: node }], steps: [{ run: npm test }] } }
workflows: { main: { jobs: [unit] } }
`;
const AZURE = `trigger: [main]
pool: { vmImage: ubuntu-latest }
steps:
  - script: make
`;
const BITBUCKET = `pipelines:
  default:
    - step: { name: Build, script: [make] }
`;

/** A test needs this of a host of a kind. */
interface Host {
  readonly provider: string;
  readonly repositoryHost: string;
  readonly repositoryPath: string;
  readonly api: string;
  routes(repositories: readonly FakeRepository[]): readonly Route[];
  readonly file: string;
  readonly text: string;
  readonly jobs: number;
}

const HOSTS: readonly Host[] = [
  {
    provider: 'github',
    repositoryHost: 'github.com',
    repositoryPath: 'acme/app',
    api: '',
    routes: githubTrees,
    file: '.github/workflows/ci.yml',
    text: CI,
    jobs: 2,
  },
  {
    provider: 'gitlab',
    repositoryHost: 'gitlab.com',
    repositoryPath: 'acme/group/app',
    api: '/api/v4',
    routes: gitlabTrees,
    file: '.gitlab-ci.yml',
    text: GITLAB,
    jobs: 1,
  },
  {
    provider: 'bitbucket',
    repositoryHost: 'bitbucket.org',
    repositoryPath: 'acme/app',
    api: '/2.0',
    routes: bitbucketTrees,
    file: 'bitbucket-pipelines.yml',
    text: BITBUCKET,
    jobs: 1,
  },
  {
    provider: 'azure',
    repositoryHost: 'dev.azure.com',
    repositoryPath: 'acme/shop/_git/app',
    api: '',
    routes: azureTrees,
    file: 'azure-pipelines.yml',
    text: AZURE,
    jobs: 1,
  },
];
const [GITHUB, GITLAB_HOST] = HOSTS as [Host, Host, Host, Host];

describe.skipIf(!(await has('postgres')))('discovery', () => {
  const background = ownBackground();
  let server: TestServer;
  let as: string;
  let teamId: string;
  beforeAll(() => {
    ({ server } = background);
    ({ apiKey: as, teamId } = server.first);
  });

  const post = async (path: string, body: unknown = {}) => await background.call(`POST ${path}`, body);
  const get = async (path: string) => (await background.call(`GET ${path}`)).body;

  /** Makes a connection to a repository at a fake host of this kind. */
  async function connected(host: Host, files: Readonly<Record<string, FakeFile>>, provider = host.provider) {
    const { repositoryHost, repositoryPath: path } = host;
    const repository = fakeRepository(path, files);
    repository.token = TOKEN;
    const forge = await background.startForge(host.routes([repository]));
    const apiUrl = `${forge.url}${host.api}`;
    const id = await background.connect({ provider, host: repositoryHost, path, token: TOKEN, apiUrl });
    return { id, repository, forge };
  }

  /**
   * It works as the server's own worker, without its pauses: what failed is tried again until it is given up.
   */
  async function ended(id: string): Promise<Record<string, unknown>> {
    for (let tries = 0; ; tries += 1) {
      await background.work();
      const discovery = await get(`/ci/connections/${id}/discovery`);
      if (['succeeded', 'failed'].includes(String(discovery['state']))) return discovery;
      if (tries === TRIES_MAX) throw new Error(`still ${JSON.stringify(discovery)}`);
      background.later(HOUR_MS);
    }
  }
  async function discovered(id: string): Promise<Record<string, unknown>> {
    const asked = await post(`/ci/connections/${id}/discover`);
    expect(asked.status, asked.text).toBe(202);
    return await ended(id);
  }
  const pipelinesOf = async (id: string) =>
    (await get(`/ci/connections/${id}/pipelines`))['pipelines'] as Array<Record<string, unknown>>;
  const paths = (discovery: Record<string, unknown>, field: 'pipelines' | 'problems') =>
    (discovery[field] as Array<{ path: string }>).map(({ path }) => path);

  describe.each(HOSTS)('at $provider', (host) => {
    it('finds what the default branch defines, and defines the pipelines', async () => {
      const { id, repository } = await connected(host, {
        [host.file]: host.text,
        'README.md': 'x',
        'src/a.ts': 'x',
      });
      const discovery = await discovered(id);
      expect(discovery).toMatchObject({
        state: 'succeeded',
        branch: 'main',
        commitSha: repository.head,
        truncated: false,
        problems: [],
        pipelines: [{ provider: host.provider, path: host.file }],
      });
      expect(discovery).not.toHaveProperty('incompleteReason');
      const [pipeline, ...others] = await pipelinesOf(id);
      expect(others).toEqual([]);
      expect(pipeline).toMatchObject({ path: host.file, defined: true, deployDetected: false });
      expect(pipeline?.['jobs']).toHaveLength(host.jobs);
    });

    it('fails by the word for it: token, repository, branch, limit, outage', async () => {
      const { id, repository, forge } = await connected(host, { [host.file]: host.text });
      const failed = async () => String((await discovered(id))['error']);
      const wrong = { token: 'another', apiUrl: `${forge.url}${host.api}` };
      await server.call(`PUT /ci/connections/${id}/token`, { as, body: wrong });
      expect(await failed()).toMatch(/^unauthorised: /);
      await server.call(`PUT /ci/connections/${id}/token`, { as, body: { ...wrong, token: TOKEN } });
      repository.defaultBranch = 'trunk';
      expect(await failed()).toBe(
        `branch_not_found: ${host.repositoryPath} has no branch main; its default branch is trunk`,
      );
      repository.defaultBranch = 'main';
      let status = 429;
      const headers = { 'retry-after': '3600' };
      forge.instead(() =>
        status === 0 ? undefined : { status, ...(status === 429 ? { headers } : {}), body: {} },
      );
      expect(await failed()).toMatch(/^rate_limited: /);
      status = 503;
      forge.asked.length = 0;
      expect(await failed()).toMatch(/^provider_unavailable: /);
      expect(forge.asked).toHaveLength(3);
      status = 404;
      expect(await failed()).toMatch(/^repository_not_found: /);
      status = 0;
      expect(await discovered(id)).toMatchObject({ state: 'succeeded' });
    });

    it('does not take a list that was cut for all there is', async () => {
      const many = Object.fromEntries(
        Array.from({ length: 2_200 }, (_, n) => [`a-${String(n).padStart(4, '0')}`, 'x']),
      );
      const { id } = await connected(host, { ...many, [host.file]: host.text });
      const discovery = await discovered(id);
      expect(discovery).toMatchObject({ state: 'succeeded', truncated: true });
      expect(discovery['scanned']).toBeLessThanOrEqual(2_000);
      expect(String(discovery['incompleteReason'])).toMatch(/^the root has more than the 1500 entries/);
    });

    it('follows no links and no submodules, and says so', async () => {
      const { id } = await connected(host, {
        [host.file]: { link: '../../etc/passwd' },
        '.circleci': { module: 'elsewhere' },
        vendor: { module: 'elsewhere' },
      });
      const discovery = await discovered(id);
      expect(discovery['pipelines']).toEqual([]);
      expect(discovery['problems']).toEqual([
        { path: '.circleci', line: 0, message: 'a submodule, which is not followed', fatal: true },
        { path: host.file, line: 0, message: 'a symbolic link, which is not followed', fatal: true },
      ]);
    });
  });

  it('shows files of all systems, and makes pipelines of the own one', async () => {
    const files = {
      '.github/workflows/ci.yml': CI,
      '.github/workflows/deploy.yaml': DEPLOY,
      '.github/workflows/nested/no.yml': CI,
      '.gitlab-ci.yml': GITLAB,
      '.circleci/config.yml': CIRCLE,
      'bitbucket-pipelines.yml': BITBUCKET,
      'odd-name.yml': AZURE,
      'mkdocs.yml': 'site_name: x\n',
      Jenkinsfile: "node { stage('Build') { sh 'make' } }\n",
      '.drone.yml':
        'kind: pipeline\nname: default\nsteps: [{ name: test, image: go, commands: [go test] }]\n',
      '.buildkite/pipeline.yml': 'steps: [{ label: tests, command: make }]\n',
      '.buildkite/docker-compose.yml': 'services: { web: { image: x } }\n',
      '.azure-pipelines/steps.yml': 'parameters: []\nsteps: [{ script: make }]\n',
    };
    const { id, forge } = await connected(GITHUB, files);
    const discovery = await discovered(id);
    const found = discovery['pipelines'] as Array<{ provider: string; path: string }>;
    expect(found.map(({ provider, path }) => `${provider} ${path}`).sort()).toEqual([
      'azure odd-name.yml',
      'bitbucket bitbucket-pipelines.yml',
      'buildkite .buildkite/pipeline.yml',
      'circleci .circleci/config.yml',
      'drone .drone.yml',
      'github .github/workflows/ci.yml',
      'github .github/workflows/deploy.yaml',
      'gitlab .gitlab-ci.yml',
      'jenkins Jenkinsfile',
    ]);
    // Helpers in the folders of CI systems are nobody's loss.
    expect(discovery['problems'] ?? []).toEqual([]);
    const trees = forge.asked.filter(({ path }) => path.includes('/git/trees/'));
    expect(trees.length).toBeLessThanOrEqual(8);
    expect(await pipelinesOf(id)).toMatchObject([
      { name: 'CI', jobs: ['test', 'lint'], triggers: ['push', 'pull_request'], deployDetected: false },
      { name: 'Deploy', jobs: ['ship'], triggers: ['push'], deployDetected: true },
    ]);
    const other = await connected(GITHUB, files, 'generic');
    await discovered(other.id);
    expect(await pipelinesOf(other.id)).toHaveLength(9);
  });

  it('reads a CI system that keeps no repositories at the host that does', async () => {
    const { id } = await connected(
      GITHUB,
      { '.circleci/config.yml': CIRCLE, '.github/workflows/ci.yml': CI },
      'circleci',
    );
    await discovered(id);
    expect(await pipelinesOf(id)).toMatchObject([
      { name: 'main', path: '.circleci/config.yml', jobs: ['unit'] },
    ]);
  });

  it('reads files that did not change once', async () => {
    const { id, repository, forge } = await connected(GITHUB, {
      '.github/workflows/ci.yml': CI,
      '.github/workflows/deploy.yml': DEPLOY,
    });
    const first = await discovered(id);
    const blobs = () => forge.asked.filter(({ path }) => path.includes('/git/blobs/')).length;
    expect(blobs()).toBe(2);
    const changed = CI.replace('lint:', 'format:');
    repository.commit({ '.github/workflows/ci.yml': changed, '.github/workflows/deploy.yml': DEPLOY });
    const second = await discovered(id);
    expect(blobs()).toBe(3);
    const [ci, deploy] = second['pipelines'] as Array<{ jobs: string[] }>;
    expect(ci?.jobs).toEqual(['test', 'format']);
    expect(deploy).toEqual((first['pipelines'] as unknown[])[1]);
  });

  it('says what is wrong with a file, and keeps what was known of it', async () => {
    const { id, repository } = await connected(GITHUB, { '.github/workflows/ci.yml': CI });
    await discovered(id);
    const [known] = await pipelinesOf(id);
    repository.commit({
      '.github/workflows/ci.yml': 'name: CI\non: push\njobs: {{ x }}\n',
      '.github/workflows/empty.yml': '',
      '.github/workflows/huge.yml': `# ${'x'.repeat(600_000)}`,
      '.github/workflows/bytes.yml': Buffer.from([0x61, 0, 0xff]),
      '.github/workflows/odd.yml':
        'name: "a\\0b\\ud800"\non: push\njobs: { "\\0": { runs-on: x, steps: [] } }\n',
    });
    const discovery = await discovered(id);
    expect(paths(discovery, 'problems')).toEqual([
      '.github/workflows/bytes.yml',
      '.github/workflows/ci.yml',
      '.github/workflows/empty.yml',
      '.github/workflows/huge.yml',
    ]);
    expect(paths(discovery, 'pipelines')).toEqual(['.github/workflows/odd.yml']);
    expect(await pipelinesOf(id)).toContainEqual(known);
  });

  it('keeps pipelines with their runs when files are moved, renamed and removed', async () => {
    const { id, repository } = await connected(GITHUB, {
      '.github/workflows/a.yml': CI,
      '.github/workflows/b.yml': DEPLOY,
      '.github/workflows/c.yml': CI.replace('CI', 'Unused'),
    });
    const report = async (pipeline: string, externalRunId: string) => {
      const body = { ciConnectionId: id, externalRunId, status: 'success', pipelineName: pipeline };
      const made = await post('/ci/runs', body);
      expect(made.status, made.text).toBe(201);
      return String(made.body['pipelineId']);
    };
    // Before discovery the pipeline is known by its name alone.
    const ci = await report('CI', '1');
    await discovered(id);
    const deploy = await report('Deploy', '2');
    expect(await pipelinesOf(id)).toMatchObject([
      { id: ci, name: 'CI', path: '.github/workflows/a.yml', defined: true },
      { id: deploy, name: 'Deploy', defined: true },
      { name: 'Unused', defined: true },
    ]);
    repository.commit({
      '.github/workflows/moved.yml': CI,
      '.github/workflows/b.yml': DEPLOY.replace('Deploy', 'Release'),
    });
    await discovered(id);
    expect(await pipelinesOf(id)).toMatchObject([
      { id: ci, name: 'CI', path: '.github/workflows/moved.yml', defined: true },
      { id: deploy, name: 'Release', path: '.github/workflows/b.yml', defined: true },
    ]);
    repository.commit({ 'README.md': 'no CI any more' });
    expect(await discovered(id)).toMatchObject({ state: 'succeeded', pipelines: [], truncated: false });
    expect(await pipelinesOf(id)).toMatchObject([
      { id: ci, name: 'CI', path: '.github/workflows/moved.yml', defined: false, jobs: [], triggers: [] },
      { id: deploy, name: 'Release', defined: false, deployDetected: false },
    ]);
    expect((await get(`/ci/pipelines/${ci}/runs`))['runs']).toHaveLength(1);
  });

  it('follows the setting of a GitLab project that names its CI file', async () => {
    const { id, repository } = await connected(GITLAB_HOST, {
      '.gitlab-ci.yml': GITLAB,
      'ci/deep/main.yml': 'job: { script: [make] }\n',
    });
    repository.ciConfigPath = 'ci/deep/main.yml';
    expect(paths(await discovered(id), 'pipelines')).toEqual(['ci/deep/main.yml']);
    repository.ciConfigPath = 'ci/none.yml';
    expect(await discovered(id)).toMatchObject({
      pipelines: [],
      problems: [{ path: 'ci/none.yml', fatal: true }],
    });
    repository.ciConfigPath = 'main.yml@acme/templates';
    const elsewhere = await discovered(id);
    expect(elsewhere).toMatchObject({ pipelines: [], problems: [{ path: 'main.yml@acme/templates' }] });
    expect(String(elsewhere['incompleteReason'])).toContain('which is not in this repository');
  });

  it('is one at a time, and is taken up again when its worker died', async () => {
    const { id } = await connected(GITHUB, { '.github/workflows/ci.yml': CI });
    const asked = await Promise.all(
      Array.from({ length: 5 }, async () => await post(`/ci/connections/${id}/discover`)),
    );
    expect(new Set(asked.map(({ status }) => status))).toEqual(new Set([202]));
    expect(new Set(asked.map(({ body }) => body['id'])).size).toBe(1);
    const first = await ended(id);
    expect(first['id']).toBe(asked[0]?.body['id']);
    // A worker that took the job, began, and never ended.
    await server.db.sql`
      insert into ci_discoveries (id, team_id, connection_id, state, branch, requested_at)
      values ('cid_dead', ${teamId}, ${id}, 'running', 'main', now())`;
    await server.db.sql`
      insert into jobs (id, team_id, kind, key, lane, payload, state, attempts, due_at, created_at)
      values ('job_dead', ${teamId}, 'ci_discover', ${`${id} latest`}, ${id}, ${server.db.sql.json({ connectionId: id })}, 'running', 1,
        now() - interval '1 second', now())`;
    expect(await ended(id)).toMatchObject({ id: 'cid_dead', state: 'succeeded' });
  });

  it('counts what ended first when two workers search at once', async () => {
    const { id, repository, forge } = await connected(GITHUB, { '.github/workflows/ci.yml': CI });
    const { body: asked } = await post(`/ci/connections/${id}/discover`);
    const job: Job = {
      id: 'job_x',
      teamId,
      kind: 'ci_discover',
      key: `${id} latest`,
      payload: { connectionId: id },
      attempts: 1,
      epoch: 1,
      version: 1,
      lastError: null,
      retryInMs: undefined,
    };
    const { signal } = new AbortController();
    const run = async () => await background.kind('ci_discover').run(job, signal);
    // While one asks for a file, another one begins.
    let once = true;
    let other: Promise<void> | undefined;
    forge.instead(({ path }) => {
      if (!once || !path.includes('/git/blobs/')) return undefined;
      once = false;
      other = run();
      return undefined;
    });
    await run();
    await other;
    const discovery = await get(`/ci/connections/${id}/discovery`);
    expect(discovery).toMatchObject({ id: asked['id'], state: 'succeeded', commitSha: repository.head });
    expect(await pipelinesOf(id)).toHaveLength(1);
  });

  it('looks into eight folders, and says which it did not', async () => {
    const folders = Object.fromEntries(Array.from({ length: 9 }, (_, n) => [`.azure-${n}/main.yml`, AZURE]));
    const { id, forge } = await connected(GITHUB, { ...folders, '.github/workflows/ci.yml': CI });
    const discovery = await discovered(id);
    expect(discovery).toMatchObject({ state: 'succeeded', truncated: true });
    expect(String(discovery['incompleteReason'])).toContain('.azure-8: not looked into, 8 folders');
    expect(forge.asked.filter(({ path }) => path.includes('/git/trees/'))).toHaveLength(8);
    // The connection's own comes first.
    expect(await pipelinesOf(id)).toMatchObject([{ name: 'CI' }]);
  });

  it('fails when a listing is none, or the commit is gone', async () => {
    const { id, forge } = await connected(GITHUB, { '.github/workflows/ci.yml': CI });
    let answer: { status: number; body: unknown } = { status: 200, body: { tree: 'none' } };
    forge.instead(({ path }) => (path.includes('/git/trees/') ? answer : undefined));
    expect(String((await discovered(id))['error'])).toMatch(/^answer_invalid: .*without a list of entries/);
    answer = { status: 404, body: {} };
    expect(String((await discovered(id))['error'])).toMatch(
      /^answer_invalid: the branch's commit is not there/,
    );
    answer = { status: 200, body: { tree: [null, 1, { path: 'x' }, { path: '.github', type: 'tree' }] } };
    expect(await discovered(id)).toMatchObject({ state: 'succeeded', pipelines: [] });
  });

  it('remembers the last ten', async () => {
    const { id } = await connected(GITHUB, { '.github/workflows/ci.yml': CI });
    for (let n = 0; n < 8; n++) await discovered(id);
    await server.call(`PATCH /ci/connections/${id}`, { as, body: { defaultBranch: 'none' } });
    for (let n = 0; n < 4; n++) expect((await discovered(id))['state']).toBe('failed');
    const [row] = await server.db
      .sql`select count(*)::int as n from ci_discoveries where connection_id = ${id}`;
    expect(row?.['n']).toBe(10);
  });

  it('fails at a host that nobody said the kind of, and tells that a private repository needs a token', async () => {
    const body = { provider: 'jenkins', repositoryHost: 'git.example.org', repositoryPath: 'acme/app' };
    const { id: unknown } = (await post(`/teams/${teamId}/ci/connections`, body)).body;
    expect(String((await discovered(String(unknown)))['error'])).toMatch(/^unsupported_host: /);
    const { id } = await connected(GITHUB, { '.github/workflows/ci.yml': CI });
    expect((await server.call(`DELETE /ci/connections/${id}/token`, { as })).status).toBe(204);
    expect(String((await discovered(id))['error'])).toMatch(
      /^repository_not_found: .*a private repository needs a token$/,
    );
  });

  it('is refused while the connection is paused, to strangers, and to those who may only read', async () => {
    const { id } = await connected(GITHUB, { '.github/workflows/ci.yml': CI });
    expect((await server.call(`GET /ci/connections/${id}/discovery`, { as })).code).toBe('not_found');
    const { token: theirs } = await stranger(server);
    const discover = async (who: string) =>
      await server.call(`POST /ci/connections/${id}/discover`, { as: who, body: {} });
    expect((await discover(theirs)).code).toBe('not_found');
    expect((await server.call(`GET /ci/connections/${id}/discovery`, { as: theirs })).code).toBe('not_found');
    const { token: viewer } = await join(server, as, { teamId, role: 'viewer' });
    expect((await discover(viewer)).status).toBe(403);
    await server.call(`PATCH /ci/connections/${id}`, { as, body: { status: 'paused' } });
    expect((await post(`/ci/connections/${id}/discover`)).code).toBe('ci_connection_paused');
  });
});
