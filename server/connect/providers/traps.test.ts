/** These tests have payloads that are not what they look like. */
import { describe, expect, it } from 'vitest';
import { accept, settle } from '../runs/accept.ts';
import type { CiProvider } from './words.ts';
import { PROVIDERS } from './known.ts';
import { joinAll, reportOf } from '../../../test/setup/ci/reports.ts';
import { bitbucketSpan } from '../../../test/setup/ci/sequences.ts';

const [HEAD, MERGE] = ['a'.repeat(40), 'b'.repeat(40)];

/** A pipeline of GitLab whose source is a branch called main. */
const mergeRequest = (projects: object) => ({
  object_kind: 'pipeline',
  object_attributes: {
    id: 31,
    status: 'running',
    sha: MERGE,
    ref: 'refs/merge-requests/5/merge',
    source: 'merge_request_event',
  },
  project: { id: 7 },
  merge_request: { source_branch: 'main', ...projects },
});

describe('traps', () => {
  it('GitHub: statuses that we posted ourselves do not come back', () => {
    const status = { context: 'SVC/build', sha: 'a'.repeat(40), state: 'success' };
    expect(PROVIDERS.github.normalise({ 'x-github-event': 'status' }, status)).toHaveProperty('ignored');
    const theirs = reportOf(
      'github',
      { 'x-github-event': 'status' },
      { ...status, context: 'CI/Build', state: 'error' },
    );
    expect(theirs.run.externalRunId).toBe(`${'a'.repeat(40)}:ci/build`);
    expect(theirs.event).toMatchObject({ status: 'failed', reason: 'error' });
  });

  it('GitLab: a job that may fail is soft; its times are not ISO', () => {
    const payload = {
      object_kind: 'pipeline',
      object_attributes: {
        id: 1,
        status: 'success',
        ref: 'v1',
        tag: true,
        sha: 'b'.repeat(40),
        created_at: '2016-08-12 15:23:28 UTC',
        finished_at: '2016-08-12 15:26:29 UTC',
        duration: 63,
      },
      builds: [
        {
          id: 5,
          name: 'lint',
          stage: 'test',
          status: 'failed',
          allow_failure: true,
          failure_reason: 'script_failure',
          started_at: '2016-08-12 15:25:00 UTC',
        },
        { id: 4, name: 'unit', stage: 'test', status: 'success', started_at: '2016-08-12 15:24:00 UTC' },
      ],
    };
    const { event, jobs } = reportOf('gitlab', {}, payload);
    expect(event.facts).toMatchObject({
      tag: 'v1',
      queuedAt: '2016-08-12T15:23:28.000Z',
      startedAt: '2016-08-12T15:24:00.000Z',
      finishedAt: '2016-08-12T15:26:29.000Z',
      durationMs: 63_000,
    });
    expect(event.facts.branch).toBeUndefined();
    expect(jobs[0]).toMatchObject({ status: 'failed', soft: true, reason: 'script_failure' });
  });

  it('Drone: the branch of a pull request is its source, 0 is no time', () => {
    const build = {
      id: 1,
      number: 7,
      status: 'running',
      event: 'pull_request',
      source: 'topic',
      target: 'main',
      ref: 'refs/pull/3/head',
      after: 'c'.repeat(40),
      created: 1_700_000_000,
      started: 0,
      finished: 1_700_000_001,
    };
    const payload = { repo: { slug: 'a/b' }, system: { link: 'https://drone.example.com' }, build };
    const { event, aliases } = reportOf('drone', {}, payload);
    expect(aliases).toEqual(['a/b#7']);
    expect(event.facts).toMatchObject({
      branch: 'topic',
      queuedAt: '2023-11-14T22:13:20.000Z',
      url: 'https://drone.example.com/a/b/7',
    });
    expect([event.facts.startedAt, event.facts.finishedAt]).toEqual([undefined, undefined]);
  });

  it('Bitbucket: a run from its spans', () => {
    const payload = bitbucketSpan(
      {
        'pipeline_run.uuid': { stringValue: '{abc}' },
        'pipeline.uuid': { stringValue: '{def}' },
        'pipeline.build_number': { intValue: '17' },
        'pipeline.repository.uuid': { stringValue: '{repo}' },
        'pipeline.state.result.name': { stringValue: 'COMPLETE' },
        'pipeline.target.ref_type': { stringValue: 'branch' },
        'pipeline.target.ref_name': { stringValue: 'main' },
      },
      { name: 'bbc.command' },
    );
    expect(reportOf('bitbucket', { 'x-event-key': 'pipeline:span_created' }, payload)).toMatchObject({
      run: { externalRunId: 'abc' },
      aliases: ['17', 'def'],
      event: { status: 'success', facts: { branch: 'main', finishedAt: '2023-11-14T22:14:20.000Z' } },
    });
  });

  it.each([
    'https://bitbucket.org/acme/app/addon/pipelines/home#!/results/3',
    'https://bitbucket.org/acme/app/pipelines/results/3',
  ])('Bitbucket: the status of a run of Pipelines at %s', (url) => {
    const payload = {
      repository: { uuid: '{u}', full_name: 'acme/app' },
      commit_status: {
        key: '-1879968562',
        state: 'SUCCESSFUL',
        name: 'Pipeline #3 for feature/x',
        refname: 'feature/x',
        commit: { hash: HEAD },
        url,
      },
    };
    expect(reportOf('bitbucket', {}, payload)).toMatchObject({
      run: { externalRunId: '3' },
      event: { facts: { name: 'acme/app', branch: 'feature/x', url } },
    });
  });

  describe('a fork has branches of its own', () => {
    const github = (head: unknown) => ({
      repository: { id: 1, full_name: 'acme/app' },
      workflow_run: {
        id: 42,
        status: 'completed',
        conclusion: 'success',
        event: 'pull_request',
        head_branch: 'main',
        head_sha: HEAD,
        ...(head === undefined ? {} : { head_repository: head }),
      },
    });
    const drone = (sourceRepo: string | undefined) => ({
      repo: { slug: 'acme/app' },
      build: {
        id: 1,
        number: 7,
        status: 'running',
        event: 'pull_request',
        source: 'main',
        source_repo: sourceRepo,
        target: 'main',
        after: HEAD,
      },
    });
    const azure = (isFork: string) => ({
      eventType: 'build.complete',
      resource: {
        id: 3,
        status: 'succeeded',
        sourceBranch: 'refs/pull/5/merge',
        sourceVersion: MERGE,
        triggerInfo: {
          'pr.sourceSha': HEAD,
          'pr.sourceBranch': 'refs/heads/main',
          'pr.isFork': isFork,
        },
      },
    });
    it.each<[CiProvider, string, unknown, string | undefined]>([
      ['github', 'of a fork', github({ id: 2 }), undefined],
      ['github', 'of a fork that is gone', github(null), undefined],
      ['github', 'of the repository', github({ id: 1 }), 'main'],
      ['github', 'of it does not say', github(undefined), 'main'],
      ['gitlab', 'of a fork', mergeRequest({ source_project_id: 9, target_project_id: 7 }), undefined],
      ['gitlab', 'of the repository', mergeRequest({ source_project_id: 7, target_project_id: 7 }), 'main'],
      [
        'gitlab',
        'of the fork, in the fork',
        mergeRequest({ source_project_id: 7, target_project_id: 1 }),
        'main',
      ],
      ['drone', 'of a fork', drone('ann/app'), undefined],
      ['drone', 'of the repository', drone('Acme/app'), 'main'],
      ['drone', 'of it does not say', drone(undefined), 'main'],
      ['azure', 'of a fork', azure('True'), undefined],
      ['azure', 'of the repository', azure('False'), 'main'],
    ])('%s %s', (provider, _of, payload, branch) => {
      const headers: Record<string, string> =
        provider === 'github' ? { 'x-github-event': 'workflow_run' } : {};
      const { facts } = reportOf(provider, headers, payload).event;
      expect([facts.branch, facts.tag]).toEqual([branch, undefined]);
    });
  });

  it('GitLab: what a merge request built may be a merge, also as its jobs and the API tell it', () => {
    expect(reportOf('gitlab', {}, mergeRequest({})).event.facts).toMatchObject({ builtSha: MERGE });
    expect(reportOf('gitlab', {}, mergeRequest({})).event.facts.commitSha).toBeUndefined();
    const asked = { ...mergeRequest({}), merge_request: undefined };
    expect(reportOf('gitlab', {}, asked).event.facts).toMatchObject({ builtSha: MERGE });
    const { event } = reportOf(
      'gitlab',
      {},
      {
        object_kind: 'build',
        build_id: 1,
        pipeline_id: 31,
        build_status: 'running',
        ref: 'refs/merge-requests/5/merge',
        sha: MERGE,
      },
    );
    expect(event.facts).toEqual({ builtSha: MERGE });
    const job = { status: 'running', facts: { commitSha: HEAD } } as const;
    for (const events of [
      [job, event],
      [event, job],
    ])
      expect(settle(joinAll(events)).facts.commitSha).toBe(HEAD);
    expect(settle(joinAll([event])).facts.commitSha).toBe(MERGE);
  });

  it('GitLab: a pipeline of more jobs than are kept is ordered by all of them', () => {
    const pipeline = (word: string) => ({
      object_kind: 'pipeline',
      object_attributes: { id: 31, status: 'running' },
      builds: Array.from({ length: 1_200 }, (_, n) => ({ id: n + 1, status: n < 1_100 ? 'success' : word })),
    });
    const [before, after] = [
      reportOf('gitlab', {}, pipeline('running')),
      reportOf('gitlab', {}, pipeline('failed')),
    ];
    expect([before.event.order, after.event.order]).toEqual(['12001100', '12001200']);
    expect(after.jobs).toHaveLength(1_000);
  });

  it('GitLab: an answer and a hook of the same second have the same order', () => {
    const pipeline = (finishedAt: string, startedAt: string) => ({
      object_kind: 'pipeline',
      object_attributes: { id: 31, status: 'success', finished_at: finishedAt },
      builds: [{ id: 5, status: 'success', created_at: null, started_at: startedAt }],
    });
    const hooked = reportOf('gitlab', {}, pipeline('2026-07-01 10:00:09 UTC', '2026-07-01 10:00:02 UTC'));
    const asked = reportOf('gitlab', {}, pipeline('2026-07-01T10:00:09.714Z', '2026-07-01T10:00:02.125Z'));
    expect(asked.event.order).toBe(hooked.event.order);
    expect(asked.jobs[0]?.order).toBe(hooked.jobs[0]?.order);
  });

  it('GitLab: is ordered among what was stored before the order knew of ends', () => {
    const stored = joinAll([{ status: 'success', order: '110002', facts: {} }]);
    const pipeline = (status: string, end: string | null, builds: readonly string[]) =>
      reportOf(
        'gitlab',
        {},
        {
          object_kind: 'pipeline',
          object_attributes: { id: 31, status, finished_at: end },
          builds: builds.map((word, n) => ({ id: n + 10, status: word })),
        },
      ).event;
    const late = pipeline('running', null, ['success', 'success']);
    expect(accept(stored, late)).toEqual({ kind: 'ignored', reason: 'older' });
    const again = pipeline('running', '2026-07-01 10:00:09 UTC', ['success', 'running']);
    expect(settle(joinAll([again], stored)).status).toBe('running');
  });

  it('Azure: the head of a pull request, or what was built where it is not told', () => {
    const build = (triggerInfo: object | undefined) =>
      reportOf(
        'azure',
        {},
        {
          eventType: 'build.complete',
          resource: {
            id: 3,
            status: 'succeeded',
            sourceGetVersion: `LG:refs/pull/5/merge:${MERGE}`,
            triggerInfo,
          },
        },
      ).event.facts;
    expect(build({ 'pr.sourceSha': HEAD, 'pr.sourceBranch': 'topic' })).toMatchObject({
      commitSha: HEAD,
      builtSha: MERGE,
      branch: 'topic',
    });
    const without = build(undefined);
    expect([without.commitSha, without.builtSha, without.branch]).toEqual([undefined, MERGE, undefined]);
  });

  it.each([
    ['job/app/3/', 'app', undefined, 'app', 'app'],
    ['job/folder/job/app/3/', 'app', 'origin/main', 'folder/app', 'folder/app'],
    ['job/folder/job/app/job/main/3/', 'main', 'origin/main', 'folder/app', 'folder/app/main'],
    ['job/app/job/feature%252Fx/3/', 'feature%2Fx', 'feature/x', 'app', 'app/feature%2Fx'],
    ['job/app/job/main/3/', 'main', undefined, 'app/main', 'app/main'],
    ['job/main/3/', 'main', 'main', 'main', 'main'],
    ['job/my%20app/OS=linux,JDK=21/3/', 'OS=linux,JDK=21', undefined, 'my app', 'my app'],
    ['job/100%/3/', '100%', undefined, '100%', '100%'],
    ['job/a%00b/3/', 'ab', undefined, 'ab', 'ab'],
    ['elsewhere/3/', 'app', undefined, 'app', 'app'],
  ])('Jenkins: %s is a job', (path, name, branch, pipeline, job) => {
    const url = `https://ci.example.com/jenkins/${path}`;
    const payload = { name, build: { full_url: url, number: 3, phase: 'COMPLETED', scm: { branch } } };
    expect(reportOf('jenkins', {}, payload)).toMatchObject({
      run: { externalRunId: url },
      // As the job would name its run that knows no address.
      aliases: [`${job}#3`],
      event: { facts: { name: pipeline } },
    });
  });

  it('CircleCI: the commit where GitLab and the GitHub app have it', () => {
    const git = { checkout_sha: 'd'.repeat(40), branch: 'main', tag: '' };
    const payload = {
      type: 'job-completed',
      workflow: { id: 'w' },
      job: { id: 'j', name: 'test', status: 'failed' },
      pipeline: { trigger_parameters: { git } },
    };
    expect(reportOf('circleci', {}, payload)).toMatchObject({
      event: { facts: { commitSha: 'd'.repeat(40), branch: 'main', tag: undefined } },
      jobs: [{ externalJobId: 'j', status: 'failed' }],
    });
  });

  it('generic: pointers and words of the connection', () => {
    const payload = { 'a/b': { runs: [{ no: 5, word: 'ok' }] }, when: 0 };
    const mapping = {
      pointers: { id: '/a~1b/runs/0/no', status: '/a~1b/runs/0/word' },
      words: { ok: 'success' },
    };
    expect(PROVIDERS.generic.normalise({}, payload, mapping)).toMatchObject({
      run: { externalRunId: '5' },
      event: { status: 'success', providerStatus: 'ok' },
    });
    expect(PROVIDERS.generic.normalise({}, payload, { pointers: { id: '/x'.repeat(99) } })).toHaveProperty(
      'ignored',
    );
  });

  it('generic: the shape of reports, jobs included', () => {
    const payload = {
      externalRunId: 'r-1',
      externalAttempt: 2,
      status: 'failed',
      commitSha: 'E'.repeat(40),
      branch: 'refs/heads/main',
      tag: 'v1',
      externalUrl: 'https://ci.example.com/1',
      pipelineName: 'nightly',
      trigger: 'schedule',
      actor: 'ann',
      environmentId: 'env_1',
      startedAt: '2026-07-01T10:00:00Z',
      finishedAt: '2026-07-01T10:01:00Z',
      durationMs: 60_000,
      jobs: [
        {
          name: 'unit',
          externalJobId: 'j1',
          stage: 'test',
          status: 'failed',
          soft: true,
          index: 3,
          durationMs: 5,
        },
        { status: 'success' },
      ],
    };
    expect(reportOf('generic', {}, payload)).toMatchObject({
      run: { externalRunId: 'r-1', externalAttempt: 2 },
      event: {
        status: 'failed',
        facts: {
          name: 'nightly',
          commitSha: 'e'.repeat(40),
          branch: 'main',
          tag: 'v1',
          url: 'https://ci.example.com/1',
          event: 'schedule',
          actor: 'ann',
          environmentId: 'env_1',
          startedAt: '2026-07-01T10:00:00.000Z',
          finishedAt: '2026-07-01T10:01:00.000Z',
          durationMs: 60_000,
        },
      },
      jobs: [
        {
          name: 'unit',
          externalJobId: 'j1',
          index: 3,
          status: 'failed',
          soft: true,
          facts: { stage: 'test', durationMs: 5 },
        },
      ],
    });
    expect(reportOf('generic', {}, payload).jobs).toHaveLength(1);
  });
});
