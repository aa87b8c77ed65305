/**
 * Completes RPCs and fields where their contract says nothing: the one place that knows the defaults of
 * options.proto.
 */
import type { DescField, DescMethod } from '@bufbuild/protobuf';
import type { Problems } from '../generators/contract-error.ts';
import type { CompleteOperation, HttpRule, OperationOption, OptionReader } from './options.ts';

type Usual = Pick<OperationOption, 'auth' | 'idempotency' | 'rateLimit'>;

const BY_AUDIENCE: Readonly<Record<string, Usual>> = {
  AUDIENCE_PUBLIC: { auth: 'AUTH_REQUIRED', idempotency: 'IDEMPOTENCY_KEYED' },
  AUDIENCE_RUNNER: { auth: 'AUTH_RUNNER', idempotency: 'IDEMPOTENCY_NATURAL', rateLimit: 'machine' },
  AUDIENCE_INTERNAL: { auth: 'AUTH_INTERNAL', idempotency: 'IDEMPOTENCY_NATURAL' },
};

/** One message says that there is nothing to say. */
export const EMPTY = 'google.protobuf.Empty';

/** Name of an RPC that is a list. */
export const LIST = /^List(?![a-z])/;

/** The option of an RPC, completed by its service, its audience, its verb, its name and its messages. */
export function operationOf(options: OptionReader, desc: DescMethod): CompleteOperation {
  const op = options.operation(desc) ?? {};
  return { ...usualOf(options, desc, op), ...op };
}

/**
 * Returns what holds for an RPC that does not say otherwise, given what it says of its credential and its
 * scope.
 */
export function usualOf(
  options: OptionReader,
  desc: DescMethod,
  said: Pick<OperationOption, 'auth' | 'scope' | 'noScope' | 'page'>,
): CompleteOperation {
  const resource = options.resource(desc.parent) ?? {};
  const rule = options.http(desc) ?? {};
  const reads = rule.get !== undefined;
  const usual = BY_AUDIENCE[resource.audience ?? ''];
  const scope = reads ? resource.readScope : resource.writeScope;
  const auth = scope === 'SCOPE_STAFF' ? 'AUTH_STAFF' : usual?.auth;
  return defined({
    auth,
    ...((said.auth ?? auth) === auth && scopeOf(said, resource.noScope, scope)),
    idempotency: reads ? undefined : usual?.idempotency,
    rateLimit: usual?.rateLimit,
    feature: resource.feature,
    stability: resource.stability,
    whenOff: resource.whenOff,
    agents: resource.agents,
    successStatus: successOf(desc, rule),
    destructive: rule.delete?.endsWith('}') || undefined,
    ...(reads && !said.page?.byNumber && listOf(desc)),
  });
}

/** An RPC that says either of the two takes nothing from its service. */
function scopeOf(
  said: Pick<OperationOption, 'scope' | 'noScope'>,
  noScope: boolean | undefined,
  scope: OperationOption['scope'],
): Pick<CompleteOperation, 'scope' | 'noScope'> {
  if (said.scope !== undefined || said.noScope !== undefined) return {};
  return noScope ? { noScope } : defined({ scope });
}

function successOf({ name, output }: DescMethod, { post }: HttpRule): number | undefined {
  if (output.typeName === EMPTY) return 204;
  return post !== undefined && /^(Create|Add)(?![a-z])/.test(name) ? 201 : undefined;
}

/** A list with a cursor goes by pages; of any other one, the SDK returns the items. */
function listOf({ name, input, output }: DescMethod): Pick<OperationOption, 'page' | 'sdkReturns'> {
  const [items, ...others] = output.fields.filter(({ fieldKind }) => fieldKind === 'list');
  if (!LIST.test(name) || items === undefined || others.length > 0) return {};
  const isPaged = input.fields.some((field) => field.name === 'cursor');
  return isPaged
    ? { page: { items: items.name, defaultLimit: 50, maxLimit: 200 } }
    : { sdkReturns: items.name };
}

/** Most of what there is belongs to a team; of teams themselves, the id is the thing that is meant. */
const TEAM = { field: 'team_id', flag: 'team', contract: 'svc.teams.v1' } as const;

/** CLI flag of a field that does not go by its own name. */
export function flagOf(options: OptionReader, desc: DescField, problems: Problems): string | undefined {
  const { flag } = options.field(desc);
  if (desc.name !== TEAM.field || desc.parent.file.proto.package === TEAM.contract) return flag;
  if (flag === TEAM.flag)
    problems.add(
      `${desc.parent.typeName}.${desc.name}`,
      `has the flag "${flag}", which is the default; remove it`,
    );
  return flag ?? TEAM.flag;
}

/** Without the properties that are undefined. */
function defined<T extends object>(value: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  const entries = Object.entries(value).filter(([, item]) => item !== undefined);
  return Object.fromEntries(entries) as { [K in keyof T]: Exclude<T[K], undefined> };
}
