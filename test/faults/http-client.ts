/** JSON calls over kept connections. A rejected call means that nobody knows what became of it. */
import { Agent, request } from 'node:http';

export interface HttpCall {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly timeoutMs: number;
}

export interface HttpAnswer {
  readonly status: number;
  readonly body: Record<string, unknown>;
  /** `error.code` of a refusal. */
  readonly code: string | undefined;
}

export type HttpClient = ReturnType<typeof createHttpClient>;

export function createHttpClient(connections = Number.POSITIVE_INFINITY) {
  const newAgent = (): Agent => new Agent({ keepAlive: true, maxSockets: connections, scheduling: 'lifo' });
  let agent = newAgent();
  return {
    call: async ({ method, url, headers, body, timeoutMs }: HttpCall): Promise<HttpAnswer> => {
      const { status, text } = await new Promise<{ status: number; text: string }>((resolve, reject) => {
        const length = body === '' ? {} : { 'content-length': String(Buffer.byteLength(body)) };
        const call = request(url, { method, agent, headers: { ...headers, ...length } }, (response) => {
          const pieces: Buffer[] = [];
          response.on('data', (piece: Buffer) => pieces.push(piece));
          response.on('end', () => {
            clearTimeout(timer);
            resolve({ status: response.statusCode ?? 0, text: Buffer.concat(pieces).toString('utf8') });
          });
          response.on('error', fail);
        });
        const fail = (error: Error): void => {
          clearTimeout(timer);
          reject(error);
        };
        const timer = setTimeout(
          () => call.destroy(new Error(`no answer from ${url.pathname} within ${timeoutMs} ms`)),
          timeoutMs,
        );
        call.on('error', fail);
        call.end(body === '' ? undefined : body);
      });
      return answerOf(status, text);
    },
    /** Drops the kept connections. */
    close: (): void => {
      agent.destroy();
      agent = newAgent();
    },
  };
}

/** A body that is not JSON is no answer: somebody cut it off. */
export function answerOf(status: number, text: string): HttpAnswer {
  const body = text === '' ? {} : (JSON.parse(text) as Record<string, unknown>);
  const error = body['error'] as Record<string, unknown> | undefined;
  const code = error?.['code'];
  return { status, body, code: typeof code === 'string' ? code : undefined };
}
