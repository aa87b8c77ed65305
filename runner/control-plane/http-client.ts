/**
 * HTTP for the daemon: outbound only, kept-alive connections, a private CA, proxies from the environment, and three bounds that the
 * platform's own fetch does not offer together: a deadline for the whole exchange, a cap on the reply, and an abort.
 */
import {
  request as requestHttp,
  Agent as HttpAgent,
  type ClientRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
} from 'node:http';
import { request as requestHttps, Agent as HttpsAgent } from 'node:https';
import { connect as connectTls, rootCertificates } from 'node:tls';
import type { Duplex } from 'node:stream';
import { monotonicMs, wallMs } from '../platform/clock.ts';
import { proxyFor, proxyHeaders } from './proxy.ts';

export interface HttpRequest {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  url: URL;
  headers?: Readonly<Record<string, string>>;
  body?: Uint8Array;
  /** Time limit of the whole exchange, connecting included. */
  timeoutMs: number;
  /** Cap on the reply's body. */
  bytesMax: number;
  signal?: AbortSignal;
}

export interface HttpReply {
  status: number;
  headers: IncomingHttpHeaders;
  body: Buffer;
  /** Wall clock, for the clock offset. */
  sentAtMs: number;
  receivedAtMs: number;
  /** Monotonic clock, for leases: they count from when the request was sent. */
  sentMonotonicMs: number;
}

/** No usable reply came: refused, reset, timed out, too large, aborted. `code` is Node's, or one of ours. */
export class TransportError extends Error {
  override readonly name = 'TransportError';
  readonly code: string;

  constructor(code: string, message: string, cause?: unknown) {
    super(message, { cause });
    this.code = code;
  }
}

export interface HttpClient {
  send(request: HttpRequest): Promise<HttpReply>;
  /** Closes idle connections; a request under way ends by its own signal. */
  close(): void;
}

export interface HttpClientOptions {
  /** PEM text of authorities to trust besides the usual ones. */
  ca?: string;
  env?: NodeJS.ProcessEnv;
}

/** Idle connections are kept shorter than the 60 s after which proxies commonly cut them. */
const KEEP_ALIVE_MS = 30_000;

export function createHttpClient(options: HttpClientOptions = {}): HttpClient {
  const env = options.env ?? process.env;
  const ca = options.ca === undefined ? {} : { ca: [...rootCertificates, options.ca] };
  const plain = new HttpAgent({ keepAlive: true, timeout: KEEP_ALIVE_MS });
  const direct = new HttpsAgent({ keepAlive: true, timeout: KEEP_ALIVE_MS, ...ca });
  const tunnels = new Map<string, TunnelAgent>();
  const tunnel = (proxy: URL): TunnelAgent => {
    let agent = tunnels.get(proxy.href);
    if (agent === undefined) tunnels.set(proxy.href, (agent = new TunnelAgent(proxy, ca)));
    return agent;
  };

  const open = (request: HttpRequest, onReply: (message: IncomingMessage) => void): ClientRequest => {
    const { url } = request;
    const proxy = proxyFor(url, env);
    const headers = { ...request.headers, 'content-length': String(request.body?.length ?? 0) };
    if (url.protocol === 'https:') {
      return requestHttps(
        url,
        { method: request.method, headers, agent: proxy === undefined ? direct : tunnel(proxy) },
        onReply,
      );
    }
    if (proxy === undefined)
      return requestHttp(url, { method: request.method, headers, agent: plain }, onReply);
    // A plain request goes to the proxy in absolute form; the proxy sends it on in origin form, which is what was signed.
    const through = { ...headers, host: url.host, ...proxyHeaders(proxy) };
    return requestHttp(
      {
        host: proxy.hostname,
        port: proxy.port || 80,
        path: url.href,
        method: request.method,
        headers: through,
        agent: plain,
      },
      onReply,
    );
  };

  return {
    send: async (request) => await exchange(request, open),
    close() {
      plain.destroy();
      direct.destroy();
      for (const agent of tunnels.values()) agent.destroy();
    },
  };
}

/** Node's codes for a certificate whose authority is unknown here. */
const UNTRUSTED: ReadonlySet<string | undefined> = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);

function messageOf({ code, message }: NodeJS.ErrnoException): string {
  return UNTRUSTED.has(code)
    ? `${message}; its authority is not known here: name the authority's certificate with --ca-file`
    : message;
}

type Open = (request: HttpRequest, onReply: (message: IncomingMessage) => void) => ClientRequest;

async function exchange(request: HttpRequest, open: Open): Promise<HttpReply> {
  if (request.signal?.aborted === true) throw new TransportError('aborted', 'request aborted');
  return await new Promise<HttpReply>((resolve, reject) => {
    const sentAtMs = wallMs();
    const sentMonotonicMs = monotonicMs();
    const where = `${request.method} ${request.url.host}${request.url.pathname}`;
    const finish = (settle: () => void) => {
      clearTimeout(timer);
      request.signal?.removeEventListener('abort', abort);
      settle();
    };
    const fail = (code: string, message: string, cause?: unknown) => {
      finish(() => reject(new TransportError(code, `${where}: ${message}`, cause)));
      outgoing.destroy();
    };
    const abort = () => fail('aborted', 'aborted');
    const timer = setTimeout(
      () => fail('timeout', `no reply within ${request.timeoutMs} ms`),
      request.timeoutMs,
    );
    request.signal?.addEventListener('abort', abort);

    const outgoing = open(request, (message) => {
      const parts: Buffer[] = [];
      let bytes = 0;
      message.on('data', (part: Buffer) => {
        bytes += part.length;
        if (bytes > request.bytesMax)
          fail('reply_too_large', `reply is larger than ${request.bytesMax} bytes`);
        else parts.push(part);
      });
      message.once('end', () => {
        const { statusCode: status = 0, headers } = message;
        const received = { receivedAtMs: wallMs(), sentAtMs, sentMonotonicMs };
        finish(() => resolve({ status, headers, body: Buffer.concat(parts), ...received }));
      });
      message.once('aborted', () => fail('ECONNRESET', 'connection cut in the middle of the reply'));
      message.once('error', (error: NodeJS.ErrnoException) =>
        fail(error.code ?? 'reply_failed', error.message, error),
      );
    });
    outgoing.once('error', (error: NodeJS.ErrnoException) =>
      fail(error.code ?? 'request_failed', messageOf(error), error),
    );
    // After the first error a second one (a reset of the destroyed socket) has no listener left and would end the process.
    outgoing.on('error', () => undefined);
    outgoing.end(request.body);
  });
}

/** An agent whose connections run through an HTTP proxy's CONNECT. */
class TunnelAgent extends HttpsAgent {
  readonly #proxy: URL;
  readonly #ca: { ca?: string[] };

  constructor(proxy: URL, ca: { ca?: string[] }) {
    super({ keepAlive: true, timeout: KEEP_ALIVE_MS });
    this.#proxy = proxy;
    this.#ca = ca;
  }

  override createConnection(
    options: {
      host?: string | null | undefined;
      port?: string | number | null | undefined;
      servername?: string | undefined;
    },
    callback?: (error: Error | null, stream: Duplex) => void,
  ): Duplex | undefined {
    const host = options.host ?? '';
    const authority = `${host.includes(':') ? `[${host}]` : host}:${options.port ?? 443}`;
    const through = this.#proxy.protocol === 'https:' ? requestHttps : requestHttp;
    const connecting = through({
      method: 'CONNECT',
      host: this.#proxy.hostname,
      port: this.#proxy.port || (this.#proxy.protocol === 'https:' ? 443 : 80),
      path: authority,
      headers: { host: authority, ...proxyHeaders(this.#proxy) },
      agent: false,
      ...this.#ca,
    });
    // The agent takes the error form of its callback without a stream; its type does not say so.
    const refuse = callback as ((error: Error) => void) | undefined;
    connecting.once('connect', (reply, socket) => {
      if (reply.statusCode === 200) {
        callback?.(null, connectTls({ socket, servername: options.servername ?? host, ...this.#ca }));
        return;
      }
      socket.destroy();
      refuse?.(
        new TransportError(
          'proxy_refused',
          `proxy ${this.#proxy.host} answered ${reply.statusCode} to CONNECT ${authority}`,
        ),
      );
    });
    connecting.once('error', (error) => refuse?.(error));
    connecting.end();
    return undefined;
  }
}
