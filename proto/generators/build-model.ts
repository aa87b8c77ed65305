/**
 * Descriptors in, model out. What cannot be built is reported and left out, so that one run finds every problem;
 * the rules that need the whole model are in checks.ts.
 */
import {
  type DescField,
  type DescMethod,
  type DescService,
  type FileRegistry,
  getOption,
  hasOption,
} from '@bufbuild/protobuf';
import { MethodOptions_IdempotencyLevel } from '@bufbuild/protobuf/wkt';
import type { Audience, Auth, Idempotency, RateLimit, Role } from '../http/rpc.ts';
import { type MessageBuilder, buildEnum, createMessageBuilder } from './build-messages.ts';
import { buildRoutes } from './build-routes.ts';
import { MANIFEST } from '../features/manifest.ts';
import { checkModel } from './checks.ts';
import { buildCliCommand } from './cli-model.ts';
import { commentOf } from './comments.ts';
import { isHttpBody } from '../http/http-body.ts';
import { jsonBytesMax } from '../http/bounds.ts';
import { ContractError, type Problems } from './contract-error.ts';
import { ANONYMOUS_AUTHS, ANONYMOUS_BODY_BYTES_MAX } from './model.ts';
import type {
  EnumValueModel,
  ExampleModel,
  FieldModel,
  MessageModel,
  Model,
  PageModel,
  RpcModel,
  SdkMethodModel,
  ServiceModel,
  Stability,
} from './model.ts';
import { operationOf } from './defaults.ts';
import { type OperationOption, type OptionReader, createOptionReader } from './options.ts';

const AUDIENCES = ['public', 'runner', 'internal'] as const satisfies readonly Audience[];
const AUTHS = [
  'none',
  'optional',
  'required',
  'session',
  'staff',
  'enrollment_token',
  'runner',
  'internal',
] as const satisfies readonly Auth[];
const ROLES = ['viewer', 'developer', 'admin', 'owner'] as const satisfies readonly Role[];
const IDEMPOTENCIES = ['keyed', 'statement', 'natural', 'none'] as const satisfies readonly Idempotency[];
const STABILITIES = ['stable', 'preview', 'experimental'] as const satisfies readonly Stability[];
const RATE_LIMITS = ['default', 'login', 'submit', 'machine'] as const satisfies readonly RateLimit[];

const TIMEOUT_MS_DEFAULT = 30_000;
/** A body has room for all that its contract allows, within these. */
const BODY_BYTES_MIN = 65_536;
const BODY_BYTES_MAX = 1_048_576;

/** What building one service needs. */
interface Context {
  readonly options: OptionReader;
  readonly messages: MessageBuilder;
  readonly problems: Problems;
  readonly areas: readonly EnumValueModel[];
  readonly scopes: readonly EnumValueModel[];
}

/** Builds and checks the model of every service under `svc.`; throws a ContractError with everything that is wrong. */
export function buildModel(registry: FileRegistry): Model {
  const found: string[] = [];
  const problems: Problems = { add: (at, problem) => void found.push(`${at}: ${problem}`) };
  const options = createOptionReader(registry);
  const messages = createMessageBuilder(options, behaviorReader(registry), problems);
  const valuesOf = (typeName: string) => {
    const desc = registry.getEnum(typeName);
    return desc ? buildEnum(desc, options, problems).values : [];
  };
  const areas = valuesOf('svc.options.v1.Area');
  const scopes = valuesOf('svc.options.v1.Scope');
  const context: Context = { options, messages, problems, areas, scopes };
  const services: ServiceModel[] = [];
  for (const file of registry.files) {
    if (!file.proto.package.startsWith('svc.')) continue;
    for (const desc of file.services) {
      const service = buildService(context, desc);
      if (service) services.push(service);
    }
  }
  services.sort((a, b) => (a.typeName < b.typeName ? -1 : 1));
  const model: Model = { areas, scopes, services, ...messages.all() };
  checkModel(
    model,
    MANIFEST.map(({ key }) => key),
    problems,
  );
  if (found.length > 0) throw new ContractError(found.sort());
  return model;
}

function behaviorReader(registry: FileRegistry): (desc: DescField) => readonly number[] {
  const extension = registry.getExtension('google.api.field_behavior');
  return (desc) => {
    if (!extension || !hasOption(desc, extension)) return [];
    const value: unknown = getOption(desc, extension);
    return Array.isArray(value) ? value.filter((item) => typeof item === 'number') : [];
  };
}

function buildService(context: Context, desc: DescService): ServiceModel | undefined {
  const resource = context.options.resource(desc);
  if (!resource) {
    context.problems.add(desc.typeName, 'has no (svc.options.v1.resource); every service needs one');
    return undefined;
  }
  const audience = oneOf(context, desc.typeName, 'audience', 'AUDIENCE_', resource.audience, AUDIENCES);
  if (!audience) {
    if (resource.audience === undefined)
      context.problems.add(desc.typeName, `states no audience; allowed are ${AUDIENCES.join(', ')}`);
    return undefined;
  }
  const area = listed(context, desc.typeName, 'area', resource.area);
  for (const scope of [resource.readScope, resource.writeScope])
    listed(context, desc.typeName, 'scope', scope);
  if (resource.noScope && (resource.readScope ?? resource.writeScope) !== undefined)
    context.problems.add(
      desc.typeName,
      'has no_scope beside read_scope or write_scope; it can say one of them',
    );
  const rpcs: RpcModel[] = [];
  const service: ServiceModel = {
    desc,
    typeName: desc.typeName,
    name: desc.name,
    comment: commentOf(desc),
    summary: resource.summary ?? '',
    audience,
    ...(area && { area }),
    ...(resource.sdk && { sdk: { property: resource.sdk, className: upperFirst(resource.sdk) } }),
    ...(resource.cli && { cliGroup: resource.cli }),
    rpcs,
  };
  for (const method of desc.methods) {
    rpcs.push(buildRpc(context, service, method));
  }
  return service;
}

function buildRpc(context: Context, service: ServiceModel, desc: DescMethod): RpcModel {
  const id = `${service.typeName}/${desc.name}`;
  const { problems } = context;
  const op = operationOf(context.options, desc);
  const auth = oneOf(context, id, 'auth', 'AUTH_', op.auth, AUTHS);
  const request = context.messages.message(desc.input);
  const response = context.messages.message(desc.output);
  const routes = buildRoutes(id, context.options.http(desc), request, response, problems);
  const scope = listed(context, id, 'scope', op.scope);
  const role = oneOf(context, id, 'role', 'ROLE_', op.role, ROLES);
  const idempotency = oneOf(context, id, 'idempotency', 'IDEMPOTENCY_', op.idempotency, IDEMPOTENCIES);
  const page = op.page && pageOf(context, id, op.page, request, response);
  const stream = op.stream && {
    ...fieldOption(context, id, 'stream.id_field', 'idField', op.stream.idField, response),
    ...fieldOption(context, id, 'stream.resume_field', 'resumeField', op.stream.resumeField, request),
  };
  const feature = op.feature === '-' ? undefined : op.feature;
  const sdk = sdkOf(context, id, op, service, desc, request, response, routes[0]?.pathFields ?? []);
  const base = {
    desc,
    id,
    name: desc.name,
    service,
    comment: commentOf(desc),
    deprecated: desc.deprecated,
    request,
    response,
    serverStreaming: desc.methodKind === 'server_streaming',
    raw: isHttpBody(desc.output),
    auth: auth ?? 'required',
    idTokens: op.idTokens ?? false,
    ...(scope && { scope: scope.json }),
    noScope: op.noScope ?? false,
    ...(role && { role }),
    ...(feature !== undefined && { feature }),
    ...(idempotency && { idempotency }),
    successStatus: op.successStatus ?? 200,
    timeoutMs: op.timeoutMs ?? TIMEOUT_MS_DEFAULT,
    bodyBytesMax: op.bodyBytesMax ?? bodyBytesOf(desc, auth),
    rateLimit: rateLimitOf(context, id, op.rateLimit),
    stability: oneOf(context, id, 'stability', 'STABILITY_', op.stability, STABILITIES) ?? 'stable',
    destructive: op.destructive ?? false,
    examples: (op.examples ?? []).map((example): ExampleModel => ({
      title: example.title ?? '',
      ...(example.cli && { cli: example.cli }),
      ...(example.sdk && { sdk: example.sdk }),
    })),
    columns: op.columns ?? [],
    ...(page && { page }),
    ...(stream && { stream }),
    routes,
    teamInPath: (routes[0]?.pathFields ?? []).some((field) => field.name === 'team_id'),
    ...(sdk && { sdk }),
  } satisfies RpcModel;
  checkIdempotencyLevel(context, base);
  const cli =
    service.cliGroup !== undefined && op.command !== '-'
      ? buildCliCommand(base, service.cliGroup, op, problems)
      : undefined;
  return cli ? { ...base, cli } : base;
}

function bodyBytesOf({ input }: DescMethod, auth: Auth | undefined): number {
  const most = ANONYMOUS_AUTHS.includes(auth ?? 'required') ? ANONYMOUS_BODY_BYTES_MAX : BODY_BYTES_MAX;
  return Math.min(most, Math.max(BODY_BYTES_MIN, jsonBytesMax(input)));
}

/** image.ts has said it of every GET. */
function checkIdempotencyLevel(context: Context, rpc: RpcModel): void {
  const verb = rpc.routes[0]?.route.verb;
  const pure = rpc.desc.idempotency === MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS;
  if (verb !== undefined && verb !== 'GET' && pure)
    context.problems.add(rpc.id, `is a ${verb} with idempotency_level NO_SIDE_EFFECTS; only GET has none`);
}

/** The value of one of the closed lists of options.proto. */
function listed(
  context: Context,
  at: string,
  list: 'area' | 'scope',
  name: string | number | undefined,
): EnumValueModel | undefined {
  if (name === undefined) return undefined;
  const values = context[`${list}s`];
  const value = values.find((candidate) => candidate.name === name);
  const allowed = values.map((candidate) => candidate.name).join(', ');
  if (!value) context.problems.add(at, `${list} ${name} is not in the list; allowed are ${allowed}`);
  return value;
}

function rateLimitOf(context: Context, id: string, value: string | undefined): RateLimit {
  const known = RATE_LIMITS.find((limit) => limit === (value || 'default'));
  if (!known)
    context.problems.add(id, `rate_limit "${value}" is unknown; allowed are ${RATE_LIMITS.join(', ')}`);
  return known ?? 'default';
}

function pageOf(
  context: Context,
  id: string,
  page: NonNullable<OperationOption['page']>,
  request: MessageModel,
  response: MessageModel,
): PageModel | undefined {
  const { problems } = context;
  const items = response.fields.find((field) => field.name === page.items);
  if (!items || !items.repeated) {
    problems.add(
      id,
      `page.items "${page.items ?? ''}" is no repeated field of ${response.typeName}; ${fieldList(response)}`,
    );
  }
  const has = (message: MessageModel, name: string, kind: string) =>
    message.fields.some((field) => field.name === name && field.type.kind === kind && field.optional);
  if (!has(request, 'limit', 'integer'))
    problems.add(id, `is paged, but ${request.typeName} has no "optional uint32 limit"`);
  if (!has(request, 'cursor', 'string'))
    problems.add(id, `is paged, but ${request.typeName} has no "optional string cursor"`);
  if (!has(response, 'next_cursor', 'string')) {
    problems.add(id, `is paged, but ${response.typeName} has no "optional string next_cursor"`);
  }
  const { defaultLimit = 0, maxLimit = 0 } = page;
  if (defaultLimit < 1 || maxLimit < defaultLimit) {
    problems.add(
      id,
      `page limits are ${defaultLimit} (default) and ${maxLimit} (max); needed is 1 ≤ default ≤ max`,
    );
  }
  return items ? { items, defaultLimit, maxLimit } : undefined;
}

function sdkOf(
  context: Context,
  id: string,
  op: OperationOption,
  service: ServiceModel,
  desc: DescMethod,
  request: MessageModel,
  response: MessageModel,
  pathFields: readonly FieldModel[],
): SdkMethodModel | undefined {
  const optional = new Set(op.optionalArgs ?? []);
  const find = (what: string, name: string, message: MessageModel): FieldModel | undefined => {
    const field = message.fields.find((candidate) => candidate.name === name);
    if (!field)
      context.problems.add(
        id,
        `${what} names "${name}", which is no field of ${message.typeName}; ${fieldList(message)}`,
      );
    return field;
  };
  const named = (op.args ?? []).flatMap((name) => find('args', name, request) ?? []);
  const fields = op.args && op.args.length > 0 ? named : pathFields;
  for (const name of optional) {
    if (!fields.some((field) => field.name === name)) {
      context.problems.add(
        id,
        `optional_args names "${name}", which is not in args (${fields.map((f) => f.name).join(', ') || 'none'})`,
      );
    }
  }
  const returns = op.sdkReturns ? find('sdk_returns', op.sdkReturns, response) : undefined;
  if (service.sdk === undefined || op.sdk === '-') return undefined;
  return {
    name: op.sdk || lowerFirst(desc.name),
    args: fields.map((field) => ({ field, optional: optional.has(field.name) })),
    params: request.fields.filter((field) => !fields.includes(field) && !field.outputOnly),
    ...(returns && { returns }),
  };
}

function fieldOption<K extends 'idField' | 'resumeField'>(
  context: Context,
  id: string,
  what: string,
  key: K,
  name: string | undefined,
  message: MessageModel,
): { [P in K]?: FieldModel } {
  if (!name) return {};
  const field = message.fields.find((candidate) => candidate.name === name);
  if (!field)
    context.problems.add(
      id,
      `${what} names "${name}", which is no field of ${message.typeName}; ${fieldList(message)}`,
    );
  return (field ? { [key]: field } : {}) as { [P in K]?: FieldModel };
}

export function fieldList(message: MessageModel): string {
  return message.fields.length > 0
    ? `it has ${message.fields.map((field) => field.name).join(', ')}`
    : 'it has no fields';
}

/** The word for an enum value in an option; unset and UNSPECIFIED are `undefined`, a number without a name is a problem. */
function oneOf<T extends string>(
  context: Context,
  at: string,
  what: string,
  prefix: string,
  value: string | number | undefined,
  allowed: readonly T[],
): T | undefined {
  if (value === undefined || value === `${prefix}UNSPECIFIED`) return undefined;
  const word = String(value).startsWith(prefix)
    ? String(value).slice(prefix.length).toLowerCase()
    : String(value);
  const known = allowed.find((candidate) => candidate === word);
  if (!known) context.problems.add(at, `${what} ${value} is unknown; allowed are ${allowed.join(', ')}`);
  return known;
}

export function lowerFirst(text: string): string {
  return `${text.charAt(0).toLowerCase()}${text.slice(1)}`;
}

export function upperFirst(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}
