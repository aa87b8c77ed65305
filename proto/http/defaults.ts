/**
 * Completes RPCs and fields where their contract says nothing: the one place that knows the defaults of
 * options.proto.
 */
import type { DescField, DescMethod } from '@bufbuild/protobuf';
import type { Problems } from '../generators/contract-error.ts';
import type { CompleteOperation, OperationOption, OptionReader, ResourceOption } from './options.ts';

type Usual = Required<Pick<OperationOption, 'auth' | 'idempotency'>>;

const BY_AUDIENCE: Readonly<Record<string, Usual>> = {
  AUDIENCE_PUBLIC: { auth: 'AUTH_REQUIRED', idempotency: 'IDEMPOTENCY_KEYED' },
  AUDIENCE_RUNNER: { auth: 'AUTH_RUNNER', idempotency: 'IDEMPOTENCY_NATURAL' },
  AUDIENCE_INTERNAL: { auth: 'AUTH_INTERNAL', idempotency: 'IDEMPOTENCY_NATURAL' },
};

/** The option of an RPC, completed by its service, its audience and its verb. */
export function operationOf(options: OptionReader, desc: DescMethod): CompleteOperation {
  const op = options.operation(desc) ?? {};
  const resource = options.resource(desc.parent) ?? {};
  const reads = options.http(desc)?.get !== undefined;
  const usual = BY_AUDIENCE[resource.audience ?? ''];
  const auth = op.auth ?? usual?.auth;
  return defined({
    ...op,
    auth,
    ...(auth === 'AUTH_REQUIRED' && scopeOf(op, resource, reads)),
    idempotency: op.idempotency ?? (reads ? undefined : usual?.idempotency),
    feature: op.feature ?? resource.feature,
    stability: op.stability ?? resource.stability,
    whenOff: resource.whenOff,
  });
}

/** An RPC that says either of the two takes nothing from its service. */
function scopeOf(
  op: OperationOption,
  resource: ResourceOption,
  reads: boolean,
): Pick<OperationOption, 'scope' | 'noScope'> {
  if (op.scope !== undefined || op.noScope !== undefined) return {};
  const { noScope, readScope, writeScope } = resource;
  return noScope ? { noScope } : defined({ scope: reads ? readScope : writeScope });
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
