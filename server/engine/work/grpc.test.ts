/** The internal port as another program sees it. */
import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { BinaryReader } from '@bufbuild/protobuf/wire';
import { FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt';
import { Client, Metadata, credentials, status, type ServiceError } from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Dispatch } from '@svc/proto/dispatch/dispatch.ts';
import { ERROR_TRAILER } from '@svc/proto/dispatch/refusal.ts';
import {
  DispatchService,
  KeyAnswerSchema,
  ResolveKeyRequestSchema,
  ResolveKeyResponseSchema,
  type ResolveKeyResponse,
} from '@svc/proto/gen/svc/dispatch/v1/dispatch_pb.ts';
import { apiError } from '@svc/proto/http/errors.ts';
import { startDispatchGrpc, type DispatchGrpc } from './grpc.ts';

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
  /** Lets those go on that were asked for late. */
  const late: Array<() => void> = [];
  const unused = async (): Promise<never> => await Promise.reject(new Error('not called here'));
  const dispatch: Dispatch = {
    resolveKey: async ({ keyId }) => {
      if (keyId === 'late') await new Promise<void>((resolve) => late.push(resolve));
      if (keyId === 'refused')
        throw apiError('boot_superseded', 'a newer process has taken over', { details: { bootId: 'b' } });
      if (keyId === 'broken') throw new Error('a secret of the inside');
      return create(KeyAnswerSchema, { known: true, runnerId: `runner of ${keyId}` });
    },
    enroll: unused,
    poll: unused,
    heartbeat: unused,
    appendLogs: unused,
    report: unused,
    syncHost: unused,
    hostLogs: unused,
    watchFeatures: unused,
  };
  beforeAll(async () => {
    port = await startDispatchGrpc({
      port: 0,
      host: '127.0.0.1',
      token: TOKEN,
      dispatch,
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
  const resolve = async (keyIds: readonly string[], metadata?: Metadata): Promise<ResolveKeyResponse> => {
    const request = create(ResolveKeyRequestSchema, { asks: keyIds.map((keyId) => ({ keyId })) });
    const path = `/${DispatchService.typeName}/ResolveKey`;
    return fromBinary(
      ResolveKeyResponseSchema,
      await unary(path, toBinary(ResolveKeyRequestSchema, request), metadata),
    );
  };

  it('answers a call that carries the token', async () => {
    expect(await resolve(['k1'])).toMatchObject({ answers: [{ runnerId: 'runner of k1' }], refusals: [] });
  });

  it.each([
    ['no token', new Metadata()],
    ['another token', bearer('another-token-of-it')],
    ['a token of the same length', bearer(TOKEN.replace('a', 'b'))],
  ])('refuses a call with %s', async (_name, metadata) => {
    await expect(resolve(['k1'], metadata)).rejects.toMatchObject({ code: status.UNAUTHENTICATED });
  });

  it('sends a refusal with its code and its words', async () => {
    const error: ServiceError = await resolve(['k1'], bearer('another-token-of-it')).then(
      () => Promise.reject(new Error('it was not refused')),
      (thrown: ServiceError) => thrown,
    );
    expect(error.code).toBe(status.UNAUTHENTICATED);
    expect(JSON.parse(String(error.metadata.get(ERROR_TRAILER)[0]))).toMatchObject({
      code: 'credentials_invalid',
      message: 'the internal token is missing or wrong; check INTERNAL_TOKEN',
    });
  });

  it('answers each ask of a request by itself, and keeps what went wrong inside to itself', async () => {
    const { answers, refusals } = await resolve(['k1', 'refused', 'k2', 'broken']);
    expect(answers.map(({ known, runnerId }) => [known, runnerId])).toEqual([
      [true, 'runner of k1'],
      [false, ''],
      [true, 'runner of k2'],
      [false, ''],
    ]);
    const refused = new Map(refusals.map(({ at, error }) => [at, JSON.parse(error) as object]));
    expect(refused.get(1)).toMatchObject({ code: 'boot_superseded', details: { bootId: 'b' } });
    expect(refused.get(3)).toMatchObject({
      code: 'internal',
      message: expect.not.stringContaining('secret'),
    });
    expect(refused.size).toBe(2);
    expect(errors).toHaveLength(1);
  });

  it('answers what has begun when it stops', async () => {
    const other = await startDispatchGrpc({ port: 0, token: TOKEN, dispatch, onError: () => undefined });
    const caller = new Client(`127.0.0.1:${other.port}`, credentials.createInsecure());
    const request = create(ResolveKeyRequestSchema, { asks: [{ keyId: 'late' }] });
    const answer = new Promise<Buffer>((settle, reject) => {
      caller.makeUnaryRequest(
        `/${DispatchService.typeName}/ResolveKey`,
        raw,
        raw,
        Buffer.from(toBinary(ResolveKeyRequestSchema, request)),
        bearer(TOKEN),
        (error: ServiceError | null, bytes?: Buffer) => (error === null ? settle(bytes!) : reject(error)),
      );
    });
    await expect.poll(() => late.length).toBe(1);
    const stopped = other.stop(10_000);
    late[0]!();
    expect(fromBinary(ResolveKeyResponseSchema, await answer).answers).toMatchObject([
      { runnerId: 'runner of late' },
    ]);
    await stopped;
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
    const other = await startDispatchGrpc({ port: 0, token: TOKEN, dispatch, onError: () => undefined });
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
  /** Reads the fields of a message by number. */
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
    const symbol = Buffer.from(`${DispatchService.typeName}.Poll`);
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
    ).toEqual(['svc.dispatch.v1.DispatchService', 'grpc.health.v1.Health']);
    await expect(reflect(version, Buffer.from([58, 0]), new Metadata())).rejects.toMatchObject({
      code: status.UNAUTHENTICATED,
    });
  });

  it('does not open without a secret worth its name', async () => {
    await expect(
      startDispatchGrpc({ port: 0, token: 'short', dispatch, onError: () => undefined }),
    ).rejects.toThrow('at least 16');
  });
});
