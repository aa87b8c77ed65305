/** GitHub never answers the secret of a repository's webhook, so what is there is always written anew. */
import type { ForgeApi } from '../forges/call.ts';
import { found, listed } from '../hooks.ts';
import type { Hooks, WantedHook } from '../hooks.ts';
import { at } from '../read.ts';

const EVENTS = ['workflow_run', 'workflow_job', 'status'];
/** A repository has at most 20 for one event. */
const PER_PAGE = 100;

export const hooks: Hooks = {
  needs: 'the permission "Webhooks: read and write" of a fine-grained token, or the scope admin:repo_hook',
  put: async (api, wanted) => {
    const path = `${api.repositoryBase}/hooks`;
    const all = listed(await api.call({ path, query: { per_page: PER_PAGE } }), path);
    const known = found(all, wanted, {
      id: (hook) => at(hook, 'id'),
      url: (hook) => at(hook, 'config', 'url'),
    });
    return known === undefined ? await make(api, wanted) : await repair(api, known.id, wanted);
  },
  remove: async (api, id) => {
    await api.call({ method: 'DELETE', path: `${api.repositoryBase}/hooks/${encodeURIComponent(id)}` });
  },
};

const settings = ({ url, secret }: WantedHook) => ({
  active: true,
  events: EVENTS,
  config: { url, secret, content_type: 'json', insecure_ssl: '0' },
});

async function make(api: ForgeApi, wanted: WantedHook): Promise<unknown> {
  const json = { name: 'web', ...settings(wanted) };
  return at((await api.call({ method: 'POST', path: `${api.repositoryBase}/hooks`, json })).json(), 'id');
}

async function repair(api: ForgeApi, id: string, wanted: WantedHook): Promise<string> {
  const path = `${api.repositoryBase}/hooks/${encodeURIComponent(id)}`;
  await api.call({ method: 'PATCH', path, json: settings(wanted) });
  return id;
}
