import { Server, ServerCredentials } from '@grpc/grpc-js';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { generateSigningKey } from '@svc/proto/signature/keys.ts';
import { ApiError, apiError } from '@svc/proto/http/errors.ts';
import { connectDispatch, type DispatchClient } from './dispatch-client.ts';
import { FakeDispatch } from './testing/fake-dispatch.ts';
import { startGrpcServer, type GrpcServer } from './testing/grpc-server.ts';
import { ShiftedClock } from './testing/shifted-clock.ts';
import { waitFor } from '../test/setup/wait-for.ts';

const TOKEN = 'internal token';
let dispatch: FakeDispatch[];
let servers: GrpcServer[];
let opened: DispatchClient[];
let lines: Record<string, unknown>[];
let clock: ShiftedClock;

async function start(count: number): Promise<DispatchClient['client']> {
  for (let n = 0; n < count; n += 1) {
    const fake = new FakeDispatch();
    dispatch.push(fake);
    servers.push(await startGrpcServer(fake.client, TOKEN));
  }
  return connect(servers.map(({ url }) => url));
}

function connect(urls: readonly string[], token = TOKEN): DispatchClient['client'] {
  const log = pino(
    { level: 'warn' },
    { write: (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>) },
  );
  const connected = connectDispatch({ urls, token, clock, log });
  opened.push(connected);
  return connected.client;
}

const failed = (promise: Promise<unknown>): Promise<ApiError> =>
  promise.then(
    () => Promise.reject(new Error('the call succeeded')),
    (error: unknown) => (error instanceof ApiError ? error : Promise.reject(error as Error)),
  );
const beat = async (client: DispatchClient['client'], n: number) =>
  await client.heartbeat({ caller: { nonce: { keyId: 'k', nonce: `${n}` } } });
const total = (method: 'resolveKey' | 'heartbeat') => dispatch.map((fake) => fake.count(method));

describe('connectDispatch()', () => {
  beforeEach(() => {
    dispatch = [];
    servers = [];
    opened = [];
    lines = [];
    clock = new ShiftedClock();
  });
  afterEach(async () => {
    for (const each of opened) each.close();
    await Promise.all(servers.map((server) => server.kill()));
  });

  it('carries messages both ways', async () => {
    const client = await start(1);
    const key = generateSigningKey();
    dispatch[0]!.addRunner(key, 'rnr_1', 'team_1');
    const answer = await client.resolveKey({ keyId: key.keyid });
    expect(answer).toMatchObject({ known: true, runnerId: 'rnr_1', teamId: 'team_1' });
    expect(Buffer.from(answer.publicKey).toString('base64url')).toBe(key.publicKey);
  });

  it('hands on the error of the server as it was', async () => {
    const client = await start(1);
    dispatch[0]!.before = () => {
      throw apiError('log_gap', 'offset is 10, stored are 4 bytes', {
        details: { nextOffset: 4 },
        retryable: true,
        retryAfterMs: 250,
      });
    };
    expect(await failed(client.appendLogs({}))).toMatchObject({
      code: 'log_gap',
      message: 'offset is 10, stored are 4 bytes',
      details: { nextOffset: 4 },
      retryable: true,
      retryAfterMs: 250,
    });
    expect(dispatch[0]!.count('appendLogs')).toBe(1);
  });

  it('turns to every server in turn', async () => {
    const client = await start(3);
    while (total('resolveKey').includes(0)) await client.resolveKey({ keyId: 'k' });
    const before = total('resolveKey');
    for (let n = 0; n < 9; n += 1) await client.resolveKey({ keyId: 'k' });
    expect(total('resolveKey').map((count, index) => count - before[index]!)).toEqual([3, 3, 3]);
  });

  it('repeats a call at another server when one is gone, passes over the dead one, and takes it back', async () => {
    const client = await start(2);
    while (total('resolveKey').includes(0)) await client.resolveKey({ keyId: 'k' });
    await servers[0]!.kill();
    for (let n = 0; n < 10; n += 1) await client.resolveKey({ keyId: 'k' });
    const [, survived = 0] = total('resolveKey');
    expect(survived).toBeGreaterThanOrEqual(11);
    // A dead server is not even tried for what must not be repeated.
    clock.advance(5_000);
    for (let n = 0; n < 10; n += 1) await expect(beat(client, n)).resolves.toBeDefined();
    servers.push(await startGrpcServer(dispatch[0]!.client, TOKEN, servers[0]!.port));
    clock.advance(5_000);
    // Both are tried in turn from now on.
    const [before] = total('resolveKey');
    while (total('resolveKey')[0] === before) await client.resolveKey({ keyId: 'k' });
    opened[0]!.close();
    expect(await failed(client.resolveKey({ keyId: 'k' }))).toMatchObject({ code: 'unavailable' });
  });

  it('never repeats the use of a nonce', async () => {
    const client = await start(2);
    await client.resolveKey({ keyId: 'k' });
    await client.resolveKey({ keyId: 'k' });
    // The server dies with the nonce stored and the answer unsent.
    for (const [index, fake] of dispatch.entries()) fake.before = () => servers[index]!.kill();
    expect(await failed(beat(client, 1))).toMatchObject({ code: 'unavailable', retryable: true });
    expect(total('heartbeat').reduce((sum, count) => sum + count)).toBe(1);
  });

  it('repeats an enrollment at another server when one dies with it', async () => {
    const client = await start(2);
    for (const [index, fake] of dispatch.entries())
      fake.before = async (method) => {
        if (method === 'enroll') await servers[index]!.kill();
        dispatch[1 - index]!.before = () => undefined;
      };
    expect(await client.enroll({ token: 'enr_good' })).toMatchObject({ runnerId: 'rnr_new' });
    expect(dispatch.map((fake) => fake.count('enroll'))).toEqual([1, 1]);
  });

  it('says unavailable when every server is gone, without naming one', async () => {
    const client = await start(2);
    await Promise.all(servers.map((server) => server.kill()));
    const error = await failed(client.poll({ pollId: 'p' }));
    expect(error).toMatchObject({ code: 'unavailable', status: 503, retryable: true });
    expect(error.message).not.toMatch(/\d/);
    expect(lines.length).toBeGreaterThan(0);
    expect(lines.length).toBeLessThanOrEqual(2);
  });

  it('gives up a server that hangs in time to ask another one', async () => {
    const client = await start(2);
    dispatch[0]!.before = () => new Promise(() => undefined);
    const answers = await Promise.all([1, 2, 3].map(() => client.resolveKey({ keyId: 'k' })));
    expect(answers.map(({ known }) => known)).toEqual([false, false, false]);
    expect(total('resolveKey')[1]).toBe(3);
  });

  it('goes on at the others while one server hangs', async () => {
    const client = await start(2);
    dispatch[0]!.before = () => new Promise(() => undefined);
    // Two requests hang there, whatever was in them; nothing else does.
    const begun: Promise<unknown>[] = [];
    for (let n = 0; total('heartbeat')[0]! < 2; n += 1) {
      begun.push(beat(client, n).catch(() => undefined));
      await new Promise((resolve) => setImmediate(resolve));
    }
    for (let n = 1_000; n < 1_020; n += 1) await expect(beat(client, n)).resolves.toBeDefined();
    opened[0]!.close();
    await Promise.all(begun);
  });

  it('sends what is asked while two requests are under way in the next one, each answered by itself', async () => {
    const client = await start(1);
    let goOn: () => void = () => undefined;
    const held = new Promise<void>((resolve) => (goOn = resolve));
    dispatch[0]!.before = async (_method, request) => {
      const { nonce } = (request as { caller: { nonce: { nonce: string } } }).caller;
      if (nonce.nonce === '7') throw apiError('boot_superseded', 'a newer process has taken over');
      await held;
    };
    const asked: Promise<unknown>[] = [];
    for (let n = 0; n < 40; n += 1) {
      asked.push(beat(client, n));
      if (n < 2)
        await waitFor('a request', () => servers[0]!.requests.length, { holds: (count) => count === n + 1 });
    }
    goOn();
    const outcomes = await Promise.allSettled(asked);
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(39);
    expect(outcomes[7]).toMatchObject({ status: 'rejected', reason: { code: 'boot_superseded' } });
    expect(servers[0]!.requests).toEqual([1, 1, 38]);
  });

  it('goes elsewhere when a server stops, which answers what has begun', async () => {
    const client = await start(2);
    const held = dispatch.map((fake) => fake.hold('report'));
    const begun = client.report({ caller: { nonce: { nonce: 'a' } } });
    const reports = () => dispatch.map((fake) => fake.count('report'));
    await waitFor(reports, () => reports().includes(1));
    const [first, other] = reports()[0] === 1 ? [0, 1] : [1, 0];
    const closed = servers[first]!.close();
    // None is lost, although none may be repeated.
    for (let n = 0; n < 20; n += 1) await expect(beat(client, n)).resolves.toBeDefined();
    expect(total('heartbeat')[other]).toBeGreaterThanOrEqual(18);
    held[first]!();
    await expect(begun).resolves.toBeDefined();
    await closed;
  });

  it('says once which server is too old for it', async () => {
    const old = new Server();
    const port = await new Promise<number>((resolve) =>
      old.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (_error, bound) => resolve(bound)),
    );
    const client = connect([`grpc://127.0.0.1:${port}`]);
    for (let n = 0; n < 3; n += 1)
      expect(await failed(client.poll({ pollId: 'p' }))).toMatchObject({ code: 'unavailable' });
    old.forceShutdown();
    expect(lines.map(({ server, msg }) => [server, msg])).toEqual([
      [`127.0.0.1:${port}`, expect.stringContaining('upgrade servers before gateways')],
    ]);
  });

  it('never turns a refusal of the gateway itself into a refusal of the runner', async () => {
    await start(1);
    expect((await failed(connect([servers[0]!.url], 'wrong').poll({}))).code).toBe('unavailable');
    expect(lines.some(({ msg }) => msg === 'the server refuses this gateway; check INTERNAL_TOKEN')).toBe(
      true,
    );
  });

  it('refuses URLs that it cannot use', () => {
    expect(() => connect(['server:9090'])).toThrow(
      'dispatch URL "server:9090" is not grpc://host:port or grpcs://host:port',
    );
    expect(() => connect([])).toThrow('no dispatch URL given');
  });
});
