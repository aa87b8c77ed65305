/**
 * Platform features by the OpenFeature Remote Evaluation Protocol (OFREP 0.3), so that any OpenFeature SDK
 * can read them: one flag of type boolean a feature. Who sees what is the rule of `GET
 * /platform-features/resolved`: staff every feature with its value and why, everybody else the enabled public
 * ones alone. Any other key is the same `FLAG_NOT_FOUND`, whether there is such a feature or not.
 *
 * The paths are no RPCs of the contracts, because their bodies are another standard's. They pass the same
 * admission as the RPC of the resolver: the same credentials, the same limits, counted together. The
 * evaluation context is checked and then not looked at: switches are global.
 */
import { rpcs } from '@svc/proto/gen/rpcs.ts';
import { assertJsonType } from '@svc/proto/http/body.ts';
import type { CallContext } from '@svc/proto/http/call.ts';
import type { Endpoint, EndpointRequest, PageResponse } from '@svc/proto/http/door.ts';
import { toApiError, type ApiError } from '@svc/proto/http/errors.ts';
import type { Caller } from '../kit/context.ts';
import { STAFF_SCOPE } from '../kit/scopes.ts';
import { isObject } from './is-object.ts';
import { publicFeatures } from './resolve.ts';
import { holdsTag } from '@svc/proto/http/etag.ts';
import type { ResolvedFeature, Snapshot } from './snapshot.ts';
import { tagOf } from './view.ts';

export interface OfrepDeps {
  /** Authentication and rate limit, as for the RPC of the resolver. */
  admit(call: CallContext): Promise<Caller> | Caller;
  snapshot(): Snapshot;
}

/** The largest context that is read; ours needs none, other systems' hold a few attributes. */
const BODY_BYTES_MAX = 65_536;
const KEY_CHARS_SHOWN_MAX = 100;
const JSON_TYPE = { 'content-type': 'application/json; charset=utf-8' };

type ErrorCode = 'PARSE_ERROR' | 'INVALID_CONTEXT' | 'FLAG_NOT_FOUND' | 'GENERAL';

interface Failure {
  readonly errorCode: ErrorCode;
  readonly errorDetails: string;
}

interface Flag {
  readonly key: string;
  readonly value: boolean;
  readonly reason: 'STATIC' | 'DISABLED';
  readonly variant: 'enabled' | 'disabled';
  readonly metadata?: Readonly<Record<string, string>>;
}

/** Flags that one kind of caller is shown. */
interface Flags {
  readonly byKey: ReadonlyMap<string, Flag>;
  readonly bulkText: string;
  readonly etag: string;
}

export function createOfrep(deps: OfrepDeps): Readonly<Record<string, Endpoint>> {
  const flagsFor = createFlags();
  const rpc = rpcs.find(({ id }) => id === 'svc.platformfeatures.v1.PlatformFeaturesService/Resolved');
  if (rpc === undefined) throw new Error('the contracts hold no resolver of platform features');
  const endpoint = (
    keyOf: (request: EndpointRequest) => { readonly key?: string },
    evaluate: (flags: Flags, request: EndpointRequest) => PageResponse,
  ): Endpoint => ({
    verbs: ['POST'],
    serve: async (request) => {
      try {
        const caller = await deps.admit({ ...request, signal: request.signal(), rpc, protocol: 'rest' });
        const failure = checkRequest(await request.body(BODY_BYTES_MAX), request.header('content-type'));
        if (failure !== undefined) return answer(400, { ...keyOf(request), ...failure });
        const staff = caller.staff && caller.scopes.has(STAFF_SCOPE);
        const headers = {
          'cache-control': caller.kind === 'anonymous' ? 'no-cache' : 'private, no-cache',
          vary: 'authorization, cookie',
        };
        const evaluated = evaluate(flagsFor(deps.snapshot(), staff), request);
        return { ...evaluated, headers: { ...headers, ...evaluated.headers } };
      } catch (thrown) {
        return refusal(toApiError(thrown), keyOf(request));
      }
    },
  });
  return {
    '/ofrep/v1/evaluate/flags': endpoint(() => ({}), evaluateAll),
    '/ofrep/v1/evaluate/flags/{key}': endpoint(({ variable }) => ({ key: variable }), evaluateOne),
  };
}

function evaluateAll({ bulkText, etag }: Flags, { header }: EndpointRequest): PageResponse {
  if (holdsTag(header('if-none-match'), etag)) return { status: 304, headers: { etag } };
  return { headers: { ...JSON_TYPE, etag }, body: bulkText };
}

function evaluateOne({ byKey }: Flags, { variable: key }: EndpointRequest): PageResponse {
  const flag = byKey.get(key);
  if (flag !== undefined) return answer(200, flag);
  const errorDetails = `there is no flag "${key.slice(0, KEY_CHARS_SHOWN_MAX)}" for this caller`;
  return answer(404, { key, errorCode: 'FLAG_NOT_FOUND', errorDetails } satisfies Failure & { key: string });
}

function answer(status: number, body: object): PageResponse {
  return { status, headers: JSON_TYPE, body: JSON.stringify(body) };
}

/**
 * Writes a refusal of our own pipeline in OFREP's words; the status says most of it: 401, 413, 415, 429, 5xx.
 */
function refusal(error: ApiError, key: { readonly key?: string }): PageResponse {
  const failure: Failure = { errorCode: 'GENERAL', errorDetails: `${error.message} (${error.code})` };
  return { ...answer(error.status, { ...key, ...failure }), error };
}

/** Undefined for a good one. An empty body is an empty context. */
function checkRequest(body: Uint8Array, contentType: string | undefined): Failure | undefined {
  if (body.length === 0) return undefined;
  assertJsonType(contentType);
  const parsed = parseJson(body);
  if (!isObject(parsed))
    return {
      errorCode: 'PARSE_ERROR',
      errorDetails: 'the body is not a JSON object, such as {"context":{}}',
    };
  const { context } = parsed;
  if (context !== undefined && !isObject(context))
    return { errorCode: 'INVALID_CONTEXT', errorDetails: 'the field context is not a JSON object' };
  return undefined;
}

function parseJson(body: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
  } catch {
    // It is no JSON, or no UTF-8, which is the same to whoever sent it.
    return undefined;
  }
}

/** Made once for each state of all switches; a snapshot that is gone takes its answers with it. */
function createFlags(): (snapshot: Snapshot, staff: boolean) => Flags {
  const made = new WeakMap<Snapshot, Readonly<Record<'staff' | 'everybody', Flags>>>();
  return (snapshot, staff) => {
    let both = made.get(snapshot);
    if (both === undefined) {
      both = {
        staff: flagsOf(snapshot.features.map(flagForStaff)),
        everybody: flagsOf(publicFeatures(snapshot).map(flagForEverybody)),
      };
      made.set(snapshot, both);
    }
    return both[staff ? 'staff' : 'everybody'];
  };
}

/** The ETag is of the very body, so that a change that its reader cannot see does not change it. */
function flagsOf(flags: readonly Flag[]): Flags {
  const bulkText = JSON.stringify({ flags });
  return { byKey: new Map(flags.map((flag) => [flag.key, flag])), bulkText, etag: tagOf(bulkText) };
}

function flagForEverybody({ key, enabled }: ResolvedFeature): Flag {
  return {
    key,
    value: enabled,
    reason: enabled ? 'STATIC' : 'DISABLED',
    variant: enabled ? 'enabled' : 'disabled',
  };
}

/**
 * A feature that is off has a value, `false`, and not the code's own default: the server refuses its routes
 * whatever the code thinks. Metadata of OpenFeature are plain values, so the list of what blocks it is one
 * text.
 */
function flagForStaff(feature: ResolvedFeature): Flag {
  const { reason, blockedBy, lifecycle, visibility } = feature;
  return {
    ...flagForEverybody(feature),
    metadata: {
      featureReason: reason,
      ...(blockedBy.length > 0 && { blockedBy: blockedBy.join(',') }),
      ...(lifecycle !== undefined && { lifecycle }),
      ...(visibility !== undefined && { visibility }),
    },
  };
}
