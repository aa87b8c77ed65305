/**
 * Requests to addresses that a customer named. Nothing of ours may be reached through them, so: https on two
 * ports, a name is resolved once, every address that it has must be public, and the connection goes to the
 * very address that was checked, so that a name which answers differently a moment later gains nothing. No
 * redirects, no proxy of the environment, no decompression, a limit in time and in bytes.
 */
import { lookup as systemLookup } from 'node:dns/promises';
import { unlessAborted } from '@svc/proto/http/abort.ts';
import { request as requestHttp, type IncomingMessage } from 'node:http';
import { request as requestHttps } from 'node:https';
import { BlockList, isIP } from 'node:net';

/** `blocked`: the address is not one that may be called, whatever answers there. */
export type SafeFetchProblem = 'blocked' | 'timeout' | 'too_large' | 'network';

export class SafeFetchError extends Error {
  readonly problem: SafeFetchProblem;
  constructor(problem: SafeFetchProblem, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'SafeFetchError';
    this.problem = problem;
  }
}

export interface SafeFetchRules {
  /**
   * Allows http, any port, loopback and private networks, for tests and machines of developers. Link-local
   * stays blocked. Default: false.
   */
  readonly allowPrivate?: boolean;
  /** Resolves a name. Default: the system's resolver. */
  readonly lookup?: (host: string) => Promise<ReadonlyArray<{ readonly address: string }>>;
  /** PEM of further authorities. Default: the ones that Node trusts. */
  readonly ca?: string;
}

export interface SafeRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Limit of resolving, connecting, sending and reading together. Default: 10 s. */
  readonly timeoutMs?: number;
  /** The most bytes of the answer as it was sent. The default is 1 MiB. */
  readonly bytesMax?: number;
  readonly signal?: AbortSignal;
}

export interface SafeResponse {
  readonly status: number;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** Not decompressed. */
  readonly body: Uint8Array;
}

export type SafeFetch = (request: SafeRequest) => Promise<SafeResponse>;

const TIMEOUT_MS = 10_000;
const BYTES_MAX = 1_048_576;
const PORTS: ReadonlySet<string> = new Set(['', '443', '8443']);

function blockList(v4: readonly string[], v6: readonly string[]): BlockList {
  const list = new BlockList();
  for (const [networks, family] of [
    [v4, 'ipv4'],
    [v6, 'ipv6'],
  ] as const)
    for (const network of networks) {
      const [address = '', bits] = network.split('/');
      list.addSubnet(address, Number(bits), family);
    }
  return list;
}

/** Networks of one's own. */
const PRIVATE = blockList(
  ['10.0.0.0/8', '127.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16'],
  ['::1/128', 'fc00::/7'],
);

/**
 * No customer's server can be at these: this network, link-local (the clouds' metadata), shared, test and
 * reserved addresses, multicast.
 */
const NEVER = blockList(
  [
    '0.0.0.0/8',
    '100.64.0.0/10',
    '169.254.0.0/16',
    '192.0.0.0/24',
    '192.0.2.0/24',
    '192.88.99.0/24',
    '198.18.0.0/15',
    '198.51.100.0/24',
    '203.0.113.0/24',
    '224.0.0.0/4',
    '240.0.0.0/4',
  ],
  [
    '::/128',
    '64:ff9b:1::/48',
    '100::/64',
    '2001:2::/48',
    '2001:10::/28',
    '2001:20::/28',
    '2001:db8::/32',
    '3fff::/20',
    'fe80::/10',
    'fec0::/10',
    'ff00::/8',
  ],
);

/** Returns the 16 bytes that an IPv6 address without a zone has. */
function bytesOf(address: string): readonly number[] {
  const [head = '', tail] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::');
  const groups = (text: string): number[] =>
    text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16));
  const before = groups(head);
  const after = groups(tail ?? '');
  const all = [...before, ...Array<number>(8 - before.length - after.length).fill(0), ...after];
  return all.flatMap((group) => [group >> 8, group & 0xff]);
}

const startsWith = (bytes: readonly number[], prefix: readonly number[]): boolean =>
  prefix.every((byte, i) => bytes[i] === byte);

/** IPv4 addresses that an IPv6 one leads to: mapped, translated (NAT64), 6to4, Teredo (server and client). */
function embedded(bytes: readonly number[]): readonly string[] {
  const at = (from: number): string => bytes.slice(from, from + 4).join('.');
  if (startsWith(bytes, [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff])) return [at(12)];
  if (startsWith(bytes, [0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0])) return [at(12)];
  if (startsWith(bytes, [0x20, 0x02])) return [at(2)];
  if (!startsWith(bytes, [0x20, 0x01, 0, 0])) return [];
  const client = bytes.slice(12).map((byte) => byte ^ 0xff);
  return [at(4), client.join('.')];
}

/** Says whether the address may be called. */
export function isAllowedAddress(address: string, allowPrivate = false): boolean {
  const version = isIP(address);
  if (version === 0 || address.includes('%')) return false;
  if (version === 4)
    return !NEVER.check(address, 'ipv4') && (allowPrivate || !PRIVATE.check(address, 'ipv4'));
  const bytes = bytesOf(address);
  const inner = embedded(bytes);
  if (inner.length > 0) return inner.every((v4) => isAllowedAddress(v4, allowPrivate));
  if (NEVER.check(address, 'ipv6')) return false;
  if (PRIVATE.check(address, 'ipv6')) return allowPrivate;
  return (bytes[0]! & 0xe0) === 0x20; // 2000::/3 is all that was ever given out as global unicast.
}

/**
 * Why the address cannot be called, as far as it can be told without resolving its name. Undefined: it can.
 */
export function urlProblem(text: string, allowPrivate = false): string | undefined {
  if (!URL.canParse(text)) return 'it is not an address';
  const url = new URL(text);
  if (url.protocol !== 'https:' && !(allowPrivate && url.protocol === 'http:'))
    return `it begins with ${url.protocol}, expected https:`;
  if (url.username !== '' || url.password !== '') return 'it holds a user name or password, expected none';
  if (!allowPrivate && !PORTS.has(url.port)) return `its port is ${url.port}, expected 443 or 8443`;
  const host = hostOf(url);
  if (isIP(host) !== 0) {
    return isAllowedAddress(host, allowPrivate) ? undefined : 'its host is not a public address';
  }
  const name = host.replace(/\.$/, '');
  if (!allowPrivate && (name === 'localhost' || name.endsWith('.localhost') || !name.includes('.')))
    return `its host is ${name}, expected a public name`;
  return undefined;
}

const hostOf = (url: URL): string => url.hostname.replace(/^\[|\]$/g, '');

export function createSafeFetch(rules: SafeFetchRules = {}): SafeFetch {
  return async (request) => {
    const { timeoutMs = TIMEOUT_MS, signal } = request;
    const timeout = AbortSignal.timeout(timeoutMs);
    const ended = signal === undefined ? timeout : AbortSignal.any([timeout, signal]);
    try {
      return await unlessAborted(send(request, rules, ended), ended);
    } catch (error) {
      if (error instanceof SafeFetchError) throw error;
      if (timeout.aborted)
        throw new SafeFetchError('timeout', `no whole answer within ${timeoutMs} ms`, { cause: error });
      throw new SafeFetchError('network', networkMessage(error), { cause: error });
    }
  };
}

/** The code of the system, and not its message, which names addresses that the name resolved to. */
function networkMessage(error: unknown): string {
  const { code } = error as { readonly code?: unknown };
  return typeof code === 'string' ? `the connection failed: ${code}` : 'the connection failed';
}

async function send(
  { method, url: text, headers, body, bytesMax = BYTES_MAX }: SafeRequest,
  { allowPrivate = false, lookup = resolve, ca }: SafeFetchRules,
  signal: AbortSignal,
): Promise<SafeResponse> {
  const problem = urlProblem(text, allowPrivate);
  if (problem !== undefined) throw new SafeFetchError('blocked', `the address cannot be called: ${problem}`);
  const url = new URL(text);
  const host = hostOf(url);
  const address = isIP(host) === 0 ? await checkedAddress(host, lookup, allowPrivate) : host;
  signal.throwIfAborted();
  const secure = url.protocol === 'https:';
  const options = {
    method,
    host: address,
    port: url.port === '' ? (secure ? 443 : 80) : Number(url.port),
    path: `${url.pathname}${url.search}`,
    // A connection of its own: none that somebody else's request had opened, and no agent that knows of
    // proxies.
    agent: false as const,
    signal,
    headers: {
      ...headers,
      host: url.host,
      'accept-encoding': 'identity',
      ...(body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }),
    },
  };
  const answer = await new Promise<IncomingMessage>((answered, failed) => {
    const sent = secure
      ? requestHttps(
          {
            ...options,
            ...(isIP(host) === 0 ? { servername: host } : {}),
            ...(ca === undefined ? {} : { ca }),
          },
          answered,
        )
      : requestHttp(options, answered);
    sent.on('error', failed);
    sent.end(body);
  });
  const { statusCode = 0, headers: said } = answer;
  return { status: statusCode, headers: said, body: await readBody(answer, bytesMax) };
}

async function resolve(host: string): Promise<ReadonlyArray<{ readonly address: string }>> {
  return await systemLookup(host, { all: true, order: 'verbatim' });
}

/** One bad address among good ones is a trap: whoever owns the name chooses which is tried. */
async function checkedAddress(
  host: string,
  lookup: NonNullable<SafeFetchRules['lookup']>,
  allowPrivate: boolean,
): Promise<string> {
  const found = await lookup(host);
  const bad = found.find(({ address }) => !isAllowedAddress(address, allowPrivate));
  const [first] = found;
  if (first === undefined || bad !== undefined)
    throw new SafeFetchError('blocked', 'the address cannot be called: its host is not a public one');
  return first.address;
}

async function readBody(answer: IncomingMessage, bytesMax: number): Promise<Uint8Array> {
  const parts: Buffer[] = [];
  let length = 0;
  for await (const part of answer as AsyncIterable<Buffer>) {
    length += part.length;
    if (length > bytesMax) {
      answer.destroy();
      throw new SafeFetchError('too_large', `the answer is longer than ${bytesMax} bytes`);
    }
    parts.push(part);
  }
  return Buffer.concat(parts);
}
