/**
 * Sends a client's requests through the proxies of its environment: with kept-alive connections, a private
 * CA, CONNECT to https and the absolute form to http.
 */
import {
  request as requestHttp,
  Agent as HttpAgent,
  type ClientRequest,
  type IncomingMessage,
  type RequestOptions,
} from 'node:http';
import { request as requestHttps, Agent as HttpsAgent } from 'node:https';
import { connect as connectTls, rootCertificates } from 'node:tls';
import type { Duplex } from 'node:stream';
import { proxyFor, proxyHeaders } from './proxy.ts';

/**
 * The proxy is there and does not let the request through, or it is not there. `code` is Node's, or
 * `proxy_refused`.
 */
export class ProxyError extends Error {
  override readonly name = 'ProxyError';
  readonly code: string;

  constructor(message: string, code = 'proxy_refused', cause?: unknown) {
    super(message, { cause });
    this.code = code;
  }
}

export interface Outbound {
  /** Throws a RangeError where a variable of the environment names no proxy. */
  open(
    url: URL,
    options: Pick<RequestOptions, 'method' | 'signal'> & {
      readonly headers: Readonly<Record<string, string>>;
    },
    onReply: (message: IncomingMessage) => void,
  ): ClientRequest;
  /** Closes idle connections; a request under way ends by its own signal. */
  close(): void;
}

export interface OutboundOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** PEM text of authorities to trust besides the usual ones. */
  readonly ca?: string;
}

/** Idle connections are kept shorter than the 60 s after which proxies commonly cut them. */
const KEEP_ALIVE_MS = 30_000;

export function createOutbound({ env, ca: extra }: OutboundOptions): Outbound {
  const ca = extra === undefined ? {} : { ca: [...rootCertificates, extra] };
  const plain = new HttpAgent({ keepAlive: true, timeout: KEEP_ALIVE_MS });
  const direct = new HttpsAgent({ keepAlive: true, timeout: KEEP_ALIVE_MS, ...ca });
  const tunnels = new Map<string, TunnelAgent>();
  const tunnel = (proxy: URL): TunnelAgent => {
    let agent = tunnels.get(proxy.href);
    if (agent === undefined) tunnels.set(proxy.href, (agent = new TunnelAgent(proxy, ca)));
    return agent;
  };
  return {
    open(url, options, onReply) {
      const proxy = proxyFor(url, env);
      if (url.protocol === 'https:')
        return requestHttps(
          url,
          { ...options, agent: proxy === undefined ? direct : tunnel(proxy) },
          onReply,
        );
      if (proxy === undefined) return requestHttp(url, { ...options, agent: plain }, onReply);
      // A plain request goes to the proxy in absolute form; the proxy sends it on in origin form, which is
      // what was signed.
      const headers = { ...options.headers, host: url.host, ...proxyHeaders(proxy) };
      const through = { ...options, ...addressOf(proxy), path: url.href, headers };
      return proxy.protocol === 'https:'
        ? requestHttps({ ...through, agent: direct }, onReply)
        : requestHttp({ ...through, agent: plain }, onReply);
    },
    close() {
      plain.destroy();
      direct.destroy();
      for (const agent of tunnels.values()) agent.destroy();
    },
  };
}

/** A CONNECT to `authority` (`host:port`), not ended yet; its answer is the event `connect`. */
export function askForTunnel(
  proxy: URL,
  authority: string,
  options: { readonly ca?: string[]; readonly timeout?: number } = {},
): ClientRequest {
  const through = proxy.protocol === 'https:' ? requestHttps : requestHttp;
  const headers = { host: authority, ...proxyHeaders(proxy) };
  return through({
    method: 'CONNECT',
    ...addressOf(proxy),
    path: authority,
    headers,
    agent: false,
    ...options,
  });
}

function addressOf(proxy: URL): { host: string; port: number } {
  const usual = proxy.protocol === 'https:' ? 443 : 80;
  return { host: proxy.hostname.replace(/^\[|\]$/g, ''), port: Number(proxy.port || usual) };
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
    const host = (options.host ?? '').replace(/^\[|\]$/g, '');
    const authority = `${host.includes(':') ? `[${host}]` : host}:${options.port ?? 443}`;
    const connecting = askForTunnel(this.#proxy, authority, this.#ca);
    // The agent takes the error form of its callback without a stream; its type does not say so.
    const refuse = callback as ((error: Error) => void) | undefined;
    connecting.once('connect', (reply, socket) => {
      if (reply.statusCode === 200) {
        // A server name is sent for names only, not for addresses.
        const servername = options.servername ?? host;
        callback?.(null, connectTls({ socket, host, servername, ...this.#ca }));
        return;
      }
      socket.destroy();
      refuse?.(
        new ProxyError(`proxy ${this.#proxy.host} answered ${reply.statusCode} to CONNECT ${authority}`),
      );
    });
    connecting.once('error', (error: NodeJS.ErrnoException) =>
      refuse?.(
        new ProxyError(`proxy ${this.#proxy.host} cannot be reached: ${error.message}`, error.code, error),
      ),
    );
    connecting.end();
    return undefined;
  }
}
