/**
 * `/openapi.json` as it is at the moment: what a hidden feature hides is not in it, and the next request
 * after a switch was moved shows it. The full document lies in the repository for whoever works on the
 * service.
 *
 * Hiding takes out the operations, and with them whatever nothing else uses: paths, tags, schemas, ways to
 * authenticate, scopes. Which feature is behind a visible operation is told of public features alone.
 */
import { MANIFEST } from '@svc/proto/features/manifest.ts';
import { rpcs } from '@svc/proto/gen/rpcs.ts';
import type { Page, PageRequest, PageResponse } from '@svc/proto/http/door.ts';
import type { RestRoute, RpcInfo } from '@svc/proto/http/rpc.ts';
import type { FeatureGate } from '../kit/feature-gate.ts';
import { preparePage } from './prepared-page.ts';

type Json = null | boolean | number | string | readonly Json[] | JsonObject;
interface JsonObject {
  readonly [name: string]: Json;
}

const FEATURE = 'x-svc-feature';
const SCOPE = 'x-svc-scope';
const SCHEMA = '#/components/schemas/';
const VERBS: ReadonlySet<string> = new Set(['get', 'post', 'put', 'patch', 'delete']);

const INTERNAL: ReadonlySet<string> = new Set<string>(
  MANIFEST.filter(({ visibility }) => visibility === 'internal').map(({ key }) => key),
);

/**
 * The gate is asked for each request; a document is made once for each way in which the gates stand, the
 * first at the start.
 */
export function createContractPage(text: string, gate: FeatureGate): Page {
  const full = JSON.parse(text) as JsonObject;
  const hiddenNow = (): readonly string[] =>
    MANIFEST.map(({ key }) => key).filter((key) => gate.state(key) === 'hidden');
  const make = (hidden: readonly string[]) => ({
    hidden: hidden.join(' '),
    page: pageOf(visibleContract(full, new Set(hidden))),
  });
  let made = make(hiddenNow());
  return (request) => {
    const hidden = hiddenNow();
    if (made.hidden !== hidden.join(' ')) made = make(hidden);
    return made.page(request);
  };
}

function pageOf(document: JsonObject): (request: PageRequest) => PageResponse {
  return preparePage(Buffer.from(`${JSON.stringify(document, undefined, 2)}\n`), {
    'content-type': 'application/json',
    // Kept by whoever likes, but asked for each time: a switch must show at once.
    'cache-control': 'public, no-cache',
    'access-control-allow-origin': '*',
  });
}

/** The contract without what the features of `hidden` hide. */
export function visibleContract(full: JsonObject, hidden: ReadonlySet<string>): JsonObject {
  const all = operationsOf(full);
  const kept = all.filter(({ feature }) => feature === undefined || !hidden.has(feature));
  const gone = all.filter((operation) => !kept.includes(operation));
  const paths: Record<string, Record<string, Json>> = {};
  for (const { path, verb, json } of kept) paths[path] = { ...paths[path], [verb]: withoutInternal(json) };
  const shown: JsonObject = { ...full, paths };
  return gone.length === 0 ? shown : withoutOrphans(shown, kept, gone);
}

interface Operation {
  readonly path: string;
  readonly verb: string;
  readonly json: JsonObject;
  readonly feature: string | undefined;
}

/**
 * Operations are told apart by path and verb, and not by what the document says of features: a gate without
 * its mark must hide all the same. What is no RPC has the mark alone.
 */
function operationsOf(full: JsonObject): Operation[] {
  const byRoute = new Map(rpcs.flatMap((rpc) => rpc.routes.map((route) => [routeKey(route), rpc] as const)));
  return Object.entries(full['paths'] as Record<string, JsonObject>).flatMap(([path, item]) =>
    Object.entries(item)
      .filter(([verb]) => VERBS.has(verb))
      .map(([verb, value]) => {
        const json = value as JsonObject;
        const rpc: Pick<RpcInfo, 'feature'> | undefined = byRoute.get(`${verb} ${path}`);
        const mark = json[FEATURE];
        const feature = rpc === undefined ? (typeof mark === 'string' ? mark : undefined) : rpc.feature;
        return { path, verb, json, feature };
      }),
  );
}

/** `get /teams/{teamId}/runners`, as OpenAPI spells it. */
function routeKey({ verb, segments, customVerb }: RestRoute): string {
  const path = segments.map((segment) => ('literal' in segment ? segment.literal : `{${segment.field}}`));
  return `${verb.toLowerCase()} /${path.join('/')}${customVerb === undefined ? '' : `:${customVerb}`}`;
}

function withoutInternal(operation: JsonObject): JsonObject {
  const feature = operation[FEATURE];
  if (typeof feature !== 'string' || !INTERNAL.has(feature)) return operation;
  const { [FEATURE]: _, ...rest } = operation;
  return rest;
}

/**
 * Takes out what the operations that are gone used and no other does. What none ever used stays: it is not
 * theirs.
 */
function withoutOrphans(shown: JsonObject, kept: readonly Operation[], gone: readonly Operation[]) {
  const components = shown['components'] as Record<string, JsonObject>;
  const schemas = components['schemas'] ?? {};
  const only = (of: (operation: Operation) => Iterable<string>): ReadonlySet<string> => {
    const used = new Set(kept.flatMap((operation) => [...of(operation)]));
    return new Set(gone.flatMap((operation) => [...of(operation)]).filter((name) => !used.has(name)));
  };
  const tags = only(({ json }) => json['tags'] as string[]);
  const lostSchemas = only(({ json }) => schemasUnder(json, schemas));
  const securities = only(({ json }) => ((json['security'] ?? []) as JsonObject[]).flatMap(Object.keys));
  const scopes = only(({ json }) => (typeof json[SCOPE] === 'string' ? [json[SCOPE]] : []));
  const shownComponents: JsonObject = {
    ...components,
    schemas: without(schemas, lostSchemas),
    securitySchemes: without(components['securitySchemes'] ?? {}, securities),
  };
  return withoutScopes(
    {
      ...shown,
      tags: (shown['tags'] as JsonObject[]).filter(({ name }) => !tags.has(String(name))),
      components: shownComponents,
    },
    scopes,
  ) as JsonObject;
}

function without(object: JsonObject, names: ReadonlySet<string>): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([name]) => !names.has(name)));
}

/** This returns the names of all schemas that a value refers to, directly or by other schemas. */
function schemasUnder(value: Json, schemas: JsonObject, found = new Set<string>()): ReadonlySet<string> {
  if (value === null || typeof value !== 'object') return found;
  for (const [name, inner] of Object.entries(value)) {
    const ref =
      name === '$ref' && typeof inner === 'string' && inner.startsWith(SCHEMA)
        ? inner.slice(SCHEMA.length)
        : undefined;
    if (ref === undefined) schemasUnder(inner, schemas, found);
    else if (!found.has(ref)) schemasUnder(schemas[ref] ?? null, schemas, found.add(ref));
  }
  return found;
}

/** Takes out scopes that open nothing any more, as values and as the lines that describe them. */
function withoutScopes(value: Json, scopes: ReadonlySet<string>): Json {
  if (scopes.size === 0) return value;
  if (typeof value === 'string') {
    const lines = value.split('\n');
    return lines.filter((line) => ![...scopes].some((scope) => line.startsWith(`- \`${scope}\``))).join('\n');
  }
  if (Array.isArray(value))
    return (value as readonly Json[])
      .filter((each) => typeof each !== 'string' || !scopes.has(each))
      .map((each) => withoutScopes(each, scopes));
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [name, withoutScopes(inner, scopes)]),
  );
}
