/**
 * This adapter speaks to GitLab. Its API lists a folder in pages of 100, and reads blobs by their id; sizes
 * are known when a file is read. A pipeline with its jobs is read like its webhook. Statuses of commits are
 * jobs that GitLab shows in a pipeline of its own making.
 */
import { ForgeError, type ForgeApi } from '../forges/call.ts';
import { at, idOf, text } from '../read.ts';
import {
  commitOf,
  entriesOf,
  found,
  joinPages,
  kindOfMode,
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
import { normalise } from './events.ts';

/** The largest page that GitLab gives. */
const PER_PAGE = 100;

export function tree(api: ForgeApi): Tree {
  const { repositoryBase: project } = api;
  const repository = `${project}/repository`;
  return {
    head: async (branch): Promise<Head> => {
      const settings = (await api.call({ path: project })).json();
      const path = `${repository}/branches/${encodeURIComponent(branch)}`;
      const commit = await unlessMissing(
        (async () => commitOf(at((await api.call({ path })).json(), 'commit', 'id'), path))(),
        async () => undefined,
      );
      return {
        commit,
        defaultBranch: text(at(settings, 'default_branch')),
        ciFile: text(at(settings, 'ci_config_path')),
      };
    },
    list: async (commit, folder, entriesMax) =>
      await joinPages(entriesMax, async (mark) => {
        const path = `${repository}/tree`;
        const query = { ref: commit, path: folder?.path, per_page: PER_PAGE, page: mark };
        const answer = await api.call({ path, query });
        const next = text(answer.headers['x-next-page']);
        return { entries: entriesOf(answer.json(), path).flatMap(entryOf), next };
      }),
    read: async (_commit, file, bytesMax) =>
      (await api.call({ path: `${repository}/blobs/${file.id ?? ''}/raw`, accept: '*/*', bytesMax })).body,
  };
}

function entryOf(entry: unknown): readonly TreeEntry[] {
  const [path, id] = [text(at(entry, 'path')), text(at(entry, 'id'))];
  if (path === undefined || id === undefined) return [];
  const kind = kindOfMode(text(at(entry, 'mode')), text(at(entry, 'type')));
  return [{ path, kind, id, sizeBytes: undefined }];
}

/** A project has at most 100 webhooks on gitlab.com. */
const HOOK_PAGES_MAX = 5;

export const hooks: Hooks = {
  needs: 'the scope api and the role Maintainer',
  put: async (api, wanted) => {
    const all = await listed(api, `${api.repositoryBase}/hooks`, {
      what: 'webhooks',
      pagesMax: HOOK_PAGES_MAX,
    });
    const known = found(all, wanted, { id: (hook) => at(hook, 'id'), url: (hook) => at(hook, 'url') });
    // One that GitLab switched off after failures cannot be switched on by a change: it is made anew.
    const fresh = known === undefined || isOff(known.hook);
    if (known !== undefined && fresh) await hooks.remove(api, known.id);
    return await write(api, wanted, fresh ? undefined : known.id);
  },
  remove: removeHook,
};

/** Lists what all pages of a list hold, up to so many pages. */
async function listed(
  api: ForgeApi,
  path: string,
  of: { readonly what: string; readonly pagesMax: number; readonly bytesMax?: number },
): Promise<readonly unknown[]> {
  const { what, pagesMax, ...limits } = of;
  const all: unknown[] = [];
  for (let page = 1; page <= pagesMax; page += 1) {
    const answer = await api.call({ path, query: { per_page: PER_PAGE, page }, ...limits });
    const some = listOrThrow(answer.json(), `GET ${path}`, what);
    all.push(...some);
    if (some.length < PER_PAGE) break;
  }
  return all;
}

function isOff(hook: unknown): boolean {
  const state = at(hook, 'alert_status');
  return state === 'disabled' || state === 'temporarily_disabled';
}

const settings = ({ url, secret, scheme }: WantedHook) => ({
  url,
  pipeline_events: true,
  job_events: true,
  push_events: false,
  enable_ssl_verification: true,
  ...(scheme === 'signature' ? { signing_token: secret } : { token: secret }),
});

/** Makes the webhook, or repairs the one with this id. Returns the id. */
async function write(api: ForgeApi, wanted: WantedHook, known?: string): Promise<string | undefined> {
  const path = `${api.repositoryBase}/hooks`;
  const json = settings(wanted);
  const answer =
    known === undefined
      ? await api.call({ method: 'POST', path, json })
      : await api.call({ method: 'PUT', path: `${path}/${encodeURIComponent(known)}`, json });
  const hook = answer.json();
  const id = known ?? idOf(at(hook, 'id'));
  await checkSigned(api, { id, hook }, wanted);
  return id;
}

/**
 * A GitLab that cannot sign takes the signing token without an error; what it would send then is refused
 * here.
 */
async function checkSigned(
  api: ForgeApi,
  { id, hook }: { readonly id: string | undefined; readonly hook: unknown },
  { scheme }: WantedHook,
): Promise<void> {
  if (scheme !== 'signature' || at(hook, 'signing_token_present') === true) return;
  if (id !== undefined) await hooks.remove(api, id);
  throw new ForgeError(
    'refused',
    'this GitLab does not sign webhooks; rotate the secret of the webhook with the scheme token',
  );
}

/** More jobs than webhooks are read for. */
const JOB_PAGES_MAX = 10;

/**
 * Jobs are read first: the order of a pipeline's statuses is taken from them, and a pipeline that moved on
 * between the two calls must not be recorded with an order that its own webhook has not reached yet.
 */
export const askRun: AskRun = async (api, { externalRunId }) => {
  const path = `${api.repositoryBase}/pipelines/${externalRunId}`;
  const jobs = await listed(api, `${path}/jobs`, {
    what: 'jobs',
    pagesMax: JOB_PAGES_MAX,
    bytesMax: JOBS_BYTES_MAX,
  });
  const pipeline = (await api.call({ path })).json();
  return normalise(
    {},
    {
      object_kind: 'pipeline',
      object_attributes: { ...Object(pipeline), url: at(pipeline, 'web_url') },
      project: { id: at(pipeline, 'project_id') },
      user: at(pipeline, 'user'),
      builds: jobs,
    },
  );
};

/** Each job comes with its commit and its pipeline. */
const JOBS_BYTES_MAX = 4 * 1_048_576;

/** A longer address is refused with the whole status. */
const URL_MAX = 255;

const STATES = {
  pending: 'running',
  success: 'success',
  failure: 'failed',
  error: 'failed',
  cancelled: 'canceled',
} as const;

export const postStatus: PostStatus = async (api, status) => {
  const { sha, context, state, description, targetUrl, branch, tag, ownRunId } = status;
  try {
    await api.call({
      method: 'POST',
      path: `${api.repositoryBase}/statuses/${sha}`,
      json: {
        state: STATES[state],
        name: context,
        description,
        target_url: targetUrl !== undefined && targetUrl.length <= URL_MAX ? targetUrl : undefined,
        // Without it GitLab takes the wrong one of several pipelines of a commit.
        ref: branch ?? tag,
        pipeline_id: ownRunId !== undefined && /^\d{1,15}$/.test(ownRunId) ? Number(ownRunId) : undefined,
      },
    });
  } catch (error) {
    if (!isThereAlready(error)) throw error;
  }
};

/** GitLab refuses a move from a state to itself; then it is as it should be. */
function isThereAlready(error: unknown): boolean {
  return (
    error instanceof ForgeError && error.status === 400 && /cannot transition status/i.test(error.message)
  );
}
