/**
 * This file makes the network of a build step: its container has one of its own, with the same egress as the
 * image build.
 */
import { failureText, runCommand } from '../executor/command.ts';
import type { SandboxSpec } from '../executor/executor.ts';
import { egressOf, type BuildContext } from './context.ts';
import { enterArgv, openEgress } from '../network/egress.ts';
import { NAME_SERVER } from '../network/egress-dns.ts';
import { MachineFailed } from './failure.ts';
import type { TestDatabase } from './test-database.ts';

const READY_MS = 30_000;
const SCRIPT = 'ip link set lo up && ip route add local default dev lo';

/** Steps of builds that are not contained have the engine's own network. */
export function stepNetwork(
  context: BuildContext,
  database: Pick<TestDatabase, 'endpoint'> | undefined,
): SandboxSpec['network'] {
  const { contained } = context;
  if (contained === undefined) return 'private';
  return {
    nameServer: NAME_SERVER,
    async open(network) {
      const made = await runCommand([...enterArgv(network), 'sh', '-c', SCRIPT], { timeoutMs: READY_MS });
      if (made.code !== 0)
        throw new MachineFailed(`the network of a build step cannot be made: ${failureText(made)}`);
      const { allowed, ...rules } = egressOf(context, contained, 'public');
      const own = database === undefined ? [] : [database.endpoint];
      return await openEgress(network, { ...rules, allowed: [...allowed, ...own] });
    },
  };
}
