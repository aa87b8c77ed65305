/** Makes networks of the engine, one for each app: a bridge of IPv4 without a name server. */
import { failureText, type CommandResult } from '../executor/command.ts';
import { runEngine, type Engine } from '../executor/engine.ts';

const CALL_MS = 30_000;
/**
 * Half of what is reserved for tests of networks (RFC 2544), so that it collides with no site's own. Builds
 * use the other half, in namespaces of their own.
 */
const POOL = '198.19';
/**
 * Addresses of one network: the gateway, the containers of a deploy, and some that an engine may have failed
 * to give back.
 */
const SUBNET_SIZE = 16;
const SUBNETS = 65_536 / SUBNET_SIZE;
/** Another runner of this machine may take a network between the look and the attempt. */
const ATTEMPTS = 16;

export const runnerLabel = 'svc.runner';
export const appLabel = 'svc.app';

export interface EngineNetwork {
  name: string;
  app: string;
  /** The subnet is in CIDR notation. */
  subnet: string;
  /** Name of its bridge on this machine. */
  bridge: string;
}

interface Listed {
  name: string;
  network_interface?: string;
  subnets?: { subnet: string }[];
  labels?: Record<string, string>;
}

export async function listNetworks(engine: Engine, runnerId: string): Promise<EngineNetwork[]> {
  return (await listAll(engine)).flatMap(({ name, subnets, labels, network_interface: bridge }) => {
    const [app, subnet] = [labels?.[appLabel], subnets?.[0]?.subnet];
    if (labels?.[runnerLabel] !== runnerId) return [];
    if (app === undefined || subnet === undefined || bridge === undefined) return [];
    return [{ name, app, subnet, bridge }];
  });
}

/** Returns the last address of a network: its database has it, and engines give it to others last. */
export function databaseAddress({ subnet }: Pick<EngineNetwork, 'subnet'>): string {
  const [first = ''] = subnet.split('/');
  return first.replace(/\d+$/, (last) => String(Number(last) + SUBNET_SIZE - 2));
}

export async function createNetwork(
  engine: Engine,
  { name, app, runnerId }: { name: string; app: string; runnerId: string },
): Promise<EngineNetwork> {
  const taken = new Set(
    (await listAll(engine)).flatMap(({ subnets = [] }) => subnets.map(({ subnet }) => subnet)),
  );
  let failure = 'all of them are taken';
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const subnet = freeSubnet(taken);
    if (subnet === undefined) break;
    const labels = [`--label=${runnerLabel}=${runnerId}`, `--label=${appLabel}=${app}`];
    const made = await call(engine, 'create', '--disable-dns', `--subnet=${subnet}`, ...labels, name);
    if (made.code === 0) {
      const found = (await listNetworks(engine, runnerId)).find((each) => each.name === name);
      if (found === undefined) throw new Error(`the network ${name} was made, and is not listed`);
      return found;
    }
    failure = failureText(made);
    if (!/subnet/i.test(failure)) break;
    taken.add(subnet);
  }
  throw new Error(`no network of ${POOL}.0.0/16 can be made for ${app}: ${failure}`);
}

/** Returns false when containers are still in it. */
export async function removeNetwork(engine: Engine, name: string): Promise<boolean> {
  const removed = await call(engine, 'rm', name);
  if (removed.code === 0) return true;
  const text = failureText(removed);
  if (/not found|no such/i.test(text)) return true;
  if (/in use|being used/i.test(text)) return false;
  throw new Error(`the network ${name} cannot be removed: ${text}`);
}

export function freeSubnet(taken: ReadonlySet<string>): string | undefined {
  for (let index = 0; index < SUBNETS; index += 1) {
    const at = index * SUBNET_SIZE;
    const subnet = `${POOL}.${at >>> 8}.${at & 255}/28`;
    if (!taken.has(subnet)) return subnet;
  }
  return undefined;
}

async function listAll(engine: Engine): Promise<Listed[]> {
  const listed = await call(engine, 'ls', '--format=json');
  if (listed.code !== 0)
    throw new Error(`the networks of ${engine.name} cannot be listed: ${failureText(listed)}`);
  return JSON.parse(listed.stdout.trim() || '[]') as Listed[];
}

async function call(engine: Engine, ...args: string[]): Promise<CommandResult> {
  return await runEngine(engine, CALL_MS, 'network', ...args);
}
