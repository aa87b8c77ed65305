/** The internal port as another program sees it. */
import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import type { MessageInitShape } from '@bufbuild/protobuf';
import { BinaryReader } from '@bufbuild/protobuf/wire';
import { FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt';
import { Client, Metadata, credentials, status } from '@grpc/grpc-js';
import type { ServiceError } from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  DispatchService,
  ResolveKeyRequestSchema,
  ResolveKeyResponseSchema,
} from '@svc/proto/gen/svc/dispatch/v1/dispatch_pb.ts';
import {
  CallsRequestSchema,
  CallsResponseSchema,
  CallStreamService,
} from '@svc/proto/gen/svc/dispatch/v1/calls_pb.ts';
import type { Answer, CallsRequest, CallsResponse } from '@svc/proto/gen/svc/dispatch/v1/calls_pb.ts';
import { apiError } from '@svc/proto/http/errors.ts';
import type { Handler } from '@svc/proto/http/implement.ts';
import type { DispatchCtx } from './dispatch.ts';
import { ERROR_TRAILER } from '@svc/proto/calls/refusal.ts';
import { startDispatchGrpc } from './grpc.ts';
import type { DispatchGrpc } from './grpc.ts';

const TOKEN = 'a-token-of-sixteen-bytes';
const raw = (bytes: Buffer): Buffer => bytes;
const bearer = (token: string): Metadata => {
  const metadata = new Metadata();
  metadata.set('authorization', `Bearer ${token}`);
  return metadata;
};

describe('the internal port', () => {
  let port: DispatchGrpc;
  let client: Client;
  const errors: unknown[] = [];
  /** Calls that wait until they are given up. */
  let waiting = 0;
  /** Lets those go on that were asked for late. */
  const late: Array<() => void> = [];
  const methodsOf = (handler: Handler<DispatchCtx>) =>
    new Map([[`${DispatchService.typeName}/ResolveKey`, handler]]);
  const resolveKey: Handler<DispatchCtx> = async (request, { signal }) => {
    const { keyId } = request as unknown as { keyId: string };
    if (keyId === 'waits') {
      waiting += 1;
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
      waiting -= 1;
    }
    if (keyId === 'late') await new Promise<void>((resolve) => late.push(resolve));
    if (keyId === 'refused')
      throw apiError('boot_superseded', 'a newer process has taken over', { details: { bootId: 'b' } });
    if (keyId === 'broken') throw new Error('a secret of the inside');
    return create(ResolveKeyResponseSchema, { known: true, runnerId: `runner of ${keyId}` });
  };
  beforeAll(async () => {
    port = await startDispatchGrpc({
      port: 0,
      host: '127.0.0.1',
      token: TOKEN,
      handlers: { service: DispatchService, methods: methodsOf(resolveKey) },
      onError: (error) => errors.push(error),
    });
    client = new Client(`127.0.0.1:${port.port}`, credentials.createInsecure());
  });
  afterAll(async () => {
    client.close();
    await port.stop(1_000);
  });

  const unary = async (path: string, body: Uint8Array, metadata = bearer(TOKEN)): Promise<Buffer> =>
    await new Promise((resolve, reject) => {
      client.makeUnaryRequest(
        path,
        raw,
        raw,
        Buffer.from(body),
        metadata,
        (error: ServiceError | null, answer?: Buffer) => (error === null ? resolve(answer!) : reject(error)),
      );
    });
  const resolve = async (keyId: string, metadata?: Metadata) =>
    await unary(
      `/${DispatchService.typeName}/ResolveKey`,
      toBinary(ResolveKeyRequestSchema, create(ResolveKeyRequestSchema, { keyId })),
      metadata,
    );

  it('answers a call that carries the token', async () => {
    expect(fromBinary(ResolveKeyResponseSchema, await resolve('k1'))).toMatchObject({
      known: true,
      runnerId: 'runner of k1',
    });
  });

  it.each([
    ['no token', new Metadata()],
    ['another token', bearer('another-token-of-it')],
    ['a token of the same length', bearer(TOKEN.replace('a', 'b'))],
  ])('refuses a call with %s', async (_name, metadata) => {
    await expect(resolve('k1', metadata)).rejects.toMatchObject({ code: status.UNAUTHENTICATED });
  });

  it('sends a refusal with its code, its words and its details', async () => {
    const error: ServiceError = await resolve('refused').then(
      () => Promise.reject(new Error('it was not refused')),
      (thrown: ServiceError) => thrown,
    );
    expect(error.code).toBe(status.ABORTED);
    expect(JSON.parse(String(error.metadata.get(ERROR_TRAILER)[0]))).toMatchObject({
      code: 'boot_superseded',
      message: 'a newer process has taken over',
      details: { bootId: 'b' },
    });
  });

  it('keeps what went wrong inside to itself', async () => {
    await expect(resolve('broken')).rejects.toMatchObject({
      code: status.INTERNAL,
      details: expect.not.stringContaining('secret'),
    });
    expect(errors).toHaveLength(1);
  });

  describe('a stream of calls', () => {
    const { calls } = CallStreamService.method;
    const open = (metadata = bearer(TOKEN)) => {
      const stream = client.makeBidiStreamRequest(
        `/${calls.parent.typeName}/${calls.name}`,
        (message: CallsRequest) => Buffer.from(toBinary(CallsRequestSchema, message)),
        (bytes: Buffer) => fromBinary(CallsResponseSchema, bytes),
        metadata,
      );
      const answers = new Map<number, Answer['outcome']>();
      let closing = false;
      stream.on('data', (message: CallsResponse) => {
        for (const { id, outcome } of message.answers) answers.set(id, outcome);
        closing ||= message.closing;
      });
      stream.on('error', () => undefined);
      const ended = new Promise<status>((settle) => stream.on('status', ({ code }) => settle(code)));
      return {
        answers,
        ended,
        closing: () => closing,
        end: () => stream.end(),
        cancel: () => stream.cancel(),
        send: (message: MessageInitShape<typeof CallsRequestSchema>) =>
          stream.write(create(CallsRequestSchema, message)),
      };
    };
    const ask = (id: number, keyId: string, method = 'ResolveKey') => ({
      id,
      method,
      request: toBinary(ResolveKeyRequestSchema, create(ResolveKeyRequestSchema, { keyId })),
    });

    it('answers each call by its number, and ends when its caller has nothing more to ask', async () => {
      const stream = open();
      stream.send({
        calls: [
          ask(1, 'k1'),
          ask(2, 'refused'),
          ask(3, 'k1', 'NoSuchCall'),
          { ...ask(4, ''), request: Uint8Array.of(255) },
        ],
      });
      stream.end();
      expect(await stream.ended).toBe(status.OK);
      const [known, refused, unknown, garbled] = [1, 2, 3, 4].map((id) => stream.answers.get(id));
      expect(fromBinary(ResolveKeyResponseSchema, known!.value as Uint8Array)).toMatchObject({
        runnerId: 'runner of k1',
      });
      expect(JSON.parse(String(refused!.value))).toMatchObject({
        code: 'boot_superseded',
        details: { bootId: 'b' },
      });
      expect(unknown).toEqual({ case: undefined });
      expect(JSON.parse(String(garbled!.value))).toMatchObject({ code: 'internal' });
    });

    it.each([
      ['no token', new Metadata()],
      ['another token', bearer('another-token-of-it')],
    ])('is refused with %s', async (_name, metadata) => {
      const stream = open(metadata);
      stream.send({ calls: [ask(1, 'k1')] });
      expect(await stream.ended).toBe(status.UNAUTHENTICATED);
      expect(stream.answers.size).toBe(0);
    });

    it('tells a call that it was given up, alone or with its stream', async () => {
      const stream = open();
      stream.send({ calls: [ask(1, 'waits'), ask(2, 'waits'), ask(3, 'k1')] });
      await expect.poll(() => waiting).toBe(2);
      stream.send({ givenUp: [1] });
      await expect.poll(() => waiting).toBe(1);
      expect([...stream.answers.keys()]).toContain(3);
      stream.cancel();
      await expect.poll(() => waiting).toBe(0);
    });
  });

  it('asks those who have a stream open to go elsewhere when it stops, and answers what has begun', async () => {
    const handlers = { service: DispatchService, methods: methodsOf(resolveKey) };
    const other = await startDispatchGrpc({
      port: 0,
      host: '127.0.0.1',
      token: TOKEN,
      handlers,
      onError: () => undefined,
    });
    const caller = new Client(`127.0.0.1:${other.port}`, credentials.createInsecure());
    const stream = caller.makeBidiStreamRequest(
      `/${CallStreamService.typeName}/Calls`,
      (message: CallsRequest) => Buffer.from(toBinary(CallsRequestSchema, message)),
      (bytes: Buffer) => fromBinary(CallsResponseSchema, bytes),
      bearer(TOKEN),
    );
    const heard: CallsResponse[] = [];
    stream.on('data', (message: CallsResponse) => heard.push(message));
    const call = {
      id: 1,
      method: 'ResolveKey',
      request: toBinary(ResolveKeyRequestSchema, create(ResolveKeyRequestSchema, { keyId: 'late' })),
    };
    stream.write(create(CallsRequestSchema, { calls: [call] }));
    await expect.poll(() => late.length).toBe(1);
    const stopped = other.stop(10_000);
    await expect.poll(() => heard.some(({ closing }) => closing)).toBe(true);
    stream.end();
    late[0]!();
    await stopped;
    expect(heard.flatMap(({ answers }) => answers).map(({ id, outcome }) => [id, outcome.case])).toEqual([
      [1, 'response'],
    ]);
    caller.close();
  });

  it('tells its health to anybody', async () => {
    expect(await unary('/grpc.health.v1.Health/Check', new Uint8Array(), new Metadata())).toEqual(
      Buffer.from([8, 1]),
    );
    const known = Buffer.from(DispatchService.typeName);
    expect(
      await unary(
        '/grpc.health.v1.Health/Check',
        Buffer.concat([Buffer.from([10, known.length]), known]),
        new Metadata(),
      ),
    ).toEqual(Buffer.from([8, 1]));
    await expect(
      unary('/grpc.health.v1.Health/Check', Buffer.from([10, 1, 120]), new Metadata()),
    ).rejects.toMatchObject({
      code: status.NOT_FOUND,
    });
  });

  it('tells those who watch its health that it stops, and does not wait for them', async () => {
    const handlers = { service: DispatchService, methods: methodsOf(resolveKey) };
    const other = await startDispatchGrpc({ port: 0, token: TOKEN, handlers, onError: () => undefined });
    const watcher = new Client(`127.0.0.1:${other.port}`, credentials.createInsecure());
    const stream = watcher.makeServerStreamRequest('/grpc.health.v1.Health/Watch', raw, raw, Buffer.alloc(0));
    const seen: Buffer[] = [];
    stream.on('data', (bytes: Buffer) => seen.push(bytes));
    const ended = new Promise<status>((settle) => stream.on('status', ({ code }) => settle(code)));
    await expect.poll(() => seen).toEqual([Buffer.from([8, 1])]);
    await other.stop(60_000);
    expect(await ended).toBe(status.OK);
    expect(seen).toEqual([Buffer.from([8, 1]), Buffer.from([8, 2])]);
    watcher.close();
  });

  const reflect = async (version: string, ask: Buffer, metadata = bearer(TOKEN)): Promise<Buffer> =>
    await new Promise((answer, reject) => {
      const stream = client.makeBidiStreamRequest(
        `/grpc.reflection.${version}.ServerReflection/ServerReflectionInfo`,
        raw,
        raw,
        metadata,
      );
      stream.on('data', answer);
      stream.on('error', reject);
      stream.write(ask);
      stream.end();
    });
  /** Fields of a message by number. */
  const fields = (bytes: Uint8Array): Array<[number, Uint8Array]> => {
    const reader = new BinaryReader(bytes);
    const found: Array<[number, Uint8Array]> = [];
    while (reader.pos < reader.len) {
      const [field, wireType] = reader.tag();
      if (wireType !== 2) throw new Error(`field ${field} has wire type ${wireType}, expected bytes`);
      found.push([field, reader.bytes()]);
    }
    return found;
  };

  it.each(['v1', 'v1alpha'])('describes its service by reflection %s', async (version) => {
    const symbol = Buffer.from(`${DispatchService.typeName}.Claim`);
    const answer = fields(await reflect(version, Buffer.concat([Buffer.from([34, symbol.length]), symbol])));
    const files = fields(answer.find(([field]) => field === 4)![1]).map(([, bytes]) =>
      fromBinary(FileDescriptorProtoSchema, bytes),
    );
    expect(files[0]).toMatchObject({ name: 'svc/dispatch/v1/dispatch.proto', package: 'svc.dispatch.v1' });
    expect(files.map((file) => file.name)).toContain('google/protobuf/timestamp.proto');
    const annotations = Buffer.from('google/api/annotations.proto'); // imported, and no type of it is used
    const imported = fields(
      await reflect(version, Buffer.concat([Buffer.from([26, annotations.length]), annotations])),
    );
    expect(imported.map(([field]) => field)).toContain(4);
    const list = fields(await reflect(version, Buffer.from([58, 0])));
    expect(
      fields(list.find(([field]) => field === 6)![1]).map(([, bytes]) =>
        Buffer.from(fields(bytes)[0]![1]).toString(),
      ),
    ).toEqual([
      'svc.dispatch.v1.DispatchService',
      'svc.dispatch.v1.CallStreamService',
      'grpc.health.v1.Health',
    ]);
    await expect(reflect(version, Buffer.from([58, 0]), new Metadata())).rejects.toMatchObject({
      code: status.UNAUTHENTICATED,
    });
  });

  it('does not open without a secret worth its name', async () => {
    const handlers = { service: DispatchService, methods: new Map() };
    await expect(
      startDispatchGrpc({ port: 0, token: 'short', handlers, onError: () => undefined }),
    ).rejects.toThrow('at least 16');
  });
});
