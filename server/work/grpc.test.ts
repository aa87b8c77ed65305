/** The internal port as another program sees it. */
import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
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
  const resolveKey: Handler<DispatchCtx> = async (request) => {
    const { keyId } = request as unknown as { keyId: string };
    if (keyId === 'refused')
      throw apiError('boot_superseded', 'a newer process has taken over', { details: { bootId: 'b' } });
    if (keyId === 'broken') throw new Error('a secret of the inside');
    return create(ResolveKeyResponseSchema, { known: true, runnerId: `runner of ${keyId}` });
  };
  beforeAll(async () => {
    const methods = new Map([[`${DispatchService.typeName}/ResolveKey`, resolveKey]]);
    port = await startDispatchGrpc({
      port: 0,
      host: '127.0.0.1',
      token: TOKEN,
      handlers: { service: DispatchService, methods },
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
