/**
 * This file keeps the hosts of one address, for all connections of one handle: which one served last, and,
 * when none did, until when nobody looks again. The closure owns both.
 */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { addressOf, hostName, type DatabaseAddress, type Host, type Target } from './address.ts';
import { isConnectionError } from './errors.ts';

export interface Hosts {
  readonly address: DatabaseAddress;
  readonly target: Target;
  /**
   * The one that served last comes first. Waits a moment when none would do just now: a standby that is being
   * promoted has other work than to refuse connections.
   */
  inTurn(): Promise<readonly Host[]>;
  served(host: Host): void;
  noneServed(): void;
}

const QUIET_MS = 100;

/**
 * Makes the hosts of an address; `target` is what an address means that does not say, and `only` leaves this
 * host of them.
 */
export function createHosts(url: string, target: Target, only?: string): Hosts {
  const whole = addressOf(url);
  const hosts = whole.hosts.filter((host) => only === undefined || hostName(host) === only);
  const address = { ...whole, hosts };
  let first = 0;
  let quietUntil = 0;
  return {
    address,
    target: only === undefined ? (address.target ?? target) : 'any',
    inTurn: async () => {
      const quietMs = quietUntil - performance.now();
      if (quietMs > 0) await new Promise((resolve) => setTimeout(resolve, quietMs));
      return [...address.hosts.slice(first), ...address.hosts.slice(0, first)];
    },
    served: (host) => {
      first = address.hosts.indexOf(host);
      quietUntil = 0;
    },
    noneServed: () => {
      quietUntil = performance.now() + QUIET_MS;
    },
  };
}

type Coded = Error & { readonly code?: string };

/**
 * Returns what the first host gives that has it. Others are asked as long as the trouble is with the host,
 * and not with a name, a password or a right.
 */
export async function reachOne<T>(hosts: Hosts, reach: (host: Host) => Promise<T>): Promise<T> {
  const failures: Array<readonly [Host, Coded]> = [];
  for (const host of await hosts.inTurn()) {
    try {
      const reached = await reach(host);
      hosts.served(host);
      return reached;
    } catch (error) {
      if (!isConnectionError(error) || (error as Coded).code === 'CONNECTION_ENDED') throw error;
      failures.push([host, error as Coded]);
    }
  }
  hosts.noneServed();
  throw noHost(failures);
}

/** A standby, and more so a stranger, says more than a host that is not there. */
function noHost(failures: ReadonlyArray<readonly [Host, Coded]>): Error {
  const by = (word: string) => failures.find(([, { code }]) => code === word);
  const [, cause] = by('WRONG_DATABASE') ?? by('NOT_PRIMARY') ?? failures[0] ?? [];
  if (failures.length === 1 && cause !== undefined) return cause;
  const message = failures.map(([host, error]) => `${hostName(host)}: ${error.message}`).join('; ');
  return Object.assign(new Error(message, { cause }), { code: cause?.code });
}

/**
 * The driver would leave Nagle's algorithm on, which holds small writes back. `onSocket` gets it before it is
 * connected.
 */
export async function dial({ name, port, path }: Host, onSocket: (socket: Socket) => void): Promise<Socket> {
  const socket = connect({ ...(path === undefined ? { host: name, port } : { path }), noDelay: true });
  onSocket(socket);
  await once(socket, 'connect');
  return Object.assign(socket, { host: name }); // the driver reads the name for a TLS handshake
}
