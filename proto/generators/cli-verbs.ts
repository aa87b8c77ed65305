/**
 * Gives things one verb each on the command line: `get`, `create` and `delete`, whatever the contract calls
 * the command. The words of the contract stay, as SPEC and scripts have them.
 */
import type { RpcModel } from './model.ts';

interface Command {
  readonly rpc: RpcModel;
  readonly cli: NonNullable<RpcModel['cli']>;
}

const SAME: Readonly<Record<string, readonly [method: string, verb: string]>> = {
  show: ['GET', 'get'],
  status: ['GET', 'get'],
  add: ['POST', 'create'],
  remove: ['DELETE', 'delete'],
  revoke: ['DELETE', 'delete'],
};

/** Returns the words of commands by the words that are the same with the one verb: `get` is `status`. */
export function verbsOf(commands: readonly Command[]): Readonly<Record<string, string>> {
  const lines = new Set(commands.map(({ cli }) => cli.words.join(' ')));
  const verbs = commands.flatMap((command): (readonly [string, string])[] => {
    const { words } = command.cli;
    const [method, verb] = SAME[words.at(-1) ?? ''] ?? [];
    const line = [...words.slice(0, -1), verb].join(' ');
    const fits = verb !== undefined && methodOf(command) === method && !lines.has(line);
    return fits && !isPutIn(command, commands) ? [[line, words.join(' ')]] : [];
  });
  return Object.fromEntries(verbs);
}

/** These lists hold things of elsewhere, which are not made or deleted by being put in or taken out. */
function isPutIn({ rpc }: Command, commands: readonly Command[]): boolean {
  const path = rpc.routes[0]?.jsonPath;
  return commands.some((other) => methodOf(other) === 'PUT' && other.rpc.routes[0]?.jsonPath === path);
}

function methodOf({ rpc }: Command): string | undefined {
  return rpc.routes[0]?.route.verb;
}
