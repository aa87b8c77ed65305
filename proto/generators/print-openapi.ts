/** Prints proto/gen/openapi.json: OpenAPI 3.1 of everything that is served on the public port. */
import { lowerFirst } from './build-model.ts';
import type { FieldModel, Model, RouteModel, RpcModel, ServiceModel } from './model.ts';
import { createExamples } from './openapi-examples.ts';
import { ERROR_SCHEMA, responsesOf, type Printers } from './openapi-responses.ts';
import { WEBHOOK_PATH, WEBHOOK_SERVICE, webhookOperation } from './openapi-webhook.ts';
import { createSchemas, type Json, type JsonObject } from './openapi-schemas.ts';
import { isVoid } from './sdk-plan.ts';
import { areaText, firstSentence } from './text.ts';
import { classOf, planTypes } from './type-plan.ts';

const DESCRIPTION = `JSON over HTTP. Field names are lowerCamel, times are RFC 3339 in UTC, unknown fields are refused. Errors have one shape
(see the schema \`Error\`); \`code\` is stable. Lists take \`limit\` and \`cursor\` and answer \`nextCursor\` until the last page. Every write accepts an
\`Idempotency-Key\`: a repeated call with the same key and the same request answers as the first one did, for 24 hours.`;

const SECURITY_SCHEMES: JsonObject = {
  bearer: {
    type: 'http',
    scheme: 'bearer',
    description: 'An API key (`cpk_live_…`) or a session token from `POST /auth/login`.',
  },
  idToken: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'JWT',
    description:
      'An id_token of a job at GitHub Actions or GitLab.com whose audience is this service, good for one call, or the token that `POST /ci/id-tokens/exchange` gives for one.',
  },
  runnerSignature: {
    type: 'apiKey',
    in: 'header',
    name: 'Signature',
    description:
      'HTTP Message Signature (RFC 9421) with the Ed25519 key of the runner, over method, path, digest of the body (RFC 9530), time and nonce.',
  },
};

export function printOpenApi(model: Model, version: string): string {
  const services = model.services.filter(
    (service) => service.audience !== 'internal' && service.rpcs.length > 0,
  );
  const rpcs = services.flatMap((service) => service.rpcs);
  const plan = planTypes(
    rpcs.map((rpc) => ({
      rpc,
      inputs: rpc.request.fields,
      ...(!isVoid(rpc) && !rpc.raw && { output: rpc.routes[0]?.responseField ?? rpc.response }),
    })),
  );
  const printers = { schemas: createSchemas(plan), examples: createExamples(model) };
  const document: JsonObject = {
    openapi: '3.1.0',
    info: { title: 'svc', version, description: DESCRIPTION.replaceAll('\n', ' ') },
    servers: [{ url: '/' }],
    tags: services.map((service) => ({ name: tagOf(service), description: service.comment })).sort(byName),
    'x-tagGroups': model.areas.flatMap((area) => {
      const tags = services
        .filter((service) => service.area === area)
        .map(tagOf)
        .sort();
      return tags.length === 0 ? [] : [{ name: areaText(area).title, tags }];
    }),
    paths: sorted({ ...pathsOf(rpcs, printers), ...webhooksOf(services) }),
    components: {
      schemas: sorted({ ...printers.schemas.components(), Error: ERROR_SCHEMA }),
      securitySchemes: SECURITY_SCHEMES,
    },
  };
  return `${JSON.stringify(document, undefined, 2)}\n`;
}

function byName(a: JsonObject, b: JsonObject): number {
  return String(a['name']) < String(b['name']) ? -1 : 1;
}

function sorted(object: Readonly<Record<string, Json>>): JsonObject {
  return Object.fromEntries(Object.entries(object).sort(([a], [b]) => (a < b ? -1 : 1)));
}

function tagOf(service: ServiceModel): string {
  return service.sdk?.property ?? lowerFirst(classOf(service));
}

/** Adds the endpoint beside the RPCs. */
function webhooksOf(services: readonly ServiceModel[]): Record<string, JsonObject> {
  const has = services.some(({ typeName }) => typeName === WEBHOOK_SERVICE);
  return has ? { [WEBHOOK_PATH]: { post: webhookOperation } } : {};
}

const VERB_ORDER: readonly string[] = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];

function pathsOf(rpcs: readonly RpcModel[], printers: Printers): Record<string, JsonObject> {
  const entries = rpcs.flatMap((rpc) => rpc.routes.map((route, index) => ({ rpc, route, index })));
  entries.sort((a, b) => VERB_ORDER.indexOf(a.route.route.verb) - VERB_ORDER.indexOf(b.route.route.verb));
  // Templates that differ only in the names of their parameters are one path in OpenAPI: the last operation,
  // which changes most, names them.
  const named = new Map(entries.map(({ route }) => [route.shape, route.jsonPath]));
  const paths: Record<string, JsonObject> = {};
  for (const bound of entries) {
    const path = named.get(bound.route.shape) ?? bound.route.jsonPath;
    const operation = operationOf({ ...bound, path }, printers);
    paths[path] = { ...paths[path], [bound.route.route.verb.toLowerCase()]: operation };
  }
  return paths;
}

/** One route of an RPC; the first one is the documented. */
interface Bound {
  readonly rpc: RpcModel;
  readonly route: RouteModel;
  readonly index: number;
  /** The path that it stands at, with the names of its parameters there. */
  readonly path: string;
}

function operationOf({ rpc, route, index, path }: Bound, printers: Printers): JsonObject {
  const body = requestBodyOf(route, printers);
  const samples = rpc.examples.flatMap(({ title, cli, sdk }) => [
    ...(cli === undefined ? [] : [{ lang: 'Shell', label: title, source: `svc ${cli}` }]),
    ...(sdk === undefined ? [] : [{ lang: 'TypeScript', label: title, source: `await sdk.${sdk};` }]),
  ]);
  const parameters = parametersOf({ rpc, route, path }, printers);
  return {
    operationId: `${tagOf(rpc.service)}.${rpc.sdk?.name ?? lowerFirst(rpc.name)}${index === 0 ? '' : `_${index + 1}`}`,
    tags: [tagOf(rpc.service)],
    summary: firstSentence(rpc.comment),
    description: rpc.comment,
    ...(rpc.deprecated && { deprecated: true }),
    ...(parameters.length > 0 && { parameters }),
    ...(body && { requestBody: body }),
    responses: responsesOf(rpc, route, printers),
    security: securityOf(rpc),
    ...(rpc.sessionOnly && { 'x-svc-session-only': true }),
    ...(rpc.scope !== undefined && { 'x-svc-scope': rpc.scope }),
    ...(rpc.role && { 'x-svc-role': rpc.role }),
    ...(rpc.feature !== undefined && { 'x-svc-feature': rpc.feature }),
    'x-svc-stability': rpc.stability,
    ...(samples.length > 0 && { 'x-codeSamples': samples }),
  };
}

function securityOf(rpc: RpcModel): JsonObject[] {
  switch (rpc.auth) {
    case 'none':
    case 'enrollment_token': // The token is a field of the request.
    case 'internal':
      return [];
    case 'optional':
      return [{}, { bearer: [] }];
    case 'required':
    case 'session':
    case 'staff':
      return [{ bearer: [] }, ...(rpc.idTokens ? [{ idToken: [] }] : [])];
    case 'runner':
      return [{ runnerSignature: [] }];
  }
}

function requestBodyOf(route: RouteModel, { schemas, examples }: Printers): JsonObject | undefined {
  if (route.bodyField) {
    const { bodyField } = route;
    const example = examples.field(bodyField, 'input');
    const content = { 'application/json': { schema: schemas.field(bodyField, 'input'), example } };
    return { ...(bodyField.required && { required: true }), content };
  }
  if (route.route.body !== '*') return undefined;
  const fields = route.bodyFields.filter((field) => !field.outputOnly);
  const required = fields.some((field) => field.required);
  return {
    ...(required && { required: true }),
    content: {
      'application/json': {
        schema: schemas.object(fields, 'input'),
        example: examples.object(fields, 'input'),
      },
    },
  };
}

function parametersOf({ rpc, route, path }: Omit<Bound, 'index'>, printers: Printers): JsonObject[] {
  const names = path.match(/\{[^{}]+\}/g)?.map((parameter) => parameter.slice(1, -1)) ?? [];
  const inPath = route.pathFields.map((field, place) => ({
    ...parameter({ in: 'path', name: names[place] ?? field.json }, field, printers),
    required: true,
    example: printers.examples.field(field, 'input'),
  }));
  const query = route.queryFields
    .filter((field) => !field.outputOnly)
    .flatMap((field) => queryParameters(field, field.json, printers));
  return [...inPath, ...query, ...headersOf(rpc)];
}

/** A message in the query is its fields with dotted names. */
function queryParameters(field: FieldModel, name: string, printers: Printers): JsonObject[] {
  if (field.type.kind === 'message' && !field.repeated && !field.map) {
    return field.type.message.fields
      .filter((inner) => !inner.outputOnly)
      .flatMap((inner) => queryParameters(inner, `${name}.${inner.json}`, printers));
  }
  const example = field.required && { required: true, example: printers.examples.field(field, 'input') };
  return [{ ...parameter({ in: 'query', name }, field, printers), ...example }];
}

function parameter(
  place: { readonly in: 'path' | 'query'; readonly name: string },
  field: FieldModel,
  { schemas }: Printers,
): JsonObject {
  const { description: _description, ...schema } = schemas.field(field, 'input');
  return { name: place.name, in: place.in, description: field.comment, schema };
}

function headersOf(rpc: RpcModel): JsonObject[] {
  const headers: JsonObject[] = [];
  if (rpc.idempotency && rpc.idempotency !== 'none' && rpc.service.audience === 'public') {
    headers.push({
      name: 'Idempotency-Key',
      in: 'header',
      description:
        'Any string of the caller, at most 255 characters; the same for every repetition of the call.',
      schema: { type: 'string', minLength: 1, maxLength: 255 },
    });
  }
  if (rpc.stream?.resumeField) {
    headers.push({
      name: 'Last-Event-ID',
      in: 'header',
      description: `\`id\` of the last event received; stands for the parameter \`${rpc.stream.resumeField.json}\`.`,
      schema: { type: 'string' },
    });
  }
  return headers;
}
