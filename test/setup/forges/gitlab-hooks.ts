/**
 * The routes answer as GitLab's webhooks of a project do, in pages. Secrets are never shown; a host that
 * cannot sign takes the signing token without a word.
 */
import type { Answer, ForgeRequest, Route } from './fake-forge.ts';
import { remove, type FakeHooks } from './github-hooks.ts';

export function gitlabHooks(state: FakeHooks, { canSign }: { readonly canSign: boolean }): readonly Route[] {
  const route = (method: string, tail: string, reply: (asked: ForgeRequest) => Answer): Route => ({
    method,
    path: new RegExp(`^/projects/(?<path>.+)/hooks${tail}$`),
    answer: (asked) => {
      if (asked.headers['private-token'] !== state.token)
        return { status: 401, body: { message: '401 Unauthorized' } };
      if (asked.groups['path'] === state.path) return reply(asked);
      return { status: 404, body: { message: '404 Project Not Found' } };
    },
  });
  const shown = ({ signing_token: signing, token, ...hook }: Record<string, unknown>) => ({
    alert_status: 'executable',
    ...hook,
    token_present: token !== undefined,
    ...(canSign ? { signing_token_present: signing !== undefined } : {}),
  });
  return [
    route('GET', '', ({ query }) => {
      const [page, size] = [Number(query.get('page') ?? 1), Number(query.get('per_page') ?? 20)];
      return { status: 200, body: state.hooks.slice((page - 1) * size, page * size).map(shown) };
    }),
    route('POST', '', ({ body }) => {
      const hook = { push_events: true, ...(body as object), id: state.nextId };
      state.nextId += 1;
      state.hooks.push(hook);
      return { status: 201, body: shown(hook) };
    }),
    route('PUT', '/(?<id>[0-9]+)', ({ groups, body }) => {
      const known = state.hooks.find(({ id }) => String(id) === groups['id']);
      if (known === undefined) return { status: 404, body: { message: '404 Not found' } };
      Object.assign(known, body);
      return { status: 200, body: shown(known) };
    }),
    route('DELETE', '/(?<id>[0-9]+)', (asked) => remove(state, asked)),
  ];
}
