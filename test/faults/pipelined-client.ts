/**
 * Many HTTP/1.1 requests on one connection without waiting for their answers, so that a server reads them in
 * exactly this order. It comes as a proxy that the server trusts, because a client's requests wait for each
 * other. What has no answer when the connection ends is rejected.
 */
import { connect } from 'node:net';
import { answerOf, type HttpAnswer, type HttpCall } from './http-client.ts';

interface Waiting {
  readonly resolve: (answer: HttpAnswer) => void;
  readonly reject: (error: Error) => void;
}

export function openPipeline(url: string) {
  const { hostname, port, host } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port), noDelay: true });
  const waiting: Waiting[] = [];
  let unread: Buffer = Buffer.alloc(0);
  let ended: Error | undefined;
  const end = (why: Error): void => {
    ended ??= why;
    for (const { reject } of waiting.splice(0)) reject(ended);
  };
  socket.on('error', end);
  socket.on('close', () => end(new Error('connection closed before the answer')));
  socket.on('data', (data: Buffer) => {
    unread = Buffer.concat([unread, data]);
    for (;;) {
      const answer = takeAnswer(unread);
      if (answer === undefined) return;
      unread = unread.subarray(answer.bytes);
      waiting.shift()?.resolve(answerOf(answer.status, answer.text));
    }
  });
  return {
    /** Sends all of them at once. */
    send: (calls: readonly HttpCall[]): Array<Promise<HttpAnswer>> => {
      const answers = calls.map(
        () =>
          new Promise<HttpAnswer>((resolve, reject) => {
            if (ended === undefined) waiting.push({ resolve, reject });
            else reject(ended);
          }),
      );
      socket.write(calls.map((call) => textOf(call, host)).join(''));
      return answers;
    },
    close: () => socket.destroy(),
  };
}

function textOf({ method, url, headers, body }: HttpCall, host: string): string {
  const fields = {
    host,
    'x-forwarded-for': '127.0.0.1',
    ...headers,
    'content-length': String(Buffer.byteLength(body)),
  };
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${method} ${url.pathname} HTTP/1.1\r\n${lines.join('')}\r\n${body}`;
}

/** Returns the first whole answer, and undefined while it is not there. */
function takeAnswer(
  data: Buffer,
): { readonly status: number; readonly text: string; readonly bytes: number } | undefined {
  const headEnd = data.indexOf('\r\n\r\n');
  if (headEnd < 0) return undefined;
  const head = data.subarray(0, headEnd).toString('latin1');
  const length = Number(/^content-length: *(\d+)/im.exec(head)?.[1] ?? Number.NaN);
  if (Number.isNaN(length))
    throw new Error(`an answer without a length cannot be told from the next one:\n${head}`);
  const bytes = headEnd + 4 + length;
  if (data.length < bytes) return undefined;
  return {
    status: Number(head.slice(9, 12)),
    text: data.subarray(headEnd + 4, bytes).toString('utf8'),
    bytes,
  };
}
