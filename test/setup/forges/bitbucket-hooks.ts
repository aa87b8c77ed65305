/** Bitbucket's webhooks of a repository, known by UUIDs in braces. */
import type { Answer, ForgeRequest, Route } from './fake-forge.ts';
import { remove, type FakeHooks } from './github-hooks.ts';

const error = (status: number, message: string): Answer => ({
  status,
  body: { type: 'error', error: { message } },
});

export function bitbucketHooks(state: FakeHooks): readonly Route[] {
  const route = (method: string, tail: string, reply: (asked: ForgeRequest) => Answer): Route => ({
    method,
    path: new RegExp(`^/repositories/(?<path>[^/]+/[^/]+)/hooks${tail}$`),
    answer: (asked) => {
      if (asked.headers.authorization !== `Bearer ${state.token}`) return error(401, 'Token is invalid');
      return asked.groups['path'] === state.path ? reply(asked) : error(404, 'Repository not found');
    },
  });
  const shown = ({ id, secret, ...hook }: Record<string, unknown>) => ({
    uuid: id,
    ...hook,
    secret_set: secret !== undefined,
  });
  return [
    route('GET', '', () => ({ status: 200, body: { pagelen: 100, values: state.hooks.map(shown) } })),
    route('POST', '', ({ body }) => {
      const hook = {
        ...(body as object),
        id: `{${String(state.nextId).padStart(8, '0')}-0000-0000-0000-000000000000}`,
      };
      state.nextId += 1;
      state.hooks.push(hook);
      return { status: 201, body: shown(hook) };
    }),
    route('PUT', '/(?<id>\\{[0-9a-f-]+\\})', ({ groups, body }) => {
      const known = state.hooks.find(({ id }) => id === groups['id']);
      if (known === undefined) return error(404, 'Webhook not found');
      Object.assign(known, body);
      return { status: 200, body: shown(known) };
    }),
    route('DELETE', '/(?<id>\\{[0-9a-f-]+\\})', (asked) => remove(state, asked)),
  ];
}
