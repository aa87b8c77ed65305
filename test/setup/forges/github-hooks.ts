/** The routes answer as GitHub's webhooks of a repository do. What is there is shown without its secret. */
import type { Answer, ForgeRequest, Route } from './fake-forge.ts';

/** Webhooks that a host of any kind keeps. */
export interface FakeHooks {
  readonly token: string;
  readonly path: string;
  /** As they are stored, with what is never shown. */
  readonly hooks: Array<{ id: string | number } & Record<string, unknown>>;
  /** Ids are given by counting. */
  nextId: number;
}

export const fakeHooks = (token: string, path: string): FakeHooks => ({ token, path, hooks: [], nextId: 1 });

const NOT_FOUND: Answer = { status: 404, body: { message: 'Not Found' } };

/** An answer for whoever may administer the repository. */
type Reply = (state: FakeHooks, asked: ForgeRequest) => Answer;

export function githubHooks(state: FakeHooks): readonly Route[] {
  const route = (method: string, tail: string, reply: Reply): Route => ({
    method,
    path: new RegExp(`^/repos/(?<path>[^/]+/[^/]+)/hooks${tail}$`),
    answer: (asked) => {
      if (asked.headers.authorization !== `Bearer ${state.token}`)
        return { status: 401, body: { message: 'Bad credentials' } };
      return asked.groups['path'] === state.path ? reply(state, asked) : NOT_FOUND;
    },
  });
  return [
    route('GET', '', ({ hooks }) => ({ status: 200, body: hooks.map(shown) })),
    route('POST', '', create),
    route('PATCH', '/(?<id>[^/]+)', change),
    route('DELETE', '/(?<id>[^/]+)', remove),
  ];
}

function create(state: FakeHooks, { body }: ForgeRequest): Answer {
  const hook = { id: state.nextId, ...(body as object) } as FakeHooks['hooks'][number];
  const url = urlOf(hook);
  if (state.hooks.some((other) => urlOf(other) === url))
    return {
      status: 422,
      body: { message: 'Validation Failed', errors: [{ message: 'Hook already exists on this repository' }] },
    };
  state.nextId += 1;
  state.hooks.push(hook);
  return { status: 201, body: shown(hook) };
}

function change(state: FakeHooks, { groups, body }: ForgeRequest): Answer {
  const at = state.hooks.findIndex(({ id }) => String(id) === groups['id']);
  const known = state.hooks[at];
  if (known === undefined) return NOT_FOUND;
  // `config` is replaced as a whole: without a secret there is none afterwards.
  state.hooks[at] = { ...known, ...(body as object) };
  return { status: 200, body: shown(state.hooks[at]) };
}

/** Removes a webhook, in the same way at every host. */
export function remove({ hooks }: FakeHooks, { groups }: ForgeRequest): Answer {
  const at = hooks.findIndex(({ id }) => String(id) === groups['id']);
  if (at < 0) return NOT_FOUND;
  hooks.splice(at, 1);
  return { status: 204 };
}

const urlOf = (hook: FakeHooks['hooks'][number]): unknown =>
  (hook['config'] as { url?: unknown } | undefined)?.url;

function shown(hook: FakeHooks['hooks'][number]): object {
  const config = hook['config'] as Record<string, unknown>;
  return { ...hook, config: { ...config, ...('secret' in config ? { secret: '********' } : {}) } };
}
