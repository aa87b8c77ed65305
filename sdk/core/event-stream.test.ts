import { beforeEach, describe, expect, it } from 'vitest';
import { Client, type ClientOptions } from './client.ts';
import {
  SvcAbortError,
  SvcApiError,
  SvcConnectionError,
  SvcNotFoundError,
  SvcServerError,
} from './errors.ts';
import type { Operation } from './operation.ts';
import { createFakeRuntime, type FakeRuntime } from './testing/fake-runtime.ts';
import { reset, useFakeServer, type ScriptedReply } from './testing/fake-server.ts';

const logs: Operation = { method: 'GET', path: '/runs/{id}/logs', stream: { resume: 'after' } };

const server = useFakeServer();
let runtime: FakeRuntime;
beforeEach(() => void (runtime = createFakeRuntime()));

const client = (options: ClientOptions = {}): Client =>
  new Client({ baseUrl: server.baseUrl, ...options }, runtime);
function sse(chunks: readonly (string | Uint8Array)[], then: ScriptedReply['then'] = 'end'): ScriptedReply {
  return {
    headers: { 'content-type': 'text/event-stream; charset=utf-8', 'x-request-id': 'req_s' },
    chunks,
    then,
  };
}
const event = (id: number): string => `id: ${id}\ndata: {"n":${id}}\n\n`;
const done = 'event: done\n\n';

async function collect<T>(stream: AsyncIterable<T>): Promise<{ items: T[]; error?: unknown }> {
  const items: T[] = [];
  try {
    for await (const item of stream) items.push(item);
  } catch (error) {
    return { items, error };
  }
  return { items };
}

describe('an event stream', () => {
  it('gives parsed data until the server says done', async () => {
    server.reply(sse([event(1), ': ping\n\n', event(2), `${done}data: {"n":3}\n\n`]));
    expect(await collect(client({ apiKey: 'k' }).stream(logs, { id: 'r1' }))).toEqual({
      items: [{ n: 1 }, { n: 2 }],
    });
    expect(server.seen[0]).toMatchObject({ method: 'GET', target: '/runs/r1/logs' });
    expect(server.seen[0]?.headers).toMatchObject({ accept: 'text/event-stream', authorization: 'Bearer k' });
    expect(server.seen[0]?.headers).not.toHaveProperty('last-event-id');
  });

  it('reads characters, lines and events that are cut between two pieces', async () => {
    const bytes = new TextEncoder().encode(
      '\ufeffid: 1\r\ndata: {"text":\r\ndata: "a€😀"}\r\n\r\nevent: done\r\n\r\n',
    );
    server.reply(sse(Array.from(bytes, (byte) => Uint8Array.of(byte))));
    expect(await collect(client().stream(logs, { id: 'r1' }))).toEqual({ items: [{ text: 'a€😀' }] });
  });

  it('calls back for each event in order, waiting for each', async () => {
    server.reply(sse([event(1) + event(2) + done]));
    const seen: unknown[] = [];
    await client()
      .stream<{ n: number }>(logs, { id: 'r1' })
      .forEach(async (data, raw) => {
        seen.push(`begin ${data.n}`);
        await new Promise((resolve) => setImmediate(resolve));
        seen.push(`end ${data.n} ${raw.id}`);
      });
    expect(seen).toEqual(['begin 1', 'end 1 1', 'begin 2', 'end 2 2']);
  });

  it('requests nothing before it is iterated, and can be iterated once', async () => {
    server.reply(sse([done]));
    const stream = client().stream(logs, { id: 'r1' });
    expect(server.seen).toHaveLength(0);
    await collect(stream);
    expect((await collect(stream)).error).toMatchObject({
      message: expect.stringContaining('iterated once'),
    });
  });

  it('ends on an answer without content', async () => {
    server.reply({ status: 204 });
    expect(await collect(client().stream(logs, { id: 'r1' }))).toEqual({ items: [] });
  });
});

describe('a broken event stream', () => {
  it('is resumed behind the last event, which replaces the starting point of the caller', async () => {
    server.reply(sse([event(1), event(2)]), sse([event(3)], 'reset'), sse([event(4), done]));
    const { items, error } = await collect(client().stream(logs, { id: 'r1', after: '0', follow: true }));
    expect(error).toBeUndefined();
    expect(items).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }, { n: 4 }]);
    expect(server.seen.map((request) => [request.target, request.headers['last-event-id']])).toEqual([
      ['/runs/r1/logs?after=0&follow=true', undefined],
      ['/runs/r1/logs?follow=true', '2'],
      ['/runs/r1/logs?follow=true', '3'],
    ]);
    expect(runtime.pauses).toEqual([250, 250]);
  });

  it('is given up when reconnecting brings nothing new', async () => {
    server.reply(sse([event(1)]), sse([]), sse([]), sse([]));
    const { items, error } = await collect(client().stream(logs, { id: 'r1' }));
    expect(items).toEqual([{ n: 1 }]);
    expect(error).toBeInstanceOf(SvcConnectionError);
    expect(error).toMatchObject({
      message: 'GET /runs/{id}/logs broke off 3 times in a row without a new event',
    });
    expect(runtime.pauses).toEqual([250, 500]);
  });

  it('is not resumed when its events carry no id, because some would come twice', async () => {
    server.reply(sse(['data: 1\n\n']), sse([done]));
    const { items, error } = await collect(client().stream(logs, { id: 'r1' }));
    expect(items).toEqual([1]);
    expect(error).toMatchObject({ message: expect.stringContaining('carry no id to resume from') });
    expect(server.seen).toHaveLength(1);
  });

  it('is connected again when it broke before its first event', async () => {
    server.reply(sse([': ping\n\n']), sse(['data: 1\n\n', done]));
    expect(await collect(client().stream(logs, { id: 'r1' }))).toEqual({ items: [1] });
  });

  it('drops an event that was cut off and takes it from the next connection', async () => {
    server.reply(sse([event(1), 'id: 2\ndata: {"n"'], 'reset'), sse([event(2), done]));
    expect(await collect(client().stream(logs, { id: 'r1' }))).toEqual({ items: [{ n: 1 }, { n: 2 }] });
    expect(server.seen[1]?.headers['last-event-id']).toBe('1');
  });

  it('is noticed after 45 s of silence', async () => {
    server.reply(sse([event(1)], 'hang'), sse([event(2), done]));
    const iterator = client().stream(logs, { id: 'r1' })[Symbol.asyncIterator]();
    expect((await iterator.next()).value).toEqual({ n: 1 });
    const next = iterator.next();
    while (runtime.pending(45_000) === 0) await new Promise((resolve) => setImmediate(resolve));
    runtime.fire(45_000);
    expect((await next).value).toEqual({ n: 2 });
    expect((await iterator.next()).done).toBe(true);
  });

  it('is not taken for silent while the consumer is slow', async () => {
    server.reply(sse([event(1), event(2), done]));
    const iterator = client().stream(logs, { id: 'r1' })[Symbol.asyncIterator]();
    await iterator.next();
    expect(runtime.pending(45_000)).toBe(0);
    await iterator.return(undefined);
  });

  it('uses the ordinary retries for connecting', async () => {
    server.reply({ status: 503 }, reset, sse([event(1), done]));
    expect(await collect(client().stream(logs, { id: 'r1' }))).toEqual({ items: [{ n: 1 }] });
    expect(server.seen).toHaveLength(3);
  });
});

describe('an event stream ends with an error', () => {
  it('that the server sends as an event', async () => {
    const body = {
      error: {
        code: 'internal',
        message: 'log store is gone',
        requestId: 'req_e',
        retryable: false,
        status: 500,
      },
    };
    server.reply(sse([event(1), `event: error\ndata: ${JSON.stringify(body)}\n\n`]), sse([done]));
    const { items, error } = await collect(client().stream(logs, { id: 'r1' }));
    expect(items).toEqual([{ n: 1 }]);
    expect(error).toBeInstanceOf(SvcServerError);
    expect(error).toMatchObject({ code: 'internal', message: 'log store is gone', requestId: 'req_e', body });
    expect(server.seen).toHaveLength(1);
  });

  it('that the server sends without its envelope or as text', async () => {
    server.reply(
      sse(['event: error\ndata: {"code":"gone","message":"m"}\n\n']),
      sse(['event: error\ndata: oops\n\n']),
    );
    expect((await collect(client().stream(logs, { id: 'r1' }))).error).toMatchObject({
      code: 'gone',
      message: 'm',
      requestId: 'req_s',
    });
    expect((await collect(client().stream(logs, { id: 'r1' }))).error).toMatchObject({
      code: 'stream_error',
      body: 'oops',
    });
  });

  it('when the first answer is one', async () => {
    server.reply({ status: 404, body: { error: { code: 'not_found', message: 'no run' } } });
    expect((await collect(client().stream(logs, { id: 'r1' }))).error).toBeInstanceOf(SvcNotFoundError);
  });

  it('when the answer is no event stream', async () => {
    server.reply({ body: '<html>', headers: { 'content-type': 'text/html' } });
    expect((await collect(client().stream(logs, { id: 'r1' }))).error).toMatchObject({
      code: 'invalid_response',
      message: 'GET /runs/{id}/logs answered 200 with text/html, not an event stream',
    });
  });

  it('when data is not JSON', async () => {
    server.reply(sse(['data: {\n\n']));
    expect((await collect(client().stream(logs, { id: 'r1' }))).error).toMatchObject({
      code: 'invalid_response',
      body: '{',
    });
  });

  it('when the path is incomplete', async () => {
    expect((await collect(client().stream(logs, {}))).error).toBeInstanceOf(TypeError);
  });
});

describe('leaving an event stream', () => {
  it('by break closes the connection', async () => {
    server.reply(sse([event(1), event(2)], 'hang'));
    for await (const item of client().stream(logs, { id: 'r1' })) {
      expect(item).toEqual({ n: 1 });
      break;
    }
    await server.left(0);
    expect(runtime.pending(45_000)).toBe(0);
  });

  it('by the signal or abort() ends a waiting iteration', async () => {
    for (const way of ['signal', 'abort'] as const) {
      server.reply(sse([event(1)], 'hang'));
      const controller = new AbortController();
      const stream = client().stream(logs, { id: 'r1' }, { signal: controller.signal });
      const iterator = stream[Symbol.asyncIterator]();
      await iterator.next();
      const next = iterator.next().catch((error: unknown) => error);
      if (way === 'signal') controller.abort(new Error('enough'));
      else stream.abort(new Error('enough'));
      expect(await next).toBeInstanceOf(SvcAbortError);
      expect(await next).toMatchObject({ cause: { message: 'enough' } });
      await server.left(server.seen.length - 1);
    }
  });

  it('by the signal during the pause before reconnecting sends nothing more', async () => {
    runtime = createFakeRuntime({ heldMs: [250, 8_000, 45_000] });
    server.reply(sse([event(1)]));
    const controller = new AbortController();
    const result = collect(client().stream(logs, { id: 'r1' }, { signal: controller.signal }));
    while (runtime.pending(250) === 0) await new Promise((resolve) => setImmediate(resolve));
    controller.abort();
    expect((await result).error).toBeInstanceOf(SvcApiError);
    expect(server.seen).toHaveLength(1);
  });

  it('by an error of the callback closes the connection and rethrows', async () => {
    server.reply(sse([event(1)], 'hang'));
    const failing = client()
      .stream(logs, { id: 'r1' })
      .forEach(() => {
        throw new Error('mine');
      });
    await expect(failing).rejects.toThrow('mine');
    await server.left(0);
  });
});
