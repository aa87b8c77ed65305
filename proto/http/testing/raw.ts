/**
 * Sends requests as they lie on the wire, and answers with everything that a client can see of them: for
 * tests that hold two answers against each other. No client library in between, because each of them smooths
 * something over: order and spelling of headers, trailers, resets.
 */
import { connect as connectHttp2, constants, type ClientHttp2Session } from 'node:http2';
import { connect } from 'node:net';

export interface RawRequest {
  readonly method: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent after the head. */
  readonly body?: string | Uint8Array;
  /** The head announces a body of this many bytes, and none of them is ever sent. */
  readonly withhold?: number;
}

/** Equal views look equal to whoever asked. Times differ by nature and are left out. */
export interface RawView {
  readonly status: number;
  /** They stand in the order in which they came; `date` is left out. */
  readonly headers: readonly string[];
  readonly body: string;
  readonly trailers: readonly string[];
  /** HTTP/2 only: the code with which the stream was reset, 0 for none. */
  readonly reset: number;
}

/**
 * An answer that does not come is an answer too slow: the request waits for something that it must not wait
 * for.
 */
const ANSWER_MS = 5_000;

function headersOf({ headers = {}, body, withhold }: RawRequest): Record<string, string> {
  const length = withhold ?? (body === undefined ? undefined : Buffer.byteLength(body));
  return { ...headers, ...(length === undefined ? {} : { 'content-length': String(length) }) };
}

/** Sends one request on a connection of its own. */
export async function rawHttp1(port: number, request: RawRequest): Promise<RawView> {
  const { method, path, body } = request;
  const lines = Object.entries(headersOf(request)).map(([name, value]) => `${name}: ${value}\r\n`);
  const head = `${method} ${path} HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\n${lines.join('')}\r\n`;
  return await new Promise<RawView>((resolve, reject) => {
    const socket = connect(port, '127.0.0.1');
    let received = Buffer.alloc(0);
    const fail = (why: string): void => {
      socket.destroy();
      reject(new Error(`${method} ${path}: ${why}; received so far: ${received.toString('latin1')}`));
    };
    const timer = setTimeout(() => fail(`no whole answer within ${ANSWER_MS} ms`), ANSWER_MS);
    const look = (ended: boolean): void => {
      const view = parseHttp1(received, method, ended);
      if (view === undefined) return;
      clearTimeout(timer);
      socket.destroy();
      resolve(view);
    };
    socket.on('data', (chunk) => {
      received = Buffer.concat([received, chunk]);
      look(false);
    });
    socket.on('close', () => look(true));
    socket.on('error', (error: NodeJS.ErrnoException) => {
      // A server that has answered may cut off a body that it does not want.
      if (!['EPIPE', 'ECONNRESET'].includes(error.code ?? '')) fail(error.message);
    });
    socket.write(head);
    if (body !== undefined && request.withhold === undefined) socket.write(body);
  });
}

/** Undefined while the answer is not whole. `100 Continue` is a part of the answer's head lines. */
function parseHttp1(bytes: Buffer, method: string, ended: boolean): RawView | undefined {
  const text = bytes.toString('latin1');
  const interim = /^(?:HTTP\/1\.1 1\d\d [^\r]*\r\n\r\n)*/.exec(text)?.[0] ?? '';
  const end = text.indexOf('\r\n\r\n', interim.length);
  if (end === -1) return undefined;
  const [statusLine = '', ...headers] = text.slice(interim.length, end).split('\r\n');
  const value = (name: string): string | undefined =>
    headers
      .find((line) => line.toLowerCase().startsWith(`${name}:`))
      ?.slice(name.length + 1)
      .trim();
  const body = text.slice(end + 4);
  const length = value('content-length');
  const whole =
    ended ||
    method === 'HEAD' ||
    (length !== undefined && body.length >= Number(length)) ||
    (value('transfer-encoding') === 'chunked' && body.includes('0\r\n'));
  if (!whole) return undefined;
  return {
    status: Number(statusLine.split(' ')[1]),
    headers: [
      ...(interim === '' ? [] : [interim]),
      statusLine,
      ...headers.filter((line) => !/^date:/i.test(line)),
    ],
    body,
    trailers: [],
    reset: 0,
  };
}

export interface RawHttp2 {
  send(request: RawRequest): Promise<RawView>;
  close(): void;
}

/**
 * A server counts the frames of streams that it has given up, and rightly ends a connection with too many of
 * them.
 */
const STREAMS_MAX = 50;

/**
 * Speaks h2c on connections of many requests each, and one of its own for a body that the server may not
 * want.
 */
export function rawHttp2(port: number): RawHttp2 {
  const open = (): ClientHttp2Session => {
    const session = connectHttp2(`http://127.0.0.1:${port}`);
    session.on('error', () => undefined);
    return session;
  };
  let shared = open();
  let streams = 0;
  const send = async (request: RawRequest): Promise<RawView> => {
    if (request.withhold !== undefined || Buffer.byteLength(request.body ?? '') > 1_000) {
      const own = open();
      return await onStream(own, request).finally(() => own.destroy());
    }
    streams += 1;
    if (shared.closed || shared.destroyed || streams % STREAMS_MAX === 0) {
      shared.close();
      shared = open();
    }
    const view = await onStream(shared, request);
    // Not looked at: the connection was ending. Every client sends it again.
    return view.status === 0 && view.reset === constants.NGHTTP2_REFUSED_STREAM ? await send(request) : view;
  };
  return {
    send,
    close: () => shared.destroy(),
  };
}

async function onStream(session: ClientHttp2Session, request: RawRequest): Promise<RawView> {
  const { method, path, body, withhold } = request;
  return await new Promise<RawView>((resolve, reject) => {
    const stream = session.request(
      { ...headersOf(request), ':method': method, ':path': path },
      { endStream: body === undefined && withhold === undefined },
    );
    let status = 0;
    let headers: string[] = [];
    let trailers: string[] = [];
    const parts: Buffer[] = [];
    const lines = (fields: Readonly<Record<string, unknown>>): string[] =>
      Object.entries(fields)
        .filter(([name]) => name !== 'date' && name !== ':status')
        .map(([name, value]) => `${name}: ${String(value)}`);
    const timer = setTimeout(() => {
      stream.close();
      reject(
        new Error(`${method} ${path}: no whole answer on HTTP/2 within ${ANSWER_MS} ms, status ${status}`),
      );
    }, ANSWER_MS);
    const finish = (reset: number): void => {
      clearTimeout(timer);
      resolve({ status, headers, body: Buffer.concat(parts).toString('latin1'), trailers, reset });
    };
    stream.on('response', (fields) => {
      status = Number(fields[':status']);
      headers = lines(fields);
    });
    stream.on('trailers', (fields) => (trailers = lines(fields)));
    stream.on('data', (chunk: Buffer) => parts.push(chunk));
    // This side may never come to the end of a body that the server does not take: the answer's end is the
    // end.
    stream.on('end', () => {
      setImmediate(() => {
        if (!stream.closed) stream.close();
      });
    });
    stream.on('close', () => finish(stream.rstCode));
    stream.on('error', () => undefined);
    if (body !== undefined && withhold === undefined) stream.end(body);
  });
}
