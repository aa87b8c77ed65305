/**
 * Describes RPCs as the options of their contracts do. What they say of an RPC's conduct is read when it is
 * first asked for: that costs some 100 µs, and a server that has just started answers few of 250 RPCs.
 */
import {
  create,
  createRegistry,
  mergeFromBinary,
  type DescExtension,
  type DescMessage,
  type DescMethod,
  type DescService,
  type MessageShape,
} from '@bufbuild/protobuf';
import { BinaryReader } from '@bufbuild/protobuf/wire';
import { http } from '../gen/google/api/annotations_pb.ts';
import { HttpRuleSchema, type HttpRule } from '../gen/google/api/http_pb.ts';
import {
  AudienceSchema,
  field,
  op,
  resource,
  ResourceSchema,
  ScopeSchema,
} from '../gen/svc/options/v1/options_pb.ts';
import type { FeatureKey } from '../features/manifest.ts';
import { operationOf } from './defaults.ts';
import { createOptionReader } from './options.ts';
import { parsePathTemplate } from './path-template.ts';
import { bodyBytesMaxOf } from './bounds.ts';
import { enumNames } from './enum-names.ts';
import {
  TIMEOUT_MS_DEFAULT,
  type Auth,
  type RestRoute,
  type PathSegment,
  type RpcInfo,
  type Verb,
} from './rpc.ts';

/** Parts of an RPC that are known at once; routes are read when a router asks for them. */
type Early = Pick<RpcInfo, 'id' | 'desc' | 'audience'>;
type Routing = Pick<RpcInfo, 'routes' | 'teamInPath'>;
type Conduct = Omit<RpcInfo, keyof Early | keyof Routing>;

const options = createOptionReader(createRegistry(http, op, resource, field));

/**
 * Returns every RPC of the services, sorted by id. The generator has checked their options, so that nothing
 * is checked here.
 */
export function rpcsOf(services: readonly DescService[]): readonly RpcInfo[] {
  return services
    .flatMap((service) => {
      const { audience } = optionOf(service, resource, ResourceSchema);
      const word = enumNames(AudienceSchema).byNumber.get(audience) as RpcInfo['audience'];
      return service.methods.map((desc) => rpcOf(desc, word));
    })
    .sort((a, b) => (a.id < b.id ? -1 : 1));
}

function rpcOf(desc: DescMethod, audience: RpcInfo['audience']): RpcInfo {
  const routing = once(() => routingOf(desc));
  const conduct = once(() => conductOf(desc));
  const rpc = {
    id: `${desc.parent.typeName}/${desc.name}`,
    desc,
    audience,
    get routes() {
      return routing().routes;
    },
    get teamInPath() {
      return routing().teamInPath;
    },
    get auth() {
      return conduct().auth;
    },
    get idTokens() {
      return conduct().idTokens;
    },
    get sessionOnly() {
      return conduct().sessionOnly;
    },
    get sessionFields() {
      return conduct().sessionFields;
    },
    get scope() {
      return conduct().scope;
    },
    get role() {
      return conduct().role;
    },
    get agents() {
      return conduct().agents;
    },
    get approval() {
      return conduct().approval;
    },
    get feature() {
      return conduct().feature;
    },
    get inertWhenOff() {
      return conduct().inertWhenOff;
    },
    get emptyWithout() {
      return conduct().emptyWithout;
    },
    get idempotency() {
      return conduct().idempotency;
    },
    get successStatus() {
      return conduct().successStatus;
    },
    get timeoutMs() {
      return conduct().timeoutMs;
    },
    get bodyBytesMax() {
      return conduct().bodyBytesMax;
    },
    get rateLimit() {
      return conduct().rateLimit;
    },
    get page() {
      return conduct().page;
    },
    get stream() {
      return conduct().stream;
    },
  } satisfies { [K in keyof Required<RpcInfo>]: RpcInfo[K] };
  return rpc as RpcInfo;
}

/**
 * `getOption` makes a descriptor anew for each call, which is most of its time; a start reads 300 of these.
 */
function optionOf<D extends DescMessage>(
  { proto }: DescMethod | DescService,
  { number }: DescExtension,
  schema: D,
): MessageShape<D> {
  const message = create(schema);
  for (const { no, data } of proto.options?.$unknown ?? [])
    if (no === number) mergeFromBinary(schema, message, new BinaryReader(data).bytes());
  return message;
}

function once<T>(read: () => T): () => T {
  let known: T | undefined;
  return () => (known ??= read());
}

function conductOf(desc: DescMethod): Conduct {
  const { input, output } = desc;
  const told = operationOf(options, desc);
  const auth = wordOf<Auth>('AUTH_', told.auth) ?? 'required';
  const role = wordOf<NonNullable<Conduct['role']>>('ROLE_', told.role);
  const idempotency = wordOf<NonNullable<Conduct['idempotency']>>('IDEMPOTENCY_', told.idempotency);
  const { number: scopeNumber = 0 } = ScopeSchema.values.find(({ name }) => name === told.scope) ?? {};
  const scope = told.scope === undefined ? undefined : enumNames(ScopeSchema).byNumber.get(scopeNumber);
  const feature = told.feature === '-' ? undefined : (told.feature as FeatureKey | undefined);
  const sessionFields = input.fields.filter((one) => options.field(one).sessionOnly === true);
  const { page, stream, emptyWithout, approval } = told;
  return {
    auth,
    ...(told.idTokens && { idTokens: true }),
    ...((auth === 'session' || told.sessionOnly) && { sessionOnly: true }),
    ...(sessionFields.length > 0 && { sessionFields: sessionFields.map(({ localName }) => localName) }),
    ...(scope !== undefined && { scope }),
    ...(role && { role }),
    ...(told.agents === 'AGENTS_NEVER' && { agents: 'never' as const }),
    ...(approval && {
      approval: { action: approval.action ?? '', resource: localName(input, approval.resource ?? '') },
    }),
    ...(feature !== undefined && { feature }),
    ...(feature !== undefined && told.whenOff === 'OFF_INERT' && { inertWhenOff: true }),
    ...(emptyWithout && { emptyWithout: localName(output, emptyWithout) }),
    ...(idempotency && { idempotency }),
    successStatus: told.successStatus ?? 200,
    timeoutMs: told.timeoutMs ?? TIMEOUT_MS_DEFAULT,
    bodyBytesMax: told.bodyBytesMax ?? bodyBytesMaxOf(input, auth),
    rateLimit: (told.rateLimit as Conduct['rateLimit'] | undefined) || 'default',
    ...(page &&
      !page.byNumber && {
        page: {
          items: localName(output, page.items ?? ''),
          defaultLimit: page.defaultLimit ?? 0,
          maxLimit: page.maxLimit ?? 0,
        },
      }),
    ...(stream && {
      stream: {
        ...(stream.idField && { idField: localName(output, stream.idField) }),
        ...(stream.resumeField && { resumeField: localName(input, stream.resumeField) }),
      },
    }),
  };
}

/** `AUTH_STAFF` is `staff`. */
function wordOf<T extends string>(prefix: string, value: string | number | undefined): T | undefined {
  const name = String(value ?? '');
  const word = name.startsWith(prefix) ? name.slice(prefix.length).toLowerCase() : '';
  return word === '' || word === 'unspecified' ? undefined : (word as T);
}

function localName({ fields }: DescMessage, name: string): string {
  return fields.find((one) => one.name === name)?.localName ?? name;
}

function routingOf(desc: DescMethod): Routing {
  const rule = optionOf(desc, http, HttpRuleSchema);
  const rules = [rule, ...rule.additionalBindings].filter(({ pattern }) => pattern.case !== undefined);
  const routes = rules.map((one) => routeOf(desc, one));
  const [primary] = routes;
  const isTeam = (segment: PathSegment): boolean => 'field' in segment && segment.field === 'teamId';
  return { routes, teamInPath: primary?.segments.some(isTeam) ?? false };
}

function routeOf({ input, output }: DescMethod, { pattern, body, responseBody }: HttpRule): RestRoute {
  if (pattern.case === undefined || pattern.case === 'custom')
    throw new Error(`${input.typeName} has no verb`);
  const { segments, text, customVerb } = parsePathTemplate(pattern.value);
  return {
    verb: pattern.case.toUpperCase() as Verb,
    template: text,
    segments: segments.map((segment) =>
      'literal' in segment
        ? segment
        : { field: localName(input, segment.field), ...(segment.multi && { multi: true }) },
    ),
    ...(customVerb !== undefined && { customVerb }),
    body: body === '' || body === '*' ? body : localName(input, body),
    ...(responseBody !== '' && { responseBody: localName(output, responseBody) }),
  };
}
