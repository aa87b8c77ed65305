import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { detectCi, withoutCredentials, type DetectedProvider, type Env } from './detect.ts';

const NAME = 'datadog-ci__packages__base__src__helpers____tests____ci-env__';
const vectors = (provider: string) =>
  JSON.parse(
    readFileSync(
      new URL(`../../test/fixtures/connect/env-vectors/${provider}/${NAME}${provider}.json`, import.meta.url),
      'utf8',
    ),
  ) as Array<[Record<string, string>, Record<string, string>]>;
const noFiles = () => undefined;
const SHA = 'a'.repeat(40);
const HEAD = 'b'.repeat(40);

/** Overrides of the program that the vectors are of; ours are flags. */
const OVERRIDES = {
  branch: 'DD_GIT_BRANCH',
  tag: 'DD_GIT_TAG',
  repositoryUrl: 'DD_GIT_REPOSITORY_URL',
} as const;

describe.each(['github', 'gitlab'])('variables of %s as others test them', (provider) => {
  it.each(vectors(provider).map(([env, expected], index) => [index, env, expected] as const))(
    '%i',
    (_index, env, expected) => {
      const found = detectCi(env, noFiles);
      const wanted = {
        branch: expected['git.branch'],
        tag: expected['git.tag'],
        repositoryUrl: expected['git.repository_url'],
      };
      for (const [name, variable] of Object.entries(OVERRIDES) as Array<[keyof typeof OVERRIDES, string]>)
        if (env[variable] === undefined) expect([name, found?.[name]]).toEqual([name, wanted[name]]);
      expect(found).toMatchObject({
        provider,
        runId: expected['ci.pipeline.id'],
        job: expected['ci.job.name'],
        jobId: expected['ci.job.id'],
        commit: expected['git.commit.sha'],
        url: expected['ci.pipeline.url'],
      });
    },
  );
});

/** As each system sets them, and what follows. */
const CASES: ReadonlyArray<readonly [DetectedProvider, Env, object]> = [
  [
    'bitbucket',
    {
      BITBUCKET_BUILD_NUMBER: '7',
      BITBUCKET_PIPELINE_UUID: '{u-1}',
      BITBUCKET_COMMIT: SHA,
      BITBUCKET_BRANCH: 'main',
      BITBUCKET_REPO_FULL_NAME: 'a/b',
    },
    {
      runId: 'u-1',
      attempt: 1,
      commit: SHA,
      branch: 'main',
      url: 'https://bitbucket.org/a/b/pipelines/results/7',
    },
  ],
  [
    'circleci',
    {
      CIRCLECI: 'true',
      CIRCLE_WORKFLOW_ID: 'w',
      CIRCLE_SHA1: SHA,
      CIRCLE_BRANCH: 'main',
      CIRCLE_PULL_REQUEST: 'https://github.com/a/b/pull/9',
      CIRCLE_JOB: 'test',
      CIRCLE_WORKFLOW_JOB_ID: 'j',
      CIRCLE_NODE_INDEX: '0',
      CIRCLE_NODE_TOTAL: '1',
    },
    {
      runId: 'w',
      jobId: 'j',
      jobIndex: undefined,
      commit: SHA,
      branch: 'main',
      pr: '9',
      job: 'test',
      url: 'https://app.circleci.com/pipelines/workflows/w',
    },
  ],
  [
    'buildkite',
    {
      BUILDKITE: 'true',
      BUILDKITE_BUILD_ID: 'b',
      BUILDKITE_COMMIT: 'HEAD',
      BUILDKITE_BRANCH: 'main',
      BUILDKITE_PULL_REQUEST: 'false',
      BUILDKITE_TAG: '',
      BUILDKITE_BUILD_URL: 'https://buildkite.com/a/b/builds/1',
    },
    { runId: 'b', commit: 'HEAD', branch: 'main', pr: undefined, url: 'https://buildkite.com/a/b/builds/1' },
  ],
  [
    'drone',
    {
      DRONE: 'true',
      DRONE_REPO: 'a/b',
      DRONE_BUILD_NUMBER: '5',
      DRONE_COMMIT_SHA: SHA,
      DRONE_BRANCH: 'main',
      DRONE_SOURCE_BRANCH: 'topic',
      DRONE_PULL_REQUEST: '3',
      DRONE_BUILD_LINK: 'https://d/a/b/5',
      DRONE_STAGE_NAME: 'arm',
      DRONE_STEP_NAME: 'test',
    },
    {
      jobId: 'arm/test',
      job: 'test',
      stage: 'arm',
      runId: 'a/b#5',
      commit: SHA,
      branch: 'topic',
      pr: '3',
      url: 'https://d/a/b/5',
    },
  ],
  [
    'azure',
    {
      TF_BUILD: 'True',
      BUILD_BUILDID: '11',
      BUILD_SOURCEVERSION: SHA,
      SYSTEM_PULLREQUEST_SOURCECOMMITID: HEAD,
      SYSTEM_PULLREQUEST_SOURCEBRANCH: 'refs/heads/topic',
      BUILD_SOURCEBRANCH: 'refs/pull/2/merge',
      SYSTEM_TEAMFOUNDATIONSERVERURI: 'https://dev.azure.com/o/',
      SYSTEM_TEAMPROJECTID: 'p',
      SYSTEM_STAGEATTEMPT: '2',
    },
    {
      runId: '11',
      attempt: 2,
      commit: HEAD,
      branch: 'topic',
      url: 'https://dev.azure.com/o/p/_build/results?buildId=11',
    },
  ],
  [
    'jenkins',
    {
      JENKINS_URL: 'https://ci/',
      BUILD_NUMBER: '3',
      BUILD_URL: 'https://ci/job/app/3/',
      GIT_COMMIT: SHA,
      GIT_BRANCH: 'origin/main',
      JOB_NAME: 'app/KEY=a,B=c/main',
    },
    {
      runId: 'https://ci/job/app/3/',
      commit: SHA,
      branch: 'main',
      pipeline: 'app',
      url: 'https://ci/job/app/3/',
    },
  ],
  ['generic', { CI: 'true' }, { also: [] }],
];

describe('detectCi()', () => {
  it.each(CASES)('%s', (provider, env, expected) => {
    expect(detectCi(env, noFiles)).toMatchObject({ provider, ...expected });
  });

  it("takes a pull request's head, not the merge that is built", () => {
    const env = {
      GITHUB_ACTIONS: 'true',
      GITHUB_RUN_ID: '1',
      GITHUB_SHA: SHA,
      GITHUB_EVENT_PATH: '/e',
      GITHUB_HEAD_REF: 'topic',
      GITHUB_REF: 'refs/pull/4/merge',
    };
    const event = JSON.stringify({ pull_request: { number: 4, head: { sha: HEAD } } });
    expect(detectCi(env, (path) => (path === '/e' ? event : undefined))).toMatchObject({
      commit: HEAD,
      branch: 'topic',
      pr: '4',
    });
    for (const broken of ['', 'null', '[]', '{"pull_request":3}', '{'])
      expect(detectCi(env, () => broken)).toMatchObject({ commit: SHA });
  });

  it('tells a tag from a branch', () => {
    const env = {
      GITHUB_ACTIONS: 'true',
      GITHUB_REF: 'refs/tags/v1',
      GITHUB_REF_NAME: 'v1',
      GITHUB_REF_TYPE: 'tag',
    };
    const found = detectCi(env, noFiles);
    expect([found?.tag, found?.branch]).toEqual(['v1', undefined]);
    const gitlab = detectCi({ GITLAB_CI: 'true', CI_COMMIT_TAG: 'v1', CI_COMMIT_REF_NAME: 'v1' }, noFiles);
    expect([gitlab?.tag, gitlab?.branch]).toEqual(['v1', undefined]);
  });

  it.each([
    ['refs/heads/origin/main', { branch: 'origin/main' }],
    ['refs/heads/pull/12', { branch: 'pull/12' }],
    ['refs/remotes/origin/main', { branch: 'main' }],
    ['pull/12-fix', { branch: 'pull/12-fix' }],
    ['pull/12/fix', { branch: 'pull/12/fix' }],
    ['pull/12', {}],
    ['refs/pull/12/merge', {}],
    ['merge-requests/12/head', {}],
    ['refs/heads/tags/v1', { tag: 'v1' }],
  ])('takes %s for what it is', (ref, expected) => {
    const found = detectCi({ TF_BUILD: 'True', BUILD_SOURCEBRANCH: ref }, noFiles);
    expect({ branch: found?.branch, tag: found?.tag }).toEqual({
      branch: undefined,
      tag: undefined,
      ...expected,
    });
  });

  it('takes plain names as they are, however they read', () => {
    const runner = { GITHUB_ACTIONS: 'true', GITHUB_REF_TYPE: 'branch' };
    const pull = { ...runner, GITHUB_HEAD_REF: 'origin/main', GITHUB_REF: 'refs/pull/4/merge' };
    const plain: ReadonlyArray<readonly [Env, string | undefined]> = [
      [pull, 'origin/main'],
      [{ ...pull, GITHUB_HEAD_REF: 'tags/x' }, 'tags/x'],
      [{ ...pull, GITHUB_HEAD_REF: '' }, undefined],
      [{ ...runner, GITHUB_REF: 'refs/heads/tags/x', GITHUB_REF_NAME: 'tags/x' }, 'tags/x'],
      [{ GITLAB_CI: 'true', CI_COMMIT_BRANCH: 'tags/x', CI_COMMIT_REF_NAME: 'tags/x' }, 'tags/x'],
      [{ GITLAB_CI: 'true', CI_MERGE_REQUEST_SOURCE_BRANCH_NAME: 'origin/main' }, 'origin/main'],
      [{ JENKINS_URL: 'https://ci/', BUILD_ID: '1', CHANGE_BRANCH: 'pull/12' }, 'pull/12'],
    ];
    for (const [env, branch] of plain)
      expect(detectCi(env, noFiles), JSON.stringify(env)).toMatchObject({ branch });
  });

  it.each([
    { JENKINS_URL: 'https://ci/', BUILD_NUMBER: '3', BRANCH_NAME: 'v1', TAG_NAME: 'v1' },
    { BUILDKITE: 'true', BUILDKITE_BRANCH: 'v1', BUILDKITE_TAG: 'v1' },
    { GITLAB_CI: 'true', CI_COMMIT_REF_NAME: 'v1', CI_COMMIT_TAG: 'v1' },
  ])('gives a build of a tag no branch of its name: %j', (env) => {
    const found = detectCi(env, noFiles);
    expect([found?.tag, found?.branch]).toEqual(['v1', undefined]);
  });

  it('cuts from the name of a Jenkins job what is not its own', () => {
    const env = { JENKINS_URL: 'https://ci/', BUILD_NUMBER: '3' };
    const names: ReadonlyArray<readonly [Env, string]> = [
      [{ JOB_NAME: 'dev/app/PR-3', BRANCH_NAME: 'PR-3', CHANGE_BRANCH: 'topic' }, 'dev/app'],
      [{ JOB_NAME: 'app/a%2Fb', BRANCH_NAME: 'a/b' }, 'app'],
      [{ JOB_NAME: 'app', BRANCH_NAME: 'app' }, 'app'],
    ];
    for (const [more, pipeline] of names)
      expect(detectCi({ ...env, ...more }, noFiles)).toMatchObject({ pipeline });
  });

  it('tells the nodes of a parallel CircleCI job apart', () => {
    const env = { CIRCLECI: 'true', CIRCLE_JOB: 'test', CIRCLE_WORKFLOW_JOB_ID: 'j', CIRCLE_NODE_TOTAL: '2' };
    for (const node of [0, 1])
      expect(detectCi({ ...env, CIRCLE_NODE_INDEX: String(node) }, noFiles)).toMatchObject({
        job: 'test',
        jobId: undefined,
        jobIndex: node,
      });
  });

  it('asks for one variable of each system, in the order of the documents, and tells of the others', () => {
    const markers: ReadonlyArray<readonly [DetectedProvider, string, string]> = [
      ['github', 'GITHUB_ACTIONS', 'true'],
      ['gitlab', 'GITLAB_CI', 'true'],
      ['bitbucket', 'BITBUCKET_BUILD_NUMBER', '7'],
      ['jenkins', 'JENKINS_URL', 'https://ci/'],
      ['circleci', 'CIRCLECI', 'true'],
      ['buildkite', 'BUILDKITE', 'true'],
      ['drone', 'DRONE', 'true'],
      ['azure', 'TF_BUILD', 'True'],
    ];
    markers.forEach(([provider, name, value], place) => {
      expect(detectCi({ [name]: value }, noFiles)).toMatchObject({ provider, also: [] });
      const later = markers.slice(place);
      // As they come in a job that sets them in another order.
      const env = Object.fromEntries(later.toReversed().map((marker) => [marker[1], marker[2]]));
      const also = later.slice(1).map(([other]) => other);
      expect(detectCi(env, noFiles)).toMatchObject({ provider, also });
    });
    const nested = {
      JENKINS_URL: 'https://ci/',
      BUILD_NUMBER: '3',
      CIRCLECI: 'true',
      CIRCLE_WORKFLOW_ID: 'w',
    };
    expect(detectCi(nested, noFiles)).toMatchObject({ provider: 'jenkins' });
    expect(detectCi(nested, noFiles, 'circleci')).toMatchObject({ provider: 'circleci', runId: 'w' });
  });

  it('is not in CI without a marker, with an empty or a false one, or at a look-alike', () => {
    expect(detectCi({}, noFiles)).toBeUndefined();
    expect(detectCi({ GITHUB_ACTIONS: '', CI: 'false' }, noFiles)).toBeUndefined();
    expect(detectCi({ GITHUB_ACTIONS: 'true', GITEA_ACTIONS: 'true' }, noFiles)).toBeUndefined();
  });
});

describe('withoutCredentials()', () => {
  it.each([
    ['https://u:p@host/a.git', 'https://host/a.git'],
    ['https://host/a_@_b.git', 'https://host/a_@_b.git'],
    ['git@host:a/b.git', 'git@host:a/b.git'],
  ])('%s', (url, expected) => expect(withoutCredentials(url)).toBe(expected));
});
