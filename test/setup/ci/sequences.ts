/** Payloads of whole runs, as each provider sends them in the order of what happened; for tests. */
import type { CiProvider } from '../../../server/connect/providers/words.ts';

export interface Sequence {
  readonly name: string;
  readonly provider: CiProvider;
  readonly headers: Readonly<Record<string, string>>;
  readonly payloads: readonly unknown[];
  /** Parts of what the run comes to. */
  readonly end: Readonly<Record<string, unknown>>;
  /** Answers about its jobs, by what they tell of themselves. */
  readonly jobs?: Readonly<Record<string, object>>;
}

export const SHA = '3484a3fb816e0859fd6e1cea078d76385ff50625';

const github = (second: number, status: string, conclusion: string | null = null) => ({
  repository: { id: 1, full_name: 'acme/app' },
  workflow_run: {
    id: 42,
    run_attempt: 1,
    status,
    conclusion,
    head_sha: SHA,
    head_branch: 'main',
    updated_at: `2026-07-01T10:00:${String(second).padStart(2, '0')}Z`,
  },
});

const gitlab = (status: string, ...builds: ReadonlyArray<readonly [number, string]>) => ({
  object_kind: 'pipeline',
  object_attributes: { id: 31, status, sha: SHA, ref: 'main', tag: false },
  project: { id: 7, path_with_namespace: 'acme/app' },
  builds: builds.map(([id, word]) => ({ id, status: word, name: `job ${id}`, stage: 'test' })),
});

/** Adds times: seconds of the pipeline's last end, and of a job's start and end after its making. */
const timed = (
  status: string,
  end: number | null,
  ...builds: ReadonlyArray<readonly [id: number, word: string, start?: number, end?: number]>
) => {
  const time = (second: number | null | undefined) =>
    typeof second === 'number' ? `2026-07-01 10:00:${String(second).padStart(2, '0')} UTC` : null;
  const { object_attributes: pipeline, ...rest } = gitlab(status);
  return {
    ...rest,
    object_attributes: { ...pipeline, finished_at: time(end) },
    builds: builds.map(([id, word, from, to]) => ({
      id,
      status: word,
      name: `job ${id}`,
      stage: 'test',
      created_at: time(0),
      started_at: time(from),
      finished_at: time(to),
    })),
  };
};

/** Returns a Job Hook that is of the same pipeline. */
const gitlabJob = (id: number, status: string, start?: string) => ({
  object_kind: 'build',
  project_id: 7,
  pipeline_id: 31,
  build_id: id,
  build_name: `job ${id}`,
  build_stage: 'test',
  build_status: status,
  build_created_at_iso: '2026-07-01T10:00:00.250Z',
  build_started_at_iso: start,
  build_finished_at_iso: undefined,
  ref: 'main',
  sha: SHA,
});

/** Returns a webhook that is sent by Pipelines itself. Each status is called after its run. */
const bitbucketPipeline = (state: string, second: number) => ({
  repository: { uuid: '{u}', full_name: 'acme/app' },
  commit_status: {
    key: '-1879968562',
    type: 'build',
    state,
    name: 'Pipeline #3 for main',
    refname: 'main',
    commit: { type: 'commit', hash: SHA },
    url: 'https://bitbucket.org/acme/app/addon/pipelines/home#!/results/3',
    created_on: '2023-11-14T22:13:20.273346+00:00',
    updated_on: `2023-11-14T22:13:${second}.843946+00:00`,
  },
});

/** Returns what Pipelines tells at the end of a run, behind spans of other names. */
export const bitbucketSpan = (
  attributes: Readonly<Record<string, object>>,
  ...others: readonly object[]
) => ({
  resourceSpans: [
    {
      scopeSpans: [
        {
          spans: [
            ...others,
            {
              name: 'bbc.pipeline_run',
              attributes: Object.entries(attributes).map(([key, value]) => ({ key, value })),
              startTimeUnixNano: '1700000000000000000',
              endTimeUnixNano: '1700000060000000000',
            },
          ],
        },
      ],
    },
  ],
});

const bitbucket = (state: string, micro: number) => ({
  repository: { uuid: '{u}', full_name: 'acme/app' },
  commit_status: {
    key: 'build',
    state,
    updated_on: `2026-07-01T10:00:00.00000${micro}+00:00`,
    links: { commit: { href: `https://api.bitbucket.org/2.0/repositories/acme/app/commit/${SHA}` } },
  },
});

const buildkite = (
  event: string,
  state: string,
  more: Readonly<Record<string, string | boolean | null>>,
) => ({
  event,
  build: { id: 'b1', state, blocked: false, commit: 'HEAD', branch: 'main', ...more },
  pipeline: { slug: 'app' },
});

export const drone = (status: string, version: number) => ({
  event: 'build',
  repo: { uid: '9', slug: 'acme/app' },
  build: { id: 100, number: 5, status, version, after: SHA, target: 'main' },
});

const azure = (state: string, result: string | undefined, createdDate: string) => ({
  eventType: 'ms.vss-pipelines.run-state-changed-event',
  resource: { run: { id: 2, state, ...(result === undefined ? {} : { result }) }, pipeline: { name: 'app' } },
  createdDate,
});

export const jenkins = (phase: string, status?: string) => ({
  name: 'app',
  build: { full_url: 'https://ci.example.com/job/app/3/', number: 3, phase, status },
});

const circleci = {
  type: 'workflow-completed',
  happened_at: '2026-07-01T10:00:00.5Z',
  workflow: { id: 'w', name: 'build', status: 'failed' },
  project: { id: 'p', slug: 'gh/acme/app' },
  pipeline: { vcs: { revision: SHA, branch: 'main' } },
};

const generic = (status: string, second: number) => ({
  id: 'r1',
  status,
  sha: SHA,
  updated_at: `2026-07-01T10:00:0${second}Z`,
});

const START = { created_at: '2026-07-01T10:00:00Z', started_at: null, finished_at: null };
const STARTED = { ...START, started_at: '2026-07-01T10:00:05Z' };

const END = bitbucketSpan({
  'pipeline_run.uuid': { stringValue: '{run}' },
  'pipeline.uuid': { stringValue: '{pipeline}' },
  'pipeline.build_number': { intValue: '3' },
  'pipeline.repository.uuid': { stringValue: '{u}' },
  'pipeline.state.result.name': { stringValue: 'FAILED' },
});

type PlainSequence = Omit<Sequence, 'headers'> & Partial<Sequence>;

const TOLD: readonly PlainSequence[] = [
  {
    name: 'GitHub: approved by a person',
    provider: 'github',
    headers: { 'x-github-event': 'workflow_run' },
    payloads: [
      github(0, 'completed', 'action_required'),
      github(5, 'queued'),
      github(6, 'waiting'),
      github(7, 'queued'),
      github(7, 'in_progress'),
      github(50, 'completed', 'success'),
    ],
    end: { status: 'success', blocked: false, reason: null, providerConclusion: 'success' },
  },
  {
    name: 'GitHub: waits for approval',
    provider: 'github',
    headers: { 'x-github-event': 'workflow_run' },
    payloads: [github(0, 'queued'), github(5, 'in_progress'), github(6, 'waiting')],
    end: { status: 'queued', blocked: true, reason: 'approval' },
  },
  {
    name: 'GitLab: stops at a manual job',
    provider: 'gitlab',
    headers: { 'x-gitlab-event': 'Pipeline Hook' },
    payloads: [
      gitlab('created', [10, 'created'], [11, 'manual']),
      gitlab('running', [10, 'running'], [11, 'manual']),
      gitlab('manual', [10, 'success'], [11, 'manual']),
    ],
    end: { status: 'queued', blocked: true, providerStatus: 'manual' },
  },
  {
    name: 'GitLab: fails, is retried, succeeds',
    provider: 'gitlab',
    headers: { 'x-gitlab-event': 'Pipeline Hook' },
    payloads: [
      gitlab('pending', [10, 'pending']),
      gitlab('running', [10, 'running']),
      gitlab('failed', [10, 'failed']),
      gitlab('running', [12, 'running']),
      gitlab('success', [12, 'success']),
    ],
    end: { status: 'success' },
  },
  {
    name: 'GitLab: is retried and runs',
    provider: 'gitlab',
    payloads: [gitlab('failed', [10, 'failed']), gitlab('running', [12, 'running'])],
    end: { status: 'running' },
  },
  {
    name: 'GitLab: a trigger is retried, which is no job, and what was skipped runs',
    provider: 'gitlab',
    payloads: [
      timed('running', null, [10, 'running', 2], [11, 'created']),
      timed('failed', 9, [10, 'success', 2, 8], [11, 'skipped']),
      timed('running', 9, [10, 'success', 2, 8], [11, 'created']),
      timed('running', 9, [10, 'success', 2, 8], [11, 'pending']),
      gitlabJob(11, 'running', '2026-07-01T10:00:20.500Z'),
      timed('success', 30, [10, 'success', 2, 8], [11, 'success', 20, 29]),
    ],
    end: { status: 'success', providerStatus: 'success' },
    jobs: { 10: { status: 'success' }, 11: { status: 'success', reason: null } },
  },
  {
    name: 'GitLab: what was skipped waits for its runner again',
    provider: 'gitlab',
    payloads: [
      timed('failed', 9, [10, 'failed', 2, 8], [11, 'skipped']),
      timed('running', 9, [12, 'success', 12, 14], [11, 'pending']),
      gitlabJob(11, 'skipped'),
      gitlabJob(11, 'pending'),
    ],
    end: { status: 'running' },
    jobs: { 11: { status: 'queued', reason: null, providerStatus: 'pending' } },
  },
  {
    name: 'GitLab: ends without its manual job',
    provider: 'gitlab',
    payloads: [
      timed('running', null, [10, 'running', 2], [11, 'manual']),
      timed('success', 9, [10, 'success', 2, 8], [11, 'manual']),
    ],
    end: { status: 'success' },
    jobs: { 11: { status: 'queued', blocked: true, reason: 'approval' } },
  },
  {
    name: 'GitLab: a manual job is played after the end',
    provider: 'gitlab',
    payloads: [
      timed('running', null, [10, 'running', 2], [11, 'manual']),
      timed('success', 9, [10, 'success', 2, 8], [11, 'manual']),
      timed('running', 9, [10, 'success', 2, 8], [11, 'pending']),
    ],
    end: { status: 'running', blocked: false },
    jobs: { 11: { status: 'queued', blocked: false, providerStatus: 'pending' } },
  },
  {
    name: 'GitLab: fails, is retried, stops at a manual job',
    provider: 'gitlab',
    payloads: [
      timed('failed', 9, [10, 'failed', 2, 8], [11, 'skipped']),
      timed('running', 9, [12, 'running', 12], [11, 'manual']),
      timed('manual', 9, [12, 'success', 12, 15], [11, 'manual']),
    ],
    end: { status: 'queued', blocked: true, providerStatus: 'manual' },
    jobs: { 11: { status: 'queued', blocked: true } },
  },
  {
    name: 'Bitbucket: Pipelines, in statuses and in the span of its end',
    provider: 'bitbucket',
    payloads: [bitbucketPipeline('INPROGRESS', 21), bitbucketPipeline('FAILED', 59), END],
    end: { status: 'failed' },
  },
  {
    name: 'Bitbucket: microseconds apart',
    provider: 'bitbucket',
    headers: { 'x-event-key': 'repo:commit_status_updated' },
    payloads: [
      bitbucket('INPROGRESS', 1),
      bitbucket('FAILED', 2),
      bitbucket('INPROGRESS', 3),
      bitbucket('STOPPED', 4),
    ],
    end: { status: 'cancelled' },
  },
  {
    name: 'CircleCI: one event',
    provider: 'circleci',
    headers: { 'circleci-event-type': 'workflow-completed' },
    payloads: [circleci],
    end: { status: 'failed', providerStatus: 'failed' },
  },
  {
    name: 'Buildkite: blocked, unblocked, passed',
    provider: 'buildkite',
    payloads: [
      buildkite('build.scheduled', 'scheduled', START),
      buildkite('build.running', 'running', STARTED),
      buildkite('build.finished', 'passed', {
        ...STARTED,
        finished_at: '2026-07-01T10:00:20Z',
        blocked: true,
      }),
      buildkite('build.running', 'running', STARTED),
      buildkite('build.finished', 'passed', { ...STARTED, finished_at: '2026-07-01T10:03:00Z' }),
    ],
    end: { status: 'success', blocked: false },
  },
  {
    name: 'Buildkite: a job is retried',
    provider: 'buildkite',
    payloads: [
      buildkite('build.finished', 'failed', { ...STARTED, finished_at: '2026-07-01T10:00:20Z' }),
      buildkite('build.running', 'running', STARTED),
      buildkite('build.finished', 'passed', { ...STARTED, finished_at: '2026-07-01T10:03:00Z' }),
    ],
    end: { status: 'success' },
  },
  {
    name: 'Drone: killed',
    provider: 'drone',
    headers: { 'x-drone-event': 'build' },
    payloads: [drone('blocked', 1), drone('pending', 2), drone('running', 9), drone('killed', 10)],
    end: { status: 'cancelled', blocked: false },
  },
  {
    name: 'Azure: completed, one stage run again',
    provider: 'azure',
    payloads: [
      azure('inProgress', undefined, '2026-07-01T10:00:00.1Z'),
      azure('completed', 'failed', '2026-07-01T10:05:00.1234567Z'),
      azure('inProgress', undefined, '2026-07-01T10:05:00.1234568Z'),
      azure('completed', 'partiallySucceeded', '2026-07-01T10:09:00Z'),
    ],
    end: { status: 'success', soft: true, providerConclusion: 'partiallySucceeded' },
  },
  {
    name: 'Jenkins: the status of the build before in STARTED',
    provider: 'jenkins',
    payloads: [
      jenkins('QUEUED'),
      jenkins('STARTED', 'FAILURE'),
      jenkins('COMPLETED', 'UNSTABLE'),
      jenkins('FINALIZED', 'UNSTABLE'),
    ],
    end: { status: 'success', soft: true, providerStatus: 'FINALIZED' },
  },
  {
    name: 'generic: with times in seconds since 1970',
    provider: 'generic',
    payloads: [
      { ...generic('running', 1), updated_at: 1_782_900_000 },
      { ...generic('failed', 2), updated_at: '1782900001' },
      { ...generic('running', 3), updated_at: '2026-07-01T10:00:02.5Z' },
      { ...generic('success', 4), updated_at: 1_782_900_003.25 },
    ],
    end: { status: 'success' },
  },
  {
    name: 'generic: with times',
    provider: 'generic',
    payloads: [generic('queued', 1), generic('running', 2), generic('what?', 3), generic('success', 4)],
    end: { status: 'success', providerStatus: 'success' },
  },
];

export const SEQUENCES: readonly Sequence[] = TOLD.map((one) => ({ headers: {}, ...one }));
