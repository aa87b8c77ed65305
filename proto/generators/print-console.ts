/**
 * Prints server/console/gen/: one module a collection, with its calls, their fields and what answers show,
 * which is loaded with its page, and an index of addresses that navigation is made of.
 */
import {
  itemsOf,
  pathOf,
  planConsole,
  type Collection,
  type ConsolePlan,
  type ServicePage,
} from './console-plan.ts';
import type { CliFieldModel, MessageModel, Model, RpcModel } from './model.ts';
import { printOperation } from './operation-text.ts';
import { firstSentence, HEADER, literal } from './text.ts';

const FOLDER = 'server/console/gen';
/** Words that are written in another way than other words. */
const SPELLINGS: Readonly<Record<string, string>> = {
  api: 'API',
  ai: 'AI',
  ci: 'CI',
  csv: 'CSV',
  dns: 'DNS',
  id: 'ID',
  ids: 'IDs',
  ip: 'IP',
  json: 'JSON',
  mb: 'MB',
  ms: 'ms',
  oidc: 'OIDC',
  os: 'OS',
  q: 'search',
  sbom: 'SBOM',
  sdk: 'SDK',
  sha: 'SHA',
  sha256: 'SHA-256',
  sql: 'SQL',
  ssl: 'SSL',
  totp: 'TOTP',
  uri: 'URI',
  url: 'URL',
  cpus: 'CPUs',
  cpu: 'CPU',
};
/** Verbs that say nothing without the name of what they are for. */
const BARE_VERBS = [
  'cancel',
  'create',
  'add',
  'update',
  'set',
  'delete',
  'remove',
  'get',
  'revoke',
  'declare',
  'upload',
  'assemble',
];

/** `memoryMb` is `Memory MB`, `api-keys` is `API keys`. */
function wordsOf(name: string): string {
  const words = name
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
    .split(/[\s_./-]+/)
    .map((word) => SPELLINGS[word.toLowerCase()] ?? word.toLowerCase())
    .join(' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
}

const lowered = (text: string): string =>
  /^[A-Z][a-z]/.test(text) ? text.charAt(0).toLowerCase() + text.slice(1) : text;

export function printConsole(model: Model): Map<string, string> {
  const plan = planConsole(model);
  const files = new Map<string, string>();
  for (const collection of plan.collections) files.set(fileOf(collection), printCollection(collection));
  for (const page of plan.pages) files.set(`${FOLDER}/${page.at}-page-${page.property}.ts`, printPage(page));
  files.set(`${FOLDER}/index.ts`, printIndex(model, plan));
  return files;
}

function keyOf({ at, segments, parent }: Collection): string {
  const own = segments.filter((each) => !each.startsWith('{')).join('-');
  return parent === undefined ? `${at}-${own}` : `${keyOf(parent)}-${own}`;
}

const fileOf = (collection: Collection): string => `${FOLDER}/${keyOf(collection)}.ts`;

function printCollection({ list, item, acts }: Collection): string {
  const noun = nounOf(item.message);
  return printModule('Collection', 'collection', {
    noun,
    idField: item.idField,
    list: callOf(list, noun),
    get: item.get && callOf(item.get, noun),
    shown: shownOf(item.message),
    acts: acts.map((rpc) => callOf(rpc, noun, list)),
    itemActs: item.acts.map((rpc) => callOf(rpc, noun, list)),
  });
}

function printPage({ rpcs }: ServicePage): string {
  return printModule('ServicePage', 'page', { acts: rpcs.map((rpc) => callOf(rpc, '')) });
}

/** Calls stand on a line each; operations are written as the SDK has them. */
function printModule(type: string, name: string, values: Readonly<Record<string, unknown>>): string {
  const lines = Object.entries(values).flatMap(([key, value]) => {
    if (value === undefined) return [];
    if (!Array.isArray(value)) return [`  ${key}: ${textOf(value)},`];
    return [`  ${key}: [`, ...value.map((each) => `    ${textOf(each)},`), '  ],'];
  });
  return [
    HEADER,
    `import type { ${type} } from '../spec.ts';`,
    '',
    `export const ${name}: ${type} = {`,
    ...lines,
    '};',
    '',
  ].join('\n');
}

interface Call {
  readonly text: { readonly operation: string };
  readonly values: object;
}

const isCall = (value: unknown): value is Call =>
  typeof value === 'object' && value !== null && 'text' in value;

function textOf(value: unknown): string {
  if (!isCall(value)) return literal(value);
  return `{ operation: ${value.text.operation}, ${literal(value.values).slice(2)}`;
}

const nounOf = ({ name }: MessageModel): string => lowered(wordsOf(name));

function callOf(rpc: RpcModel, noun: string, list = rpc): Call {
  const { sdk, service, serverStreaming, raw, destructive, sessionOnly, feature } = rpc;
  const name = sdk?.name ?? rpc.name;
  const verb = rpc.routes[0]?.route.verb;
  return {
    text: { operation: printOperation(rpc, { shaped: true }) },
    values: {
      id: `${service.sdk?.property}.${name}`,
      title: callTitle(rpc, noun, list),
      help: helpOf(rpc.comment),
      kind: raw ? 'download' : serverStreaming ? 'stream' : verb === 'GET' ? 'look' : 'act',
      fields: fieldsOf(rpc),
      columns: rpc.columns.length > 0 ? rpc.columns : undefined,
      pageMax: rpc.page?.maxLimit,
      answer: answerOf(rpc),
      isDestructive: destructive || undefined,
      isSessionOnly: sessionOnly || undefined,
      role: roleOf(rpc),
      feature,
    },
  };
}

/** Every member has the least role. */
const roleOf = ({ leastRole }: RpcModel): string | undefined =>
  leastRole === 'viewer' ? undefined : leastRole;

/** A verb alone gets its noun; a call of another service says which. */
function callTitle(rpc: RpcModel, noun: string, list: RpcModel): string {
  const { sdk, service } = rpc;
  const name = sdk?.name ?? rpc.name;
  const isBare = BARE_VERBS.includes(name);
  const isLook = rpc.routes[0]?.route.verb === 'GET';
  if (service === list.service)
    return isBare && noun !== ''
      ? `${wordsOf(name)} ${noun}`
      : wordsOf(isLook ? name.replace(/^get(?=[A-Z])/, '') : name);
  const other = wordsOf(service.sdk?.property ?? '');
  if (name === 'get') return other;
  if (isLook) return `${other}: ${lowered(wordsOf(name))}`;
  return isBare ? `${wordsOf(name)} ${lowered(other)}` : wordsOf(name);
}

/** Returns what is shown of an answer: all of what is looked at, and of an act a secret, once. */
function answerOf(rpc: RpcModel): readonly object[] | undefined {
  const { response, raw, serverStreaming, routes } = rpc;
  if (raw || serverStreaming || itemsOf(rpc) !== undefined) return undefined;
  const isLook = routes[0]?.route.verb === 'GET';
  return isLook || response.fields.some(({ sensitive }) => sensitive) ? shownOf(response) : undefined;
}

/** The first paragraph, without what is refused and when: refusals are said when they happen. */
function helpOf(comment: string): string {
  const [first = ''] = comment.split('\n\n');
  return first.replaceAll('\n', ' ').replace(/\s*Errors: .*$/s, '');
}

function fieldsOf({ cli, request, routes }: RpcModel): readonly object[] | undefined {
  const fields = cli === undefined ? [] : [...cli.positionals, ...cli.flags];
  const paging = ['cursor', 'limit', 'offset', 'page'];
  const shown = fields.filter(({ path, hidden }) => !hidden && !paging.includes(path)).map(fieldOf);
  if (cli !== undefined || request.fields.length === 0) return shown.length > 0 ? shown : undefined;
  return (routes[0]?.pathFields ?? []).map(({ json }) => ({
    name: json,
    label: wordsOf(json),
    type: 'string',
    isRequired: true,
  }));
}

function fieldOf({
  field,
  path,
  type,
  values,
  repeated,
  required,
  sensitive,
  description,
  rest,
  document,
}: CliFieldModel): object {
  const { pattern: _pattern, items: _items, in: _in, format: _format, ...rules } = field.rules;
  return {
    name: path,
    label: wordsOf(path),
    help: description === '' ? undefined : description.replaceAll('\n', ' '),
    // A message that the command line reads from a file is still no text.
    type: document === undefined || type === 'json' ? type : 'text',
    values: type === 'boolean' ? undefined : values,
    isRequired: required || undefined,
    isRepeated: (repeated && type !== 'map') || undefined,
    isSecret: sensitive || undefined,
    isWords: rest || undefined,
    rules: Object.keys(rules).length > 0 ? rules : undefined,
  };
}

const DEPTH_MAX = 2;

function shownOf(message: MessageModel, depth = 0): readonly object[] {
  return message.fields.map((field) => {
    const { type, json, comment, sensitive, repeated, map } = field;
    const isNested = type.kind === 'message' && depth < DEPTH_MAX;
    return {
      name: json,
      label: wordsOf(json),
      help: comment === '' || depth > 0 ? undefined : firstSentence(comment),
      type: type.kind === 'message' ? 'message' : type.kind,
      isMany: repeated || map || undefined,
      isSecret: sensitive || undefined,
      shown: isNested ? shownOf(type.message, depth + 1) : undefined,
    };
  });
}

function printIndex({ areas }: Model, { collections, pages }: ConsolePlan): string {
  const rank = new Map(areas.map(({ json }, index) => [json, index]));
  const sorted = [...collections].sort(
    (a, b) => (rank.get(areaOf(a)) ?? 0) - (rank.get(areaOf(b)) ?? 0) || (keyOf(a) < keyOf(b) ? -1 : 1),
  );
  return [
    HEADER,
    "import type { Entry, PageEntry } from '../spec.ts';",
    '',
    '/** Lists every collection, in the order of the areas. */',
    'export const entries: readonly Entry[] = [',
    ...sorted.map(
      (each) => `  { ${entryOf(each)}, load: async () => (await import('./${keyOf(each)}.ts')).collection },`,
    ),
    '];',
    '',
    '/** Lists the calls that belong to no collection, by service. */',
    'export const servicePages: readonly PageEntry[] = [',
    ...pages.map(
      ({ at, property, rpcs }) =>
        `  { key: '${at}-page-${property}', at: '${at}', title: '${wordsOf(property)}', calls: ${literal(rpcs.map((rpc) => rpc.sdk?.name))}, load: async () => (await import('./${at}-page-${property}.ts')).page },`,
    ),
    '];',
    '',
  ].join('\n');
}

const areaOf = ({ list }: Collection): string => list.service.area?.json ?? '';

function entryOf(collection: Collection): string {
  const { at, segments, list, item, parent } = collection;
  const values = {
    key: keyOf(collection),
    at,
    segments,
    title: titleOf(collection),
    area: areaOf(collection),
    path: pathOf(list),
    itemPath: item.path,
    idField: item.idField,
    role: roleOf(list),
    feature: list.feature,
    parent: parent && keyOf(parent),
  };
  return literal(values).slice(2, -2);
}

/** As the command line names it, without what its place says already. */
function titleOf({ segments, list: { cli }, parent, at }: Collection): string {
  const words = (cli?.words ?? []).filter((word) => !word.startsWith('list'));
  const last = segments.at(-1) ?? '';
  const own = segments.filter((each) => !each.startsWith('{'));
  if (parent !== undefined || at === 'staff' || cli === undefined) return titleOfWords(own);
  return titleOfWords(cli.group === 'teams' || words.includes(last) ? own : [cli.group, ...words]);
}

/** The last of several things in a row is what there are many of: `webhooks deliveries` are of a webhook. */
function titleOfWords(words: readonly string[]): string {
  const all = wordsOf(words.join(' ')).split(' ');
  return all.map((word, index) => (index === all.length - 1 ? word : singularOf(word))).join(' ');
}

const singularOf = (word: string): string =>
  word.endsWith('ies') ? `${word.slice(0, -3)}y` : word.replace(/([^su])s$/, '$1');
