/** Prints proto/gen/rpcs.ts: the services of all contracts, whose descriptors say the rest. */
import type { Model } from './model.ts';
import { HEADER } from './text.ts';

export function printRpcs(model: Model): string {
  const services = model.services.filter((service) => service.rpcs.length > 0);
  const imports = services.map(({ name, desc }) => `import { ${name} } from './${desc.file.name}_pb.ts';`);
  return [
    HEADER,
    "import { rpcsOf } from '../http/contract.ts';",
    "import type { RpcInfo } from '../http/rpc.ts';",
    ...imports.sort(),
    '',
    '/** Every RPC of every service, sorted by id. */',
    'export const rpcs: readonly RpcInfo[] = rpcsOf([',
    ...services.map(({ name }) => `  ${name},`),
    ']);',
    '',
  ].join('\n');
}
