/** Tests streams over every door: when their head comes, and how many may be open at once. */
import { create, toBinary } from '@bufbuild/protobuf';
import {
  connect,
  type ClientHttp2Session,
  type ClientHttp2Stream,
  type IncomingHttpHeaders,
} from 'node:http2';
import { StreamLogsRequestSchema } from '@svc/proto/gen/svc/sandboxruns/v1/sandboxruns_pb.ts';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { has } from '../../test/setup/needs.ts';
import { newKey, stranger, type Person } from '../../test/setup/people.ts';
import { useServer } from '../../test/setup/use-server.ts';

const postgresHere = await has('postgres');

const LIMITS = {
  LIMIT_STREAMS_PER_CONNECTION: '3',
  LIMIT_STREAMS_PER_CREDENTIAL: '5',
  LIMIT_STREAMS_PER_ACCOUNT: '7',
};
/** A client that waits for a head notices no difference up to here; the old wait was 17 s. */
const AT_ONCE_MS = 1_000;
const RPC = '/svc.sandboxruns.v1.SandboxRunsService/StreamLogs';
const DOORS = ['sse', 'ndjson', 'connect', 'grpc', 'grpcweb'] as const;
type DoorName = (typeof DOORS)[number];

function framed(message: Uint8Array): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}

interface Request {
  readonly headers: Record<string, string>;
  readonly body: Buffer | undefined;
}

function requestOf(door: DoorName, runId: string): Request {
  if (door === 'sse' || door === 'ndjson') {
    const accept = door === 'sse' ? 'text/event-stream' : 'application/x-ndjson';
    return {
      headers: { ':method': 'GET', ':path': `/sandbox-runs/${runId}/logs`, accept },
      body: undefined,
    };
  }
  const type = {
    connect: 'application/connect+json',
    grpc: 'application/grpc',
    grpcweb: 'application/grpc-web',
  };
  const message =
    door === 'connect'
      ? Buffer.from(JSON.stringify({ runId }))
      : toBinary(StreamLogsRequestSchema, create(StreamLogsRequestSchema, { runId }));
  return {
    headers: { ':method': 'POST', ':path': RPC, 'content-type': type[door], te: 'trailers' },
    body: framed(message),
  };
}

interface OpenedStream {
  readonly stream: ClientHttp2Stream;
  readonly headers: IncomingHttpHeaders & { ':status'?: number };
  readonly headMs: number;
  /** Everything up to its end, trailers last. */
  all(): Promise<string>;
}

describe.skipIf(!postgresHere)('a stream', () => {
  const { server } = useServer({ env: LIMITS });
  let owner: Person & { readonly teamId: string };
  let runId: string;
  const sessions: ClientHttp2Session[] = [];

  beforeAll(async () => {
    owner = await stranger(server);
    runId = await runOf(owner);
  });
  afterEach(() => {
    for (const session of sessions.splice(0)) session.destroy();
  });

  const connection = (): ClientHttp2Session => {
    const session = connect(server.baseUrl);
    session.on('error', () => undefined);
    sessions.push(session);
    return session;
  };
  async function open(
    door: DoorName,
    { as, on = connection(), run = runId }: { as: string; on?: ClientHttp2Session; run?: string },
  ): Promise<OpenedStream> {
    const { headers, body } = requestOf(door, run);
    const beganMs = performance.now();
    const stream = on.request(
      { ...headers, authorization: `Bearer ${as}` },
      { endStream: body === undefined },
    );
    if (body !== undefined) stream.end(body);
    const parts: Buffer[] = [];
    let trailers = '';
    stream.on('data', (chunk: Buffer) => parts.push(chunk));
    stream.on('trailers', (fields) => (trailers = JSON.stringify(fields)));
    stream.on('error', () => undefined);
    const ended = new Promise<void>((resolve) => stream.once('close', resolve));
    const received = await new Promise<OpenedStream['headers']>((resolve) =>
      stream.once('response', resolve),
    );
    const all = async (): Promise<string> => {
      await ended;
      return Buffer.concat(parts).toString('latin1') + trailers + JSON.stringify(received);
    };
    return { stream, headers: received, headMs: performance.now() - beganMs, all };
  }
  /** A run of the account, which waits for a runner for ever. */
  async function runOf(person: Person & { readonly teamId: string }): Promise<string> {
    const { status, body, text } = await server.call(`POST /teams/${person.teamId}/sandbox-runs`, {
      as: person.token,
      body: { command: ['true'] },
    });
    expect(status, text).toBe(201);
    return String(body['id']);
  }
  /** Repeated until the server has noticed that streams were left. */
  async function openWhenFree(request: {
    as: string;
    on?: ClientHttp2Session;
    run: string;
  }): Promise<OpenedStream> {
    const endMs = performance.now() + 5_000;
    for (;;) {
      const opened = await open('sse', request);
      if (opened.headers[':status'] === 200 || performance.now() > endMs) return opened;
    }
  }
  const isRefused = async (opened: OpenedStream, door: DoorName): Promise<void> => {
    const text = await opened.all();
    if (door === 'sse' || door === 'ndjson') {
      expect(opened.headers[':status']).toBe(429);
      expect(Number(opened.headers['retry-after'])).toBeGreaterThan(0);
      expect(text).toContain('"code":"too_many_streams"');
    } else if (door === 'connect') expect(text).toContain('"code":"resource_exhausted"');
    else expect(text).toMatch(/grpc-status"?: ?"?8/);
    expect(decodeURIComponent(text.replaceAll(/%(?![0-9A-F]{2})/g, ''))).toMatch(
      /has \d streams open, at most \d are allowed at once/,
    );
  };

  it.each(DOORS)('of a queued run has its head at once over HTTP/2 as %s', async (door) => {
    const opened = await open(door, { as: owner.token });
    expect(opened.headers[':status']).toBe(200);
    expect(opened.headMs).toBeLessThan(AT_ONCE_MS);
  });

  it.each(['sse', 'ndjson', 'connect', 'grpcweb'] as const)(
    'of a queued run has its head at once over HTTP/1.1 as %s',
    async (door) => {
      const { headers, body } = requestOf(door, runId);
      const { ':method': method = '', ':path': path, te: _, ...rest } = headers;
      const beganMs = performance.now();
      const response = await fetch(`${server.baseUrl}${path}`, {
        method,
        headers: { ...rest, authorization: `Bearer ${owner.token}` },
        ...(body && { body }),
      });
      expect([response.status, performance.now() - beganMs < AT_ONCE_MS]).toEqual([200, true]);
      await response.body?.cancel();
    },
  );

  it.each(DOORS)('that is refused is refused as %s refuses', async (door) => {
    const text = await (await open(door, { as: owner.token, run: 'run_00000000000000000000000000' })).all();
    if (door === 'sse' || door === 'ndjson') expect(text).toMatch(/":status":404/);
    else expect(text).toMatch(/not_found|grpc-status"?: ?"?5/);
  });

  it.each(DOORS)(
    'too many of one connection is refused as %s refuses, and each end makes room once',
    async (door) => {
      const person = await stranger(server);
      const run = await runOf(person);
      const on = connection();
      for (let round = 0; round < 3; round += 1) {
        const held = [await openWhenFree({ as: person.token, on, run })];
        for (let n = 0; n < 2; n += 1) held.push(await open(door, { as: person.token, on, run }));
        await isRefused(await open(door, { as: person.token, on, run }), door);
        // Its own refusals, of a run that is not there too, take no place away.
        await (await open(door, { as: person.token, on, run: 'run_00000000000000000000000000' })).all();
        for (const { stream } of held) stream.close();
        await Promise.all(held.map(async (each) => await each.all()));
      }
    },
  );

  it('too many of one credential and of one account are refused, whatever the connection', async () => {
    const person = await stranger(server);
    const run = await runOf(person);
    const keys = [
      person.token,
      (await newKey(server, person.token)).secret,
      (await newKey(server, person.token)).secret,
    ];
    const [first = '', second = '', third = ''] = keys;
    for (let n = 0; n < 5; n += 1)
      expect((await open('sse', { as: first, run })).headers[':status']).toBe(200);
    await isRefused(await open('sse', { as: first, run }), 'sse');
    for (let n = 0; n < 2; n += 1)
      expect((await open('connect', { as: second, run })).headers[':status']).toBe(200);
    await isRefused(await open('grpc', { as: third, run }), 'grpc');
    for (const session of sessions.splice(0)) session.destroy();
    expect((await openWhenFree({ as: first, run })).headers[':status']).toBe(200);
    await server.call(`POST /sandbox-runs/${run}/cancel`, { as: first, body: {} });
  });
});
