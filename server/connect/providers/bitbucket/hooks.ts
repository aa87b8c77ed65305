/** Webhooks of a repository are made, found and removed here. */
import { found, listed } from '../hooks.ts';
import type { Hooks, WantedHook } from '../hooks.ts';
import { at } from '../read.ts';

const EVENTS = ['repo:commit_status_created', 'repo:commit_status_updated', 'pipeline:span_created'];
/** A repository has at most 50 webhooks. */
const PER_PAGE = 100;

export const hooks: Hooks = {
  needs:
    'the scope webhook (or read:webhook:bitbucket and write:webhook:bitbucket) and to administer the repository',
  put: async (api, wanted) => {
    const path = `${api.repositoryBase}/hooks`;
    const answer = await api.call({ path, query: { pagelen: PER_PAGE } });
    const all = listed(answer, path, at(answer.json(), 'values'));
    const known = found(all, wanted, { id: (hook) => at(hook, 'uuid'), url: (hook) => at(hook, 'url') });
    const json = settings(wanted);
    if (known === undefined) return at((await api.call({ method: 'POST', path, json })).json(), 'uuid');
    await api.call({ method: 'PUT', path: `${path}/${encodeURIComponent(known.id)}`, json });
    return known.id;
  },
  remove: async (api, id) => {
    await api.call({ method: 'DELETE', path: `${api.repositoryBase}/hooks/${encodeURIComponent(id)}` });
  },
};

const settings = ({ url, secret }: WantedHook) => ({
  description: 'svc',
  url,
  active: true,
  events: EVENTS,
  secret,
});
