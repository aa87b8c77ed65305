/**
 * The way out of a build's network, which has no other: whatever address is called in there arrives at a listener of the daemon, which looks up, checks and
 * calls the other side itself. What was checked is what is called, so a name that changes its address between two looks gains nothing.
 *
 * Reached are public addresses, what the operator allows by name, and, in calls in which nothing of the build runs (pull, push), the build's registry.
 * TCP by the ports of PORTS alone: mail and the like do not leave.
 */
import { spawn } from 'node:child_process';
import type { Socket as DatagramSocket } from 'node:dgram';

import { lookup, Resolver } from 'node:dns/promises';
import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { connect, isIP, type Server, type Socket } from 'node:net';
import { pipeline } from 'node:stream';
import { errorText } from '../platform/errors.ts';
import type { Network } from '../executor/executor.ts';
import { proxyFor, proxyHeaders } from '../control-plane/proxy.ts';
import { isLoopbackAddress, isMetadataAddress, isPublicAddress } from './egress-address.ts';
import { createNames, replyTo, type Exists } from './egress-dns.ts';

/** ssh, http, https, git and key servers. Few, because a step cannot listen itself where the way out does. */
export const PORTS: readonly number[] = [22, 80, 443, 9418, 11371];
const DNS_PORT = 53;
const CONNECTIONS_MAX = 512;
const QUESTIONS_MAX = 64;
const LISTEN_MS = 30_000;
const DIAL_MS = 20_000;
const IDLE_MS = 10 * 60_000;
/** A build that tries a thousand addresses need not say so a thousand times. */
const REFUSALS_TOLD_MAX = 20;

export interface Endpoint {
  /** Lower case, a name or an address without brackets. */
  host: string;
  port: number;
}

export interface EgressRules {
  /** Of the operator: reached by everything of every build, wherever it is. */
  allowed: readonly Endpoint[];
  /** Registry of this build, for calls in which nothing of the build runs. */
  registry?: Endpoint & {
    /** On an address of this machine or its site, too. Never where the machine's cloud keeps credentials. */
    privateToo: boolean;
  };
  /** Ports besides the usual ones. */
  ports?: readonly number[];
  /** Of the daemon: its proxies. */
  env: NodeJS.ProcessEnv;
  /** A line for people. */
  refused: (line: string) => void;
  /** For tests. */
  world?: World;
}

export interface World {
  /** Empty when the name has none; rejects when nobody can be asked. `known`: a name of the operator's, which may stand in the hosts file. */
  resolve(name: string, known: boolean): Promise<string[]>;
  dial(endpoint: Endpoint): Socket;
}

export interface Egress {
  close(): void;
}

/** Words that, put before a command, make it run in the network with every capability there. */
export function enterArgv({ pid, usersPid }: Network): string[] {
  const join = ['nsenter', `--net=/proc/${pid}/ns/net`, '--'];
  // Root needs no user namespace for it, and keeps its own files in reach that way.
  if (process.geteuid?.() === 0) return join;
  return ['nsenter', '--preserve-credentials', `--user=/proc/${usersPid}/ns/user`, '--', ...join];
}

/** @param network Whose parts are all in place but this. */
export async function openEgress(network: Network, rules: EgressRules): Promise<Egress> {
  const extra = [...rules.allowed, ...(rules.registry === undefined ? [] : [rules.registry])];
  const ports = [...new Set([...PORTS, ...(rules.ports ?? []), ...extra.map(({ port }) => port)])];
  const { servers, dns } = await listenIn(network, ports);
  const way = new WayOut(rules);
  for (const server of servers) {
    server.maxConnections = CONNECTIONS_MAX;
    (server as Server & { allowHalfOpen: boolean }).allowHalfOpen = true;
    server.on('connection', (socket) => way.take(socket));
  }
  dns.on('message', (packet, from) => {
    void way.answer(packet).then((answer) => {
      if (answer !== undefined && !way.closed) dns.send(answer, from.port, from.address, () => undefined);
    });
  });
  dns.on('error', () => undefined); // Of one packet; the next has its own.
  return {
    close() {
      way.close();
      for (const server of servers) server.close();
      dns.close();
    },
  };
}

class WayOut {
  closed = false;
  readonly #rules: EgressRules;
  readonly #world: World;
  readonly #names = createNames();
  readonly #open = new Set<Socket>();
  #questions = 0;
  #told = 0;

  constructor(rules: EgressRules) {
    this.#rules = rules;
    this.#world = rules.world ?? createWorld();
  }

  close(): void {
    this.closed = true;
    for (const socket of this.#open) socket.destroy();
  }

  async answer(packet: Buffer): Promise<Buffer | undefined> {
    // What is dropped is asked again.
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
        this.#tell(`${host}:${port} is not reached: ${errorText(error)}`);
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

  #tell(line: string): void {
    this.#told += 1;
    if (this.#told <= REFUSALS_TOLD_MAX && !this.closed) this.#rules.refused(line);
  }

  readonly #exists: Exists = async (name) => {
    if (this.#known(name) || this.#proxyFor({ host: name, port: 443 }) !== undefined) return 'yes';
    try {
      return (await this.#world.resolve(name, false)).length > 0 ? 'yes' : 'no';
    } catch {
      return 'unknown';
    }
  };

  /** Connected; rejects with why not. */
  async #dial(endpoint: Endpoint): Promise<Socket> {
    const proxy = this.#proxyFor(endpoint);
    const addresses = await this.#addressesOf(endpoint, proxy !== undefined);
    if (proxy !== undefined) return await tunnel(proxy, endpoint);
    let last: unknown = new Error('it has no address');
    for (const host of addresses)
      try {
        return await connected(this.#world.dial({ host, port: endpoint.port }));
      } catch (error) {
        last = error;
      }
    throw last;
  }

  /** Those that may be called; throws when there is none. */
  async #addressesOf(endpoint: Endpoint, proxied: boolean): Promise<string[]> {
    const { host } = endpoint;
    const literal = isIP(host) !== 0;
    const resolved = literal
      ? [host]
      : await this.#world.resolve(host, this.#known(host)).catch((error: unknown) => {
          // Behind a proxy names are often the proxy's business.
          if (proxied) return undefined;
          throw error;
        });
    if (resolved === undefined) return [];
    const allowed = resolved.filter((address) => this.#mayReach(endpoint, address));
    if (allowed.length === 0)
      throw new Error(
        literal
          ? 'it is no public address'
          : `it stands for ${resolved.join(', ') || 'nothing'}, no public address`,
      );
    return allowed;
  }

  #mayReach(endpoint: Endpoint, address: string): boolean {
    if (isPublicAddress(address)) return true;
    if (this.#rules.allowed.some((one) => sameEndpoint(one, endpoint))) return true;
    const { registry } = this.#rules;
    if (registry === undefined || !sameEndpoint(registry, endpoint) || isMetadataAddress(address))
      return false;
    // By a name it could be anybody's service of this machine; who writes the address down has said what it is.
    if (isLoopbackAddress(address)) return isLoopbackHost(registry.host);
    return registry.privateToo;
  }

  #known(name: string): boolean {
    const { allowed, registry } = this.#rules;
    return allowed.some(({ host }) => host === name) || registry?.host === name;
  }

  #proxyFor({ host, port }: Endpoint): URL | undefined {
    const scheme = port === 80 ? 'http' : 'https';
    const text = `${scheme}://${isIP(host) === 6 ? `[${host}]` : host}:${port}`;
    return URL.canParse(text) ? proxyFor(new URL(text), this.#rules.env) : undefined;
  }
}

/** `localhost` and what stands for it are one host. */
function sameEndpoint(one: Endpoint, other: Endpoint): boolean {
  if (one.port !== other.port) return false;
  return one.host === other.host || (isLoopbackHost(one.host) && isLoopbackHost(other.host));
}

function isLoopbackHost(host: string): boolean {
  return host === 'localhost' || isLoopbackAddress(host);
}

/** `host`, `host:port`, `[address]:port`; undefined for what is none. */
export function endpointOf(text: string, defaultPort: number): Endpoint | undefined {
  const [, bracketed, plain, port] =
    /^(?:\[([0-9a-fA-F:.]+)\]|([^\s/:@[\]]+))(?::(\d{1,5}))?$/.exec(text) ?? [];
  const host = (bracketed ?? plain)?.toLowerCase();
  const number = port === undefined ? defaultPort : Number(port);
  if (host === undefined || number < 1 || number > 65_535) return undefined;
  return { host, port: number };
}

/** Of an http or https address. */
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
  const through = proxy.protocol === 'https:' ? requestHttps : requestHttp;
  return await new Promise((resolve, reject) => {
    const asking = through({
      method: 'CONNECT',
      host: proxy.hostname.replace(/^\[|\]$/g, ''),
      port: proxy.port || (proxy.protocol === 'https:' ? 443 : 80),
      path: authority,
      headers: { host: authority, ...proxyHeaders(proxy) },
      agent: false,
      timeout: DIAL_MS,
    });
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

/** The hosts file is asked for known names alone: that way takes one of the daemon's few threads for as long as the answer takes. */
function createWorld(): World {
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

/** Runs in the build's network and ends as soon as the daemon has its listeners. Written out, because a bundle has no second program for it. */
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
      helper.on('message', (word, handle) => {
        if (word === 'server') servers.push(handle as Server);
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
