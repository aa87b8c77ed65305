/**
 * This file is the daemon's HTTP client: outbound only, with kept-alive connections, a private CA, proxies
 * from the environment, and three bounds that the platform's own fetch does not offer together: a deadline
 * for the whole exchange, a cap on the reply, and an abort.
 */
import type { ClientRequest, IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { createOutbound } from '@svc/proto/proxy/outbound.ts';
import { monotonicMs, wallMs } from '../platform/clock.ts';

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

export interface HttpClientOptions {
  /** PEM text of authorities to trust besides the usual ones. */
  ca?: string;
  env?: NodeJS.ProcessEnv;
}

export function createHttpClient({ env = process.env, ca }: HttpClientOptions = {}) {
  const outbound = createOutbound({ env, ...(ca === undefined ? {} : { ca }) });
  const open: Open = ({ url, method, headers, body }, onReply) =>
    outbound.open(
      url,
      { method, headers: { ...headers, 'content-length': String(body?.length ?? 0) } },
      onReply,
    );
  return {
    send: async (request: HttpRequest) => await exchange(request, open),
    /** Closes idle connections; a request under way ends by its own signal. */
    close: () => outbound.close(),
  };
}

export type HttpClient = ReturnType<typeof createHttpClient>;

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
    // After the first error a second one (a reset of the destroyed socket) has no listener left and would end
    // the process.
    outgoing.on('error', () => undefined);
    outgoing.end(request.body);
  });
}
