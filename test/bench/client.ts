/** Signed and unsigned JSON calls over kept-alive connections, cheap enough not to drown what they measure. */
import { Agent, request as httpRequest } from 'node:http';
import { createNonce, generateSigningKey, type SigningKey } from '@svc/proto/signature/keys.ts';
import { signRequest } from '@svc/proto/signature/sign.ts';

export interface JsonAnswer {
  readonly status: number;
  readonly body: Record<string, unknown>;
}

export interface JsonClient {
  post(path: string, body: unknown, headers?: Record<string, string>): Promise<JsonAnswer>;
  close(): void;
}

export function createJsonClient(baseUrl: string, connections: number): JsonClient {
  const agent = new Agent({ keepAlive: true, maxSockets: connections, noDelay: true });
  const { hostname, port } = new URL(baseUrl);
  return {
    post(path, body, headers = {}) {
      const payload = JSON.stringify(body);
      return new Promise((resolve, reject) => {
        const request = httpRequest(
          {
            agent,
            hostname,
            port,
            path,
            method: 'POST',
            headers: {
              'content-type': 'application/json',
              'content-length': Buffer.byteLength(payload),
              ...headers,
            },
          },
          (response) => {
            let text = '';
            response.setEncoding('utf8');
            response.on('data', (data: string) => (text += data));
            response.on('end', () =>
              resolve({
                status: response.statusCode ?? 0,
                body: text === '' ? {} : (JSON.parse(text) as Record<string, unknown>),
              }),
            );
          },
        );
        request.on('error', reject);
        request.end(payload);
      });
    },
    close: () => agent.destroy(),
  };
}

export interface ByteClient {
  /** The status; a body that is not 200 is thrown. */
  post(path: string, headers: Record<string, string>, body: Buffer): Promise<number>;
  close(): void;
}

export function createByteClient(baseUrl: string, connections: number): ByteClient {
  const agent = new Agent({ keepAlive: true, maxSockets: connections, noDelay: true });
  const { hostname, port } = new URL(baseUrl);
  return {
    post: (path, headers, body) =>
      new Promise((resolve, reject) => {
        const all = { ...headers, 'content-length': body.length };
        const request = httpRequest(
          { agent, hostname, port, path, method: 'POST', headers: all },
          (response) => {
            let text = '';
            response.setEncoding('latin1');
            response.on('data', (data: string) => (text += data));
            response.on('end', () => {
              if (response.statusCode === 200) resolve(200);
              else reject(new Error(`${path} answered ${response.statusCode}: ${text.slice(0, 500)}`));
            });
          },
        );
        request.on('error', reject);
        request.end(body);
      }),
    close: () => agent.destroy(),
  };
}

export interface BenchRunner {
  readonly id: string;
  call(action: string, body: unknown): Promise<JsonAnswer>;
  /** Bytes to any path, signed; needs the byte client at enrolment. */
  send(path: string, contentType: string, body: Buffer): Promise<number>;
}

/** A runner that signs with the product's own library: what a daemon costs, without a sandbox. */
export async function enrollBenchRunner(
  client: JsonClient,
  baseUrl: string,
  token: string,
  name: string,
  byteClient?: ByteClient,
): Promise<BenchRunner> {
  const key: SigningKey = generateSigningKey();
  const { status, body } = await client.post('/runners/enroll', { token, name, publicKey: key.publicKey });
  const id = body['runnerId'];
  if (typeof id !== 'string') throw new Error(`enroll answered ${status}: ${JSON.stringify(body)}`);
  const authority = new URL(baseUrl).host;
  return {
    id,
    async send(path, contentType, payload) {
      if (byteClient === undefined) throw new Error('this runner was enrolled without a byte client');
      const signature = signRequest(
        { method: 'POST', authority, path, contentType, body: payload },
        { key, created: Math.floor(Date.now() / 1000), nonce: createNonce() },
      );
      return await byteClient.post(path, { 'content-type': contentType, ...signature }, payload);
    },
    call(action, message) {
      const path = `/runners/${id}/${action}`;
      const signature = signRequest(
        {
          method: 'POST',
          authority,
          path,
          contentType: 'application/json',
          body: Buffer.from(JSON.stringify(message)),
        },
        { key, created: Math.floor(Date.now() / 1000), nonce: createNonce() },
      );
      return client.post(path, message, { ...signature });
    },
  };
}
