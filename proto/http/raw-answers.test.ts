/** These tests send answers of raw bytes (google.api.HttpBody) on a real socket. */
import { create, type DescMethod, type Message } from '@bufbuild/protobuf';
import { connect, constants } from 'node:http2';
import { describe, expect, it } from 'vitest';
import { HttpBodySchema } from '../gen/google/api/httpbody_pb.ts';
import { apiError } from './errors.ts';
import { doorOfTest, testApp, type TestAnswers, type TestDoor } from './testing/app.ts';
import { waitFor } from '../../test/setup/wait-for.ts';
import { compileProtos, rpcOf } from './testing/fixture.ts';

const registry = compileProtos({
  'google/api/httpbody.proto':
    'syntax = "proto3"; package google.api; message HttpBody { string content_type = 1; bytes data = 2; }',
  'files/v1/files.proto': `
    syntax = "proto3";
    package files.v1;
    import "google/api/httpbody.proto";
    message Request {}
    service FilesService {
      rpc Read(Request) returns (google.api.HttpBody);
      rpc Follow(Request) returns (stream google.api.HttpBody);
    }`,
});

function method(name: string): DescMethod {
  const found = registry.getService('files.v1.FilesService')?.methods.find((item) => item.name === name);
  if (found === undefined) throw new Error(`no ${name}`);
  return found;
}

const READ = rpcOf(method('Read'), {
  verb: 'GET',
  template: '/read',
  segments: [{ literal: 'read' }],
});
const FOLLOW = rpcOf(method('Follow'), {
  verb: 'GET',
  template: '/follow',
  segments: [{ literal: 'follow' }],
});
const SHORT = { ...FOLLOW, timeoutMs: 200 };

const open = (answers: TestAnswers, follow = FOLLOW): Promise<TestDoor> =>
  doorOfTest(answers, { apps: [testApp(answers, [READ, follow])] });

const raw = (data: string | Uint8Array, contentType = 'text/plain; charset=utf-8'): Message =>
  create(HttpBodySchema, { contentType, data: typeof data === 'string' ? Buffer.from(data) : data });

describe('an answer of raw bytes', () => {
  it('has the content type that the message states, or says that it is bytes', async () => {
    const bytes = Buffer.from([0, 255, 1, 254]);
    let contentType = 'image/png';
    const door = await open({ invoke: () => raw(bytes, contentType) });
    const image = await fetch(`${door.url}/read`);
    expect(image.headers.get('content-type')).toBe('image/png');
    expect(image.headers.get('content-length')).toBe('4');
    expect(Buffer.from(await image.arrayBuffer())).toEqual(bytes);
    contentType = '';
    const unknown = await fetch(`${door.url}/read`);
    expect(unknown.headers.get('content-type')).toBe('application/octet-stream');
  });
});

describe('a stream of raw bytes', () => {
  const parts = ['first ', '', 'second', ' third'];

  it('is the bytes of all messages, with nothing between them', async () => {
    const door = await open({
      stream: async function* () {
        for (const part of parts) yield raw(part);
      },
    });
    const answer = await fetch(`${door.url}/follow`, { headers: { accept: 'text/event-stream' } });
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/plain; charset=utf-8']);
    expect(await answer.text()).toBe('first second third');
    expect(door.records).toMatchObject([{ status: 200, code: undefined }]);
  });

  it('is no bytes when there is no message', async () => {
    const door = await open({
      stream: async function* () {
        yield* [];
      },
    });
    const answer = await fetch(`${door.url}/follow`);
    expect([answer.status, await answer.text()]).toEqual([200, '']);
  });

  it('is an ordinary error while nothing of it is out', async () => {
    const door = await open({
      // eslint-disable-next-line require-yield -- It fails before its first message.
      stream: async function* () {
        await Promise.resolve();
        throw apiError('not_found', 'no such file');
      },
    });
    const answer = await fetch(`${door.url}/follow`);
    expect(answer.status).toBe(404);
    expect(await answer.json()).toMatchObject({ error: { code: 'not_found' } });
  });

  /** Fails when the test says so: what was written before it must have come. */
  async function openFailing(): Promise<{ door: TestDoor; fail: () => void }> {
    let fail = (): void => {};
    const told = new Promise<void>((resolve) => (fail = resolve));
    const door = await open({
      stream: async function* () {
        yield raw('begun');
        await told;
        throw apiError('unavailable', 'the disk is gone');
      },
      invoke: () => raw('whole'),
    });
    return { door, fail };
  }

  it('is broken off where it fails later, on HTTP/1.1', async () => {
    const { door, fail } = await openFailing();
    const answer = await fetch(`${door.url}/follow`);
    const reader = answer.body?.getReader();
    expect(Buffer.from((await reader?.read())?.value ?? []).toString()).toBe('begun');
    fail();
    await expect(reader?.read()).rejects.toThrow();
    expect(door.records).toMatchObject([{ status: 503, code: 'unavailable' }]);
  });

  it('is broken off where it fails later, on HTTP/2, and the connection lives on', async () => {
    const { door, fail } = await openFailing();
    const session = connect(door.url);
    const ask = async (path: string, onData: () => void): Promise<[body: string, code: number]> => {
      const stream = session.request({ ':path': path });
      let body = '';
      stream.on('data', (chunk: Buffer) => {
        body += chunk.toString();
        onData();
      });
      stream.on('error', () => undefined); // The reset, which is what `close` is for.
      await new Promise((resolve) => stream.once('close', resolve));
      return [body, stream.rstCode];
    };
    try {
      expect(await ask('/follow', fail)).toEqual(['begun', constants.NGHTTP2_INTERNAL_ERROR]);
      expect(await ask('/read', () => undefined)).toEqual(['whole', constants.NGHTTP2_NO_ERROR]);
    } finally {
      session.destroy();
    }
  });

  it('is broken off at its deadline, and its producer is told', async () => {
    let closed = false;
    const door = await open(
      {
        stream: async function* (call) {
          try {
            yield raw('begun');
            await new Promise((resolve) => call.signal.addEventListener('abort', resolve));
          } finally {
            closed = true;
          }
        },
      },
      SHORT,
    );
    await expect(fetch(`${door.url}/follow`).then((answer) => answer.text())).rejects.toThrow();
    await waitFor(
      () => closed,
      () => closed,
    );
    expect(door.records).toMatchObject([{ status: 504, code: 'deadline_exceeded' }]);
  });
});
