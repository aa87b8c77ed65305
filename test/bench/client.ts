/**
 * Signed and unsigned JSON calls over kept-alive connections, cheap enough not to drown what they measure.
 */
import { connect, type Socket } from 'node:net';
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
  const wire = createWire(baseUrl, connections);
  return {
    post: async (path, body, headers = {}) => {
      const payload = Buffer.from(JSON.stringify(body));
      const { status, text } = await wire.post(
        path,
        { 'content-type': 'application/json', ...headers },
        payload,
      );
      return { status, body: text === '' ? {} : (JSON.parse(text) as Record<string, unknown>) };
    },
    close: wire.close,
  };
}

export interface ByteClient {
  /** The status; a body that is not 200 is thrown. */
  post(path: string, headers: Record<string, string>, body: Buffer): Promise<number>;
  close(): void;
}

export function createByteClient(baseUrl: string, connections: number): ByteClient {
  const wire = createWire(baseUrl, connections);
  return {
    post: async (path, headers, body) => {
      const { status, text } = await wire.post(path, headers, body);
      if (status !== 200) throw new Error(`${path} answered ${status}: ${text.slice(0, 500)}`);
      return status;
    },
    close: wire.close,
  };
}

interface Wire {
  post(path: string, headers: Record<string, string>, body: Buffer): Promise<WireAnswer>;
  close(): void;
}

interface WireAnswer {
  readonly status: number;
  readonly text: string;
}

interface Line {
  readonly socket: Socket;
  settle: ((answer: WireAnswer) => void) | undefined;
  fail(error: Error): void;
}

/**
 * Opens HTTP/1.1 over bare sockets with one request in flight on each, because node's own client costs as
 * much as what is measured.
 */
function createWire(baseUrl: string, connections: number): Wire {
  const { hostname, port, host } = new URL(baseUrl);
  const idle: Line[] = [];
  const waiting: Array<(line: Line) => void> = [];
  const lines = new Set<Line>();

  const release = (line: Line): void => {
    const next = waiting.shift();
    if (next === undefined) idle.push(line);
    else next(line);
  };
  const open = (): Line => {
    const socket = connect({ host: hostname, port: Number(port), noDelay: true });
    const line: Line = { socket, settle: undefined, fail: () => undefined };
    let buffered = '';
    socket.on('data', (data) => {
      buffered += data.toString('latin1');
      const answer = readAnswer(buffered);
      if (answer === undefined) return;
      buffered = '';
      line.settle?.(answer);
      release(line);
    });
    socket.on('error', (error) => line.fail(error));
    socket.on('close', () => {
      lines.delete(line);
      const at = idle.indexOf(line);
      if (at >= 0) idle.splice(at, 1);
      line.fail(new Error(`${host} closed the connection`));
      waiting.shift()?.(open());
    });
    lines.add(line);
    return line;
  };
  const take = async (): Promise<Line> => {
    const line = idle.pop();
    if (line !== undefined) return line;
    if (lines.size < connections) return open();
    return await new Promise((resolve) => waiting.push(resolve));
  };
  return {
    post: async (path, headers, body) => {
      const line = await take();
      let head = `POST ${path} HTTP/1.1\r\nhost: ${host}\r\ncontent-length: ${body.length}\r\n`;
      for (const name in headers) head += `${name}: ${headers[name]}\r\n`;
      return await new Promise((resolve, reject) => {
        line.settle = resolve;
        line.fail = reject;
        line.socket.write(Buffer.concat([Buffer.from(`${head}\r\n`, 'latin1'), body]));
      });
    },
    close: () => {
      for (const { socket } of lines) socket.destroy();
    },
  };
}

/** Returns the first answer, and undefined while more is to come. It needs content-length. */
function readAnswer(buffered: string): WireAnswer | undefined {
  const headEnd = buffered.indexOf('\r\n\r\n');
  if (headEnd < 0) return undefined;
  const length = /content-length: *(\d+)/i.exec(buffered.slice(0, headEnd))?.[1];
  if (length === undefined) throw new Error(`a response without content-length: ${buffered.slice(0, 300)}`);
  const body = buffered.slice(headEnd + 4);
  if (body.length < Number(length)) return undefined;
  return { status: Number(buffered.slice(9, 12)), text: Buffer.from(body, 'latin1').toString() };
}

export interface BenchRunner {
  readonly id: string;
  call(action: string, body: unknown): Promise<JsonAnswer>;
  /** Bytes to any path, signed; needs the byte client at enrollment. */
  send(path: string, contentType: string, body: Buffer): Promise<number>;
}

/** A runner that signs with the product's own library: what a daemon costs, without a sandbox. */
export async function enrollBenchRunner(
  client: JsonClient,
  baseUrl: string,
  {
    token,
    name,
    byteClient,
  }: { readonly token: string; readonly name: string; readonly byteClient?: ByteClient },
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
