/**
 * `fetch` that honours HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY, which the one of Node 20 does not;
 * without them it is that one.
 */
import type { ClientRequest, IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import type { Fetch } from '@svc/sdk';
import { namesProxy, proxyFor, unknownExemptions } from '@svc/proto/proxy/proxy.ts';
import { UsageError } from './errors.ts';
import type { Io } from './io.ts';
import { neutraliseLine } from './text.ts';

/** Statuses whose answers have no body. */
const BODILESS: readonly number[] = [204, 205, 304];

/** Throws where the proxy for `baseUrl` is none, before anything is tried. */
export function fetchOf(io: Pick<Io, 'env' | 'stderr'>, baseUrl: string): Fetch {
  if (!namesProxy(io.env)) return (url, init) => fetch(url, init);
  checkProxy(new URL(baseUrl), io.env);
  let opened: Promise<Fetch> | undefined;
  return async (url, init) => (await (opened ??= openFetch(io)))(url, init);
}

async function openFetch({ env, stderr }: Pick<Io, 'env' | 'stderr'>): Promise<Fetch> {
  const { createOutbound, ProxyError } = await import('@svc/proto/proxy/outbound.ts');
  const unknown = unknownExemptions(env).map(neutraliseLine);
  if (unknown.length > 0)
    await stderr.write(
      `svc: warning: NO_PROXY names ${unknown.join(', ')}, which exempts nothing; it takes host names, domains, addresses, networks such as 10.0.0.0/8, and stars\n`,
    );
  const outbound = createOutbound({ env });
  return async (address, { method = 'GET', headers, body, signal }) => {
    const url = new URL(address);
    const isPlain = url.protocol === 'http:';
    const proxy = proxyFor(url, env);
    return await new Promise<Response>((resolve, reject) => {
      const request: ClientRequest = outbound.open(
        url,
        { method, headers: Object.fromEntries(new Headers(headers)), ...(signal && { signal }) },
        (message) => {
          if (isPlain && proxy !== undefined && message.statusCode === 407) {
            message.resume();
            reject(new ProxyError(`proxy ${proxy.host} answered 407: it wants a user name and password`));
          } else resolve(responseOf(message));
        },
      );
      request.once('error', (error: NodeJS.ErrnoException) =>
        reject(
          isPlain && proxy !== undefined && error.name !== 'AbortError'
            ? new ProxyError(`proxy ${proxy.host} cannot be reached: ${error.message}`, error.code)
            : error,
        ),
      );
      // After the first error a second one has no listener left and would end the process.
      request.on('error', () => undefined);
      request.end(typeof body === 'string' ? body : undefined);
    });
  };
}

function checkProxy(url: URL, env: Io['env']): void {
  try {
    proxyFor(url, env);
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

function responseOf(message: IncomingMessage): Response {
  const { statusCode: status = 0, statusMessage: statusText = '', rawHeaders } = message;
  const headers = new Headers();
  for (let at = 0; at < rawHeaders.length; at += 2)
    headers.append(rawHeaders[at] ?? '', rawHeaders[at + 1] ?? '');
  if (BODILESS.includes(status)) {
    message.resume();
    return new Response(null, { status, statusText, headers });
  }
  return new Response(Readable.toWeb(message) as ReadableStream, { status, statusText, headers });
}
