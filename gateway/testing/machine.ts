/**
 * This file is a runner's end of the wire, with every byte in the hands of the test: requests are text and
 * are sent over a plain socket.
 */
import { connect, type Socket } from 'node:net';
import { createNonce, type SigningKey } from '@svc/proto/signature/keys.ts';
import { signRequest } from '@svc/proto/signature/sign.ts';

export interface Request {
  method: string;
  target: string;
  /** `Name: value` lines in order, Host first, without content-length. */
  lines: string[];
  body: Uint8Array;
}

export interface SignedOptions {
  readonly method?: string;
  readonly body?: unknown;
  readonly host?: string;
  readonly created?: number;
  readonly nonce?: string;
  readonly contentEncoding?: string;
  /** Bytes as sent; default: `body` as JSON. */
  readonly bytes?: Uint8Array;
  readonly extra?: readonly string[];
}

/** The lines of a request without a signature. */
export const UNSIGNED = ['Host: cp.example.com', 'Content-Type: application/json'];

/** A request that is right in every way, to be spoiled. */
export function signed(
  key: Pick<SigningKey, 'privateKey' | 'keyid'>,
  target: string,
  options: SignedOptions = {},
): Request {
  const { method = 'POST', host = 'cp.example.com', contentEncoding } = options;
  const hasBody = method === 'POST';
  const body = options.bytes ?? Buffer.from(hasBody ? JSON.stringify(options.body ?? {}) : '');
  const [path = '', query] = target.split('?');
  const request = {
    method,
    authority: host,
    path,
    ...(query === undefined ? {} : { query: `?${query}` }),
    ...(hasBody ? { contentType: 'application/json', body } : {}),
    ...(contentEncoding === undefined ? {} : { contentEncoding }),
  };
  const headers = signRequest(request, {
    key,
    created: options.created ?? Math.floor(Date.now() / 1000),
    nonce: options.nonce ?? createNonce(),
  });
  return {
    method,
    target,
    lines: [
      `Host: ${host}`,
      ...(hasBody ? ['Content-Type: application/json'] : []),
      ...(contentEncoding === undefined ? [] : [`Content-Encoding: ${contentEncoding}`]),
      ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
      ...(options.extra ?? []),
    ],
    body,
  };
}

/** The same request with the value of one line changed, or the line removed. */
export function changed(
  request: Request,
  name: string,
  change: (value: string) => string | undefined,
): Request {
  let found = false;
  const lines = request.lines.flatMap((line) => {
    if (!line.toLowerCase().startsWith(`${name}:`)) return [line];
    found = true;
    const value = change(line.slice(name.length + 1).trim());
    return value === undefined ? [] : [`${name}: ${value}`];
  });
  if (!found) throw new Error(`request has no line ${name}`);
  return { ...request, lines };
}

export interface Answer {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly text: string;
  /** `error.code` of the body. */
  readonly code: string | undefined;
  readonly message: string | undefined;
  readonly details: Readonly<Record<string, unknown>> | undefined;
}

export interface Exchange {
  readonly socket: Socket;
  readonly answer: Promise<Answer>;
}

/** Sends the request on a connection of its own. */
export function open(port: number, request: Request): Exchange {
  const head = [`${request.method} ${request.target} HTTP/1.1`, ...request.lines, 'Connection: close'];
  if (request.body.length > 0 || request.method === 'POST')
    head.push(`Content-Length: ${request.body.length}`);
  return openRaw(port, Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`, 'latin1'), request.body]));
}

export function openRaw(port: number, bytes: Uint8Array): Exchange {
  const socket = connect({ port, host: '127.0.0.1' });
  const chunks: Buffer[] = [];
  const answer = new Promise<Answer>((resolve, reject) => {
    socket.on('data', (chunk: Buffer) => chunks.push(chunk));
    // The server may cut the connection of a refused upload; what it said before that counts.
    socket.on('error', () => undefined);
    socket.on('close', () => {
      const parsed = parseAnswer(Buffer.concat(chunks));
      if (parsed === undefined)
        reject(
          new Error(
            `connection closed without an answer: ${Buffer.concat(chunks).toString('latin1').slice(0, 200)}`,
          ),
        );
      else resolve(parsed);
    });
  });
  // A test may destroy the socket and never look at the answer.
  answer.catch(() => undefined);
  socket.write(bytes);
  return { socket, answer };
}

export function send(port: number, request: Request): Promise<Answer> {
  return open(port, request).answer;
}

function parseAnswer(bytes: Buffer): Answer | undefined {
  const end = bytes.indexOf('\r\n\r\n');
  if (end < 0) return undefined;
  const [statusLine = '', ...lines] = bytes.subarray(0, end).toString('latin1').split('\r\n');
  const headers = new Map(
    lines.map((line) => [
      line.slice(0, line.indexOf(':')).toLowerCase(),
      line.slice(line.indexOf(':') + 1).trim(),
    ]),
  );
  const raw = bytes.subarray(end + 4).toString('utf8');
  const text = headers.get('transfer-encoding') === 'chunked' ? unchunk(raw) : raw;
  const error = readError(text);
  return {
    status: Number(statusLine.split(' ')[1]),
    headers,
    text,
    code: error['code'] as string,
    message: error['message'] as string,
    details: error['details'] as Answer['details'],
  };
}

function unchunk(raw: string): string {
  let text = '';
  for (let at = 0; ;) {
    const lineEnd = raw.indexOf('\r\n', at);
    const size = Number.parseInt(raw.slice(at, lineEnd), 16);
    if (!(size > 0)) return text;
    text += raw.slice(lineEnd + 2, lineEnd + 2 + size);
    at = lineEnd + 2 + size + 2;
  }
}

function readError(text: string): Record<string, unknown> {
  try {
    const { error } = JSON.parse(text) as { error?: Record<string, unknown> };
    return error ?? {};
  } catch {
    return {}; // Not JSON: the test looks at the text.
  }
}
