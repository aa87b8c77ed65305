import { beforeEach, describe, expect, it } from 'vitest';
import { Client } from './client.ts';
import { SvcAbortError, SvcConnectionError, SvcNotFoundError, SvcTimeoutError } from './errors.ts';
import { STREAM_IDLE_MS } from './event-stream.ts';
import type { Operation } from './operation.ts';
import { createFakeRuntime, type FakeRuntime } from './testing/fake-runtime.ts';
import { useFakeServer, type ScriptedReply } from './testing/fake-server.ts';

const file: Operation = { method: 'GET', path: '/files/{name}', raw: true };
const pieces = [new Uint8Array([0, 255]), new Uint8Array([1, 254, 13])];
const all = Buffer.concat(pieces);

const server = useFakeServer();
let runtime: FakeRuntime;
let client: Client;
beforeEach(() => {
  runtime = createFakeRuntime();
  client = new Client({ baseUrl: server.baseUrl }, runtime);
});

const bytes = (then: ScriptedReply['then'] = 'end'): ScriptedReply => ({
  headers: { 'content-type': 'image/png' },
  chunks: pieces,
  then,
});
const missing: ScriptedReply = {
  status: 404,
  body: { error: { code: 'not_found', message: 'no such file' } },
};

describe('bytes()', () => {
  it('answers the bytes as they are, and what they are', async () => {
    server.reply(bytes());
    const { data, response } = await client.bytes(file, { name: 'a b' }).withResponse();
    expect(data).toBeInstanceOf(Uint8Array);
    expect(Buffer.from(data)).toEqual(all);
    expect(response.headers.get('content-type')).toBe('image/png');
    expect(server.seen[0]).toMatchObject({ target: '/files/a%20b', headers: { accept: '*/*' } });
  });

  it('answers nothing as no bytes, and an error as an error', async () => {
    server.reply({ status: 200 }, missing);
    expect(await client.bytes(file, { name: 'a' })).toEqual(new Uint8Array());
    await expect(client.bytes(file, { name: 'a' })).rejects.toThrow(SvcNotFoundError);
  });
});

describe('byteStream()', () => {
  it('gives all of it at once, as bytes or as text whose letters came in two pieces', async () => {
    const text = 'Zürich,1.20\n€ 3';
    const [head, tail] = [Buffer.from(text).subarray(0, 2), Buffer.from(text).subarray(2)];
    server.reply(bytes(), { chunks: [head, tail] }, { status: 200 }, missing, bytes('reset'));
    expect(Buffer.from(await client.byteStream(file, { name: 'a' }).bytes())).toEqual(all);
    expect(await client.byteStream(file, { name: 'a' }).text()).toBe(text);
    expect(await client.byteStream(file, { name: 'a' }).text()).toBe('');
    await expect(client.byteStream(file, { name: 'a' }).text()).rejects.toThrow(SvcNotFoundError);
    await expect(client.byteStream(file, { name: 'a' }).bytes()).rejects.toThrow(SvcConnectionError);
  });

  it('gives the bytes as they come, after the usual retries', async () => {
    server.reply({ status: 503 }, bytes());
    const stream = client.byteStream(file, { name: 'a' });
    expect(await stream.contentType()).toBe('image/png');
    const taken: Uint8Array[] = [];
    await stream.forEach((chunk) => taken.push(chunk));
    expect(Buffer.concat(taken)).toEqual(all);
    expect(server.seen.length).toBe(2);
  });

  it('can be taken once', async () => {
    server.reply(bytes());
    const stream = client.byteStream(file, { name: 'a' });
    await stream.forEach(() => undefined);
    await expect(stream.forEach(() => undefined)).rejects.toThrow('can be iterated once');
    expect(server.seen.length).toBe(1);
  });

  it('says what refused it', async () => {
    server.reply(missing);
    await expect(client.byteStream(file, { name: 'a' }).contentType()).rejects.toThrow('no such file');
  });

  it('fails where the connection breaks off, and does not begin again', async () => {
    server.reply(bytes('reset'), bytes());
    const taken: Uint8Array[] = [];
    const failing = client.byteStream(file, { name: 'a' }).forEach((chunk) => taken.push(chunk));
    await expect(failing).rejects.toThrow(SvcConnectionError);
    expect(all.subarray(0, Buffer.concat(taken).length)).toEqual(Buffer.concat(taken));
    expect(server.seen.length).toBe(1);
  });

  it('gives up after a long silence, and not while its bytes are being used', async () => {
    server.reply({ chunks: pieces.slice(0, 1), then: 'hang' });
    let pendingMeanwhile: number | undefined;
    const failing = client.byteStream(file, { name: 'a' }).forEach(() => {
      pendingMeanwhile = runtime.pending(STREAM_IDLE_MS);
    });
    const refused = expect(failing).rejects.toThrow(SvcTimeoutError);
    await expect.poll(() => pendingMeanwhile).toBe(0);
    await expect.poll(() => runtime.pending(STREAM_IDLE_MS)).toBe(1);
    runtime.fire(STREAM_IDLE_MS);
    await refused;
  });

  it('closes the connection when the loop is left, and at an abort from either side', async () => {
    server.reply(bytes('hang'), bytes('hang'), bytes('hang'));
    for await (const chunk of client.byteStream(file, { name: 'a' })) {
      expect(chunk.length).toBeGreaterThan(0);
      break;
    }
    await server.left(0);
    const stream = client.byteStream(file, { name: 'b' });
    await expect(stream.forEach(() => stream.abort())).rejects.toThrow(SvcAbortError);
    await server.left(1);
    const controller = new AbortController();
    const other = client.byteStream(file, { name: 'c' }, { signal: controller.signal });
    await expect(other.forEach(() => controller.abort())).rejects.toThrow(SvcAbortError);
    await server.left(2);
  });
});
