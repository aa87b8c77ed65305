/** Makes the head of a request unambiguous: one path, one host, one credential, one client address. */
import { addressList, readAddress } from './address.ts';
import { apiError, type ApiError } from './errors.ts';
import type { NodeRequest } from './reply.ts';

export interface RequestTarget {
  /** Percent-encoded still, begins with a slash. */
  readonly path: string;
  /** Without its question mark. */
  readonly query: string;
}

/** Visible ASCII without `#`: what a request target may hold. */
const TARGET = /^[!"$-~]*$/;

/** It returns path and query. Throws `request_invalid`. */
export function parseTarget(request: NodeRequest): RequestTarget {
  let url = request.url ?? '';
  if (!TARGET.test(url))
    throw apiError('request_invalid', 'the request target holds a character that must be percent-encoded');
  if (!url.startsWith('/')) url = fromAbsolute(url, request.headers.host);
  const mark = url.indexOf('?');
  return mark === -1 ? { path: url, query: '' } : { path: url.slice(0, mark), query: url.slice(mark + 1) };
}

/** `http://host/path`, as a client speaks to a proxy: allowed by RFC 9112, as long as both hosts agree. */
function fromAbsolute(url: string, host: string | undefined): string {
  const match = /^https?:\/\/([^/?]+)(.*)$/i.exec(url);
  if (match === null)
    throw apiError('request_invalid', 'the request target must be a path that begins with "/"');
  const [, authority = '', rest = ''] = match;
  if (host === undefined || authority.toLowerCase() !== host.toLowerCase()) throw hostConflict();
  return rest.startsWith('/') ? rest : `/${rest}`;
}

function hostConflict(): ApiError {
  return apiError('request_invalid', 'the request names two different hosts');
}

/**
 * Header fields that must not be repeated: whoever reads the first and whoever reads the last would see
 * different requests.
 */
const SINGLE: ReadonlySet<string> = new Set([
  'host',
  'authorization',
  'content-type',
  'content-length',
  'content-encoding',
  'transfer-encoding',
  'idempotency-key',
]);
const SINGLE_LENGTHS: ReadonlySet<number> = new Set([...SINGLE].map((name) => name.length));

/**
 * Throws `request_invalid` when the head can be read in two ways, `headers_too_large` when it is larger than
 * `bytesMax`: Node holds HTTP/1.1 to that itself, but takes 64 KiB over HTTP/2 whatever its settings
 * announce.
 */
export function assertPlainHead(request: NodeRequest, bytesMax: number): void {
  const raw = request.rawHeaders;
  let seen = '';
  let bytes = 0;
  for (let i = 0; i < raw.length; i += 2) {
    const name = raw[i] ?? '';
    bytes += name.length + (raw[i + 1] ?? '').length;
    if (!SINGLE_LENGTHS.has(name.length)) continue;
    const lower = `${name.toLowerCase()};`;
    if (!SINGLE.has(lower.slice(0, -1))) continue;
    if (seen.includes(lower))
      throw apiError('request_invalid', `the header ${lower.slice(0, -1)} is given twice`);
    seen += lower;
  }
  if (bytes > bytesMax) {
    throw apiError('headers_too_large', `the headers have ${bytes} bytes, at most ${bytesMax} are taken`);
  }
  const { host } = request.headers;
  const authority = request.headers[':authority'];
  if (typeof authority !== 'string') {
    if (host === undefined && request.httpVersion !== '1.0')
      throw apiError('request_invalid', 'the request names no host');
    return;
  }
  if (host !== undefined && host.toLowerCase() !== authority.toLowerCase()) throw hostConflict();
}

/** Finds out who the client is behind trusted proxies. */
export type AddressOf = (request: NodeRequest) => string;

/**
 * Reads addresses behind `trustedProxies`, which are addresses or CIDR ranges of proxies whose
 * X-Forwarded-For is believed. `onIgnored` is told, each time, of a peer that is none of them and says that
 * it speaks for somebody else. Throws a RangeError on a range that is none.
 */
export function addressReader(
  trustedProxies: readonly string[],
  onIgnored: (peer: string) => void = () => undefined,
): AddressOf {
  const isTrusted = addressList(trustedProxies);
  return (request) => {
    let address = socketAddress(request);
    const forwarded = request.headers['x-forwarded-for'];
    if (forwarded === undefined) return address;
    if (!isTrusted(address)) {
      onIgnored(address);
      return address;
    }
    // It reads from the right: each trusted hop tells who called it; the first that is not trusted is the
    // client. What is no address tells nothing.
    for (const hop of String(forwarded).split(',').toReversed()) {
      const before = readAddress(hop);
      if (before === undefined) return address;
      address = before;
      if (!isTrusted(address)) return address;
    }
    return address;
  };
}

function socketAddress(request: NodeRequest): string {
  const address = request.socket.remoteAddress ?? '';
  return address.includes(':') ? (readAddress(address) ?? address) : address;
}
