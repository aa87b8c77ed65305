/**
 * Tells in which CI system this runs, and what its variables say of the run. It is pure: the environment and
 * a reader of files come in. One variable tells each system, and they are asked in the order that is
 * documented: a job that Jenkins starts elsewhere may have its variable too, and is told of that.
 */

export const PROVIDERS = [
  'github',
  'gitlab',
  'bitbucket',
  'jenkins',
  'circleci',
  'buildkite',
  'drone',
  'azure',
  'generic',
] as const;
export type DetectedProvider = (typeof PROVIDERS)[number];

export type Env = Readonly<Record<string, string | undefined>>;
/** Undefined when the file cannot be read. */
export type ReadFile = (path: string) => string | undefined;

/** Facts that are not known are absent. */
export interface CiFacts {
  readonly runId?: string | undefined;
  /** Number of the attempt, from 1. */
  readonly attempt?: number | undefined;
  readonly jobId?: string | undefined;
  readonly job?: string | undefined;
  /** Number among the jobs of one name, from 0. */
  readonly jobIndex?: number | undefined;
  readonly stage?: string | undefined;
  readonly pipeline?: string | undefined;
  /** It is the head of a pull request, not the merge that is built; at Buildkite maybe the symbolic HEAD. */
  readonly commit?: string | undefined;
  readonly branch?: string | undefined;
  readonly tag?: string | undefined;
  /**
   * Base branch of the merge queue or train that this is a run of, where the name of the branch does not tell
   * it.
   */
  readonly mergeQueueOf?: string | undefined;
  readonly pr?: string | undefined;
  readonly url?: string | undefined;
  readonly repositoryUrl?: string | undefined;
  readonly event?: string | undefined;
  readonly actor?: string | undefined;
}

export interface Detected extends CiFacts {
  readonly provider: DetectedProvider;
  /** Others whose markers are set too. */
  readonly also: readonly DetectedProvider[];
}

interface System {
  readonly provider: DetectedProvider;
  readonly isHere: (env: Env) => boolean;
  readonly facts: (env: Env, readFile: ReadFile) => CiFacts;
}

export function detectCi(env: Env, readFile: ReadFile, wanted?: string): Detected | undefined {
  const set = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''));
  const here = SYSTEMS.filter(({ isHere }) => isHere(set));
  const system = wanted === undefined ? here[0] : SYSTEMS.find(({ provider }) => provider === wanted);
  const chosen = system ?? (wanted === undefined && isSet(set['CI']) ? GENERIC : undefined);
  if (chosen === undefined) return wanted === 'generic' ? { provider: 'generic', also: [] } : undefined;
  const also = here.filter((other) => other !== chosen).map(({ provider }) => provider);
  const facts = chosen.facts(set, readFile);
  // Some systems name the branch of a tag's build after the tag.
  const branch = facts.branch === facts.tag ? undefined : facts.branch;
  return { provider: chosen.provider, also, ...facts, branch };
}

function isSet(value: string | undefined): boolean {
  return value !== undefined && value !== '' && !/^(false|0|no)$/i.test(value);
}

const SYSTEMS: readonly System[] = [
  {
    provider: 'github',
    // GITHUB_ACTION with a run is taken for it: some environments that others keep hold only that. Gitea and
    // Forgejo set GitHub's variables for the sake of actions.
    isHere: (env) =>
      (isSet(env['GITHUB_ACTIONS']) || (isSet(env['GITHUB_ACTION']) && isSet(env['GITHUB_RUN_ID']))) &&
      !isSet(env['GITEA_ACTIONS']) &&
      !isSet(env['FORGEJO_ACTIONS']),
    facts: github,
  },
  { provider: 'gitlab', isHere: (env) => isSet(env['GITLAB_CI']), facts: gitlab },
  { provider: 'bitbucket', isHere: (env) => isSet(env['BITBUCKET_BUILD_NUMBER']), facts: bitbucket },
  { provider: 'jenkins', isHere: (env) => isSet(env['JENKINS_URL']), facts: jenkins },
  { provider: 'circleci', isHere: (env) => isSet(env['CIRCLECI']), facts: circleci },
  { provider: 'buildkite', isHere: (env) => isSet(env['BUILDKITE']), facts: buildkite },
  { provider: 'drone', isHere: (env) => isSet(env['DRONE']), facts: drone },
  { provider: 'azure', isHere: (env) => isSet(env['TF_BUILD']), facts: azure },
];

const GENERIC: System = { provider: 'generic', isHere: () => false, facts: () => ({}) };

function github(env: Env, readFile: ReadFile): CiFacts {
  const event = eventOf(env['GITHUB_EVENT_PATH'], readFile);
  const server = withoutCredentials(env['GITHUB_SERVER_URL']) ?? 'https://github.com';
  const [repository, runId, attempt] = [
    env['GITHUB_REPOSITORY'],
    env['GITHUB_RUN_ID'],
    env['GITHUB_RUN_ATTEMPT'],
  ];
  const home = repository === undefined ? undefined : `${server}/${repository}`;
  return {
    runId,
    attempt: attemptOf(attempt),
    jobId: env['JOB_CHECK_RUN_ID'],
    job: env['GITHUB_JOB'],
    pipeline: env['GITHUB_WORKFLOW'],
    commit: event.headSha ?? env['GITHUB_SHA'],
    ...githubRef(env),
    mergeQueueOf: QUEUES.test(env['GITHUB_HEAD_REF'] ?? '') ? env['GITHUB_BASE_REF'] : undefined,
    pr: event.number,
    url:
      home === undefined || runId === undefined
        ? undefined
        : `${home}/actions/runs/${runId}${attempt === undefined ? '' : `/attempts/${attempt}`}`,
    repositoryUrl: home === undefined ? undefined : `${home}.git`,
    event: env['GITHUB_EVENT_NAME'],
    actor: env['GITHUB_TRIGGERING_ACTOR'] ?? env['GITHUB_ACTOR'],
  };
}

/** Queues of other services than GitHub build a pull request of their own. */
const QUEUES = /^(?:mergify\/merge-queue|trunk-merge)\//;

/**
 * A runner that tells the type of the ref gives names as they are; what others give may be spelt in any way.
 */
function githubRef(env: Env): Ref {
  const [type, head] = [env['GITHUB_REF_TYPE'], env['GITHUB_HEAD_REF']];
  const ref = env['GITHUB_REF'] ?? env['GITHUB_REF_NAME'];
  if (type === undefined) return refOf(head ?? ref);
  if (head !== undefined) return { branch: head };
  if (type === 'tag') return only('tag', env['GITHUB_REF_NAME'] ?? tagOf(ref));
  const branch = /^refs\/heads\/(.+)$/.exec(ref ?? '')?.[1];
  return branch === undefined ? refOf(ref) : { branch };
}

/** On a pull request GITHUB_SHA is a merge that nobody pushed; the event knows the head. */
function eventOf(path: string | undefined, readFile: ReadFile): { headSha?: string; number?: string } {
  const content = path === undefined ? undefined : readFile(path);
  if (content === undefined) return {};
  try {
    const { pull_request: pr } = JSON.parse(content) as {
      pull_request?: { number?: unknown; head?: { sha?: unknown } };
    };
    return {
      ...(typeof pr?.head?.sha === 'string' ? { headSha: pr.head.sha } : {}),
      ...(typeof pr?.number === 'number' ? { number: String(pr.number) } : {}),
    };
  } catch {
    return {}; // Not ours, and not needed: GITHUB_SHA stands.
  }
}

function gitlab(env: Env): CiFacts {
  const branch = env['CI_MERGE_REQUEST_SOURCE_BRANCH_NAME'] ?? env['CI_COMMIT_BRANCH'];
  return {
    runId: env['CI_PIPELINE_ID'],
    attempt: 1,
    jobId: env['CI_JOB_ID'],
    job: env['CI_JOB_NAME'],
    stage: env['CI_JOB_STAGE'],
    pipeline: env['CI_PIPELINE_NAME'] ?? env['CI_PROJECT_PATH'],
    commit: env['CI_MERGE_REQUEST_SOURCE_BRANCH_SHA'] ?? env['CI_COMMIT_SHA'],
    ...(branch === undefined ? refOf(env['CI_COMMIT_REF_NAME']) : { branch }),
    ...only('tag', tagOf(env['CI_COMMIT_TAG'])),
    mergeQueueOf:
      env['CI_MERGE_REQUEST_EVENT_TYPE'] === 'merge_train'
        ? env['CI_MERGE_REQUEST_TARGET_BRANCH_NAME']
        : undefined,
    pr: env['CI_MERGE_REQUEST_IID'],
    url: withoutCredentials(env['CI_PIPELINE_URL']),
    repositoryUrl: withoutCredentials(env['CI_REPOSITORY_URL']),
    event: env['CI_PIPELINE_SOURCE'],
    actor: env['GITLAB_USER_LOGIN'],
  };
}

function bitbucket(env: Env): CiFacts {
  const [number, repository] = [env['BITBUCKET_BUILD_NUMBER'], env['BITBUCKET_REPO_FULL_NAME']];
  const bare = (uuid: string | undefined) => uuid?.replace(/^\{(.*)\}$/, '$1');
  return {
    runId: bare(env['BITBUCKET_PIPELINE_UUID']) ?? number,
    attempt: attemptOf(env['BITBUCKET_STEP_RUN_NUMBER']),
    jobId: bare(env['BITBUCKET_STEP_UUID']),
    pipeline: repository,
    commit: env['BITBUCKET_COMMIT'],
    ...refOf(env['BITBUCKET_BRANCH']),
    ...only('tag', tagOf(env['BITBUCKET_TAG'])),
    pr: env['BITBUCKET_PR_ID'],
    url:
      repository === undefined || number === undefined
        ? undefined
        : `https://bitbucket.org/${repository}/pipelines/results/${number}`,
    repositoryUrl: withoutCredentials(env['BITBUCKET_GIT_SSH_ORIGIN'] ?? env['BITBUCKET_GIT_HTTP_ORIGIN']),
  };
}

function circleci(env: Env): CiFacts {
  const id = env['CIRCLE_WORKFLOW_ID'];
  const node = circleNode(env);
  return {
    runId: id,
    attempt: 1,
    // Nodes of a parallel job share its ids, which stand for all of them together.
    jobId: node === undefined ? (env['CIRCLE_WORKFLOW_JOB_ID'] ?? env['CIRCLE_BUILD_NUM']) : undefined,
    job: env['CIRCLE_JOB'],
    jobIndex: node,
    pipeline: env['CIRCLE_PROJECT_REPONAME'],
    commit: env['CIRCLE_SHA1'],
    ...refOf(env['CIRCLE_BRANCH']),
    ...only('tag', tagOf(env['CIRCLE_TAG'])),
    pr: env['CIRCLE_PULL_REQUEST']?.split('/').at(-1) ?? env['CIRCLE_PR_NUMBER'],
    url: id === undefined ? undefined : `https://app.circleci.com/pipelines/workflows/${id}`,
    repositoryUrl: withoutCredentials(env['CIRCLE_REPOSITORY_URL']),
    actor: env['CIRCLE_USERNAME'],
  };
}

/** Returns undefined for a job that is not parallel. */
function circleNode(env: Env): number | undefined {
  const [index = '', total] = [env['CIRCLE_NODE_INDEX'], env['CIRCLE_NODE_TOTAL']];
  return Number(total) > 1 && /^\d{1,5}$/.test(index) ? Number(index) : undefined;
}

function buildkite(env: Env): CiFacts {
  const pr = env['BUILDKITE_PULL_REQUEST'];
  return {
    runId: env['BUILDKITE_BUILD_ID'],
    attempt: 1,
    jobId: env['BUILDKITE_JOB_ID'],
    job: env['BUILDKITE_LABEL'] ?? env['BUILDKITE_STEP_KEY'],
    pipeline: env['BUILDKITE_PIPELINE_SLUG'],
    commit: env['BUILDKITE_COMMIT'],
    ...refOf(env['BUILDKITE_BRANCH']),
    ...only('tag', tagOf(env['BUILDKITE_TAG'])),
    pr: pr === 'false' ? undefined : pr,
    url: withoutCredentials(env['BUILDKITE_BUILD_URL']),
    repositoryUrl: withoutCredentials(env['BUILDKITE_REPO']),
    event: env['BUILDKITE_SOURCE'],
    actor: env['BUILDKITE_BUILD_CREATOR'],
  };
}

function drone(env: Env): CiFacts {
  const [repository, number] = [env['DRONE_REPO'], env['DRONE_BUILD_NUMBER']];
  const [stage, step] = [env['DRONE_STAGE_NAME'], env['DRONE_STEP_NAME']];
  return {
    // The id of the webhooks is not in the environment.
    runId: repository === undefined || number === undefined ? number : `${repository}#${number}`,
    attempt: 1,
    // Steps have no id here, and several stages may have one of the same name.
    jobId: stage === undefined || step === undefined ? undefined : `${stage}/${step}`,
    job: step,
    stage,
    pipeline: repository,
    commit: env['DRONE_COMMIT_SHA'] ?? env['DRONE_COMMIT'],
    // DRONE_BRANCH of a pull request is the target.
    ...refOf(
      (env['DRONE_PULL_REQUEST'] === undefined ? undefined : env['DRONE_SOURCE_BRANCH']) ??
        env['DRONE_BRANCH'],
    ),
    ...only('tag', tagOf(env['DRONE_TAG'])),
    pr: env['DRONE_PULL_REQUEST'],
    url: withoutCredentials(env['DRONE_BUILD_LINK']),
    repositoryUrl: withoutCredentials(env['DRONE_GIT_HTTP_URL'] ?? env['DRONE_REMOTE_URL']),
    event: env['DRONE_BUILD_EVENT'],
  };
}

function azure(env: Env): CiFacts {
  const id = env['BUILD_BUILDID'];
  const server = withoutCredentials(
    env['SYSTEM_TEAMFOUNDATIONSERVERURI'] ?? env['SYSTEM_TEAMFOUNDATIONCOLLECTIONURI'],
  )?.replace(/\/+$/, '');
  const project = env['SYSTEM_TEAMPROJECTID'];
  return {
    runId: id,
    attempt: attemptOf(env['SYSTEM_STAGEATTEMPT']),
    jobId: env['SYSTEM_JOBID'],
    job: env['SYSTEM_JOBDISPLAYNAME'],
    stage: env['SYSTEM_STAGENAME'] ?? env['SYSTEM_STAGEDISPLAYNAME'],
    pipeline: env['BUILD_DEFINITIONNAME'],
    commit: env['SYSTEM_PULLREQUEST_SOURCECOMMITID'] ?? env['BUILD_SOURCEVERSION'],
    ...refOf(
      env['SYSTEM_PULLREQUEST_SOURCEBRANCH'] ?? env['BUILD_SOURCEBRANCH'] ?? env['BUILD_SOURCEBRANCHNAME'],
    ),
    pr: env['SYSTEM_PULLREQUEST_PULLREQUESTNUMBER'] ?? env['SYSTEM_PULLREQUEST_PULLREQUESTID'],
    url:
      server === undefined || project === undefined || id === undefined
        ? undefined
        : `${server}/${project}/_build/results?buildId=${id}`,
    repositoryUrl: withoutCredentials(
      env['SYSTEM_PULLREQUEST_SOURCEREPOSITORYURI'] ?? env['BUILD_REPOSITORY_URI'],
    ),
    event: env['BUILD_REASON'],
    actor: env['BUILD_REQUESTEDFOR'],
  };
}

function jenkins(env: Env): CiFacts {
  const url = withoutCredentials(env['BUILD_URL']);
  const [name, number] = [env['JOB_NAME'], env['BUILD_NUMBER']];
  const [change, branch] = [env['CHANGE_BRANCH'], env['BRANCH_NAME']];
  const ref = change === undefined ? refOf(branch ?? env['GIT_BRANCH']) : { branch: change };
  return {
    runId: url ?? (name === undefined || number === undefined ? undefined : `${name}#${number}`),
    attempt: 1,
    job: env['STAGE_NAME'],
    stage: env['STAGE_NAME'],
    // BRANCH_NAME of a pull request is `PR-3`, and so is the end of the name.
    pipeline: jobName(name, [branch, ref.branch]),
    commit: env['GIT_COMMIT'],
    ...ref,
    ...only('tag', tagOf(env['TAG_NAME'])),
    pr: env['CHANGE_ID'],
    url,
    repositoryUrl: withoutCredentials(env['GIT_URL'] ?? env['GIT_URL_1']),
    actor: env['CHANGE_AUTHOR'],
  };
}

/** `app/KEY=value,OTHER=x/main` and `app/main` are both jobs of `app`. */
function jobName(name: string | undefined, branches: ReadonlyArray<string | undefined>): string | undefined {
  const joined = name
    ?.split('/')
    .filter((part) => !part.includes('='))
    .join('/');
  const spelt = branches
    .filter((branch) => branch !== undefined)
    .flatMap((branch) => [branch, encodeURIComponent(branch)]);
  const end = spelt.find((branch) => joined?.endsWith(`/${branch}`));
  return end === undefined ? joined : joined?.slice(0, -end.length - 1);
}

interface Ref {
  readonly branch?: string;
  readonly tag?: string;
}

/**
 * Reads the branch or tag of `refs/heads/…`, `refs/tags/…`, `origin/…`, `tags/…` and plain names; the merges
 * of pull requests have no name. What follows `refs/heads/` is a branch however it reads, except `tags/…`:
 * that is how some systems spell a tag.
 */
function refOf(ref: string | undefined): Ref {
  const branch = /^refs\/heads\/(?!tags\/)(.+)$/.exec(ref ?? '')?.[1];
  if (branch !== undefined) return { branch };
  const bare = bareOf(ref);
  if (bare === '' || /^(refs\/)?(pull|merge-requests)\/\d+(\/(merge|head|train))?$/.test(bare)) return {};
  const tag = /^(?:refs\/)?tags\/(.+)$/.exec(bare)?.[1];
  return tag === undefined ? { branch: bare } : { tag };
}

function tagOf(tag: string | undefined): string | undefined {
  return bareOf(tag).replace(/^(refs\/)?tags\//, '') || undefined;
}

function bareOf(ref = ''): string {
  return ref.replace(/^refs\/(heads|remotes)\//, '').replace(/^origin\//, '');
}

/** Returns the key only when it has a value, so that it does not hide what was known before. */
function only<K extends string>(key: K, value: string | undefined): { [P in K]?: string } {
  return value === undefined ? {} : ({ [key]: value } as { [P in K]?: string });
}

function attemptOf(text: string | undefined): number {
  return text !== undefined && /^[1-9]\d{0,4}$/.test(text) ? Number(text) : 1;
}

/** Clone addresses hold tokens; they are of no use to anybody else. */
export function withoutCredentials(url: string | undefined): string | undefined {
  return url?.replace(/^([a-z][a-z\d+.-]*:\/\/)[^/?#]*@/i, '$1');
}
