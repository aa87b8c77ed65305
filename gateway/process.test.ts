/**
 * This file tests the gateway as its own program, with real gRPC behind, a real RabbitMQ beside, and the
 * settings and signals of an operator.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { randomBytes } from 'node:crypto';
import { pino } from 'pino';
import { connectRabbit } from '@svc/proto/queue/rabbit.ts';
import type { WorkQueue } from '@svc/proto/queue/queue.ts';
import { generateSigningKey } from '@svc/proto/signature/keys.ts';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { AMQP_URL, has } from '../test/setup/needs.ts';
import { readConfig } from './config.ts';
import { startProcess, type GatewayProcess } from './process.ts';
import { FakeDispatch } from './testing/fake-dispatch.ts';
import { startGrpcServer, type GrpcServer } from './testing/grpc-server.ts';
import { open, send, signed } from './testing/machine.ts';
import { waitFor } from '../test/setup/wait-for.ts';

const TOKEN = 'a-token-of-sixteen-bytes';
const log = pino({ level: 'silent' });
const root = new URL('..', import.meta.url).pathname;
const hasRabbit = await has('rabbitmq');

let team: string;
let dispatch: FakeDispatch;
let server: GrpcServer;
let queue: WorkQueue;
let started: GatewayProcess[];
const key = generateSigningKey();

const environment = (): Record<string, string> => ({
  HOST: '127.0.0.1',
  PORT: '0',
  DISPATCH_URLS: server.url,
  INTERNAL_TOKEN: TOKEN,
  METRICS_TOKEN: TOKEN,
  AMQP_URL,
  LOG_LEVEL: 'warn',
});

async function start(changes: Record<string, string> = {}): Promise<GatewayProcess> {
  const running = await startProcess(readConfig({ ...environment(), ...changes }), log);
  started.push(running);
  return running;
}

/** Starts the released program; `printed` is all that it has said. */
function spawned(env: Record<string, string>) {
  const child = spawn(process.execPath, ['gateway/dist/main.js'], {
    cwd: root,
    env: { PATH: process.env['PATH'], ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let printed = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (data: Buffer) => (printed += data.toString()));
  return { child, printed: () => printed };
}

const poll = (port: number, body: object = { waitMs: 50_000 }) =>
  signed(key, '/runners/rnr_1/poll', { host: `127.0.0.1:${port}`, body });
const page = async (port: number, path: string, token = TOKEN) => {
  const headers = { authorization: `Bearer ${token}` };
  const response = await fetch(`http://127.0.0.1:${port}${path}`, { headers });
  return { status: response.status, text: await response.text() };
};

describe.runIf(hasRabbit)('gateway process', () => {
  beforeAll(async () => {
    queue = connectRabbit({ url: AMQP_URL, role: 'server', log });
    await waitFor(
      () => queue.up,
      () => queue.up,
      { withinMs: 15_000 },
    );
  });
  afterAll(() => queue.close());
  beforeEach(async () => {
    team = `team_${randomBytes(8).toString('hex')}`;
    dispatch = new FakeDispatch();
    dispatch.addRunner(key, 'rnr_1', team);
    server = await startGrpcServer(dispatch.client, TOKEN);
    started = [];
  });
  afterEach(async () => {
    await Promise.all(started.map((running) => running.stop()));
    await server.kill();
  });

  it('answers a held poll by a hint over the broker, and ends one by a revocation over the broker', async () => {
    const { port } = await start();
    const answer = send(port, poll(port));
    await dispatch.called('poll', 1);
    dispatch.addItem('run_1', team);
    await queue.hint({ workId: 'run_1', poolId: team, kind: 'run', count: 1 });
    expect((await answer).text).toContain('run_1');
    const held = send(port, poll(port));
    await dispatch.called('poll', 2);
    await queue.publishControl({ type: 'runner_revoked', runnerId: 'rnr_1', keyId: key.keyid });
    expect((await held).code).toBe('runner_revoked');
  });

  it("follows the servers' platform features: ends held polls, hides its routes, and shows them again", async () => {
    const { port } = await start();
    const held = send(port, poll(port));
    await dispatch.called('poll', 1);
    dispatch.gates = { revision: '1  host.runners', hidden: ['host.runners'] };
    const answers = [await held, await send(port, poll(port))];
    for (const { status, code } of answers) expect([status, code]).toEqual([404, 'not_found']);
    // A gateway that starts now knows it before it takes its first call.
    const late = await start();
    expect((await send(late.port, poll(late.port))).status).toBe(404);
    // While no server answers, the gateway goes by the last word of one.
    await server.kill();
    expect((await send(port, poll(port))).status).toBe(404);
  });

  it('gives an item to one of two gateways, and the next one to the other', async () => {
    const ports = [(await start()).port, (await start()).port];
    const answers = ports.map((port) => send(port, poll(port)));
    await dispatch.called('poll', 2);
    for (const workId of ['run_1', 'run_2']) {
      dispatch.addItem(workId, team);
      await queue.hint({ workId, poolId: team, kind: 'run', count: 1 });
    }
    const ids = (await Promise.all(answers)).map(
      ({ text }) => (JSON.parse(text) as { run: { id: string } }).run.id,
    );
    expect(ids.toSorted()).toEqual(['run_1', 'run_2']);
  });

  it('serves its pages, and is not ready while no server is in reach', async () => {
    const { port } = await start();
    expect(await page(port, '/healthz')).toEqual({ status: 200, text: 'ok\n' });
    await send(port, poll(port, { waitMs: 0 }));
    expect(await page(port, '/readyz')).toEqual({ status: 200, text: 'ready\n' });
    const metrics = (await page(port, '/metrics')).text.split('\n');
    expect(metrics).toContain('svc_gateway_polls_parked 0');
    expect(metrics).toContain('svc_gateway_polls_total{kind="run",outcome="empty"} 1');
    expect((await page(port, '/metrics', 'another')).status).toBe(404);
    const without = await start({ METRICS_TOKEN: '' });
    for (const token of [TOKEN, '', 'undefined'])
      expect((await page(without.port, '/metrics', token)).status).toBe(404);
    await server.kill();
    await send(port, poll(port, { waitMs: 0 }));
    expect((await page(port, '/readyz')).status).toBe(503);
    expect((await page(port, '/teams')).status).toBe(404);
  });

  it('answers 503, never 401, while no server is in reach', async () => {
    const { port } = await start();
    await server.kill();
    const answer = await send(port, poll(port));
    expect([answer.status, answer.code]).toEqual([503, 'unavailable']);
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
  });

  it('starts and serves without a broker in reach', async () => {
    const { port } = await start({ AMQP_URL: 'amqp://guest:guest@127.0.0.1:1' });
    const answer = send(port, poll(port));
    await dispatch.called('poll', 1);
    dispatch.addItem('run_1', team);
    expect((await answer).text).toContain('run_1');
  });

  it('runs until SIGTERM, then answers what it holds and ends with 0', async () => {
    const { child, printed } = spawned(environment());
    const port = await waitFor(
      printed,
      () => Number(/listening on http:\/\/127\.0\.0\.1:(\d+)\n/.exec(printed())?.[1]),
      { holds: (found) => found > 0 },
    );
    const answers = [1, 2, 3].map(() => open(port, poll(port)).answer);
    await dispatch.called('poll', 3);
    const exited = once(child, 'exit');
    child.kill('SIGTERM');
    expect((await Promise.all(answers)).map(({ status, text }) => [status, text])).toEqual(
      Array.from({ length: 3 }, () => [200, '{}']),
    );
    expect(await exited).toEqual([0, null]);
  }, 60_000);

  it('names every wrong setting and ends with 2', async () => {
    const { child, printed } = spawned({ AMQP_URL, PORT: 'x' });
    expect(await once(child, 'close')).toEqual([2, null]);
    expect(printed()).toMatch(/PORT is "x"[^]*DISPATCH_URLS is not set[^]*INTERNAL_TOKEN is not set/);
  }, 60_000);
});
