/**
 * This adapter speaks to Bitbucket Cloud. Its source API has sizes and no ids of contents: a file counts as
 * unchanged within one commit alone. Its answer about a run of Pipelines has other statuses than its
 * webhooks: a state, and inside of it a stage or a result.
 */
import type { ForgeApi } from '../forges/call.ts';
import { encodePath } from '../forges/forge.ts';
import {
  at,
  idOf,
  isEnd,
  meanings,
  msOf,
  orderOfTime,
  refOf,
  shaOf,
  statusOf,
  text,
  timeOf,
  type Meaning,
} from '../read.ts';
import {
  commitOf,
  digest,
  entriesOf,
  found,
  joinPages,
  listOrThrow,
  removeHook,
  unlessMissing,
  type AskRun,
  type Head,
  type Hooks,
  type PostStatus,
  type Tree,
  type TreeEntry,
  type WantedHook,
} from '../host.ts';

/** The largest page that Bitbucket gives. */
const PER_PAGE = 100;

export function tree(api: ForgeApi): Tree {
  const { repositoryBase: repository } = api;
  return {
    head: async (branch) =>
      await unlessMissing<Head>(
        (async () => {
          const path = `${repository}/refs/branches/${encodeURIComponent(branch)}`;
          return { commit: commitOf(at((await api.call({ path })).json(), 'target', 'hash'), path) };
        })(),
        async () => {
          const answer = await api.call({ path: repository });
          return { commit: undefined, defaultBranch: text(at(answer.json(), 'mainbranch', 'name')) };
        },
      ),
    list: async (commit, folder, entriesMax) =>
      await joinPages(entriesMax, async (mark) => {
        // Without the slash at its end it would be a file.
        const inner = folder === undefined ? '' : `${encodePath(folder.path)}/`;
        const path = `${repository}/src/${commit}/${inner}`;
        const answer = (await api.call({ path, query: { pagelen: PER_PAGE, page: mark } })).json();
        return {
          entries: entriesOf(at(answer, 'values'), path).flatMap(entryOf),
          next: markOf(at(answer, 'next')),
        };
      }),
    read: async (commit, file, bytesMax) => {
      const path = `${repository}/src/${commit}/${encodePath(file.path)}`;
      return (await api.call({ path, accept: '*/*', bytesMax })).body;
    },
  };
}

/**
 * The address of the next page comes from the host: its mark alone is taken out of it, so that nothing else
 * is ever called.
 */
function markOf(next: unknown): string | undefined {
  const url = text(next);
  return url !== undefined && URL.canParse(url)
    ? (new URL(url).searchParams.get('page') ?? undefined)
    : undefined;
}

function entryOf(entry: unknown): readonly TreeEntry[] {
  const [path, type, size] = [text(at(entry, 'path')), text(at(entry, 'type')), at(entry, 'size')];
  if (path === undefined) return [];
  const attributes = at(entry, 'attributes');
  const has = (attribute: string): boolean => Array.isArray(attributes) && attributes.includes(attribute);
  const kind =
    type === 'commit_directory'
      ? 'folder'
      : type === 'commit_submodule' || has('subrepository')
        ? 'module'
        : has('link')
          ? 'link'
          : 'file';
  return [{ path, kind, id: undefined, sizeBytes: typeof size === 'number' ? size : undefined }];
}

const EVENTS = ['repo:commit_status_created', 'repo:commit_status_updated', 'pipeline:span_created'];

export const hooks: Hooks = {
  needs:
    'the scope webhook (or read:webhook:bitbucket and write:webhook:bitbucket) and to administer the repository',
  put: async (api, wanted) => {
    const path = `${api.repositoryBase}/hooks`;
    const answer = await api.call({ path, query: { pagelen: PER_PAGE } });
    const all = listOrThrow(at(answer.json(), 'values'), `GET ${path}`, 'webhooks');
    const known = found(all, wanted, { id: (hook) => at(hook, 'uuid'), url: (hook) => at(hook, 'url') });
    const json = settings(wanted);
    if (known === undefined) return at((await api.call({ method: 'POST', path, json })).json(), 'uuid');
    await api.call({ method: 'PUT', path: `${path}/${encodeURIComponent(known.id)}`, json });
    return known.id;
  },
  remove: removeHook,
};

const settings = ({ url, secret }: WantedHook) => ({
  description: 'svc',
  url,
  active: true,
  events: EVENTS,
  secret,
});

const ofStage = meanings({
  queued: 'PENDING',
  running: 'RUNNING IN_PROGRESS',
  // It waits for somebody to start a manual step.
  blocked: 'PAUSED HALTED',
});

const ofResult = meanings({
  success: 'SUCCESSFUL COMPLETE',
  failed: 'FAILED',
  error: 'ERROR',
  cancelled: 'STOPPED',
  timed_out: 'EXPIRED',
});

export const askRun: AskRun = async (api, run) => {
  const id = run.externalRunId.includes('-') ? `{${run.externalRunId}}` : run.externalRunId;
  const path = `${api.repositoryBase}/pipelines/${encodeURIComponent(id)}`;
  const pipeline = (await api.call({ path })).json();
  const state = text(at(pipeline, 'state', 'name'));
  if (state === undefined) return { ignored: 'pipeline without a state' };
  const result = text(at(pipeline, 'state', 'result', 'name'));
  const stage = text(at(pipeline, 'state', 'stage', 'name'));
  const means = meaning(state, stage, result);
  const target = (key: string) => at(pipeline, 'target', key);
  return {
    repository: {
      id: idOf(at(pipeline, 'repository', 'uuid')),
      name: text(at(pipeline, 'repository', 'full_name')),
    },
    run,
    event: {
      ...statusOf(means, state, result ?? stage),
      // While it runs it has no time of its last change.
      order: isEnd(means) ? orderOfTime(at(pipeline, 'completed_on')) : undefined,
      facts: {
        name: text(at(pipeline, 'repository', 'full_name')),
        commitSha: shaOf(at(target('commit'), 'hash')),
        ...refOf(target('ref_name'), text(target('ref_type')) === 'tag'),
        startedAt: timeOf(at(pipeline, 'created_on')),
        finishedAt: isEnd(means) ? timeOf(at(pipeline, 'completed_on')) : undefined,
        durationMs: isEnd(means) ? msOf(at(pipeline, 'duration_in_seconds')) : undefined,
        actor: text(at(pipeline, 'creator', 'nickname')) ?? text(at(pipeline, 'creator', 'display_name')),
      },
    },
  };
};

function meaning(state: string, stage: string | undefined, result: string | undefined): Meaning {
  if (state === 'COMPLETED') return ofResult(result);
  return ofStage(stage ?? state);
}

const STATES = {
  pending: 'INPROGRESS',
  success: 'SUCCESSFUL',
  failure: 'FAILED',
  error: 'FAILED',
  cancelled: 'STOPPED',
} as const;

/** Characters. Either form begins as our own statuses do; see events.ts. */
const KEY_MAX = 40;
const keyOf = (context: string): string =>
  context.length <= KEY_MAX ? context : `svc-${digest(context, 32)}`;

export const postStatus: PostStatus = async (api, status) => {
  const { sha, context, state, description, targetUrl, branch } = status;
  await api.call({
    method: 'POST',
    path: `${api.repositoryBase}/commit/${sha}/statuses/build`,
    json: {
      key: keyOf(context),
      state: STATES[state],
      name: context,
      description,
      // It takes none without an address.
      url: targetUrl ?? `https://bitbucket.org/${api.repositoryPath}/commits/${sha}`,
      refname: branch,
    },
  });
};
