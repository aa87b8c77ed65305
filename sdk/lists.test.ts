/**
 * Walks every list of the contract: the paged ones have three forms, the others are arrays. What is said here
 * of one holds for all, so that a new list needs no test of its own.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createSvcSDK, type Page } from './index.ts';

interface SurfaceRpc {
  readonly page?: { readonly items: string; readonly maxLimit: number };
  readonly numbered?: string;
  readonly sdk?: { readonly method: string; readonly args: readonly string[]; readonly returns?: string };
  readonly response: string;
}
interface Surface {
  readonly rpcs: Readonly<Record<string, SurfaceRpc>>;
  readonly messages: Readonly<Record<string, Readonly<Record<string, { readonly type: string }>>>>;
}

const surface = JSON.parse(
  readFileSync(join(import.meta.dirname, '..', 'proto', 'gen', 'surface.json'), 'utf8'),
) as Surface;
/** Their page is one message with more than items: SPEC calls it by `get`. */
const NO_LISTS: ReadonlySet<string> = new Set(['timeline.get']);

const methods = Object.values(surface.rpcs).flatMap((rpc) => (rpc.sdk ? [{ ...rpc, sdk: rpc.sdk }] : []));
const paged = methods.flatMap(({ page, sdk }) => (page ? [{ ...sdk, ...page }] : []));

type Method = (...args: readonly unknown[]) => PromiseLike<unknown> & AsyncIterable<unknown>;

/** Calls a method by its name, and remembers the queries of its requests. */
function calling(answers: readonly object[]) {
  const queries: (Record<string, string> | undefined)[] = [];
  const sdk = createSvcSDK({
    baseUrl: 'http://localhost:1',
    maxRetries: 0,
    fetch: async (url) => {
      const answer = answers[queries.length];
      queries.push(Object.fromEntries(new URL(url).searchParams));
      return await Promise.resolve(Response.json(answer));
    },
  });
  const call = (name: string, ...args: readonly unknown[]) => {
    const [resource = '', method = ''] = name.split('.');
    const found = (sdk as unknown as Record<string, Record<string, Method>>)[resource];
    if (found?.[method] === undefined) throw new Error(`sdk.${name} is missing`);
    return found[method](...args);
  };
  return { call, queries };
}

/** Arguments that stand before the parameters; the number of a page stands in their place. */
const argsOf = (args: readonly string[]): string[] =>
  args.filter((arg) => arg !== 'page?').map((arg) => `${arg}_1`);

it('every list with pages is known as one', () => {
  expect(paged.length).toBeGreaterThan(30);
  const withCursor = methods.filter(({ response }) => 'nextCursor' in (surface.messages[response] ?? {}));
  const unpaged = withCursor.filter(({ page }) => page === undefined).map(({ sdk }) => sdk.method);
  expect(new Set(unpaged)).toEqual(NO_LISTS);
});

it.each(paged)('sdk.$method is an array over all pages, and an iterable', async ({ method, args, items }) => {
  const pages = [{ [items]: [{ id: 'a' }, { id: 'b' }], nextCursor: 'c1' }, { [items]: [{ id: 'c' }] }];
  const all = [{ id: 'a' }, { id: 'b' }, { id: 'c' }];
  const awaited = calling(pages);
  expect(await awaited.call(method, ...argsOf(args))).toEqual(all);
  expect(awaited.queries).toEqual([{}, { cursor: 'c1' }]);
  const iterated: unknown[] = [];
  for await (const item of calling(pages).call(method, ...argsOf(args))) iterated.push(item);
  expect(iterated).toEqual(all);
});

it.each(paged)('sdk.$method takes a limit over all pages', async ({ method, args, items, maxLimit }) => {
  const pages = [{ [items]: Array.from({ length: maxLimit }, (_, id) => ({ id })), nextCursor: 'c1' }];
  const more = { [items]: [{ id: 'last' }, { id: 'too many' }], nextCursor: 'c2' };
  const { call, queries } = calling([...pages, more]);
  const found = await call(method, ...argsOf(args), { limit: maxLimit + 1 });
  expect(found).toHaveLength(maxLimit + 1);
  expect(queries).toEqual([{ limit: String(maxLimit) }, { limit: '1', cursor: 'c1' }]);
  await expect(call(method, ...argsOf(args), { limits: 5 })).rejects.toThrow('did you mean "limit"?');
});

it.each(paged)('sdk.${method}Page is one page', async ({ method, args, items }) => {
  const answer = { [items]: [{ id: 'a' }], nextCursor: 'c2' };
  const { call, queries } = calling([answer]);
  const page = await call(`${method}Page`, ...argsOf(args), { limit: 1, cursor: 'c1' });
  expect(page).toEqual(answer);
  expect(queries).toEqual([{ limit: '1', cursor: 'c1' }]);
});

it('builds.list gives one page by its number too', async () => {
  const { call, queries } = calling([{ builds: [{ id: 'a' }] }, { builds: [] }]);
  expect(await call('builds.list', 'env_1', 2)).toEqual([{ id: 'a' }]);
  expect(await call('builds.list', 'env_1', undefined, { headers: { 'x-own': '1' } })).toEqual([]);
  expect(queries).toEqual([{ page: '2' }, {}]);
});

it('a handle of a space has the lists of its projects', async () => {
  const sdk = createSvcSDK({
    fetch: async (url) =>
      await Promise.resolve(Response.json({ projects: [{ name: url }], nextCursor: 'c' })),
  });
  const { projects } = sdk.space('spc_1');
  const pages: Page<unknown>[] = [];
  for await (const page of projects.list({ limit: 1 }).pages()) pages.push(page);
  const [{ name } = { name: '' }] = await projects.list({ limit: 1 });
  expect(name).toBe('http://localhost:8080/projects?limit=1&spaceId=spc_1');
  expect(pages).toEqual([{ items: [{ name }], nextCursor: 'c' }]);
  expect(await projects.listPage({ limit: 1 })).toEqual({ projects: [{ name }], nextCursor: 'c' });
});

const numbered = methods.flatMap((each) =>
  each.numbered === undefined ? [] : [{ ...each.sdk, items: each.numbered }],
);

it.each(numbered)('sdk.$method is one page by its number, whole', async ({ method, args, items }) => {
  const answer = { [items]: [{ id: 'a' }], page: 2, nextPage: 3 };
  const { call, queries } = calling([answer]);
  expect(await call(method, ...argsOf(args), { page: 2 })).toEqual(answer);
  expect(queries).toEqual([{ page: '2' }]);
});

it.each(
  methods
    .filter(
      (each) => each.page === undefined && each.numbered === undefined && /\.list/.test(each.sdk.method),
    )
    .map(({ sdk }) => sdk),
)('sdk.$method, which has no pages, is an array', async ({ method, args, returns = '' }) => {
  const { call } = calling([{ [returns]: [{ id: 'a' }] }]);
  expect(await call(method, ...argsOf(args))).toEqual([{ id: 'a' }]);
});
