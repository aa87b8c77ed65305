import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { accept, NO_EVENTS, settle } from '../runs/accept.ts';
import type { CiProvider } from './words.ts';
import { PROVIDERS } from './known.ts';
import type { Ignored, RunReport } from './types.ts';
import { joinAll, reportOf } from '../../../test/setup/ci/reports.ts';
import { SEQUENCES } from '../../../test/setup/ci/sequences.ts';

const FOLDER = fileURLToPath(new URL('../../../test/fixtures/connect/payloads/', import.meta.url));
const fixture = (path: string): unknown => JSON.parse(readFileSync(FOLDER + path, 'utf8'));
const GITHUB = 'github/webhooks__payload-examples__api.github.com__';

describe('payloads that the providers publish', () => {
  it('GitHub workflow_run, whose name is empty', () => {
    const payload = fixture(`${GITHUB}workflow_run__completed.with-pull-requests.payload.json`);
    expect(reportOf('github', { 'X-GitHub-Event': 'workflow_run' }, payload)).toEqual({
      repository: { id: '300029405', name: 'octo-org/octo-repo' },
      run: { externalRunId: '289782451', externalAttempt: 1 },
      aliases: [],
      event: {
        status: 'success',
        providerStatus: 'completed',
        providerConclusion: 'success',
        blocked: false,
        soft: false,
        reason: null,
        order: '1601915629000000000',
        final: true,
        facts: {
          name: 'test',
          file: '.github/workflows/test.yml',
          commitSha: '3484a3fb816e0859fd6e1cea078d76385ff50625',
          branch: 'master',
          event: 'repository_dispatch',
          queuedAt: '2020-10-05T16:33:24.000Z',
          startedAt: '2020-10-05T16:33:49.000Z',
          finishedAt: '2020-10-05T16:33:49.000Z',
          url: 'https://github.com/octo-org/octo-repo/actions/runs/289782451',
          actor: 'Codertocat',
        },
      },
      jobs: [],
    });
  });

  it('GitHub workflow_job, queued with a start that has not happened, and failed', () => {
    const queued = reportOf(
      'github',
      { 'x-github-event': 'workflow_job' },
      fixture(`${GITHUB}workflow_job__queued.payload.json`),
    );
    expect(queued).toMatchObject({
      repository: { id: '186853002', name: 'Codertocat/Hello-World' },
      run: { externalRunId: '2202229078', externalAttempt: 1 },
      event: {
        facts: { commitSha: '3484a3fb816e0859fd6e1cea078d76385ff50625', name: 'CodeQL' },
      },
      jobs: [{ externalJobId: '289782451', name: 'update', status: 'queued', blocked: false }],
    });
    // It may be one of a fork.
    expect(queued.event.facts).not.toHaveProperty('branch');
    expect(queued.jobs[0]?.facts.startedAt).toBeUndefined();
    const failed = fixture(`${GITHUB}workflow_job__completed.failure.with-organization.payload.json`);
    expect(reportOf('github', { 'x-github-event': 'workflow_job' }, failed).jobs).toMatchObject([
      {
        name: 'linters',
        status: 'failed',
        providerStatus: 'completed',
        providerConclusion: 'failure',
        facts: {
          startedAt: '2021-08-05T10:34:58.000Z',
          finishedAt: '2021-08-05T10:38:16.000Z',
          url: 'https://github.com/octo-org/octo-repo/runs/1291536064',
        },
      },
    ]);
  });

  it.each([
    ['check_run', 'check_run__completed.payload.json'],
    ['deployment', 'deployment__payload.json'],
    ['deployment_status', 'deployment_status__with-installation.payload.json'],
    ['push', 'push__payload.json'],
  ])('GitHub %s is ignored', (event, file) => {
    expect(PROVIDERS.github.normalise({ 'x-github-event': event }, fixture(GITHUB + file))).toEqual({
      ignored: `event ${event}`,
    });
  });

  it('GitLab job hook: the commit id is the pipeline', () => {
    const payload = fixture('gitlab/webhooks__testdata__gitlab__build-event.json');
    expect(reportOf('gitlab', { 'X-Gitlab-Event': 'Job Hook' }, payload)).toMatchObject({
      repository: { id: '380', name: 'http://192.168.64.1:3005/gitlab-org/gitlab-test' },
      run: { externalRunId: '2366', externalAttempt: 1 },
      event: {
        facts: { builtSha: '2293ada6b400935a1378653304eaf6221e0fdb8f', branch: 'gitlab-script-trigger' },
      },
      jobs: [
        {
          externalJobId: '1977',
          name: 'test',
          status: 'queued',
          providerStatus: 'created',
          facts: { stage: 'test' },
        },
      ],
    });
  });

  it('Bitbucket commit status', () => {
    const payload = fixture('bitbucket/webhooks__testdata__bitbucket__repo-commit-status-created.json');
    const sha = '9fec847784abb10b2fa567ee63b85bd238955d0e';
    expect(reportOf('bitbucket', { 'X-Event-Key': 'repo:commit_status_created' }, payload)).toMatchObject({
      repository: { id: '{673a6070-3421-46c9-9d48-90745f7bfe8e}', name: 'team_name/repo_name' },
      run: { externalRunId: `${sha}:mybuildtool`, externalAttempt: 1 },
      event: {
        status: 'running',
        providerStatus: 'INPROGRESS',
        order: '1447965455547563000',
        facts: {
          name: 'Unit Tests (Python)',
          commitSha: sha,
          startedAt: '2015-11-19T20:37:35.547Z',
          url: 'https://my-build-tool.com/builds/MY-PROJECT/BUILD-777',
        },
      },
    });
  });

  it('Azure build.complete', () => {
    const payload = fixture('azure/webhooks__testdata__azuredevops__build.complete.json');
    expect(reportOf('azure', {}, payload)).toMatchObject({
      repository: { id: 'be9b3917-87e6-42a4-a549-2bc06a7a878f' },
      run: { externalRunId: '2', externalAttempt: 1 },
      event: {
        status: 'success',
        providerStatus: 'succeeded',
        order: '1474290206428552800',
        facts: {
          name: 'ConsumerAddressModule',
          commitSha: '600c52d2d5b655caa111abfd863e5a9bd304bb0e',
          branch: 'master',
          event: 'manual',
          startedAt: '2015-04-07T18:04:06.830Z',
          finishedAt: '2015-04-07T18:06:10.690Z',
        },
      },
    });
  });

  it('Azure, events of stages and jobs: their pages', () => {
    const page = (part: string) => `https://dev.azure.com/acme/shop/_build/results?buildId=7&view=${part}`;
    const link = (part: string) => ({ _links: { web: { href: page(part) } } });
    const payload = (kind: string, parts: object) => ({
      eventType: `ms.vss-pipelines.${kind}-state-changed-event`,
      createdDate: '2026-01-01T00:00:00Z',
      resource: { run: { id: 7, state: 'inProgress' }, ...parts },
    });
    const stage = { name: 'Build', state: 'inProgress', ...link('stage') };
    const job = { name: 'Test', state: 'inProgress', ...link('job') };
    const run = { id: 7, state: 'inProgress', ...link('run') };
    const reportOfPayload = (kind: string, parts: object) => reportOf('azure', {}, payload(kind, parts));
    expect(reportOfPayload('stage', { stage })).toMatchObject({ event: { facts: { url: page('stage') } } });
    expect(reportOfPayload('stage', { stage, run })).toMatchObject({
      event: { facts: { url: page('run') } },
    });
    expect(reportOfPayload('job', { stage, job })).toMatchObject({
      event: { facts: { url: page('stage') } },
      jobs: [{ name: 'Test', facts: { stage: 'Build', url: page('job') } }],
    });
    expect(reportOfPayload('job', { job })).toMatchObject({ event: { facts: { url: page('job') } } });
    const hostile = { ...job, _links: { web: { href: 'javascript:alert(1)' } } };
    expect(reportOfPayload('job', { job: hostile, run })).toMatchObject({
      jobs: [{ facts: { url: undefined } }],
    });
  });
});

describe('words', () => {
  const run = (status: string, conclusion: string | null) => ({
    workflow_run: { id: 1, status, conclusion },
  });
  it.each([
    ['requested', null, 'queued', false, null],
    ['pending', null, 'queued', false, null],
    ['waiting', null, 'queued', true, 'approval'],
    ['in_progress', null, 'running', false, null],
    ['completed', 'neutral', 'success', false, null],
    ['completed', 'timed_out', 'failed', false, 'timed_out'],
    ['completed', 'startup_failure', 'failed', false, 'startup'],
    ['completed', 'cancelled', 'cancelled', false, null],
    ['completed', 'skipped', 'cancelled', false, 'skipped'],
    ['completed', 'stale', 'unknown', false, 'stale'],
    ['completed', 'action_required', 'queued', true, 'approval'],
    ['completed', 'splendid', 'unknown', false, null],
    ['completed', null, 'unknown', false, null],
    ['toString', null, 'unknown', false, null],
  ])('GitHub %s/%s', (status, conclusion, ours, blocked, reason) => {
    const { event } = reportOf('github', { 'x-github-event': 'workflow_run' }, run(status, conclusion));
    expect(event).toMatchObject({ status: ours, blocked, reason, providerStatus: status });
  });

  const eventOf = (provider: CiProvider, payload: unknown) => reportOf(provider, {}, payload).event;
  const gitlab = (status: string) => ({ object_kind: 'pipeline', object_attributes: { id: 1, status } });
  const drone = (status: string) => ({ build: { id: 1, status } });
  const buildkite = (state: string) => ({ event: 'build.running', build: { id: 'b', state } });
  const circle = (status: string) => ({ type: 'workflow-completed', workflow: { id: 'w', status } });
  const jenkins = (status: string) => ({ build: { full_url: 'http://ci/1/', phase: 'COMPLETED', status } });
  it.each<[CiProvider, unknown, string, string | null]>([
    ['gitlab', gitlab('waiting_for_resource'), 'queued', null],
    ['gitlab', gitlab('canceling'), 'running', null],
    ['gitlab', gitlab('canceled'), 'cancelled', null],
    ['gitlab', gitlab('skipped'), 'cancelled', 'skipped'],
    ['gitlab', gitlab('brand_new'), 'unknown', null],
    ['drone', drone('started'), 'running', null],
    ['drone', drone('declined'), 'failed', 'declined'],
    ['drone', drone('killed'), 'cancelled', null],
    ['buildkite', buildkite('failing'), 'running', null],
    ['buildkite', buildkite('not_run'), 'cancelled', 'skipped'],
    ['buildkite', buildkite('waiting_failed'), 'failed', null],
    ['circleci', circle('unauthorized'), 'failed', 'unauthorized'],
    ['circleci', circle('canceled'), 'cancelled', null],
    ['jenkins', jenkins('ABORTED'), 'cancelled', null],
    ['jenkins', jenkins('NOT_BUILT'), 'cancelled', 'skipped'],
  ])('%s %j', (provider, payload, status, reason) => {
    expect(eventOf(provider, payload)).toMatchObject({ status, reason });
  });
});

describe('any order, with repetitions, comes to the same run', () => {
  it.each(SEQUENCES.map((one) => [one.name, one] as const))(
    '%s',
    (_name, { provider, headers, payloads, end, jobs = {} }) => {
      const reports = payloads.map((payload) => reportOf(provider, headers, payload));
      const comesTo = (taken: readonly RunReport[]) => {
        const events = taken.flatMap((one) => one.jobs);
        const ids = new Set(events.map(({ externalJobId }) => externalJobId));
        const ended = [...ids].map((id) => {
          const own = events.filter(({ externalJobId }) => externalJobId === id);
          return [id, settle(joinAll(own))] as const;
        });
        return {
          run: settle(joinAll(taken.map(({ event }) => event))),
          jobs: Object.fromEntries(ended),
        };
      };
      const inOrder = comesTo(reports);
      expect(inOrder).toMatchObject({ run: end, jobs });
      const indexes = reports.map((_event, index) => index);
      fc.assert(
        fc.property(
          fc.shuffledSubarray(indexes, { minLength: indexes.length }),
          fc.array(fc.constantFrom(...indexes), { maxLength: 6 }),
          (order, again) => {
            const taken = [...again, ...order, ...again].map((index) => reports[index] as RunReport);
            expect(comesTo(taken)).toEqual(inOrder);
          },
        ),
        { numRuns: 200 },
      );
    },
  );
});

describe('whatever is sent, nothing is thrown', () => {
  const files = readdirSync(FOLDER, { recursive: true, encoding: 'utf8' }).filter((path) =>
    path.endsWith('.json'),
  );
  const documents = [...files.map(fixture), ...SEQUENCES.flatMap(({ payloads }) => payloads)];
  const headers = [
    {},
    ...SEQUENCES.map((one) => one.headers),
    { 'x-github-event': 'workflow_job' },
    { 'x-github-event': 'status' },
  ];
  const junk = fc.oneof(
    fc.constantFrom<unknown>(
      null,
      '',
      0,
      -1,
      1e300,
      Number.NaN,
      [],
      {},
      '\u0000\uD800',
      '__proto__',
      true,
      '9'.repeat(999),
    ),
    fc.anything(),
  );

  /** One value of the document replaced, wherever the path leads. */
  const mutate = (value: unknown, path: readonly number[], by: unknown): unknown => {
    const [step = 0, ...rest] = path;
    if (path.length === 0 || typeof value !== 'object' || value === null) return by;
    const keys = Object.keys(value);
    const key = keys[step % Math.max(1, keys.length)];
    if (key === undefined) return by;
    const changed = mutate((value as Record<string, unknown>)[key], rest, by);
    return Array.isArray(value)
      ? value.map((item: unknown, index) => (String(index) === key ? changed : item))
      : { ...value, [key]: changed };
  };

  const isSound = (report: RunReport | Ignored): boolean => {
    if ('ignored' in report) return typeof report.ignored === 'string' && report.ignored !== '';
    const outcome = accept(NO_EVENTS, report.event);
    const { externalRunId, externalAttempt } = report.run;
    return (
      externalRunId !== '' &&
      externalRunId.length <= 500 &&
      externalAttempt >= 1 &&
      [report.event, ...report.jobs].every(({ facts }) => String(facts.name ?? '').length <= 255) &&
      !JSON.stringify([report, outcome]).includes('\\u0000')
    );
  };

  it.each(Object.keys(PROVIDERS) as CiProvider[])('%s', (provider) => {
    const { normalise } = PROVIDERS[provider];
    for (const nothing of [undefined, null, 0, '', [], {}, 'text', [[]]])
      expect(isSound(normalise({}, nothing))).toBe(true);
    fc.assert(
      fc.property(
        fc.constantFrom(...documents),
        fc.constantFrom(...headers),
        fc.array(fc.nat({ max: 60 }), { maxLength: 6 }),
        junk,
        (document, heads, path, by) => isSound(normalise(heads, mutate(document, path, by))),
      ),
      { numRuns: 1_500 },
    );
  });
});
