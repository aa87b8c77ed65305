import { create, type Message } from '@bufbuild/protobuf';
import { connect as connectHttp2 } from 'node:http2';
import { connect as connectTcp } from 'node:net';
import { describe, expect, it } from 'vitest';
import { LogEventSchema, type StreamLogsRequest } from '../gen/svc/sandboxruns/v1/sandboxruns_pb.ts';
import { apiError } from './errors.ts';
import { framingOf } from './streams.ts';
import { doorOfTest, type TestAnswers, type TestDoor } from './testing/app.ts';
import { waitFor } from '../../test/setup/wait-for.ts';

const PATH = '/sandbox-runs/run_1/logs';

const open = (
  stream: NonNullable<TestAnswers['stream']>,
  limits: { commentMs?: number } = {},
): Promise<TestDoor> => doorOfTest({ stream }, { limits });

const event = (n: number, text = `line ${n}`): Message =>
  create(LogEventSchema, { position: `1-${n}`, text, epoch: 1 });
const json = (n: number): string => JSON.stringify({ position: `1-${n}`, text: `line ${n}`, epoch: 1 });

describe('a server stream over REST', () => {
  it('is Server-Sent Events with ids, ended by done', async () => {
    const door = await open(async function* () {
      yield event(1);
      yield event(2);
    });
    const response = await fetch(door.url + PATH);
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
    expect(response.headers.get('cache-control')).toBe('no-store');
    expect(response.headers.get('x-accel-buffering')).toBe('no');
    expect(await response.text()).toBe(
      `id: 1-1\ndata: ${json(1)}\n\nid: 1-2\ndata: ${json(2)}\n\nevent: done\ndata: {}\n\n`,
    );
    expect(door.records).toMatchObject([{ status: 200 }]);
  });

  it('is newline-delimited JSON when that is asked for', async () => {
    const door = await open(async function* () {
      yield event(1);
      throw apiError('unavailable', 'the database is away');
    });
    const response = await fetch(door.url + PATH, { headers: { accept: 'application/x-ndjson' } });
    expect(response.headers.get('content-type')).toBe('application/x-ndjson; charset=utf-8');
    const lines = (await response.text()).trimEnd().split('\n');
    expect(lines[0]).toBe(json(1));
    expect(JSON.parse(lines[1] ?? '')).toMatchObject({ error: { code: 'unavailable', retryable: true } });
    expect(lines.length).toBe(2);
  });

  it('is an ordinary error response when it is refused', async () => {
    const door = await open(async () => {
      await Promise.resolve();
      throw apiError('not_found', 'no run run_1');
    });
    const response = await fetch(door.url + PATH);
    expect([response.status, response.headers.get('content-type')]).toEqual([
      404,
      'application/json; charset=utf-8',
    ]);
    expect(await response.json()).toMatchObject({ error: { code: 'not_found', message: 'no run run_1' } });
  });

  it('ends with an error event when it fails later, without the text of an unexpected error', async () => {
    const door = await open(async function* () {
      yield event(1);
      throw new Error('secret');
    });
    const text = await (await fetch(door.url + PATH)).text();
    expect(text).toMatch(/event: error\ndata: \{"error":\{"code":"internal",.*"requestId":"req_/);
    expect(text).not.toContain('secret');
    expect(door.records).toMatchObject([{ status: 500, code: 'internal' }]);
    expect(door.logged.length).toBe(1);
  });

  it('is empty but whole when there is nothing', async () => {
    const door = await open(async function* () {});
    expect(await (await fetch(door.url + PATH)).text()).toBe('event: done\ndata: {}\n\n');
  });

  it('goes on behind Last-Event-ID, which wins over the query, and refuses one that breaks the rules', async () => {
    const seen: unknown[] = [];
    const door = await open(async function* (_call, request) {
      seen.push((request as StreamLogsRequest).after);
      yield event(1);
    });
    const ask = async (path: string, id?: string): Promise<number> =>
      (await fetch(door.url + path, id === undefined ? {} : { headers: { 'last-event-id': id } })).status;
    expect([
      await ask(PATH, '1-7'),
      await ask(`${PATH}?after=1-3`, '1-9'),
      await ask(`${PATH}?after=1-3`),
      await ask(PATH, ''),
    ]).toEqual([200, 200, 200, 200]);
    expect(seen).toEqual(['1-7', '1-9', '1-3', undefined]);
    expect(await ask(PATH, 'x'.repeat(30))).toBe(400);
  });

  it('closes what is let run after its client has left', async () => {
    let letRun: ((stream: AsyncIterable<Message>) => void) | undefined;
    const door = await open(async () => await new Promise((run) => (letRun = run)));
    const socket = connectTcp(door.port, '127.0.0.1');
    socket.write(`GET ${PATH} HTTP/1.1\r\nhost: x\r\n\r\n`);
    await waitFor(
      () => 'not started',
      () => letRun !== undefined,
    );
    socket.destroy();
    await waitFor(
      () => door.records,
      () => door.records.length === 1,
    );
    let closed = 0;
    letRun?.({
      [Symbol.asyncIterator]: () => ({
        next: async () => await new Promise<never>(() => {}),
        return: async () => {
          closed += 1;
          return { done: true as const, value: undefined };
        },
      }),
    });
    await waitFor(
      () => closed,
      () => closed === 1,
    );
  });

  it.each(['text/event-stream', 'application/x-ndjson'])(
    'of %s has its head before its first message',
    async (accept) => {
      let go = (): void => {};
      const gate = new Promise<void>((resolve) => (go = resolve));
      const door = await open(async function* () {
        await gate;
        yield event(1);
      });
      const response = await fetch(door.url + PATH, { headers: { accept } });
      expect(response.status).toBe(200);
      go();
      expect(await response.text()).toContain(json(1));
    },
  );

  it('comments in silence, soon at first', async () => {
    let go = (): void => {};
    const gate = new Promise<void>((resolve) => (go = resolve));
    const door = await open(
      async function* () {
        await gate;
        yield event(1);
      },
      { commentMs: 80 },
    );
    const response = await fetch(door.url + PATH);
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    let text = '';
    const read = async (): Promise<void> => {
      text += Buffer.from((await reader.read()).value ?? []).toString();
    };
    while (!text.includes(': keep-alive\n\n: keep-alive\n\n')) await read();
    go();
    while (!text.includes('event: done')) await read();
    expect(text).toContain(`data: ${json(1)}`);
  });

  it.each(['h1', 'h2'])('ends the generator when the client leaves (%s)', async (version) => {
    const ended: string[] = [];
    const door = await open(async function* (call) {
      try {
        yield event(1);
        await new Promise((_resolve, reject) => {
          call.signal.addEventListener('abort', () => reject(call.signal.reason as Error));
        });
      } finally {
        ended.push((call.signal.reason as { code?: string } | undefined)?.code ?? 'no reason');
      }
    });
    if (version === 'h1') {
      const socket = connectTcp(door.port, '127.0.0.1');
      socket.write(`GET ${PATH} HTTP/1.1\r\nhost: x\r\n\r\n`);
      await new Promise((resolve) => socket.once('data', resolve));
      socket.destroy();
    } else {
      const session = connectHttp2(door.url);
      const request = session.request({ ':path': PATH });
      await new Promise((resolve) => request.once('data', resolve));
      request.close();
      await waitFor(
        () => ended,
        () => ended.length === 1,
      );
      session.close();
    }
    await waitFor(
      () => [ended, door.records],
      () => ended.length === 1 && door.records.length === 1,
    );
    expect([ended, door.records[0]?.status]).toEqual([['client_closed'], 499]);
  });

  it('ends by its deadline with an error event', async () => {
    const door = await open(async function* (call) {
      yield event(1);
      await new Promise((_resolve, reject) => {
        call.signal.addEventListener('abort', () => reject(call.signal.reason as Error));
      });
    });
    const text = await (await fetch(door.url + PATH, { headers: { 'connect-timeout-ms': '60' } })).text();
    expect(text).toContain('event: error\ndata: {"error":{"code":"deadline_exceeded"');
  });

  it('is told apart from ordinary calls at shutdown: it ends at once, with a retryable error', async () => {
    const door = await open(async function* () {
      yield event(1);
      await new Promise(() => {});
    });
    const response = await fetch(door.url + PATH);
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    await reader.read();
    const closed = door.open.close(5000);
    expect(Buffer.from((await reader.read()).value ?? []).toString()).toContain('"code":"unavailable"');
    await closed;
  });

  it.each(['h1', 'h2'])('does not run ahead of a reader that does not read (%s)', async (version) => {
    let produced = 0;
    const door = await open(async function* () {
      for (;;) {
        produced++;
        yield event(produced, 'x'.repeat(64 * 1024));
      }
    });
    const stop = version === 'h1' ? stalledHttp1(door.port) : stalledHttp2(door.url);
    let last = -1;
    let unchanged = 0;
    // The buffers of the socket are full when nothing more is taken for many looks in a row.
    await waitFor(
      () => produced,
      () => {
        unchanged = produced === last ? unchanged + 1 : 0;
        last = produced;
        return produced > 0 && unchanged > 30;
      },
      { withinMs: 10_000 },
    );
    expect(produced).toBeLessThan(300);
    stop();
    await waitFor(
      () => door.records,
      () => door.records.length === 1,
    );
  });
});

function stalledHttp1(port: number): () => void {
  const socket = connectTcp(port, '127.0.0.1');
  socket.pause();
  socket.write(`GET ${PATH} HTTP/1.1\r\nhost: x\r\n\r\n`);
  return () => socket.destroy();
}

function stalledHttp2(url: string): () => void {
  const session = connectHttp2(url);
  const request = session.request({ ':path': PATH });
  request.on('error', () => {});
  return () => session.destroy();
}

describe('framingOf()', () => {
  it.each([
    [undefined, 'sse'],
    ['*/*', 'sse'],
    ['application/json', 'sse'],
    ['text/event-stream', 'sse'],
    ['application/x-ndjson', 'ndjson'],
    ['application/x-ndjson, text/event-stream;q=0.5', 'ndjson'],
    ['text/event-stream, application/x-ndjson', 'sse'],
  ] as const)('%s is %s', (accept, framing) => {
    expect(framingOf(accept)).toBe(framing);
  });
});
