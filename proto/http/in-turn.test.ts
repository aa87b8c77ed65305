/** Clients that ask and do not read. */
import { create, type Message } from '@bufbuild/protobuf';
import { connect as connectHttp2, constants, type ClientHttp2Session } from 'node:http2';
import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { SandboxRunSchema } from '../gen/svc/sandboxruns/v1/sandboxruns_pb.ts';
import { openDoor, type TestAnswers, type TestDoor } from './testing/app.ts';
import { waitFor } from '../../test/setup/wait-for.ts';

const PATH = '/sandbox-runs/run_1';
/** Far more than the kernel keeps for a reader that does not read. */
const LARGE = 'x'.repeat(8 * 1024 * 1024);
/** More than an HTTP/2 client takes in before it reads. */
const WINDOW = 'x'.repeat(512 * 1024);

let door: TestDoor;
const clients: Array<Socket | ClientHttp2Session> = [];
afterEach(async () => {
  for (const client of clients.splice(0)) client.destroy();
  await door.open.close(0);
});

const answers = (text: string, seen: string[] = []): TestAnswers => ({
  invoke: (_call, request) => {
    seen.push((request as Message & { runId: string }).runId);
    return create(SandboxRunSchema, { id: 'run_1', message: text });
  },
});

function http1(lines = ''): { socket: Socket; ask: (count: number, from?: number) => void } {
  const socket = connect(door.port, '127.0.0.1');
  socket.on('error', () => undefined);
  clients.push(socket);
  const ask = (count: number, from = 0): void => {
    const requests = Array.from(
      { length: count },
      (_, n) => `GET /sandbox-runs/run_${from + n} HTTP/1.1\r\nhost: a\r\n${lines}\r\n`,
    );
    socket.write(requests.join(''));
  };
  return { socket, ask };
}

function http2(): ClientHttp2Session {
  const session = connectHttp2(door.url);
  session.on('error', () => undefined);
  clients.push(session);
  return session;
}

async function haveAsked(seen: readonly string[], count: number): Promise<void> {
  await waitFor(`${count} calls`, () => seen.length, { holds: (length) => length === count });
}

/** Nothing more happens while so many calls of another connection are served. */
async function others(): Promise<void> {
  for (let n = 0; n < 20; n += 1) await (await fetch(`${door.url}/healthz`)).text();
}

describe('a connection over HTTP/1.1', () => {
  it('is served no further than its answers are read, and goes on when they are', async () => {
    const seen: string[] = [];
    door = await openDoor(answers(LARGE, seen));
    const { socket, ask } = http1();
    socket.pause();
    ask(4);
    await waitFor(
      () => seen,
      () => seen.length > 0,
    );
    await others();
    expect(seen).toEqual(['run_0']);
    let read = 0;
    socket.on('data', (chunk) => (read += chunk.length));
    socket.resume();
    await waitFor(
      () => read,
      () => read > 4 * LARGE.length,
      { withinMs: 20_000 },
    );
    expect(seen).toEqual(Array.from({ length: 4 }, (_, n) => `run_${n}`));
  });

  it('that asks for more and more without reading is cut', async () => {
    const seen: string[] = [];
    door = await openDoor(answers(LARGE, seen), { limits: { pipelinedMax: 10 } });
    const { socket, ask } = http1();
    socket.pause();
    const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
    ask(12);
    socket.resume();
    await closed;
    expect(seen.length).toBeLessThanOrEqual(1);
  });

  it('gets what it pipelines in order, and may pipeline on', async () => {
    const seen: string[] = [];
    door = await openDoor(answers('ok', seen), { limits: { pipelinedMax: 10 } });
    const { socket, ask } = http1();
    let text = '';
    socket.on('data', (chunk) => (text += chunk.toString()));
    for (let round = 1; round <= 5; round += 1) {
      ask(10, (round - 1) * 10);
      await waitFor(
        () => [round, text.split('"ok"').length],
        () => text.split('"ok"').length === 10 * round + 1,
      );
    }
    expect(seen).toEqual(Array.from({ length: 50 }, (_, n) => `run_${n}`));
  });

  it('of a trusted proxy is not held up by what one of its clients does', async () => {
    const seen: string[] = [];
    door = await openDoor(answers(LARGE, seen), { trustedProxies: ['127.0.0.1'] });
    http1('x-forwarded-for: 192.0.2.1\r\n').ask(5);
    await haveAsked(seen, 5);
  });
});

describe('a connection over HTTP/2', () => {
  it('has a bounded number of answers that were not read', async () => {
    const seen: string[] = [];
    door = await openDoor(answers(WINDOW, seen), { limits: { answersPerSessionMax: 4 } });
    const session = http2();
    const streams = Array.from({ length: 20 }, (_, n) =>
      session.request({ ':path': `/sandbox-runs/run_${n}` }),
    );
    await haveAsked(seen, 4);
    await others();
    expect(seen).toHaveLength(4);
    // Left by its client, one that waits takes no turn, and one that was answered gives its turn back.
    streams[19]?.on('error', () => undefined).close(constants.NGHTTP2_CANCEL);
    streams[0]?.on('error', () => undefined).close(constants.NGHTTP2_CANCEL);
    await haveAsked(seen, 5);
    let ended = 0;
    for (const stream of streams)
      stream
        .on('error', () => undefined)
        .on('data', () => undefined)
        .on('close', () => (ended += 1));
    await waitFor(
      () => [ended, seen.length],
      () => ended >= 18,
      { withinMs: 20_000 },
    );
    expect(seen.toSorted((a, b) => Number(a.slice(4)) - Number(b.slice(4)))).toEqual(
      Array.from({ length: 19 }, (_, n) => `run_${n}`),
    );
  });

  it('serves calls while streams and held polls are open', async () => {
    const held: string[] = [];
    door = await openDoor(
      {
        stream: async () => ({
          [Symbol.asyncIterator]: () => ({ next: async () => await new Promise<never>(() => {}) }),
        }),
        invoke: async (call, request) => {
          const { runId } = request as Message & { runId: string };
          if (runId !== 'held') return create(SandboxRunSchema, { id: runId });
          call.forgetHead();
          held.push(runId);
          return await new Promise<never>(() => {});
        },
      },
      { limits: { answersPerSessionMax: 2 } },
    );
    const session = http2();
    const heads: number[] = [];
    for (let n = 0; n < 10; n += 1)
      session
        .request({ ':path': `${PATH}/logs` })
        .on('error', () => undefined)
        .on('response', (head) => heads.push(Number(head[':status'])));
    for (let n = 0; n < 10; n += 1)
      session.request({ ':path': '/sandbox-runs/held' }).on('error', () => undefined);
    await waitFor(
      () => [heads, held],
      () => heads.length === 10 && held.length === 10,
    );
    const status = await new Promise((resolve) => {
      session.request({ ':path': PATH }).on('response', (head) => resolve(head[':status']));
    });
    expect(status).toBe(200);
  });
});
