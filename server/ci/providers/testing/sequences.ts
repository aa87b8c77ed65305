/** Payloads of whole runs, as each provider sends them in the order of what happened; for tests. */
import type { CiProvider } from '../../words.ts';

export interface Sequence {
  readonly name: string;
  readonly provider: CiProvider;
  readonly headers: Readonly<Record<string, string>>;
  readonly payloads: readonly unknown[];
  /** Parts of what the run comes to. */
  readonly end: Readonly<Record<string, unknown>>;
}

const SHA = '3484a3fb816e0859fd6e1cea078d76385ff50625';

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

const gitlab = (status: string, builds: readonly (readonly [number, string])[]) => ({
  object_kind: 'pipeline',
  object_attributes: { id: 31, status, sha: SHA, ref: 'main', tag: false },
  project: { id: 7, path_with_namespace: 'acme/app' },
  builds: builds.map(([id, word]) => ({ id, status: word, name: `job ${id}`, stage: 'test' })),
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
  times: Readonly<Record<string, string | null>>,
  blocked = false,
) => ({
  event,
  build: { id: 'b1', state, blocked, commit: 'HEAD', branch: 'main', ...times },
  pipeline: { slug: 'app' },
});

const drone = (status: string, version: number) => ({
  event: 'build',
  repo: { uid: '9', slug: 'acme/app' },
  build: { id: 100, number: 5, status, version, after: SHA, target: 'main' },
});

const azure = (state: string, result: string | undefined, createdDate: string) => ({
  eventType: 'ms.vss-pipelines.run-state-changed-event',
  resource: { run: { id: 2, state, ...(result === undefined ? {} : { result }) }, pipeline: { name: 'app' } },
  createdDate,
});

const jenkins = (phase: string, status?: string) => ({
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

export const SEQUENCES: readonly Sequence[] = [
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
      gitlab('created', [
        [10, 'created'],
        [11, 'manual'],
      ]),
      gitlab('running', [
        [10, 'running'],
        [11, 'manual'],
      ]),
      gitlab('manual', [
        [10, 'success'],
        [11, 'manual'],
      ]),
    ],
    end: { status: 'queued', blocked: true, providerStatus: 'manual' },
  },
  {
    name: 'GitLab: fails, is retried, succeeds',
    provider: 'gitlab',
    headers: { 'x-gitlab-event': 'Pipeline Hook' },
    payloads: [
      gitlab('pending', [[10, 'pending']]),
      gitlab('running', [[10, 'running']]),
      gitlab('failed', [[10, 'failed']]),
      gitlab('running', [[12, 'running']]),
      gitlab('success', [[12, 'success']]),
    ],
    end: { status: 'success' },
  },
  {
    name: 'GitLab: is retried and runs',
    provider: 'gitlab',
    headers: {},
    payloads: [gitlab('failed', [[10, 'failed']]), gitlab('running', [[12, 'running']])],
    end: { status: 'running' },
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
    headers: {},
    payloads: [
      buildkite('build.scheduled', 'scheduled', START),
      buildkite('build.running', 'running', STARTED),
      buildkite('build.finished', 'passed', { ...STARTED, finished_at: '2026-07-01T10:00:20Z' }, true),
      buildkite('build.running', 'running', STARTED),
      buildkite('build.finished', 'passed', { ...STARTED, finished_at: '2026-07-01T10:03:00Z' }),
    ],
    end: { status: 'success', blocked: false },
  },
  {
    name: 'Buildkite: a job is retried',
    provider: 'buildkite',
    headers: {},
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
    headers: {},
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
    headers: {},
    payloads: [
      jenkins('QUEUED'),
      jenkins('STARTED', 'FAILURE'),
      jenkins('COMPLETED', 'UNSTABLE'),
      jenkins('FINALIZED', 'UNSTABLE'),
    ],
    end: { status: 'success', soft: true, providerStatus: 'FINALIZED' },
  },
  {
    name: 'generic: with times',
    provider: 'generic',
    headers: {},
    payloads: [generic('queued', 1), generic('running', 2), generic('what?', 3), generic('success', 4)],
    end: { status: 'success', providerStatus: 'success' },
  },
];
