import { create, fromBinary, toBinary, type DescMessage, type Message } from '@bufbuild/protobuf';
import { Code } from '@connectrpc/connect';
import * as grpc from '@grpc/grpc-js';
import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it } from 'vitest';
import {
  GetRequestSchema,
  type LogEvent,
  LogEventSchema,
  SandboxRunSchema,
  SandboxRunsService,
  type SandboxRun,
  StreamLogsRequestSchema,
} from '../gen/svc/sandboxruns/v1/sandboxruns_pb.ts';
import { toConnectError } from './connect-errors.ts';
import { apiError } from './errors.ts';
import { doorOfTest as open, type TestAnswers, type TestDoor } from './testing/app.ts';
import { waitFor } from '../../test/setup/wait-for.ts';

const RUNS = SandboxRunsService.typeName;

const getRun: NonNullable<TestAnswers['invoke']> = (call, request) => {
  call.responseHeaders.set('x-seen', `${call.protocol} ${call.header('authorization') ?? '-'}`);
  const { runId } = request as unknown as { runId: string };
  if (runId === 'missing') throw apiError('not_found', 'no run missing', { details: { runId, note: 'ü' } });
  return create(SandboxRunSchema, { id: runId });
};

const post = (body: string | Uint8Array, headers: Record<string, string> = {}): RequestInit => ({
  method: 'POST',
  body,
  headers: { 'content-type': 'application/json', ...headers },
});

describe('Connect', () => {
  it('answers JSON and binary, unary POST and GET', async () => {
    const door = await open({ invoke: getRun });
    const url = `${door.url}/${RUNS}/Get`;
    const viaJson = await fetch(url, post('{"runId":"run_1"}', { authorization: 'Bearer x' }));
    expect([
      viaJson.status,
      viaJson.headers.get('x-seen'),
      viaJson.headers.get('x-request-id')?.slice(0, 4),
    ]).toEqual([200, 'connect Bearer x', 'req_']);
    expect(await viaJson.json()).toMatchObject({ id: 'run_1', attempt: 0 });
    const binary = await fetch(
      url,
      post(toBinary(GetRequestSchema, create(GetRequestSchema, { runId: 'run_2' })), {
        'content-type': 'application/proto',
      }),
    );
    expect(fromBinary(SandboxRunSchema, new Uint8Array(await binary.arrayBuffer())).id).toBe('run_2');
    const get = await fetch(
      `${url}?connect=v1&encoding=json&message=${encodeURIComponent('{"runId":"run_3"}')}`,
    );
    expect([get.status, ((await get.json()) as { id: string }).id]).toEqual([200, 'run_3']);
    const packed = gzipSync('{"runId":"run_4"}').toString('base64url');
    const packedGet = await fetch(
      `${url}?connect=v1&encoding=json&base64=1&compression=gzip&message=${packed}`,
    );
    expect(((await packedGet.json()) as { id: string }).id).toBe('run_4');
    expect(door.records.map((record) => [record.protocol, record.status])).toEqual(
      Array.from({ length: 4 }, () => ['connect', 200]),
    );
  });

  it('reads gzip and bounds what it unpacks to', async () => {
    const door = await open({ invoke: getRun });
    const url = `${door.url}/${RUNS}/Get`;
    const packed = await fetch(url, post(gzipSync('{"runId":"run_1"}'), { 'content-encoding': 'gzip' }));
    expect(packed.status).toBe(200);
    const bomb = await fetch(
      url,
      post(gzipSync(Buffer.alloc(50_000_000, ' ')), { 'content-encoding': 'gzip' }),
    );
    expect([
      bomb.status,
      ((await bomb.json()) as { code: string }).code,
      bomb.headers.get('x-error-code'),
    ]).toEqual([429, 'resource_exhausted', 'body_too_large']);
    const large = await fetch(url, post(Buffer.alloc(1_100_000, ' ')));
    expect([large.status, large.headers.get('x-error-code')]).toEqual([429, 'body_too_large']);
  });

  it('tells an error by its own code, and ours beside it', async () => {
    const door = await open({ invoke: getRun });
    const response = await fetch(`${door.url}/${RUNS}/Get`, post('{"runId":"missing"}'));
    expect([response.status, await response.json()]).toEqual([
      404,
      { code: 'not_found', message: 'no run missing' },
    ]);
    expect(response.headers.get('x-error-code')).toBe('not_found');
    expect(JSON.parse(response.headers.get('x-error-details') ?? '')).toEqual({
      runId: 'missing',
      note: 'ü',
    });
    expect(door.records).toMatchObject([{ protocol: 'connect', status: 404, code: 'not_found' }]);
  });

  it.each([
    ['an unknown JSON field', '{"runIdd":"x"}', {}, 400, 'invalid_argument'],
    ['the same key twice', '{"runId":"x","runId":"y"}', {}, 400, 'invalid_argument'],
    ['NUL in text', '{"runId":"a\\u0000"}', {}, 400, 'invalid_argument'],
    ['half of a surrogate pair', '{"runId":"\\ud800"}', {}, 400, 'invalid_argument'],
    ['broken JSON', '{', {}, 400, 'invalid_argument'],
    ['an unreadable deadline', '{}', { 'connect-timeout-ms': 'abc' }, 400, 'invalid_argument'],
    ['a deadline of 0', '{}', { 'connect-timeout-ms': '0' }, 504, 'deadline_exceeded'],
    [
      'truncated gzip',
      gzipSync('{"runId":"run_1"}').subarray(0, -5),
      { 'content-encoding': 'gzip' },
      400,
      'invalid_argument',
    ],
    ['an unknown compression', '{}', { 'content-encoding': 'zstd' }, 501, 'unimplemented'],
  ] as const)('refuses %s', async (_what, body, headers, status, code) => {
    const slow: TestAnswers['invoke'] = () => new Promise(() => {});
    const door = await open({ invoke: 'connect-timeout-ms' in headers ? slow : getRun });
    const response = await fetch(`${door.url}/${RUNS}/Get`, post(body, headers));
    const answer = (await response.json()) as { code: string };
    expect([response.status, answer.code], JSON.stringify(answer)).toEqual([status, code]);
  });

  it('refuses a broken rule, with the fields', async () => {
    const door = await open({ invoke: getRun });
    const response = await fetch(`${door.url}/${RUNS}/Create`, post('{"teamId":"t","command":[]}'));
    expect([response.status, response.headers.get('x-error-code')]).toEqual([400, 'validation_failed']);
    expect(JSON.parse(response.headers.get('x-error-details') ?? '')).toMatchObject({
      fields: [{ field: 'command', rule: 'repeated.min_items' }],
    });
  });

  it('allows GET only without side effects, and no foreign content-type', async () => {
    const door = await open({ invoke: getRun });
    const create_ = await fetch(`${door.url}/${RUNS}/Create?encoding=json&message={}`);
    expect([create_.status, create_.headers.get('allow')]).toEqual([405, 'POST']);
    expect(await create_.json()).toMatchObject({ error: { code: 'method_not_allowed' } });
    const text = await fetch(`${door.url}/${RUNS}/Get`, post('x', { 'content-type': 'text/plain' }));
    expect([text.status, await text.json()]).toMatchObject([
      415,
      { error: { code: 'unsupported_media_type' } },
    ]);
  });

  it('asks for credentials before it reads a body, and tells so in its own protocol', async () => {
    const door = await open({
      invoke: getRun,
      admit: () => {
        throw apiError('credentials_missing', 'send a token');
      },
    });
    for (const [path, init] of [
      ['Get', post('{{{')],
      ['Get?encoding=json&message={{{', {}],
      ['Create', post('{}')],
    ] as const) {
      const response = await fetch(`${door.url}/${RUNS}/${path}`, init);
      expect([
        response.status,
        await response.json(),
        response.headers.get('www-authenticate'),
      ]).toMatchObject([401, { code: 'unauthenticated' }, 'Bearer']);
    }
  });

  it('hands the raw body to its check, and goes on with the same bytes', async () => {
    const bodies: number[] = [];
    const door = await open({ invoke: getRun, admitBody: (_call, body) => void bodies.push(body.length) });
    expect((await fetch(`${door.url}/${RUNS}/Get`, post('{"runId":"run_1"}'))).status).toBe(200);
    expect(bodies).toEqual(['{"runId":"run_1"}'.length]);
  });

  it('streams in envelopes', async () => {
    const door = await open({
      stream: async function* () {
        yield create(LogEventSchema, { position: '1-1' });
        throw apiError('unavailable', 'later');
      },
    });
    const body = Buffer.concat([Buffer.from([0, 0, 0, 0, 14]), Buffer.from('{"runId":"r1"}')]);
    const response = await fetch(
      `${door.url}/${RUNS}/StreamLogs`,
      post(body, { 'content-type': 'application/connect+json' }),
    );
    const bytes = Buffer.from(await response.arrayBuffer());
    const first = bytes.readUInt32BE(1);
    expect([response.status, bytes[0], JSON.parse(bytes.toString('utf8', 5, 5 + first))]).toMatchObject([
      200,
      0,
      { position: '1-1' },
    ]);
    const end = bytes.subarray(5 + first);
    expect([end[0], JSON.parse(end.toString('utf8', 5))]).toMatchObject([
      2,
      { error: { code: 'unavailable', message: 'later' }, metadata: {} },
    ]);
  });
});

describe('gRPC-Web', () => {
  it('answers with its trailers in the body', async () => {
    const door = await open({ invoke: getRun });
    const frame = (message: Uint8Array): Buffer => {
      const head = Buffer.alloc(5);
      head.writeUInt32BE(message.length, 1);
      return Buffer.concat([head, message]);
    };
    const ask = async (runId: string): Promise<string> => {
      const body = frame(toBinary(GetRequestSchema, create(GetRequestSchema, { runId })));
      const response = await fetch(
        `${door.url}/${RUNS}/Get`,
        post(body, { 'content-type': 'application/grpc-web+proto' }),
      );
      expect(response.status).toBe(200);
      return Buffer.from(await response.arrayBuffer()).toString('latin1');
    };
    expect(await ask('run_1')).toMatch(/run_1[^]*grpc-status: 0/);
    expect(await ask('missing')).toMatch(/grpc-status: 5[^]*|x-error-code: not_found/);
    expect(door.records.map((record) => [record.protocol, record.status])).toEqual([
      ['grpcweb', 200],
      ['grpcweb', 404],
    ]);
  });
});

function serialise<T extends DescMessage>(desc: T): (message: Message) => Buffer {
  return (message) => Buffer.from(toBinary(desc, message as never));
}

describe('gRPC from grpc-js', () => {
  let client: grpc.Client | undefined;
  afterEach(() => client?.close());

  const connect = (door: TestDoor): grpc.Client =>
    (client = new grpc.Client(`127.0.0.1:${door.port}`, grpc.credentials.createInsecure()));
  const callGet = (runId: string, options: grpc.CallOptions = {}, method = 'Get'): Promise<SandboxRun> =>
    new Promise((resolve, reject) => {
      client?.makeUnaryRequest(
        `/${RUNS}/${method}`,
        serialise(GetRequestSchema),
        (bytes) => fromBinary(SandboxRunSchema, bytes),
        create(GetRequestSchema, { runId }) as Message,
        new grpc.Metadata(),
        options,
        (error, value) => (value === undefined ? reject(error as Error) : resolve(value)),
      );
    });

  const refusal = (...call: Parameters<typeof callGet>): Promise<grpc.ServiceError> =>
    callGet(...call).then(
      ({ id }) => expect.fail(`it was answered with ${id}`),
      (error: grpc.ServiceError) => error,
    );

  const followLogs = (door: TestDoor): grpc.ClientReadableStream<LogEvent> =>
    connect(door).makeServerStreamRequest(
      `/${RUNS}/StreamLogs`,
      serialise(StreamLogsRequestSchema),
      (bytes) => fromBinary(LogEventSchema, bytes),
      create(StreamLogsRequestSchema, { runId: 'r' }) as Message,
    );

  it('gets an answer', async () => {
    const door = await open({ invoke: getRun });
    connect(door);
    expect((await callGet('run_9')).id).toBe('run_9');
    expect(door.records).toMatchObject([{ protocol: 'grpc', status: 200 }]);
  });

  it.each(['x', 'ü', '😀'])(
    'holds a text without a rule of its own to 1,024 characters such as %s, as JSON does',
    async (character) => {
      const door = await open({ invoke: getRun });
      connect(door);
      const outcomes = async (runId: string) => {
        const viaJson = await fetch(`${door.url}/${RUNS}/Get`, post(JSON.stringify({ runId })));
        const answer = (await viaJson.json()) as { id?: string; message?: string };
        const viaGrpc = await callGet(runId).then(
          ({ id }) => id,
          ({ details }: grpc.ServiceError) => decodeURIComponent(details),
        );
        return [answer.id ?? answer.message, viaGrpc];
      };
      const [most, more] = [character.repeat(1_024), character.repeat(1_025)];
      expect(await outcomes(most)).toEqual([most, most]);
      const said = 'runId: must be at most 1024 characters, is 1025 characters long';
      expect(await outcomes(more)).toEqual([said, said]);
    },
  );

  it('gets an error with its code, text and our code in the trailers', async () => {
    connect(await open({ invoke: getRun }));
    const error = await refusal('missing');
    expect([
      error.code,
      error.details,
      error.metadata.get('x-error-code'),
      error.metadata.get('x-request-id')[0]?.slice(0, 4),
    ]).toEqual([5, 'no run missing', ['not_found'], 'req_']);
  });

  it('gets UNIMPLEMENTED for an unknown RPC and DEADLINE_EXCEEDED when late', async () => {
    connect(await open({ invoke: () => new Promise(() => {}) }));
    expect((await refusal('x', {}, 'Nope')).code).toBe(12);
    expect((await refusal('x', { deadline: Date.now() + 50 })).code).toBe(4);
  });

  it('gets a stream, and an error in the middle of one', async () => {
    const door = await open({
      stream: async function* () {
        yield create(LogEventSchema, { position: '1-1' });
        yield create(LogEventSchema, { position: '1-2' });
        throw apiError('unavailable', 'later');
      },
    });
    const stream = followLogs(door);
    const positions: string[] = [];
    const error = await new Promise<grpc.ServiceError>((resolve) => {
      stream.on('data', (item: LogEvent) => positions.push(item.position));
      stream.on('error', (thrown) => resolve(thrown as grpc.ServiceError));
    });
    expect([positions, error.code, error.details]).toEqual([['1-1', '1-2'], 14, 'later']);
  });

  it('ends the generator when the client cancels', async () => {
    let ended = 0;
    const door = await open({
      stream: async function* (call) {
        try {
          yield create(LogEventSchema, { position: '1-1' });
          await new Promise((_resolve, reject) => {
            call.signal.addEventListener('abort', () => reject(call.signal.reason as Error));
          });
        } finally {
          ended++;
        }
      },
    });
    const stream = followLogs(door);
    stream.on('error', () => {});
    await new Promise((resolve) => stream.once('data', resolve));
    stream.cancel();
    await waitFor(
      () => [ended, door.records],
      () => ended === 1 && door.records.length === 1,
    );
    expect(door.records).toMatchObject([{ protocol: 'grpc', status: 499 }]);
  });

  it('refuses a message over the limit, an envelope of 4 GiB and one cut short', async () => {
    const door = await open({ invoke: getRun });
    connect(door);
    expect((await refusal('x'.repeat(1_200_000))).code).toBe(8);
    for (const bytes of [
      Buffer.from([0, 0xff, 0xff, 0xff, 0xff, 1]),
      Buffer.from([0, 0, 0, 0, 9, 1]),
      Buffer.from([0, 0]),
      Buffer.alloc(0),
    ]) {
      const response = await fetch(
        `${door.url}/${RUNS}/Get`,
        post(bytes, { 'content-type': 'application/grpc-web+proto' }),
      );
      expect(Buffer.from(await response.arrayBuffer()).toString('latin1')).not.toContain('grpc-status: 0\r');
    }
  });
});

describe('toConnectError()', () => {
  it('carries code, particulars and patience in ASCII metadata', () => {
    const details = { nextOffset: 5, text: 'ä€😀' };
    const error = toConnectError(
      apiError('log_gap', 'offset 9 is beyond 5', { details, retryAfterMs: 1500, retryable: true }),
      'req_1',
    );
    const { 'x-error-details': json = '', ...rest } = Object.fromEntries(error.metadata);
    expect([error.code, error.rawMessage, rest]).toEqual([
      Code.OutOfRange,
      'offset 9 is beyond 5',
      { 'retry-after': '2', 'x-error-code': 'log_gap', 'x-error-retryable': 'true', 'x-request-id': 'req_1' },
    ]);
    expect([/^[ -~]*$/.test(json), JSON.parse(json)]).toEqual([true, details]);
  });

  it('leaves out details that are too long for a header', () => {
    const error = toConnectError(
      apiError('not_found', 'no', { details: { text: 'x'.repeat(5000) } }),
      'req_1',
    );
    expect([...error.metadata.keys()]).toEqual(['x-error-code', 'x-error-retryable', 'x-request-id']);
  });
});
