/**
 * This file tests the whole gateway on a real socket: what a runner sees of polls, and what an operator sees
 * of the gateway.
 */
import { connect as connectHttp2, constants } from 'node:http2';
import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { PollRequestSchema, PollResponseSchema } from '@svc/proto/gen/svc/runner/v1/runner_pb.ts';
import { createNonce, generateSigningKey } from '@svc/proto/signature/keys.ts';
import { signRequest } from '@svc/proto/signature/sign.ts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { open, send, signed, UNSIGNED, type Answer } from './testing/machine.ts';
import { createWorld, type OpenGateway, type World } from './testing/setup.ts';
import { waitFor } from '../test/setup/wait-for.ts';
import { TIMED } from '../test/setup/timed.ts';

const key = generateSigningKey();
let world: World;
let gateway: OpenGateway;

const poll = (body: object = {}, action = 'poll') => signed(key, `/runners/rnr_1/${action}`, { body });
const json = ({ text }: Answer): unknown => JSON.parse(text);
const parked = (count: number, one = gateway) =>
  waitFor(
    () => one.gateway.parked(),
    () => one.gateway.parked() === count,
  );
const consumed = (count = 1, kind: 'run' | 'build' = 'run') =>
  waitFor(
    () => world.broker.subscriptions,
    () => world.broker.consumers('team_a', kind) === count,
  );
/** Calls an action of the runner with the body. */
const act = async (action: string, body: object) =>
  await send(gateway.port, signed(key, `/runners/rnr_1/${action}`, { body }));

interface Http2Answer {
  readonly status: number;
  readonly body: Buffer;
  readonly trailers: Readonly<Record<string, unknown>>;
}

function http2Post(port: number, headers: Record<string, string>, body: Uint8Array): Promise<Http2Answer> {
  const session = connectHttp2(`http://127.0.0.1:${port}`);
  return new Promise((resolve, reject) => {
    session.on('error', reject);
    const stream = session.request({ ':method': 'POST', ...headers });
    const chunks: Buffer[] = [];
    let status = 0;
    let trailers = {};
    stream.on('response', (received) => (status = Number(received[constants.HTTP2_HEADER_STATUS])));
    stream.on('trailers', (received) => (trailers = received));
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    stream.on('error', reject);
    stream.on('close', () => {
      session.close();
      resolve({ status, body: Buffer.concat(chunks), trailers });
    });
    stream.end(body);
  });
}

function signedHttp2(path: string, contentType: string, body: Uint8Array): Record<string, string> {
  const authority = 'cp.example.com';
  const options = { key, created: Math.floor(Date.now() / 1000), nonce: createNonce() };
  const headers = signRequest({ method: 'POST', authority, path, contentType, body }, options);
  return { ':path': path, ':authority': authority, 'content-type': contentType, ...headers };
}

describe('gateway', () => {
  beforeEach(async () => {
    world = createWorld();
    world.dispatch.addRunner(key, 'rnr_1');
    gateway = await world.gateway();
  });
  afterEach(() => world.stop());

  it('answers a held poll with the offer as soon as a hint comes', TIMED, async () => {
    const answer = send(gateway.port, poll({ waitMs: 20_000, slots: 2 }));
    await consumed();
    world.dispatch.addItem('run_1');
    const startedMs = performance.now();
    world.broker.hint('run_1');
    expect(json(await answer)).toMatchObject({
      run: { id: 'run_1', leaseId: 'lease run_1', epoch: 1, leaseMs: 15_000 },
    });
    expect(performance.now() - startedMs).toBeLessThan(100);
  });

  it('answers a build poll with a build', async () => {
    const answer = send(gateway.port, poll({}, 'build-poll'));
    await consumed(1, 'build');
    world.dispatch.addItem('bld_1', 'team_a', 2);
    world.broker.hint('bld_1', 'team_a', 'build');
    expect(json(await answer)).toMatchObject({ build: { id: 'bld_1' } });
  });

  it('answers an empty object when no work came, at once for a wait of 0', async () => {
    const answer = await send(gateway.port, poll({ waitMs: 0 }));
    expect([answer.status, answer.text]).toEqual([200, '{}']);
  });

  it('answers an empty body object by the defaults: one slot, 30 s', async () => {
    const answer = send(gateway.port, poll());
    await parked(1);
    expect(world.dispatch.calls.find(({ method }) => method === 'poll')?.request).toMatchObject({
      slots: 1,
      caller: { runnerId: 'rnr_1', teamId: 'team_a', bootId: '' },
    });
    world.clock.advance(29_000);
    await new Promise((resolve) => setTimeout(resolve, 120));
    expect(gateway.gateway.parked()).toBe(1);
    world.clock.advance(1_000);
    expect((await answer).text).toBe('{}');
  });

  it('answers a second before the caller gives up', TIMED, async () => {
    const startedMs = performance.now();
    const request = signed(key, '/runners/rnr_1/poll', {
      body: { waitMs: 50_000 },
      extra: ['Connect-Timeout-Ms: 1400'],
    });
    const answer = await send(gateway.port, request);
    const tookMs = performance.now() - startedMs;
    expect([answer.status, answer.text]).toEqual([200, '{}']);
    expect(tookMs).toBeGreaterThan(300);
    expect(tookMs).toBeLessThan(600);
  });

  it('refuses a wait above 50 s', async () => {
    expect((await send(gateway.port, poll({ waitMs: 50_001 }))).status).toBe(400);
  });

  it('ends a held poll within 100 ms when its runner is revoked', TIMED, async () => {
    const answer = send(gateway.port, poll({ waitMs: 50_000 }));
    await consumed();
    const startedMs = performance.now();
    world.broker.control({ type: 'runner_revoked', runnerId: 'rnr_1', keyId: key.keyid });
    const { status, code } = await answer;
    expect(performance.now() - startedMs).toBeLessThan(100);
    expect([status, code]).toEqual([401, 'runner_revoked']);
    // The cached key is marked too, whatever the server would still say.
    expect((await send(gateway.port, poll())).code).toBe('runner_revoked');
  });

  it('forgets a poll whose client is gone, and its repetition gets the offer that was made meanwhile', async () => {
    const goOn = world.dispatch.hold('pollAgain');
    const lost = open(gateway.port, poll({ pollId: 'same' }));
    await consumed();
    world.dispatch.addItem('run_1');
    world.broker.hint('run_1');
    await world.dispatch.called('pollAgain', 1);
    lost.socket.destroy();
    await parked(0);
    world.dispatch.before = () => undefined;
    goOn();
    await world.dispatch.granted();
    expect(json(await send(gateway.port, poll({ pollId: 'same' })))).toMatchObject({ run: { id: 'run_1' } });
  });

  it('gives one of two gateways the item that both were told of', async () => {
    const second = await world.gateway();
    const answers = [gateway, second].map(({ port }) => send(port, poll({ waitMs: 20_000 })));
    await consumed(2);
    world.dispatch.addItem('run_1');
    world.broker.hint('run_1');
    expect(json(await Promise.race(answers))).toMatchObject({ run: { id: 'run_1' } });
    expect(gateway.gateway.parked() + second.gateway.parked()).toBe(1);
  });

  it('answers every held poll when it stops, and serves nothing after', TIMED, async () => {
    const answers = Array.from({ length: 10 }, () => send(gateway.port, poll({ waitMs: 50_000 })));
    await parked(10);
    const startedMs = performance.now();
    await gateway.stop();
    expect((await Promise.all(answers)).map(({ status, text }) => [status, text])).toEqual(
      answers.map(() => [200, '{}']),
    );
    expect(performance.now() - startedMs).toBeLessThan(1_000);
    await expect(send(gateway.port, poll())).rejects.toThrow();
  });

  it('passes heartbeats, logs and reports on under the name of the signer', async () => {
    const caller = { runnerId: 'rnr_1', teamId: 'team_a' };
    await act('heartbeat', { bootId: 'b1', leases: [{ id: 'run_1', epoch: 2 }] });
    const logs = { id: 'run_1', epoch: 2, offset: 3, chunks: [{ stream: 'stdout', data: 'aGkK' }] };
    expect(json(await act('logs', logs))).toMatchObject({ nextOffset: 1 });
    const report = { id: 'run_1', epoch: 2, reportId: 'report-1', reason: 'exit', exitCode: 0 };
    expect(json(await act('report', report))).toMatchObject({ accepted: true });
    expect((await act('build-report', report)).status).toBe(200);
    const asked = world.dispatch.calls.filter(({ method }) =>
      ['heartbeat', 'appendLogs', 'report'].includes(method),
    );
    expect(asked).toMatchObject([
      {
        method: 'heartbeat',
        request: { caller: { ...caller, bootId: 'b1' }, heartbeat: { leases: [{ id: 'run_1', epoch: 2 }] } },
      },
      { method: 'appendLogs', request: { caller, kind: 1, logs: { offset: 3 } } },
      { method: 'report', request: { caller, kind: 1, report: { reportId: 'report-1' } } },
      { method: 'report', request: { caller, kind: 2 } },
    ]);
  });

  it('is not there while its feature is off', async () => {
    const hidden = await world.gateway({ gate: () => 'hidden' });
    const [off, never] = [
      await send(hidden.port, poll()),
      await send(hidden.port, signed(key, '/runners/rnr_1/nothing')),
    ];
    expect(off.status).toBe(404);
    expect(off.text.replace(/req_\w+/, '').replace('/poll', '')).toBe(
      never.text.replace(/req_\w+/, '').replace('/nothing', ''),
    );
    expect(world.dispatch.calls).toEqual([]);
  });

  it(
    'ends held polls in the moment its feature is switched off, with the answer that new calls get',
    TIMED,
    async () => {
      let state: 'open' | 'hidden' = 'open';
      let changed = (): void => undefined;
      const own = await world.gateway({
        gate: () => state,
        onGateChange: (listener) => {
          changed = listener;
          return () => (changed = () => undefined);
        },
      });
      const held = ['poll', 'build-poll'].map((action) => send(own.port, poll({ waitMs: 50_000 }, action)));
      await parked(2, own);
      changed();
      expect(own.gateway.parked()).toBe(2);
      const begunMs = performance.now();
      state = 'hidden';
      changed();
      const answers = await Promise.all(held);
      expect(performance.now() - begunMs).toBeLessThan(1_000);
      const unknown = await send(own.port, signed(key, '/runners/rnr_1/nothing'));
      const plain = ({ status, text }: { status: number; text: string }) => [
        status,
        text.replace(/req_\w+/, ''),
      ];
      for (const answer of [...answers, await send(own.port, poll())])
        expect(plain(answer)).toEqual(plain(unknown));
      state = 'open';
      changed();
      const again = send(own.port, poll({ waitMs: 20_000 }));
      await parked(1, own);
      world.dispatch.addItem('run_1');
      await own.queue.hint({ workId: 'run_1', poolId: 'team_a', kind: 'run', count: 1 });
      expect(json(await again)).toMatchObject({ run: { id: 'run_1' } });
    },
  );

  it('holds no poll whose signature was still being verified when the feature went off', async () => {
    let state: 'open' | 'hidden' = 'open';
    const own = await world.gateway({ gate: () => state });
    world.dispatch.before = (method) => {
      if (method === 'resolveKey') state = 'hidden';
    };
    expect((await send(own.port, poll({ waitMs: 50_000 }))).status).toBe(404);
    expect(own.gateway.parked()).toBe(0);
  });

  it('counts what it does', async () => {
    await send(gateway.port, poll({ waitMs: 0 }));
    await send(gateway.port, { ...poll(), lines: UNSIGNED });
    const text = await gateway.gateway.registry.metrics();
    expect(text).toContain('svc_gateway_polls_total{kind="run",outcome="empty"} 1');
    expect(text).toContain('svc_gateway_refusals_total{code="signature_missing"} 1');
    expect(text).toContain('svc_gateway_verify_seconds_count 1');
    expect(text).toContain('svc_gateway_polls_parked 0');
  });

  it('speaks Connect in JSON, where the runner id is in the body and must be that of the signer', async () => {
    const path = '/svc.runner.v1.RunnerService/Poll';
    world.dispatch.addItem('run_1');
    const right = await send(gateway.port, signed(key, path, { body: { runnerId: 'rnr_1' } }));
    expect([right.status, json(right)]).toMatchObject([200, { run: { id: 'run_1' } }]);
    const wrong = await send(gateway.port, signed(key, path, { body: { runnerId: 'rnr_2' } }));
    expect([wrong.status, json(wrong)]).toEqual([200, {}]);
    const unsigned = await send(gateway.port, { ...signed(key, path), lines: UNSIGNED });
    expect(unsigned.status).toBe(401);
    expect(unsigned.headers.get('x-error-code')).toBe('signature_missing');
    const late = signed(key, path, { body: { runnerId: 'rnr_1' }, created: 1_767_225_600 });
    const skewed = await send(gateway.port, late);
    expect(skewed.headers.get('x-error-code')).toBe('clock_skew');
    expect(JSON.parse(skewed.headers.get('x-error-details') ?? '')).toEqual({
      serverTime: expect.any(String) as string,
    });
  });

  it('speaks gRPC over HTTP/2, signed over the bytes of the frame', async () => {
    const path = '/svc.runner.v1.RunnerService/Poll';
    world.dispatch.addItem('run_1');
    const message = toBinary(PollRequestSchema, create(PollRequestSchema, { runnerId: 'rnr_1' }));
    const frame = Buffer.concat([Buffer.from([0, 0, 0, 0, message.length]), message]);
    const headers = () => ({ ...signedHttp2(path, 'application/grpc', frame), te: 'trailers' });
    const answer = await http2Post(gateway.port, headers(), frame);
    expect(answer.trailers).toMatchObject({ 'grpc-status': '0' });
    expect(fromBinary(PollResponseSchema, answer.body.subarray(5))).toMatchObject({ run: { id: 'run_1' } });
    world.dispatch.calls.length = 0;
    const spoiled = Buffer.from(frame);
    spoiled[spoiled.length - 1]! ^= 1;
    const refused = await http2Post(gateway.port, headers(), spoiled);
    expect(JSON.stringify(refused.trailers) + String(refused.status)).toMatch(/16/);
    expect(world.dispatch.calls).toEqual([]);
  });

  it('speaks JSON over HTTP/2, and refuses a host beside another authority', async () => {
    const body = Buffer.from('{"waitMs":0}');
    const headers = signedHttp2('/runners/rnr_1/poll', 'application/json', body);
    const answer = await http2Post(gateway.port, headers, body);
    expect([answer.status, answer.body.toString()]).toEqual([200, '{}']);
    const again = signedHttp2('/runners/rnr_1/poll', 'application/json', body);
    expect((await http2Post(gateway.port, { ...again, host: 'evil.example' }, body)).status).toBe(400);
  });

  it('takes X-Forwarded-Host from a trusted proxy alone', async () => {
    const trusting = await world.gateway({ trustedProxies: ['127.0.0.0/8'] });
    const request = poll({ waitMs: 0 });
    const lines = request.lines.map((line) =>
      line.startsWith('Host:') ? 'Host: gateway.internal:8081' : line,
    );
    const forwarded = { ...request, lines: [...lines, 'X-Forwarded-Host: cp.example.com'] };
    expect((await send(gateway.port, forwarded)).code).toBe('signature_invalid');
    expect((await send(trusting.port, forwarded)).status).toBe(200);
  });

  it('holds 2,000 polls and serves the right one', async () => {
    const runners = Array.from({ length: 250 }, (_, n) => ({ key: generateSigningKey(), id: `rnr_m${n}` }));
    for (const [n, { key: own, id }] of runners.entries())
      world.dispatch.addRunner(own, id, `team_${n % 20}`);
    const requests = Array.from({ length: 2_000 }, (_, n) => {
      const { key: own, id } = runners[n % runners.length]!;
      return signed(own, `/runners/${id}/poll`, { body: { waitMs: 50_000 } });
    });
    const exchanges = [];
    for (const [n, request] of requests.entries()) {
      exchanges.push(open(gateway.port, request));
      if (n % 100 === 99) await parked(n + 1);
    }
    expect(gateway.gateway.parked()).toBe(2_000);
    const before = world.dispatch.count('pollAgain');
    world.dispatch.addItem('run_1', 'team_7');
    world.broker.hint('run_1', 'team_7');
    await parked(1_999);
    expect(world.dispatch.count('pollAgain')).toBe(before + 1);
    for (const { socket } of exchanges) socket.destroy();
    await parked(0);
  });
});
