/**
 * Builds the model from descriptors. What cannot be built is reported and left out, so that one run finds
 * every problem; the rules that need the whole model are in checks.ts.
 */
import type { DescMethod, DescService, FileRegistry } from '@bufbuild/protobuf';
import { MethodOptions_IdempotencyLevel } from '@bufbuild/protobuf/wkt';
import {
  TIMEOUT_MS_DEFAULT,
  type Audience,
  type Auth,
  type Idempotency,
  type RateLimit,
  type Role,
} from '../http/rpc.ts';
import { createBehaviors } from './behaviors.ts';
import { type MessageBuilder, buildEnum, createMessageBuilder } from './build-messages.ts';
import { buildRoutes, type Messages } from './build-routes.ts';
import { MANIFEST } from '../features/manifest.ts';
import { checkModel } from './checks.ts';
import { buildCliCommand, kebab } from './cli-model.ts';
import { commentOf } from './comments.ts';
import { isHttpBody } from '../http/http-body.ts';
import { bodyBytesMaxOf } from '../http/bounds.ts';
import { ContractError, reportOf, type Problems, type Report } from './contract-error.ts';
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
import { operationOf } from '../http/defaults.ts';
import { type OperationOption, type OptionReader, createOptionReader } from '../http/options.ts';

/** The words of the enums of options.proto, by the name of their option. */
const WORDS = {
  audience: ['public', 'runner', 'internal'] satisfies readonly Audience[],
  auth: [
    'none',
    'optional',
    'required',
    'session',
    'staff',
    'enrollment_token',
    'runner',
    'internal',
  ] satisfies readonly Auth[],
  role: ['viewer', 'developer', 'admin', 'owner'] satisfies readonly Role[],
  idempotency: ['keyed', 'statement', 'natural', 'none'] satisfies readonly Idempotency[],
  stability: ['stable', 'preview', 'experimental'] satisfies readonly Stability[],
  off: ['refused', 'inert'],
  agents: ['allowed', 'never'],
} as const;
const RATE_LIMITS = ['default', 'login', 'submit', 'machine'] as const satisfies readonly RateLimit[];

/** Everything that building one service needs. */
interface Context {
  readonly options: OptionReader;
  readonly messages: MessageBuilder;
  readonly problems: Problems;
  readonly areas: readonly EnumValueModel[];
  readonly scopes: readonly EnumValueModel[];
}

/**
 * Builds and checks the model of every service under `svc.`; throws a ContractError with everything that is
 * wrong.
 */
export function buildModel(registry: FileRegistry): Model {
  const found: string[] = [];
  const problems: Problems = { add: (at, problem) => void found.push(`${at}: ${problem}`) };
  const options = createOptionReader(registry);
  const messages = createMessageBuilder(options, createBehaviors(registry, options, problems), problems);
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

function buildService(context: Context, desc: DescService): ServiceModel | undefined {
  const report = reportOf(context.problems, desc.typeName);
  const resource = context.options.resource(desc);
  if (!resource) {
    report('has no (svc.options.v1.resource); every service needs one');
    return undefined;
  }
  const audience = wordOf(report, 'audience', resource.audience);
  if (!audience) {
    if (resource.audience === undefined)
      report(`states no audience; allowed are ${WORDS.audience.join(', ')}`);
    return undefined;
  }
  const area = listed(report, { area: context.areas }, resource.area);
  for (const scope of [resource.readScope, resource.writeScope])
    listed(report, { scope: context.scopes }, scope);
  if (resource.noScope && (resource.readScope ?? resource.writeScope) !== undefined)
    report('has no_scope beside read_scope or write_scope; it can say one of them');
  const word = audience === 'public' ? lowerFirst(desc.name.replace(/Service$/, '')) : undefined;
  const sdk = unlessNone(resource.sdk ?? word);
  const cli = unlessNone(resource.cli ?? (word && kebab(word)));
  const rpcs: RpcModel[] = [];
  const service: ServiceModel = {
    desc,
    typeName: desc.typeName,
    name: desc.name,
    comment: commentOf(desc),
    summary: resource.summary ?? '',
    audience,
    ...(area && { area }),
    ...(sdk !== undefined && { sdk: { property: sdk, className: upperFirst(sdk) } }),
    ...(cli !== undefined && { cliGroup: cli }),
    rpcs,
  };
  for (const method of desc.methods) {
    rpcs.push(buildRpc(context, service, method));
  }
  return service;
}

function buildRpc(context: Context, service: ServiceModel, desc: DescMethod): RpcModel {
  const id = `${service.typeName}/${desc.name}`;
  const report = reportOf(context.problems, id);
  const op = operationOf(context.options, desc);
  const auth = wordOf(report, 'auth', op.auth);
  const request = context.messages.message(desc.input);
  const response = context.messages.message(desc.output);
  const routes = buildRoutes(report, context.options.http(desc), { request, response });
  const scope = listed(report, { scope: context.scopes }, op.scope);
  const role = wordOf(report, 'role', op.role);
  const idempotency = wordOf(report, 'idempotency', op.idempotency);
  const page = op.page && !op.page.byNumber && pageOf(report, op.page, { request, response });
  const numbered = op.page?.byNumber ? numberedOf(report, op.page, { request, response }) : undefined;
  const emptyWithout = fieldNamed(report, { empty_without: op.emptyWithout }, response);
  const idField = fieldNamed(report, { 'stream.id_field': op.stream?.idField }, response);
  const resumeField = fieldNamed(report, { 'stream.resume_field': op.stream?.resumeField }, request);
  const stream = op.stream && { ...(idField && { idField }), ...(resumeField && { resumeField }) };
  const feature = unlessNone(op.feature);
  const sdk = sdkOf(report, op, { request, response, pathFields: routes[0]?.pathFields ?? [] });
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
    sessionOnly: auth === 'session' || (op.sessionOnly ?? false),
    sessionFields: request.fields.filter(({ sessionOnly }) => sessionOnly),
    ...(role && { role }),
    noAgents: wordOf(report, 'agents', op.agents) === 'never',
    ...approvalOf(report, op, request),
    ...leastRoleOf(scope?.leastRole, role),
    ...(feature !== undefined && { feature }),
    inertWhenOff: feature !== undefined && wordOf(report, 'off', op.whenOff) === 'inert',
    ...(emptyWithout && { emptyWithout }),
    ...(idempotency && { idempotency }),
    successStatus: op.successStatus ?? 200,
    timeoutMs: op.timeoutMs ?? TIMEOUT_MS_DEFAULT,
    bodyBytesMax: op.bodyBytesMax ?? bodyBytesMaxOf(desc.input, auth ?? 'required'),
    stability: wordOf(report, 'stability', op.stability) ?? 'stable',
    destructive: op.destructive ?? false,
    examples: (op.examples ?? []).map((example): ExampleModel => ({
      title: example.title ?? '',
      ...(example.cli && { cli: example.cli }),
      ...(example.sdk && { sdk: example.sdk }),
    })),
    columns: op.columns ?? [],
    ...(page && { page }),
    ...(numbered && { numbered }),
    ...(stream && { stream }),
    routes,
    ...(service.sdk !== undefined &&
      op.sdk !== '-' && { sdk: { ...sdk, name: op.sdk || lowerFirst(desc.name) } }),
  } satisfies RpcModel;
  checkIdempotencyLevel(report, base);
  if (op.rateLimit) checkRateLimit(report, op.rateLimit);
  const cli =
    service.cliGroup !== undefined && op.command !== '-'
      ? buildCliCommand(report, base, { op, group: service.cliGroup })
      : undefined;
  return cli ? { ...base, cli } : base;
}

function approvalOf(
  report: Report,
  { approval }: OperationOption,
  request: MessageModel,
): Pick<RpcModel, 'approval'> {
  const resource = fieldNamed(report, { 'approval.resource': approval?.resource }, request);
  return resource === undefined ? {} : { approval: { action: approval?.action ?? '', resource } };
}

/** image.ts has said it of every GET. */
function checkIdempotencyLevel(report: Report, rpc: RpcModel): void {
  const verb = rpc.routes[0]?.route.verb;
  const pure = rpc.desc.idempotency === MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS;
  if (verb !== undefined && verb !== 'GET' && pure)
    report(`is a ${verb} with idempotency_level NO_SIDE_EFFECTS; only GET has none`);
}

/** Both are needed, but where the RPC says that any member calls it. */
function leastRoleOf(ofScope: Role | undefined, own: Role | undefined): Pick<RpcModel, 'leastRole'> {
  const least = own === 'viewer' ? own : WORDS.role.findLast((role) => role === own || role === ofScope);
  return least === undefined ? {} : { leastRole: least };
}

/** The value of one of the closed lists of options.proto, which is given with its name. */
function listed(
  report: Report,
  list: Readonly<Record<string, readonly EnumValueModel[]>>,
  name: string | number | undefined,
): EnumValueModel | undefined {
  const [[what, values] = ['', []]] = Object.entries(list);
  if (name === undefined) return undefined;
  const value = values.find((candidate) => candidate.name === name);
  const allowed = values.map((candidate) => candidate.name).join(', ');
  if (!value) report(`${what} ${name} is not in the list; allowed are ${allowed}`);
  return value;
}

function checkRateLimit(report: Report, value: string): void {
  if (!RATE_LIMITS.some((limit) => limit === value))
    report(`rate_limit "${value}" is unknown; allowed are ${RATE_LIMITS.join(', ')}`);
}

function pageOf(
  report: Report,
  page: NonNullable<OperationOption['page']>,
  { request, response }: Messages,
): PageModel | undefined {
  const items = pageItems(report, page, response);
  if (!has(request, 'limit', 'integer'))
    report(`is paged, but ${request.typeName} has no "optional uint32 limit"`);
  if (!has(request, 'cursor', 'string'))
    report(`is paged, but ${request.typeName} has no "optional string cursor"`);
  if (!has(response, 'next_cursor', 'string'))
    report(`is paged, but ${response.typeName} has no "optional string next_cursor"`);
  const { defaultLimit = 0, maxLimit = 0 } = page;
  if (defaultLimit < 1 || maxLimit < defaultLimit)
    report(`page limits are ${defaultLimit} (default) and ${maxLimit} (max); needed is 1 ≤ default ≤ max`);
  return items ? { items, defaultLimit, maxLimit } : undefined;
}

function numberedOf(
  report: Report,
  page: NonNullable<OperationOption['page']>,
  { request, response }: Messages,
): FieldModel | undefined {
  if (page.defaultLimit !== undefined || page.maxLimit !== undefined)
    report('goes by numbers of pages and states limits; the size of its pages is fixed');
  if (!has(request, 'page', 'integer'))
    report(`goes by numbers of pages, but ${request.typeName} has no "optional uint32 page"`);
  if (!has(response, 'next_page', 'integer'))
    report(`goes by numbers of pages, but ${response.typeName} has no "optional uint32 next_page"`);
  return pageItems(report, page, response);
}

function pageItems(
  report: Report,
  { items: name = '' }: NonNullable<OperationOption['page']>,
  response: MessageModel,
): FieldModel | undefined {
  const items = response.fields.find((field) => field.name === name);
  if (!items || !items.repeated)
    report(`page.items "${name}" is no repeated field of ${response.typeName}; ${fieldList(response)}`);
  return items;
}

const has = (message: MessageModel, name: string, kind: string): boolean =>
  message.fields.some((field) => field.name === name && field.type.kind === kind && field.optional);

/** Reads the options about the SDK also where the RPC is not in it, so that mistakes are reported. */
function sdkOf(
  report: Report,
  op: OperationOption,
  { request, response, pathFields }: Messages & { readonly pathFields: readonly FieldModel[] },
): Omit<SdkMethodModel, 'name'> {
  const optional = new Set(op.optionalArgs ?? []);
  const named = (op.args ?? []).flatMap((name) => fieldNamed(report, { args: name }, request) ?? []);
  const fields = op.args && op.args.length > 0 ? named : pathFields;
  for (const name of optional) {
    if (!fields.some((field) => field.name === name))
      report(
        `optional_args names "${name}", which is not in args (${fields.map((f) => f.name).join(', ') || 'none'})`,
      );
  }
  const returns = fieldNamed(report, { sdk_returns: op.sdkReturns }, response);
  return {
    args: fields.map((field) => ({ field, optional: optional.has(field.name) })),
    params: request.fields.filter((field) => !fields.includes(field) && !field.outputOnly),
    ...(returns && { returns }),
  };
}

/** The field that an option names, which is given with its name; nothing where it names none. */
function fieldNamed(
  report: Report,
  option: Readonly<Record<string, string | undefined>>,
  message: MessageModel,
): FieldModel | undefined {
  const [[what, name] = ['', undefined]] = Object.entries(option);
  if (!name) return undefined;
  const field = message.fields.find((candidate) => candidate.name === name);
  if (!field)
    report(`${what} names "${name}", which is no field of ${message.typeName}; ${fieldList(message)}`);
  return field;
}

export function fieldList(message: MessageModel): string {
  return message.fields.length > 0
    ? `it has ${message.fields.map((field) => field.name).join(', ')}`
    : 'it has no fields';
}

/**
 * Finds the word for an enum value in an option; unset and UNSPECIFIED are `undefined`, a number without a
 * name is a problem.
 */
function wordOf<K extends keyof typeof WORDS>(
  report: Report,
  option: K,
  value: string | number | undefined,
): (typeof WORDS)[K][number] | undefined {
  const prefix = `${option.toUpperCase()}_`;
  if (value === undefined || value === `${prefix}UNSPECIFIED`) return undefined;
  const word = String(value).startsWith(prefix)
    ? String(value).slice(prefix.length).toLowerCase()
    : String(value);
  const allowed: readonly (typeof WORDS)[K][number][] = WORDS[option];
  const known = allowed.find((candidate) => candidate === word);
  if (!known) report(`${option} ${value} is unknown; allowed are ${allowed.join(', ')}`);
  return known;
}

/** A name in an option may be "-", which says that there is none. */
function unlessNone(name: string | undefined): string | undefined {
  return name === '-' ? undefined : name;
}

export function lowerFirst(text: string): string {
  return `${text.charAt(0).toLowerCase()}${text.slice(1)}`;
}

export function upperFirst(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}
