/** Defines what every family of resources is made of: routes and lists of pages. */
import type Stripe from 'stripe';
import type { Params } from './forms.ts';
import { invalid } from './refusal.ts';
import { idOf, type Kept, type Tables, type World } from './world.ts';

export interface Call {
  readonly world: World;
  readonly params: Params;
  /** Id of the object that the path names. */
  readonly id: string;
}

export interface Route {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** `:id` stands for any id. */
  readonly path: string;
  readonly accepts: readonly string[];
  /** Runs in one go: nothing else happens meanwhile. */
  answer(call: Call): object;
}

const routeOf =
  (method: Route['method']) =>
  (path: string, accepts: Route['accepts'], answer: Route['answer']): Route => ({
    method,
    path,
    accepts,
    answer,
  });
export const get = routeOf('GET');
export const post = routeOf('POST');
export const del = routeOf('DELETE');

/** Parameters that a route reads or may ignore, by the names of the library. */
export const accepts = <P>(...names: readonly (keyof P & string)[]): readonly string[] => names;

export const PAGING = ['limit', 'starting_after', 'ending_before', 'created', 'expand'] as const;

interface Listed {
  readonly id: string;
  readonly created?: number;
}

export interface Pages<T> {
  readonly path: string;
  /** Entries in the order in which they were made. Lists show the newest first. */
  readonly all: Iterable<T>;
}

/** A page of a list, as `limit`, `starting_after`, `ending_before` and `created` ask for it. */
export function pageOf<T extends Listed>(params: Params, { path, all }: Pages<T>): Stripe.ApiList<T> {
  const limit = params.whole('limit') ?? 10;
  if (limit < 1 || limit > 100)
    throw invalid('This value must be between 1 and 100 (inclusive).', { param: 'limit' });
  const found = [...all].reverse().filter(createdWithin(params));
  const after = params.text('starting_after');
  const before = params.text('ending_before');
  const placeOf = (id: string, param: string) => {
    const place = found.findIndex((each) => each.id === id);
    if (place < 0) throw invalid(`No such object: '${id}'`, { param, code: 'resource_missing' });
    return place;
  };
  if (before !== undefined) {
    const end = placeOf(before, 'ending_before');
    const start = Math.max(0, end - limit);
    return { object: 'list', data: found.slice(start, end), has_more: start > 0, url: path };
  }
  const start = after === undefined ? 0 : placeOf(after, 'starting_after') + 1;
  return {
    object: 'list',
    data: found.slice(start, start + limit),
    has_more: found.length > start + limit,
    url: path,
  };
}

function createdWithin(params: Params): (each: Listed) => boolean {
  if (!params.has('created')) return () => true;
  const range = asRange(params);
  return ({ created = 0 }) =>
    created >= (range.whole('gte') ?? -Infinity) &&
    created > (range.whole('gt') ?? -Infinity) &&
    created <= (range.whole('lte') ?? Infinity) &&
    created < (range.whole('lt') ?? Infinity);
}

function asRange(params: Params): Pick<Params, 'whole'> {
  try {
    const exact = params.whole('created');
    return { whole: (name) => (name === 'gte' || name === 'lte' ? exact : undefined) };
  } catch {
    return params.child('created') ?? { whole: () => undefined };
  }
}

/** Returns the entries whose fields are what the parameters of the same names ask for. */
export function matching<T extends object>(
  all: Iterable<T>,
  params: Params,
  names: ReadonlyArray<keyof T & string>,
): T[] {
  return [...all].filter((each) =>
    names.every((name) => {
      const asked = params.text(name);
      return asked === undefined || idOf(each[name] as Parameters<typeof idOf>[0]) === asked;
    }),
  );
}

/** Shows one object of a table by its id. */
export const shows = (kind: keyof Tables, path: string): Route =>
  get(`${path}/:id`, ['expand'], ({ world, id }) => world.find(kind, id));

/** Lists a table by pages, also only those with what parameters ask of these fields. */
export const lists = <K extends keyof Tables>(
  kind: K,
  path: string,
  ...names: ReadonlyArray<keyof Kept<K> & string>
): Route =>
  get(path, [...PAGING, ...names], ({ world, params }) => {
    const all = world.tables[kind].values() as Iterable<Kept<K> & Listed>;
    return pageOf(params, { path, all: matching(all, params, names) });
  });

/** The first ten, as lists inside of an object show them. */
export const embedded = <T>(all: readonly T[], url: string): Stripe.ApiList<T> => ({
  object: 'list',
  data: all.slice(0, 10),
  has_more: all.length > 10,
  url,
});
