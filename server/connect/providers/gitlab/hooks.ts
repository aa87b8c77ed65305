/** Webhooks of a project are made, found and removed here. */
import { ForgeError } from '../forges/call.ts';
import type { ForgeApi } from '../forges/call.ts';
import { found, listed } from '../hooks.ts';
import type { Hooks, WantedHook } from '../hooks.ts';
import { at, idOf } from '../read.ts';

const PER_PAGE = 100;
/** A project has at most 100 webhooks on gitlab.com. */
const PAGES_MAX = 5;

export const hooks: Hooks = {
  needs: 'the scope api and the role Maintainer',
  put: async (api, wanted) => {
    const known = found(await all(api), wanted, {
      id: (hook) => at(hook, 'id'),
      url: (hook) => at(hook, 'url'),
    });
    // One that GitLab switched off after failures cannot be switched on by a change: it is made anew.
    const fresh = known === undefined || isOff(known.hook);
    if (known !== undefined && fresh) await hooks.remove(api, known.id);
    return fresh ? await make(api, wanted) : await repair(api, known.id, wanted);
  },
  remove: async (api, id) => {
    await api.call({ method: 'DELETE', path: `${api.repositoryBase}/hooks/${encodeURIComponent(id)}` });
  },
};

async function all(api: ForgeApi): Promise<readonly unknown[]> {
  const path = `${api.repositoryBase}/hooks`;
  const hooksOfPages: unknown[] = [];
  for (let page = 1; page <= PAGES_MAX; page += 1) {
    const some = listed(await api.call({ path, query: { per_page: PER_PAGE, page } }), path);
    hooksOfPages.push(...some);
    if (some.length < PER_PAGE) break;
  }
  return hooksOfPages;
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

async function make(api: ForgeApi, wanted: WantedHook): Promise<string | undefined> {
  const path = `${api.repositoryBase}/hooks`;
  const made = (await api.call({ method: 'POST', path, json: settings(wanted) })).json();
  const id = idOf(at(made, 'id'));
  await checkSigned(api, { id, hook: made }, wanted);
  return id;
}

async function repair(api: ForgeApi, id: string, wanted: WantedHook): Promise<string> {
  const path = `${api.repositoryBase}/hooks/${encodeURIComponent(id)}`;
  const changed = (await api.call({ method: 'PUT', path, json: settings(wanted) })).json();
  await checkSigned(api, { id, hook: changed }, wanted);
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
