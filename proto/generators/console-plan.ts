/**
 * Plans the pages of the console: what has a list is a collection at the address of its route, what a list
 * gives is an item below it, and every other call for people belongs to the item or the collection whose
 * route it extends, or else to the page of its service.
 */
import type { FieldModel, MessageModel, Model, RpcModel } from './model.ts';

/** Says where in the console an address begins. */
export type Place = 'account' | 'team' | 'project' | 'environment' | 'staff';

export interface Collection {
  readonly at: Place;
  /** Segments of the route below its place, such as `['ci', 'connections']`; below an item: its own alone. */
  readonly segments: readonly string[];
  readonly list: RpcModel;
  readonly item: ItemModel;
  /** The collection of whose item this is a part. */
  readonly parent: Collection | undefined;
  readonly acts: readonly RpcModel[];
}

/** Says what one row of a list is, and what may be done with it. */
export interface ItemModel {
  readonly message: MessageModel;
  /** Route of the item, absent where no call names one. */
  readonly path: string | undefined;
  /** Variable of its route that names it. */
  readonly idField: string | undefined;
  readonly get: RpcModel | undefined;
  readonly acts: readonly RpcModel[];
}

/** Holds what a service offers that belongs to no list. */
export interface ServicePage {
  readonly at: Place;
  readonly property: string;
  readonly rpcs: readonly RpcModel[];
}

export interface ConsolePlan {
  readonly collections: readonly Collection[];
  readonly pages: readonly ServicePage[];
}

const PLACES: ReadonlyArray<readonly [prefix: string, at: Place]> = [
  ['/teams/{teamId}/', 'team'],
  ['/projects/{projectId}/', 'project'],
  ['/environments/{environmentId}/', 'environment'],
  ['/admin/', 'staff'],
];

/** The first route of a call, as documented. */
export const pathOf = (rpc: RpcModel): string => rpc.routes[0]?.jsonPath ?? '';

/** Returns the calls of people: those of machines, and those without a route, have no page. */
function callsOf(model: Model): readonly RpcModel[] {
  return model.services.flatMap(({ rpcs }) =>
    rpcs.filter(({ sdk, routes, auth }) => sdk !== undefined && routes.length > 0 && auth !== 'runner'),
  );
}

/** The field of an answer that holds the items of a list; undefined for what is no list. */
export function itemsOf(rpc: RpcModel): (FieldModel & { type: { kind: 'message' } }) | undefined {
  if (rpc.serverStreaming || rpc.raw || rpc.routes[0]?.route.verb !== 'GET') return undefined;
  const field = rpc.page?.items ?? rpc.numbered ?? rpc.sdk?.returns;
  return field?.repeated === true && field.type.kind === 'message'
    ? (field as FieldModel & { type: { kind: 'message' } })
    : undefined;
}

const lastSegment = (path: string): string => path.slice(path.lastIndexOf('/') + 1);
const isVariable = (segment: string): boolean => segment.startsWith('{');

/** A list at the root that takes a team is one of the team's. */
function placeOf(rpc: RpcModel): { readonly at: Place; readonly rest: string } {
  const path = pathOf(rpc);
  const known = PLACES.find(([prefix]) => path.startsWith(prefix));
  if (known !== undefined) return { at: known[1], rest: path.slice(known[0].length) };
  const isOfTeam = rpc.request.fields.some(({ json }) => json === 'teamId');
  return { at: isOfTeam ? 'team' : 'account', rest: path.slice(1) };
}

/** Returns a path with nameless variables, so that `{idOrSlug}` and `{projectId}` are alike. */
const shapeOf = (path: string): string => path.replaceAll(/\{\w+\}/g, '{}');
const isBelow = (path: string, above: string): boolean => shapeOf(path).startsWith(`${shapeOf(above)}/`);

interface Draft {
  readonly list: RpcModel;
  readonly at: Place;
  readonly rest: string;
  readonly item: Omit<ItemModel, 'acts'>;
}

function draftOf(list: RpcModel, calls: readonly RpcModel[]): Draft {
  const { at, rest } = placeOf(list);
  const message = itemsOf(list)?.type.message;
  if (message === undefined) throw new Error(`${list.id} is no list`);
  const get = getOf(message, at, calls);
  const path = get === undefined ? pathBelow(list, rest, calls) : pathOf(get);
  return { list, at, rest, item: { message, path, get, idField: path && lastSegment(path).slice(1, -1) } };
}

/** The call that answers one item. What staff see of a team is not what its members see. */
function getOf(message: MessageModel, at: Place, calls: readonly RpcModel[]): RpcModel | undefined {
  return calls.find(
    (rpc) =>
      rpc.response === message &&
      itemsOf(rpc) === undefined &&
      rpc.routes[0]?.route.verb === 'GET' &&
      isVariable(lastSegment(pathOf(rpc))) &&
      (at === 'staff') === pathOf(rpc).startsWith('/admin/'),
  );
}

/** The path of an item that no call answers alone: below that of its list, or by the variable's name. */
function pathBelow(list: RpcModel, rest: string, calls: readonly RpcModel[]): string | undefined {
  const own = calls.map(pathOf).find((path) => path.startsWith(`${pathOf(list)}/{`));
  if (own !== undefined) return own.slice(0, own.indexOf('}', pathOf(list).length) + 1);
  const variable = `{${lastSegment(rest).replace(/s$/, '')}Id}`;
  const named = calls
    .filter(({ service }) => service === list.service)
    .map(pathOf)
    .find((path) => path.includes(`/${lastSegment(rest)}/${variable}`));
  return named?.slice(0, named.indexOf(variable) + variable.length);
}

export function planConsole(model: Model): ConsolePlan {
  const calls = callsOf(model);
  // The shortest address of an item is the one that its parts are below.
  const drafts = calls
    .filter((rpc) => itemsOf(rpc) !== undefined)
    .map((list) => draftOf(list, calls))
    .sort((a, b) => a.rest.length - b.rest.length || (a.rest < b.rest ? -1 : 1));
  const { owned, loose } = ownersOf(drafts, calls);
  const made = new Map<Draft, Collection>();
  const collectionOf = (draft: Draft): Collection => {
    const known = made.get(draft);
    if (known !== undefined) return known;
    const { list, at, rest, item } = draft;
    const above = drafts.find(
      (each) =>
        each.item.path !== undefined &&
        !isPlace(each.item.path) &&
        (each.at === 'staff') === (at === 'staff') &&
        isBelow(pathOf(list), each.item.path),
    );
    const parent = above && collectionOf(above);
    const collection = {
      at: parent?.at ?? at,
      segments: (above === undefined ? rest : pathOf(list).slice((above.item.path ?? '').length + 1)).split(
        '/',
      ),
      list,
      item: { ...item, acts: owned.get(shapeOf(item.path ?? '')) ?? [] },
      parent,
      acts: owned.get(shapeOf(pathOf(list))) ?? [],
    };
    made.set(draft, collection);
    return collection;
  };
  return { collections: drafts.map(collectionOf), pages: servicePages(loose) };
}

/** Each call by the longest route of an item or a list that it extends. */
function ownersOf(drafts: readonly Draft[], calls: readonly RpcModel[]) {
  const paths = drafts
    .flatMap(({ list, item: { path } }) => [pathOf(list), ...(path === undefined ? [] : [path])])
    .map(shapeOf)
    .sort((a, b) => b.length - a.length);
  const owned = new Map<string, RpcModel[]>();
  const loose: RpcModel[] = [];
  for (const rpc of calls) {
    if (drafts.some(({ list, item: { get } }) => list === rpc || get === rpc)) continue;
    const shape = shapeOf(pathOf(rpc));
    const owner =
      paths.find((each) => shape === each || shape.startsWith(`${each}/`)) ?? namesake(rpc, drafts);
    if (owner === undefined) loose.push(rpc);
    else owned.set(owner, [...(owned.get(owner) ?? []), rpc]);
  }
  return { owned, loose };
}

/** The list at which the page of a call's service would stand. */
function namesake(rpc: RpcModel, drafts: readonly Draft[]): string | undefined {
  const { at } = placeOf(rpc);
  const same = drafts.find((each) => each.at === at && each.rest === rpc.service.sdk?.property);
  return same && shapeOf(pathOf(same.list));
}

/** Teams, projects and environments are places: what is below them has an address of its own. */
const isPlace = (path: string): boolean => PLACES.some(([prefix]) => shapeOf(prefix) === `${shapeOf(path)}/`);

function servicePages(rpcs: readonly RpcModel[]): readonly ServicePage[] {
  const found = new Map<string, ServicePage & { rpcs: RpcModel[] }>();
  for (const rpc of rpcs) {
    const { at } = placeOf(rpc);
    const { property = '' } = rpc.service.sdk ?? {};
    const page = found.get(`${at} ${property}`) ?? { at, property, rpcs: [] };
    page.rpcs.push(rpc);
    found.set(`${at} ${property}`, page);
  }
  return [...found.values()];
}
