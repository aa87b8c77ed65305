/**
 * Prints cli/gen/kinds.ts, which says of every kind of thing how the command line finds one of them by its
 * name. A kind is what the contract lists: its key is the words of the path under which its things are,
 * `runners` of `/teams/{teamId}/runners/{runnerId}`.
 */
import { planConsole, type Collection } from './console-plan.ts';
import type { FieldModel, MessageModel, Model, RpcModel } from './model.ts';
import { printOperation } from './operation-text.ts';
import { HEADER, literal, propertyKey } from './text.ts';

/** Fields of text that people know a thing by; of those that it has, the first of these lines counts. */
const NAMES: readonly (readonly string[])[] = [
  ['slug', 'name'],
  ['email', 'username'],
  ['repositoryPath'],
  ['version'],
  ['domain'],
  ['host'],
  ['url'],
];

interface Kind {
  readonly key: string;
  readonly list: RpcModel;
  readonly id: FieldModel;
  readonly names: readonly FieldModel[];
  /** Address of one of them in the console. */
  readonly page?: string | undefined;
}

export function printKinds(model: Model): string {
  const rpcs = model.services.flatMap((service) => service.rpcs).filter(({ cli }) => cli !== undefined);
  const uses = rpcs.flatMap(usesOf);
  const keys = [...new Set([...uses.map(({ key }) => key), ...namedKeys(rpcs)])].sort();
  const { collections } = planConsole(model);
  const kinds = keys
    .flatMap((key) => kindOf(key, rpcs, uses) ?? [])
    .map((kind) => ({ ...kind, page: pageOf(collections.find(({ list }) => list === kind.list)) }));
  const known = new Set(kinds.map(({ key }) => key));
  return [
    HEADER,
    "import type { KindSpec } from '../command.ts';",
    '',
    '/** Kinds of things, by the words of the path under which they are. */',
    'export const kinds: Readonly<Record<string, KindSpec>> = {',
    ...kinds.flatMap((kind) =>
      printKind(
        kind,
        uses.filter((use) => known.has(use.key)),
      ),
    ),
    '};',
    '',
  ].join('\n');
}

/** A variable of a path, and the words in front of it. */
interface Use {
  readonly key: string;
  readonly variable: string;
  /** Path of all things of the kind: `/teams/{teamId}/runners`. */
  readonly above: string;
}

function usesOf({ routes }: RpcModel): readonly Use[] {
  const segments = routes[0]?.jsonPath.slice(1).split('/') ?? [];
  return segments.flatMap((segment, index) => {
    const variable = /^\{(id\w+|\w+Id)\}$/.exec(segment)?.[1];
    const key = tailOf(segments.slice(0, index));
    return variable === undefined || key === ''
      ? []
      : [{ key, variable, above: `/${segments.slice(0, index).join('/')}` }];
  });
}

/** Finds what no path leads to, and requests name: the regions of `regionId`. */
function namedKeys(rpcs: readonly RpcModel[]): readonly string[] {
  const named = new Set(rpcs.flatMap(({ request }) => request.fields.map(({ json }) => json)));
  return rpcs.flatMap((list) => {
    const path = list.routes[0]?.jsonPath ?? '';
    const key = tailOf(path.slice(1).split('/'));
    return itemOf(list) && !path.includes('{') && named.has(idFieldOf(key)) ? [key] : [];
  });
}

/** It returns the words behind the last variable. */
function tailOf(segments: readonly string[]): string {
  return segments.slice(segments.findLastIndex((segment) => segment.startsWith('{')) + 1).join('/');
}

function kindOf(key: string, rpcs: readonly RpcModel[], uses: readonly Use[]): Kind | undefined {
  const own = uses.filter((use) => use.key === key);
  const paths = new Set(own.map(({ above }) => above));
  const lists = rpcs
    .flatMap((list): Kind[] => {
      const path = list.routes[0]?.jsonPath ?? '';
      const item = itemOf(list);
      const id = item && idOf(item, own);
      return item && id && tailOf(path.slice(1).split('/')) === key
        ? [{ key, list, id, names: namesOf(item) }]
        : [];
    })
    .sort((a, b) => (pathOf(a) < pathOf(b) ? -1 : 1));
  return lists.find((kind) => paths.has(pathOf(kind))) ?? lists[0];
}

/** Beginnings of the addresses of the console, by the place that they are in. */
const PLACES: Readonly<Record<Collection['at'], string>> = {
  account: '/account',
  team: '/teams/{teamId}',
  project: '/projects/{projectId}',
  environment: '/environments/{environmentId}',
  staff: '/staff',
};

/** Returns the address of an item, or of its list where an item has none; nothing for a part of an item. */
function pageOf(collection: Collection | undefined): string | undefined {
  if (collection === undefined || collection.parent !== undefined) return undefined;
  const { at, segments, item } = collection;
  const place = /^\/(teams|projects|environments)\/\{\w+\}$/.exec(item.path ?? '')?.[1];
  if (place !== undefined && at !== 'staff') return `/${place}/{id}`;
  if (segments.some((segment) => segment.startsWith('{'))) return undefined;
  return [PLACES[at], ...segments, ...(item.path === undefined ? [] : ['{id}'])].join('/');
}

const pathOf = ({ list }: Kind): string => list.routes[0]?.jsonPath ?? '';

/** The message of which a reading call answers a list. */
function itemOf({ routes, page, sdk, serverStreaming }: RpcModel): MessageModel | undefined {
  const list = page?.items ?? sdk?.returns;
  if (routes[0]?.route.verb !== 'GET' || serverStreaming || list?.repeated !== true) return undefined;
  return list.type.kind === 'message' ? list.type.message : undefined;
}

function idOf({ fields }: MessageModel, uses: readonly Use[]): FieldModel | undefined {
  const variables = new Set(uses.map(({ variable }) => variable));
  return fields.find(({ json }) => json === 'id') ?? fields.find(({ json }) => variables.has(json));
}

function namesOf({ fields }: MessageModel): readonly FieldModel[] {
  const texts = fields.filter(({ type, repeated, map }) => type.kind === 'string' && !repeated && !map);
  const found = NAMES.map((line) => texts.filter(({ json }) => line.includes(json)));
  return found.find((line) => line.length > 0) ?? [];
}

function printKind(kind: Kind, uses: readonly Use[]): string[] {
  const { key, list, id, names, page } = kind;
  const one = singular(key);
  const prefix = /`([a-z]+)_…`/.exec(id.comment)?.[1];
  // A variable that several kinds share says nothing of itself.
  const fields = new Set(
    uses
      .filter(
        ({ key: of, variable }) =>
          of === key && !uses.some((use) => use.variable === variable && use.key !== of),
      )
      .map(({ variable }) => variable),
  );
  fields.add(idFieldOf(key));
  return [
    `  ${propertyKey(key)}: {`,
    `    word: ${literal(one.replaceAll(/[-/]/g, ' '))},`,
    ...(prefix === undefined ? [] : [`    prefix: ${literal(prefix)},`]),
    `    id: ${literal(id.json)},`,
    `    names: ${literal(names.map(({ json }) => json))},`,
    `    fields: ${literal([...fields].sort())},`,
    `    list: ${printOperation(list, { shaped: true })},`,
    ...(page === undefined ? [] : [`    page: ${literal(page)},`]),
    '  },',
  ];
}

/** `ci/connections` is `ciConnectionId`. */
function idFieldOf(key: string): string {
  return `${singular(key).replace(/[-/](\w)/g, (_all, letter: string) => letter.toUpperCase())}Id`;
}

/** `ci/connections` is `ci/connection`, `policies` is `policy`. */
function singular(key: string): string {
  return key.replace(/ies$/, 'y').replace(/s$/, '');
}
