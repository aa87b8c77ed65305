/**
 * The only egress of a build's network: every connection arrives at a listener of the daemon, whatever its
 * address. The daemon resolves the name, checks the address and dials it itself, so a name that changes its
 * address between check and use gains nothing.
 *
 * Allowed are public addresses, the operator's exceptions, and, in calls in which no code of the build runs
 * (pull, push), the build's registry. TCP alone, to the ports of PORTS: mail and the like do not leave.
 */
import { spawn } from 'node:child_process';
import type { Socket as DatagramSocket } from 'node:dgram';
import { lookup, Resolver } from 'node:dns/promises';
import { connect, isIP, type Server, type Socket } from 'node:net';
import { pipeline } from 'node:stream';
import { askForTunnel } from '@svc/proto/proxy/outbound.ts';
import { proxyFor } from '@svc/proto/proxy/proxy.ts';
import { errorText } from '../platform/errors.ts';
import type { Network } from '../executor/executor.ts';
import { isLoopbackAddress, isMetadataAddress, isPublicAddress } from './egress-address.ts';
import { createNames, replyTo, type Exists } from './egress-dns.ts';

/**
 * Ports of ssh, http, https, git and key servers. They are few because a build step cannot listen itself on a
 * port that the egress uses.
 */
export const PORTS: readonly number[] = [22, 80, 443, 9418, 11371];
const DNS_PORT = 53;
const CONNECTIONS_MAX = 512;
const QUESTIONS_MAX = 64;
const LISTEN_MS = 30_000;
const DIAL_MS = 20_000;
const IDLE_MS = 10 * 60_000;
/** So many refusals are written to the output: a build may try thousands of addresses. */
const REFUSALS_WRITTEN_MAX = 20;

export interface Endpoint {
  /** Lower case; a name, or an address without brackets. */
  host: string;
  port: number;
}

export interface EgressRules {
  /** The operator's exceptions, which every call of every build may reach at any address. */
  allowed: readonly Endpoint[];
  /** The registry of this build, for calls in which no code of the build runs. */
  registry?: Endpoint & {
    /**
     * The registry may be on an address of this machine or its site. An address at which the machine's cloud
     * hands out credentials is never allowed.
     */
    privateToo: boolean;
  };
  /** Ports besides the usual ones. */
  ports?: readonly number[];
  /** The daemon's environment, for its proxies. */
  env: NodeJS.ProcessEnv;
  /**
   * Takes a line for people. `forbidden`: no address that may be reached, and nothing was sent; the line is
   * the same whatever is there. `failed`: an address that may be reached, and the connection was not made.
   */
  refused: (line: string, why: Refusal) => void;
  /** Replaced in tests. */
  hostNetwork?: HostNetwork;
}

export type Refusal = 'forbidden' | 'failed';

export interface HostNetwork {
  /**
   * Resolves to no addresses when the name has none; rejects when no server answers. `known` marks a name of
   * the operator's, which may be in the hosts file.
   */
  resolve(name: string, known: boolean): Promise<string[]>;
  dial(endpoint: Endpoint): Socket;
}

/** Arguments that, put before a command, run it in the network with every capability there. */
export function enterArgv({ pid, usersPid }: Network): string[] {
  const join = ['nsenter', `--net=/proc/${pid}/ns/net`, '--'];
  // Root needs no user namespace for that, and without one it keeps access to its own files.
  if (process.geteuid?.() === 0) return join;
  return ['nsenter', '--preserve-credentials', `--user=/proc/${usersPid}/ns/user`, '--', ...join];
}

/** There is no address that may be reached. */
class ForbiddenError extends Error {
  override readonly name = 'ForbiddenError';
}

/** @param network Has all its parts but this one. */
export async function openEgress(network: Network, rules: EgressRules) {
  const extra = [...rules.allowed, ...(rules.registry === undefined ? [] : [rules.registry])];
  const ports = [...new Set([...PORTS, ...(rules.ports ?? []), ...extra.map(({ port }) => port)])];
  const { servers, dns } = await listenIn(network, ports);
  const gate = new EgressGate(rules);
  for (const server of servers) {
    server.maxConnections = CONNECTIONS_MAX;
    (server as Server & { allowHalfOpen: boolean }).allowHalfOpen = true;
    server.on('connection', (socket) => gate.take(socket));
  }
  dns.on('message', (packet, from) => {
    void gate.answer(packet).then((answer) => {
      if (answer !== undefined && !gate.closed) dns.send(answer, from.port, from.address, () => undefined);
    });
  });
  dns.on('error', () => undefined); // The error belongs to one packet; the next one has its own.
  return {
    close() {
      gate.close();
      for (const server of servers) server.close();
      dns.close();
    },
  };
}

export type Egress = Awaited<ReturnType<typeof openEgress>>;

class EgressGate {
  closed = false;
  readonly #rules: EgressRules;
  readonly #hostNetwork: HostNetwork;
  readonly #names = createNames();
  readonly #open = new Set<Socket>();
  #questions = 0;
  #refusals = 0;

  constructor(rules: EgressRules) {
    this.#rules = rules;
    this.#hostNetwork = rules.hostNetwork ?? createHostNetwork();
  }

  close(): void {
    this.closed = true;
    for (const socket of this.#open) socket.destroy();
  }

  async answer(packet: Buffer): Promise<Buffer | undefined> {
    // A client asks again when a question is dropped.
    if (this.closed || this.#questions >= QUESTIONS_MAX) return undefined;
    this.#questions += 1;
    try {
      return await replyTo(packet, this.#names, this.#exists);
    } finally {
      this.#questions -= 1;
    }
  }

  take(socket: Socket): void {
    socket.on('error', () => socket.destroy());
    if (this.closed || this.#open.size >= CONNECTIONS_MAX) {
      socket.destroy();
      return;
    }
    this.#keep(socket);
    const { localAddress = '', localPort: port = 0 } = socket;
    const host = this.#names.nameOf(localAddress) ?? localAddress;
    this.#dial({ host, port }).then(
      (other) => this.#join(socket, other),
      (error: unknown) => {
        socket.resetAndDestroy();
        const why = error instanceof ForbiddenError ? 'forbidden' : 'failed';
        this.#noteRefusal(`${host}:${port} is not reached: ${errorText(error)}`, why);
      },
    );
  }

  #join(socket: Socket, other: Socket): void {
    if (socket.destroyed || this.closed) {
      other.destroy();
      return;
    }
    this.#keep(other);
    for (const one of [socket, other]) one.setTimeout(IDLE_MS, () => one.destroy());
    pipeline(socket, other, () => undefined);
    pipeline(other, socket, () => undefined);
  }

  #keep(socket: Socket): void {
    this.#open.add(socket);
    socket.once('close', () => this.#open.delete(socket));
  }

  #noteRefusal(line: string, why: Refusal): void {
    this.#refusals += 1;
    if (this.#refusals <= REFUSALS_WRITTEN_MAX && !this.closed) this.#rules.refused(line, why);
  }

  readonly #exists: Exists = async (name) => {
    if (this.#known(name) || this.#proxyFor({ host: name, port: 443 }) !== undefined) return 'yes';
    try {
      // A name of private addresses alone is answered as one that does not exist: whether it does is nobody's
      // business.
      return (await this.#hostNetwork.resolve(name, false)).some(isPublicAddress) ? 'yes' : 'no';
    } catch (error) {
      this.#noteRefusal(`${name} is not looked up: ${errorText(error)}`, 'failed');
      return 'unknown';
    }
  };

  /** Resolves with the connected socket; rejects with the reason. */
  async #dial(endpoint: Endpoint): Promise<Socket> {
    const proxy = this.#proxyFor(endpoint);
    const addresses = await this.#addressesOf(endpoint, proxy !== undefined);
    if (proxy !== undefined) return await tunnel(proxy, endpoint);
    let last: unknown = new Error('it has no address');
    for (const host of addresses)
      try {
        return await connected(this.#hostNetwork.dial({ host, port: endpoint.port }));
      } catch (error) {
        last = error;
      }
    throw last;
  }

  /** Returns the addresses that may be dialled; throws when there are none. */
  async #addressesOf(endpoint: Endpoint, proxied: boolean): Promise<string[]> {
    const { host } = endpoint;
    const literal = isIP(host) !== 0;
    const resolved = literal
      ? [host]
      : await this.#hostNetwork.resolve(host, this.#known(host)).catch((error: unknown) => {
          // Behind a proxy, names are often resolved by the proxy alone.
          if (proxied) return undefined;
          throw error;
        });
    if (resolved === undefined) return [];
    const allowed = resolved.filter((address) => this.#mayReach(endpoint, address));
    if (allowed.length === 0) throw new ForbiddenError('it is no public address');
    return allowed;
  }

  #mayReach(endpoint: Endpoint, address: string): boolean {
    if (isPublicAddress(address)) return true;
    if (this.#rules.allowed.some((one) => sameEndpoint(one, endpoint))) return true;
    const { registry } = this.#rules;
    if (registry === undefined || !sameEndpoint(registry, endpoint) || isMetadataAddress(address))
      return false;
    // A name could resolve to any service of this machine; a loopback address that was written out is meant.
    if (isLoopbackAddress(address)) return isLoopbackHost(registry.host);
    return registry.privateToo;
  }

  /**
   * A name of the operator's, or of a team on its own machine: the service's machines look no stranger's name
   * up in their hosts file.
   */
  #known(name: string): boolean {
    const { allowed, registry } = this.#rules;
    if (allowed.some(({ host }) => host === name)) return true;
    return registry !== undefined && registry.privateToo && registry.host === name;
  }

  #proxyFor({ host, port }: Endpoint): URL | undefined {
    const scheme = port === 80 ? 'http' : 'https';
    const text = `${scheme}://${isIP(host) === 6 ? `[${host}]` : host}:${port}`;
    return URL.canParse(text) ? proxyFor(new URL(text), this.#rules.env) : undefined;
  }
}

/** `localhost` and its addresses are one host. */
function sameEndpoint(one: Endpoint, other: Endpoint): boolean {
  if (one.port !== other.port) return false;
  return one.host === other.host || (isLoopbackHost(one.host) && isLoopbackHost(other.host));
}

function isLoopbackHost(host: string): boolean {
  return host === 'localhost' || isLoopbackAddress(host);
}

/** Reads `host`, `host:port` and `[address]:port`; returns undefined for other texts. */
export function endpointOf(text: string, defaultPort: number): Endpoint | undefined {
  const [, bracketed, plain, port] =
    /^(?:\[([0-9a-fA-F:.]+)\]|([^\s/:@[\]]+))(?::(\d{1,5}))?$/.exec(text) ?? [];
  const host = (bracketed ?? plain)?.toLowerCase();
  const number = port === undefined ? defaultPort : Number(port);
  if (host === undefined || number < 1 || number > 65_535) return undefined;
  return { host, port: number };
}

/** Reads the endpoint of an http or https address. */
export function endpointOfUrl(text: string): Endpoint | undefined {
  const { host, protocol } = new URL(text);
  return endpointOf(host, protocol === 'https:' ? 443 : 80);
}

async function connected(socket: Socket): Promise<Socket> {
  return await new Promise((resolve, reject) => {
    const fail = (error: Error) => {
      socket.destroy();
      reject(error);
    };
    socket.setTimeout(DIAL_MS, () => fail(new Error(`no connection within ${DIAL_MS / 1_000} s`)));
    socket.once('error', fail);
    socket.once('connect', () => {
      socket.setTimeout(0);
      socket.off('error', fail);
      socket.on('error', () => socket.destroy());
      resolve(socket);
    });
  });
}

async function tunnel(proxy: URL, { host, port }: Endpoint): Promise<Socket> {
  const authority = `${isIP(host) === 6 ? `[${host}]` : host}:${port}`;
  return await new Promise((resolve, reject) => {
    const asking = askForTunnel(proxy, authority, { timeout: DIAL_MS });
    asking.once('connect', (reply, socket) => {
      if (reply.statusCode === 200) return resolve(socket as Socket);
      socket.destroy();
      reject(new Error(`proxy ${proxy.host} answered ${reply.statusCode}`));
    });
    asking.once('timeout', () => asking.destroy(new Error(`proxy ${proxy.host} does not answer`)));
    asking.once('error', reject);
    asking.end();
  });
}

/**
 * Only known names are looked up in the hosts file: that way occupies one of the daemon's few threads until
 * the answer comes.
 */
function createHostNetwork(): HostNetwork {
  const resolver = new Resolver({ timeout: 5_000, tries: 2 });
  const absent = (error: unknown) => /ENOTFOUND|ENODATA/.test((error as NodeJS.ErrnoException).code ?? '');
  const ask = async (asking: Promise<string[]>): Promise<string[]> =>
    await asking.catch((error: unknown) => {
      if (absent(error)) return [];
      throw error;
    });
  return {
    async resolve(name, known) {
      if (known) return (await lookup(name, { all: true })).map(({ address }) => address);
      const found = await Promise.allSettled([ask(resolver.resolve4(name)), ask(resolver.resolve6(name))]);
      const addresses = found.flatMap((one) => (one.status === 'fulfilled' ? one.value : []));
      if (addresses.length > 0) return addresses;
      const failed = found.find((one) => one.status === 'rejected');
      if (failed !== undefined) throw failed.reason as Error;
      return [];
    },
    dial: ({ host, port }) => connect({ host, port, allowHalfOpen: true }),
  };
}

/**
 * Runs in the build's network and ends as soon as the daemon has its listeners. It is a text because a bundle
 * has no second program for it.
 */
const LISTENER = `
const net = require('net'), dgram = require('dgram');
const ports = process.argv.slice(1).map(Number);
process.on('disconnect', () => process.exit());
(async () => {
  for (const port of ports) {
    const server = net.createServer();
    await new Promise((resolve, reject) => server.once('error', reject).listen({ host: '0.0.0.0', port, backlog: 64 }, resolve));
    process.send('server', server);
  }
  const dns = dgram.createSocket('udp4');
  await new Promise((resolve, reject) => dns.once('error', reject).bind(${DNS_PORT}, '0.0.0.0', resolve));
  process.send('dns', dns);
})();`;

async function listenIn(
  network: Network,
  ports: readonly number[],
): Promise<{ servers: Server[]; dns: DatagramSocket }> {
  const [program = '', ...enter] = enterArgv(network);
  const helper = spawn(program, [...enter, process.execPath, '-e', LISTENER, ...ports.map(String)], {
    cwd: '/',
    env: {},
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  const servers: Server[] = [];
  let errors = '';
  helper.stderr?.on('data', (chunk: Buffer) => (errors = (errors + chunk.toString()).slice(-1_000)));
  try {
    const dns = await new Promise<DatagramSocket>((resolve, reject) => {
      const timer = setTimeout(
        () => reject(new Error(`no listeners within ${LISTEN_MS / 1_000} s`)),
        LISTEN_MS,
      );
      helper.on('message', (kind, handle) => {
        if (kind === 'server') servers.push(handle as Server);
        else {
          clearTimeout(timer);
          resolve(handle as DatagramSocket);
        }
      });
      helper.once('error', reject);
      helper.once('exit', (code) => {
        clearTimeout(timer);
        reject(new Error(`the listeners of the build's network cannot be made (${code}): ${errors.trim()}`));
      });
    });
    return { servers, dns };
  } catch (error) {
    for (const server of servers) server.close();
    throw error;
  } finally {
    helper.kill('SIGKILL');
  }
}
