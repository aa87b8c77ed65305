/** proto/gen/rpcs.ts: one value per RPC for the route table, the pipeline and the contract tests. */
import type { FeatureKey } from '../features/manifest.ts';
import type { RpcInfo } from '../http/rpc.ts';
import { lowerFirst } from './build-model.ts';
import type { Model, RpcModel } from './model.ts';
import { HEADER, literal } from './text.ts';

export function printRpcs(model: Model): string {
  const rpcs = model.services.flatMap((service) => service.rpcs).sort((a, b) => (a.id < b.id ? -1 : 1));
  const imports = model.services
    .filter((service) => service.rpcs.length > 0)
    .map((service) => `import { ${service.name} } from './${service.desc.file.name}_pb.ts';`)
    .sort();
  return [
    HEADER,
    "import type { RpcInfo } from '../http/rpc.ts';",
    ...imports,
    '',
    '/** Every RPC of every service, sorted by id. */',
    'export const rpcs: readonly RpcInfo[] = [',
    ...rpcs.map(printRpc),
    '];',
    '',
    '/** By id: `svc.runners.v1.RunnersService/List`. */',
    'export const rpcById: ReadonlyMap<string, RpcInfo> = new Map(rpcs.map((rpc) => [rpc.id, rpc]));',
    '',
  ].join('\n');
}

function printRpc(rpc: RpcModel): string {
  const { page, stream } = rpc;
  const info: Omit<RpcInfo, 'desc'> = {
    id: rpc.id,
    audience: rpc.service.audience,
    auth: rpc.auth,
    ...(rpc.idTokens && { idTokens: true }),
    ...(rpc.sessionOnly && { sessionOnly: true }),
    ...(rpc.sessionFields.length > 0 && { sessionFields: rpc.sessionFields.map(({ local }) => local) }),
    ...(rpc.scope !== undefined && { scope: rpc.scope }),
    ...(rpc.role && { role: rpc.role }),
    // checks.ts has refused every key that is not in the manifest.
    ...(rpc.feature !== undefined && { feature: rpc.feature as FeatureKey }),
    ...(rpc.inertWhenOff && { inertWhenOff: true }),
    ...(rpc.emptyWithout && { emptyWithout: rpc.emptyWithout.local }),
    ...(rpc.idempotency && { idempotency: rpc.idempotency }),
    successStatus: rpc.successStatus,
    timeoutMs: rpc.timeoutMs,
    bodyBytesMax: rpc.bodyBytesMax,
    rateLimit: rpc.rateLimit,
    ...(page && {
      page: { items: page.items.local, defaultLimit: page.defaultLimit, maxLimit: page.maxLimit },
    }),
    ...(stream && {
      stream: {
        ...(stream.idField && { idField: stream.idField.local }),
        ...(stream.resumeField && { resumeField: stream.resumeField.local }),
      },
    }),
    routes: rpc.routes.map((route) => route.route),
    teamInPath: rpc.teamInPath,
  };
  const { id, ...rest } = info;
  const lines = Object.entries(rest).map(([key, value]) => `    ${key}: ${literal(value)},`);
  const desc = `    desc: ${rpc.service.name}.method.${lowerFirst(rpc.desc.localName)},`;
  return ['  {', `    id: ${literal(id)},`, desc, ...lines, '  },'].join('\n');
}
