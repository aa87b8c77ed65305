/**
 * Writes the responses of an OpenAPI operation: the success, and the errors that its comment and its guards
 * announce.
 */
import type { RouteModel, RpcModel } from './model.ts';
import type { Examples } from './openapi-examples.ts';
import type { Json, JsonObject, Schemas } from './openapi-schemas.ts';
import { isVoid } from './sdk-plan.ts';

export const ERROR_SCHEMA: JsonObject = {
  type: 'object',
  description: 'The one shape of every error.',
  examples: [
    {
      error: {
        code: 'not_found',
        message: 'there is no such thing, or none that you may see',
        requestId: 'req_01kf3m9a7ve4tbq2h8n6wxy5zd',
        retryable: false,
      },
    },
  ],
  required: ['error'],
  properties: {
    error: {
      type: 'object',
      required: ['code', 'message', 'requestId', 'retryable'],
      properties: {
        code: { type: 'string', description: 'Stable word to act on.', examples: ['not_found'] },
        message: { type: 'string', description: 'What failed, for people; may change.' },
        requestId: { type: 'string', description: 'Names the call in the logs of the service.' },
        retryable: { type: 'boolean', description: 'Whether the same call may succeed later.' },
        details: { type: 'object', description: 'More about this code.', additionalProperties: true },
      },
    },
  },
};

/** Reads "Errors: `not_found` (404), `limit_reached` (409, runners of the team)" as comments have it. */
const ANNOUNCED = /`([a-z][a-z0-9_]*)` \((\d{3})\b/g;

export interface Printers {
  readonly schemas: Schemas;
  readonly examples: Examples;
}

export function responsesOf(rpc: RpcModel, route: RouteModel, printers: Printers): JsonObject {
  const errors = errorsOf(rpc);
  const entries: [string, JsonObject][] = [[String(rpc.successStatus), successOf(rpc, route, printers)]];
  if (rpc.emptyWithout) entries.push(['200', withoutEffect(rpc, printers)]);
  for (const [status, codes] of [...errors].sort(([a], [b]) => a - b)) {
    entries.push([
      String(status),
      errorResponse(
        [...codes]
          .sort()
          .map((code) => `\`${code}\``)
          .join(', '),
      ),
    ]);
  }
  entries.push(['default', errorResponse('Any other error.')]);
  return Object.fromEntries(entries);
}

function errorsOf(rpc: RpcModel): Map<number, Set<string>> {
  const errors = new Map<number, Set<string>>();
  const add = (status: number, code: string) =>
    errors.set(status, (errors.get(status) ?? new Set()).add(code));
  for (const match of rpc.comment.matchAll(ANNOUNCED)) add(Number(match[2]), match[1] ?? '');
  if (['optional', 'required', 'session', 'staff'].includes(rpc.auth)) add(401, 'credentials_invalid');
  if (rpc.auth === 'runner')
    for (const code of ['signature_invalid', 'clock_skew', 'runner_revoked']) add(401, code);
  if (rpc.idTokens) {
    add(401, 'id_token_invalid');
    add(401, 'id_token_used');
    add(403, 'id_token_refused');
  }
  if (rpc.scope !== undefined) add(403, 'scope_missing');
  if (rpc.sessionOnly || rpc.sessionFields.length > 0) add(403, 'session_required');
  if (rpc.feature !== undefined && !rpc.inertWhenOff) add(403, 'feature_disabled');
  add(429, 'rate_limited');
  if (rpc.serverStreaming) add(429, 'too_many_streams');
  return errors;
}

function errorResponse(description: string): JsonObject {
  return { description, content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } } };
}

function withoutEffect({ response }: RpcModel, { schemas, examples }: Printers): JsonObject {
  const schema = { anyOf: [schemas.message(response, 'output'), { type: 'object', maxProperties: 0 }] };
  const example = examples.message(response, 'output');
  const description = 'The newest one that is stored, or an empty object: its platform feature is off.';
  return { description, content: { 'application/json': { schema, example } } };
}

function successOf(rpc: RpcModel, route: RouteModel, { schemas, examples }: Printers): JsonObject {
  if (isVoid(rpc)) {
    const content = { 'application/json': { schema: { type: 'object' }, example: {} } };
    return { description: 'Done.', ...(rpc.successStatus !== 204 && { content }) };
  }
  if (rpc.raw)
    return { description: 'The bytes, of the content type that the answer states.', content: { '*/*': {} } };
  const description = route.responseField?.comment || rpc.response.comment || 'Success.';
  const schema = route.responseField
    ? schemas.field(route.responseField, 'output')
    : schemas.message(rpc.response, 'output');
  const example: Json = route.responseField
    ? examples.field(route.responseField, 'output')
    : examples.message(rpc.response, 'output');
  if (!rpc.serverStreaming) return { description, content: { 'application/json': { schema, example } } };
  return {
    description: `${description} One object for each event (\`data:\` of the event stream, or one line).`,
    content: { 'text/event-stream': { schema, example }, 'application/x-ndjson': { schema, example } },
  };
}
