/**
 * Prints proto/gen/surface.json: the public surface, committed, so that a change of it is seen in review and
 * can be compared.
 */
import { publishedMessages } from './check-messages.ts';
import type {
  CliFieldModel,
  EnumModel,
  EnumValueModel,
  FieldModel,
  MessageModel,
  Model,
  RpcModel,
} from './model.ts';
import type { Surface, SurfaceField, SurfaceRpc } from './surface.ts';

export function surfaceOf(model: Model): Surface {
  const services = model.services.filter((service) => service.audience !== 'internal');
  const messages = [...publishedMessages(model)];
  const enums = new Set<EnumModel>();
  for (const { type } of messages.flatMap((message) => message.fields))
    if (type.kind === 'enum') enums.add(type.enum);
  return {
    areas: meanings(model.areas),
    scopes: meanings(model.scopes),
    rpcs: sortedRecord(
      services.flatMap((service) =>
        service.rpcs.map((rpc): [string, SurfaceRpc] => [rpc.id, surfaceRpc(rpc)]),
      ),
    ),
    messages: sortedRecord(
      messages.map((message) => [
        message.typeName,
        sortedRecord(message.fields.map((field) => [field.json, surfaceField(field, message)])),
      ]),
    ),
    enums: sortedRecord([...enums].map((desc) => [desc.typeName, desc.values.map((value) => value.json)])),
  };
}

export function printSurface(model: Model): string {
  return `${JSON.stringify(surfaceOf(model), undefined, 2)}\n`;
}

function meanings(values: readonly EnumValueModel[]): Record<string, string> {
  return Object.fromEntries(values.map(({ json, comment }) => [json, comment]));
}

function sortedRecord<T>(entries: readonly (readonly [string, T])[]): Record<string, T> {
  return Object.fromEntries([...entries].sort(([a], [b]) => (a < b ? -1 : 1)));
}

function surfaceRpc(rpc: RpcModel): SurfaceRpc {
  const { sdk, cli, service } = rpc;
  return {
    audience: service.audience,
    ...(service.area && { area: service.area.json }),
    stability: rpc.stability,
    routes: rpc.routes.map(({ route, jsonPath, bodyField, responseField, queryFields }) => ({
      route: `${route.verb} ${jsonPath}`,
      ...(route.body !== '' && { body: bodyField?.json ?? '*' }),
      ...(responseField && { responseBody: responseField.json }),
      ...(route.body === '*' && queryFields.length > 0 && { query: queryFields.map(({ json }) => json) }),
    })),
    status: rpc.successStatus,
    stream: rpc.serverStreaming,
    ...(rpc.page && { page: { items: rpc.page.items.json, maxLimit: rpc.page.maxLimit } }),
    ...(rpc.numbered && { numbered: rpc.numbered.json }),
    auth: rpc.auth,
    ...(rpc.idTokens && { idTokens: true }),
    ...(rpc.sessionOnly && rpc.auth !== 'session' && { sessionOnly: true }),
    ...(rpc.sessionFields.length > 0 && { sessionFields: rpc.sessionFields.map(({ json }) => json) }),
    ...(rpc.scope !== undefined && { scope: rpc.scope }),
    ...(rpc.role && { role: rpc.role }),
    ...(rpc.noAgents && { agents: 'never' as const }),
    ...(rpc.approval && { approval: rpc.approval.action }),
    ...(rpc.feature !== undefined && { feature: rpc.feature }),
    ...(rpc.inertWhenOff && { inertWhenOff: true }),
    ...(rpc.idempotency && { idempotency: rpc.idempotency }),
    ...(sdk &&
      service.sdk && {
        sdk: {
          method: `${service.sdk.property}.${sdk.name}`,
          args: sdk.args.map(({ field, optional }) => `${field.json}${optional ? '?' : ''}`),
          ...(sdk.returns && { returns: sdk.returns.json }),
        },
      }),
    ...(cli && {
      cli: {
        command: [cli.group, ...cli.words].join(' '),
        args: cli.positionals.map((positional) => positional.path),
        flags: sortedRecord(cli.flags.map((flag) => [flag.flag, flagType(flag)])),
      },
    }),
    request: rpc.request.typeName,
    response: rpc.response.typeName,
  };
}

function flagType({ type, repeated }: CliFieldModel): string {
  return repeated && type !== 'map' ? `${type}[]` : type;
}

function surfaceField(field: FieldModel, { bare }: MessageModel): SurfaceField {
  const type = typeText(field);
  return {
    type: field.repeated ? `${type}[]` : field.map ? `map<${type}>` : type,
    ...(field.required && { required: true }),
    ...(!field.present && { optional: true }),
    ...(bare === field.name && { bare: true }),
  };
}

function typeText({ type }: FieldModel): string {
  if (type.kind === 'message') return type.message.typeName;
  if (type.kind === 'enum') return type.enum.typeName;
  return type.kind;
}
