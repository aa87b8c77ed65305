import * as zlib from 'node:zlib';
import { create, type Message } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import { AccountService } from '../gen/svc/account/v1/account_pb.ts';
import { rpcs } from '../gen/rpcs.ts';
import {
  CreateRequestSchema,
  ListRequestSchema,
  RunState,
} from '../gen/svc/sandboxruns/v1/sandboxruns_pb.ts';
import type { CallContext } from './call.ts';
import { createDoor } from './door.ts';
import { apiError } from './errors.ts';
import { doorOfTest as open, publicRpcs, testApp, type TestAnswers, type TestDoor } from './testing/app.ts';
import { waitFor } from '../../test/setup/wait-for.ts';

type Invoke = NonNullable<TestAnswers['invoke']>;

/** Answers with the output type's empty message, filled from `init` where that fits. */
const echo =
  (seen: { request?: Message; call?: CallContext } = {}, init: Record<string, unknown> = {}): Invoke =>
  (call, request) => {
    Object.assign(seen, { request, call });
    return create(call.rpc.desc.output, init);
  };

interface Answer {
  status: number;
  headers: Headers;
  text: string;
  json: Record<string, unknown>;
  error: Record<string, unknown>;
}

async function ask(url: string, init: RequestInit = {}): Promise<Answer> {
  const response = await fetch(url, init);
  const text = await response.text();
  const json = (text.startsWith('{') ? JSON.parse(text) : {}) as Record<string, unknown>;
  return {
    status: response.status,
    headers: response.headers,
    text,
    json,
    error: (json['error'] ?? {}) as Record<string, unknown>,
  };
}

const post = (body: string | Uint8Array, headers: Record<string, string> = {}): RequestInit => ({
  method: 'POST',
  body,
  headers: { 'content-type': 'application/json', ...headers },
});

describe('a REST call', () => {
  it('carries path, query and repeated parameters into the message and answers in the documented spelling', async () => {
    const seen: { request?: Message } = {};
    const { url } = await open({ invoke: echo(seen, { nextCursor: 'c2' }) });
    const answer = await ask(`${url}/teams/team%5F1/sandbox-runs?state=running&state=4&limit=10`);
    expect(answer.status).toBe(200);
    expect(answer.json).toEqual({ sandboxRuns: [], nextCursor: 'c2' });
    expect(seen.request).toEqual(
      create(ListRequestSchema, {
        teamId: 'team_1',
        state: [RunState.RUNNING, RunState.SUCCEEDED],
        limit: 10,
      }),
    );
  });

  it('carries the body into the message, the path winning, and answers the documented status', async () => {
    const seen: { request?: Message } = {};
    const { url } = await open({ invoke: echo(seen, { id: 'run_1' }) });
    const body = {
      teamId: 'team_other',
      command: ['echo', 'hé'],
      limits: { cpus: 0.5 },
      purpose: 'agent_task',
    };
    const answer = await ask(`${url}/teams/team_1/sandbox-runs`, post(JSON.stringify(body)));
    expect(answer.status).toBe(201);
    expect(answer.json).toMatchObject({ id: 'run_1', command: [] });
    expect(seen.request).toEqual(
      create(CreateRequestSchema, {
        teamId: 'team_1',
        command: ['echo', 'hé'],
        limits: { cpus: 0.5 },
        purpose: 1,
      }),
    );
  });

  it('takes an empty body as the empty message', async () => {
    const { url } = await open({ invoke: echo({}, { id: 'run_1' }) });
    expect((await ask(`${url}/sandbox-runs/run_1/cancel`, { method: 'POST' })).status).toBe(200);
  });

  it('answers 204 without a body', async () => {
    const { url } = await open({ invoke: echo() });
    const answer = await ask(`${url}/auth/logout`, { method: 'POST' });
    expect([
      answer.status,
      answer.text,
      answer.headers.get('content-type'),
      answer.headers.get('content-length'),
    ]).toEqual([204, '', null, null]);
  });

  it('lets the handler set status and headers', async () => {
    const invoke: Invoke = (call) => {
      call.status = 202;
      call.responseHeaders.set('idempotent-replayed', 'true');
      return create(call.rpc.desc.output);
    };
    const { url } = await open({ invoke });
    const answer = await ask(`${url}/sandbox-runs/run_1`);
    expect([answer.status, answer.headers.get('idempotent-replayed')]).toEqual([202, 'true']);
  });

  it('sends the security headers, a request id and a date, and no server header', async () => {
    const { url } = await open({ invoke: echo() }, { hsts: true });
    const { headers } = await ask(`${url}/sandbox-runs/run_1`);
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('cache-control')).toBe('no-store');
    expect(headers.get('content-security-policy')).toBe("default-src 'none'; frame-ancestors 'none'");
    expect(headers.get('referrer-policy')).toBe('no-referrer');
    expect(headers.get('strict-transport-security')).toContain('max-age=');
    expect(headers.get('x-request-id')).toMatch(/^req_[0-9a-hjkmnp-tv-z]{26}$/);
    expect(headers.get('date')).not.toBeNull();
    expect([headers.get('server'), headers.get('x-powered-by')]).toEqual([null, null]);
    expect((await ask(`${url}/nowhere`)).headers.get('x-content-type-options')).toBe('nosniff');
  });

  it('keeps a sane request id of the caller and replaces any other', async () => {
    const { url } = await open({ invoke: echo() });
    const idFor = async (inbound: string): Promise<string | null> =>
      (await ask(`${url}/x`, { headers: { 'x-request-id': inbound } })).headers.get('x-request-id');
    expect(await idFor('trace-12345')).toBe('trace-12345');
    for (const bad of ['short', 'with space', 'x'.repeat(200), '<script>alert'])
      expect(await idFor(bad)).toMatch(/^req_/);
  });

  it('answers HEAD as GET without the body', async () => {
    const { url } = await open({ invoke: echo({}, { id: 'run_1' }) });
    const get = await ask(`${url}/sandbox-runs/run_1`);
    const answer = await ask(`${url}/sandbox-runs/run_1`, { method: 'HEAD' });
    expect([answer.status, answer.text, answer.headers.get('content-length')]).toEqual([
      200,
      '',
      String(get.text.length),
    ]);
  });

  it('tells each finished call once', async () => {
    const door = await open({ invoke: echo() });
    await ask(`${door.url}/sandbox-runs/run_1`);
    await ask(`${door.url}/nowhere`);
    expect(door.records).toMatchObject([
      {
        rpc: { id: 'svc.sandboxruns.v1.SandboxRunsService/Get' },
        protocol: 'rest',
        method: 'GET',
        status: 200,
      },
      { status: 404, code: 'not_found' },
    ]);
    expect(door.records.every((record) => record.ms > 0 && record.remoteAddress === '127.0.0.1')).toBe(true);
  });
});

describe('a refused REST call', () => {
  const invoke = echo();

  const expectRefusal = (answer: Answer, status: number, code: string): void => {
    expect([answer.status, answer.error['code']], answer.text).toEqual([status, code]);
    expect(Object.keys(answer.error).slice(0, 4)).toEqual(['code', 'message', 'requestId', 'retryable']);
    expect(answer.error['requestId']).toBe(answer.headers.get('x-request-id'));
    expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8');
  };

  it.each<[what: string, path: string, init: RequestInit, status: number, code: string]>([
    ['unknown path', '/nowhere', {}, 404, 'not_found'],
    ['unknown RPC', '/svc.sandboxruns.v1.SandboxRunsService/Nope', { method: 'POST' }, 404, 'not_found'],
    ['internal RPC', '/svc.dispatch.v1.DispatchService/Claim', { method: 'POST' }, 404, 'not_found'],
    ['trailing slash', '/teams/t/sandbox-runs/', {}, 404, 'not_found'],
    ['double slash', '/teams//sandbox-runs', {}, 404, 'not_found'],
    ['encoded literal', '/te%61ms/t/sandbox-runs', {}, 404, 'not_found'],
    ['wrong verb', '/sandbox-runs/run_1', { method: 'PUT' }, 405, 'method_not_allowed'],
    ['OPTIONS', '/sandbox-runs/run_1', { method: 'OPTIONS' }, 405, 'method_not_allowed'],
    [
      'content-type of a form',
      '/teams/t/sandbox-runs',
      post('a=b', { 'content-type': 'application/x-www-form-urlencoded' }),
      415,
      'unsupported_media_type',
    ],
    [
      'foreign charset',
      '/teams/t/sandbox-runs',
      post('{}', { 'content-type': 'application/json; charset=latin1' }),
      415,
      'unsupported_media_type',
    ],
    [
      'unknown content-encoding',
      '/teams/t/sandbox-runs',
      post('{}', { 'content-encoding': 'zstd' }),
      415,
      'unsupported_media_type',
    ],
    ['body over the limit', '/auth/login', post(`"${'x'.repeat(5000)}"`), 413, 'body_too_large'],
    [
      'unreadable deadline',
      '/sandbox-runs/r',
      { headers: { 'connect-timeout-ms': 'abc' } },
      400,
      'request_invalid',
    ],
  ])('%s: %s', async (_what, path, init, status, code) => {
    const { url } = await open({ invoke });
    expectRefusal(await ask(`${url}${path}`, init), status, code);
  });

  it.each<[what: string, path: string, problem: object, init?: RequestInit]>([
    ['unknown parameter', '/teams/t/sandbox-runs?filterr=x', { field: 'filterr', rule: 'unknown_parameter' }],
    [
      'single parameter twice',
      '/teams/t/sandbox-runs?limit=1&limit=2',
      { field: 'limit', rule: 'repeated_parameter' },
    ],
    [
      'parameter bound by the path',
      '/teams/t/sandbox-runs?teamId=u',
      { field: 'teamId', rule: 'bound_by_path' },
    ],
    [
      'the same by its proto name',
      '/teams/t/sandbox-runs?team_id=t',
      { field: 'team_id', rule: 'bound_by_path' },
    ],
    ['number that is none', '/teams/t/sandbox-runs?limit=abc', { field: 'limit', rule: 'type' }],
    ['empty number', '/teams/t/sandbox-runs?limit=', { field: 'limit', rule: 'type' }],
    ['hexadecimal number', '/teams/t/sandbox-runs?limit=0x10', { field: 'limit', rule: 'type' }],
    ['number beyond its type', '/teams/t/sandbox-runs?limit=4294967296', { field: 'limit', rule: 'range' }],
    ['number beyond its rule', '/teams/t/sandbox-runs?limit=201', { field: 'limit', rule: 'uint32.gte_lte' }],
    ['unknown enum value', '/teams/t/sandbox-runs?state=flying', { field: 'state', rule: 'enum' }],
    ['bool that is not true or false', '/sandbox-runs/r/logs?follow=1', { field: 'follow', rule: 'type' }],
    ['bad percent-encoding in the path', '/sandbox-runs/%zz', { field: 'runId', rule: 'percent_encoding' }],
    ['bad UTF-8 in the path', '/sandbox-runs/%ff', { field: 'runId', rule: 'percent_encoding' }],
    ['NUL in the path', '/sandbox-runs/%00', { field: 'runId', rule: 'text' }],
    [
      'bad percent-encoding in the query',
      '/teams/t/sandbox-runs?cursor=%',
      { field: 'cursor', rule: 'percent_encoding' },
    ],
    [
      'query beside a body',
      '/teams/t/sandbox-runs?image=x',
      { field: 'image', rule: 'query_with_body' },
      post('{"command":["a"]}'),
    ],
    [
      'body on DELETE',
      '/api-keys/key_1',
      { field: '', rule: 'body_not_allowed' },
      { ...post('{}'), method: 'DELETE' },
    ],
    [
      'broken rule in a body',
      '/teams/t/sandbox-runs',
      { rule: 'repeated.min_items' },
      post('{"command":[],"limits":{"memoryMb":1}}'),
    ],
    [
      'unknown field in a body',
      '/teams/t/sandbox-runs',
      { field: 'commands', rule: 'unknown_field' },
      post('{"commands":[]}'),
    ],
  ])('%s: %s', async (_what, path, problem, init) => {
    const { url } = await open({ invoke });
    const answer = await ask(`${url}${path}`, init);
    expectRefusal(answer, 400, 'validation_failed');
    expect((answer.error['details'] as { fields: unknown[] }).fields[0]).toMatchObject(problem);
  });

  it('names the allowed verbs, HEAD with GET', async () => {
    const { url } = await open({ invoke });
    expect((await ask(`${url}/teams/t/sandbox-runs`, { method: 'PUT' })).headers.get('allow')).toBe(
      'GET, HEAD, POST',
    );
    expect((await ask(`${url}/sandbox-runs/r/logs`, { method: 'HEAD' })).headers.get('allow')).toBe('GET');
    expect(
      (await ask(`${url}/svc.sandboxruns.v1.SandboxRunsService/Get`, { method: 'DELETE' })).headers.get(
        'allow',
      ),
    ).toBe('GET, POST');
  });

  it.each([
    'application/json',
    'application/json;charset=UTF-8',
    'Application/JSON; charset="utf-8"',
    'application/json ; charset=utf8',
  ])('takes the content-type %s', async (type) => {
    const { url } = await open({ invoke });
    expect(
      (await ask(`${url}/teams/t/sandbox-runs`, post('{"command":["a"]}', { 'content-type': type }))).status,
    ).toBe(201);
  });

  it('keeps the text of an unexpected error to the log', async () => {
    const door = await open({
      invoke: () => {
        throw new Error('password=hunter2 in the SQL');
      },
    });
    const answer = await ask(`${door.url}/sandbox-runs/r`);
    expect([answer.status, answer.error['code'], answer.error['retryable']]).toEqual([500, 'internal', true]);
    expect(answer.text).not.toContain('hunter2');
    expect(door.logged).toMatchObject([
      { requestId: answer.error['requestId'], err: { message: 'password=hunter2 in the SQL' } },
    ]);
  });

  it('carries details, Retry-After, extra headers, and Bearer with 401 alone', async () => {
    const door = await open({
      invoke: (call) => {
        throw call.header('x-case') === '401'
          ? apiError('credentials_invalid', 'the token is not known')
          : apiError('rate_limited', 'slow down', {
              details: { limit: 5 },
              retryAfterMs: 1200,
              headers: { 'x-extra': '1' },
            });
      },
    });
    const limited = await ask(`${door.url}/sandbox-runs/r`);
    expect([
      limited.status,
      limited.headers.get('retry-after'),
      limited.headers.get('x-extra'),
      limited.headers.get('www-authenticate'),
    ]).toEqual([429, '2', '1', null]);
    expect(limited.error).toMatchObject({ details: { limit: 5 }, retryable: true });
    const unknown = await ask(`${door.url}/sandbox-runs/r`, { headers: { 'x-case': '401' } });
    expect([unknown.status, unknown.headers.get('www-authenticate')]).toEqual([401, 'Bearer']);
  });
});

describe('gate, admission and body', () => {
  it('answers a hidden RPC exactly as a path that never existed, on every protocol and verb', async () => {
    const hidden = 'svc.sandboxruns.v1.SandboxRunsService/Get';
    const door = await open({
      invoke: echo(),
      admit: () => {
        throw apiError('credentials_missing', 'no');
      },
      gate: (rpc) => (rpc.id === hidden ? 'hidden' : 'open'),
    });
    const known = publicRpcs.filter((rpc) => rpc.id !== hidden);
    const never = await open({}, { apps: [testApp({}, known)] });
    const requests: [string, RequestInit][] = [
      ['/sandbox-runs/r', {}],
      ['/sandbox-runs/r', { method: 'HEAD' }],
      ['/sandbox-runs/r', { method: 'OPTIONS' }],
      ['/sandbox-runs/r', { method: 'DELETE' }],
      ['/sandbox-runs/%zz?x=%zz', {}],
      [`/${hidden}`, post('{}')],
      [`/${hidden}?encoding=json&message={}`, {}],
      [`/${hidden}`, post('garbage', { 'content-type': 'application/grpc' })],
    ];
    const view = async (base: string, [path, init]: [string, RequestInit]): Promise<unknown> => {
      const answer = await ask(base + path, {
        ...init,
        headers: { ...init.headers, 'x-request-id': 'same-for-both' },
      });
      const headers = Object.fromEntries([...answer.headers].filter(([name]) => name !== 'date'));
      return { status: answer.status, text: answer.text, headers };
    };
    for (const request of requests) {
      const seen = await view(door.url, request);
      expect(seen).toEqual(await view(never.url, request));
      expect(seen).toMatchObject({ status: 404 });
    }
  });

  it('answers 403 feature_disabled for a public feature that is off, before looking at credentials or body', async () => {
    const door = await open({
      gate: () => 'disabled',
      admit: () => {
        throw apiError('credentials_missing', 'no');
      },
    });
    const rest = await ask(`${door.url}/teams/t/sandbox-runs`, post('{{{'));
    expect([rest.status, rest.error['code']]).toEqual([403, 'feature_disabled']);
    const connect = await ask(`${door.url}/svc.sandboxruns.v1.SandboxRunsService/Create`, post('{{{'));
    expect([connect.status, connect.json['code'], connect.headers.get('x-error-code')]).toEqual([
      403,
      'permission_denied',
      'feature_disabled',
    ]);
  });

  it('admits from the head, then checks the raw body as sent, then parses', async () => {
    const order: string[] = [];
    const door = await open({
      admit: () => (order.push('admit'), 'ada'),
      admitBody: (_call, body) => void order.push(`body:${body[0]?.toString(16)}`),
      invoke: (call, request) => (
        order.push(`invoke:${(request as Message & { image: string }).image}`),
        create(call.rpc.desc.output)
      ),
    });
    const zipped = zlib.gzipSync(JSON.stringify({ command: ['a'], image: 'img' }));
    expect(
      (await ask(`${door.url}/teams/t/sandbox-runs`, post(zipped, { 'content-encoding': 'gzip' }))).status,
    ).toBe(201);
    expect(order).toEqual(['admit', 'body:1f', 'invoke:img']);
    expect((await ask(`${door.url}/teams/t/sandbox-runs`, post('{{{'))).status).toBe(400);
    expect(order.slice(3)).toEqual(['admit', 'body:7b']);
  });

  it('asks for the team that a request names before it decodes the rest, on every protocol', async () => {
    const asked: string[] = [];
    const door = await open({
      admitTeam: (call, teamId) => {
        asked.push(`${call.protocol} ${teamId}`);
        throw apiError('role_insufficient', 'no');
      },
    });
    const path = `${door.url}/svc.sandboxruns.v1.SandboxRunsService/Create`;
    // The team is there to be read, and `command` is no list: nothing but the refusal may be told.
    const json = '{"teamId":"team_a","command":7}';
    const wire = Buffer.from([0x0a, 6, ...Buffer.from('team_b'), 0x22, 2, 0xff, 0xfe]);
    const framed = Buffer.concat([Buffer.from([0, 0, 0, 0, wire.length]), wire]);
    expect((await ask(`${door.url}/teams/team_r/sandbox-runs`, post('{{{'))).error['code']).toBe(
      'role_insufficient',
    );
    for (const [body, type] of [
      [json, 'application/json'],
      [wire, 'application/proto'],
      [framed, 'application/grpc-web+proto'],
    ] as const) {
      const { headers, text } = await ask(path, post(body, { 'content-type': type }));
      // gRPC-Web has its trailers in the body.
      expect(headers.get('x-error-code') ?? text, type).toContain('role_insufficient');
    }
    expect(asked).toEqual(['rest team_r', 'connect team_a', 'connect team_b', 'grpcweb team_b']);
  });

  it('says how large a body is when it is unpacked', async () => {
    const sizes: number[] = [];
    const door = await open({ invoke: echo(), admitBytes: (_call, bytes) => void sizes.push(bytes) });
    const json = JSON.stringify({ teamId: 't', command: ['x'.repeat(5_000)] });
    const zipped = post(zlib.gzipSync(json), { 'content-encoding': 'gzip' });
    await ask(`${door.url}/svc.sandboxruns.v1.SandboxRunsService/Create`, zipped);
    await ask(`${door.url}/teams/t/sandbox-runs`, zipped);
    expect(sizes).toEqual([json.length, json.length]);
  });

  it.each(['gzip', 'deflate', 'br'] as const)(
    'reads %s, refuses it truncated, and stops a bomb at the limit',
    async (encoding) => {
      // The best quality takes seconds for the bomb, and makes it no smaller.
      const params = { [zlib.constants.BROTLI_PARAM_QUALITY]: 5 };
      const br = (bytes: zlib.InputType): Buffer => zlib.brotliCompressSync(bytes, { params });
      const compress = { gzip: zlib.gzipSync, deflate: zlib.deflateSync, br }[encoding];
      const door = await open({ invoke: echo() });
      const send = (bytes: Uint8Array): Promise<Answer> =>
        ask(`${door.url}/teams/t/sandbox-runs`, post(bytes, { 'content-encoding': encoding }));
      const whole = compress(JSON.stringify({ command: ['a'] }));
      expect((await send(whole)).status).toBe(201);
      expect((await send(whole.subarray(0, -4))).error['code']).toBe('validation_failed');
      expect((await send(Buffer.from('not compressed'))).status).toBe(400);
      const bomb = compress(Buffer.alloc(200_000_000, ' '));
      expect(bomb.length).toBeLessThan(300_000);
      const before = process.memoryUsage().rss;
      expect((await send(bomb)).error['code']).toBe('body_too_large');
      expect(process.memoryUsage().rss - before).toBeLessThan(60_000_000);
    },
  );

  it('refuses huge arrays by the rules of the contract', async () => {
    const door = await open({ invoke: echo() });
    const body = JSON.stringify({ command: Array.from({ length: 1_000 }, () => 'x') });
    const answer = await ask(`${door.url}/teams/t/sandbox-runs`, post(body));
    expect([answer.status, (answer.error['details'] as { fields: unknown[] }).fields]).toMatchObject([
      400,
      [{ field: 'command', rule: 'repeated.max_items' }],
    ]);
  });
});

describe('deadline and presence', () => {
  const waitForAbort =
    (reasons: unknown[]): Invoke =>
    (call) =>
      new Promise((_resolve, reject) => {
        call.signal.addEventListener('abort', () => {
          reasons.push((call.signal.reason as { code: string }).code);
          reject(call.signal.reason as Error);
        });
      });

  /** Leaves as soon as the handler was called. */
  const askAndLeave = async (door: TestDoor, called: () => number): Promise<void> => {
    const controller = new AbortController();
    const asked = fetch(`${door.url}/sandbox-runs/r`, { signal: controller.signal }).catch(
      (error: unknown) => error,
    );
    await waitFor(called, () => called() === 1);
    controller.abort();
    await asked;
  };

  it('answers 504 when the client-given deadline passes, and wakes the handler', async () => {
    const reasons: unknown[] = [];
    const door = await open({ invoke: waitForAbort(reasons) });
    for (const ms of ['30', '0']) {
      const answer = await ask(`${door.url}/sandbox-runs/r`, { headers: { 'connect-timeout-ms': ms } });
      expect([answer.status, answer.error['code'], answer.error['retryable']]).toEqual([
        504,
        'deadline_exceeded',
        true,
      ]);
    }
    expect(reasons).toEqual(['deadline_exceeded', 'deadline_exceeded']);
  });

  it('answers 504 also when the handler does not listen', async () => {
    const door = await open({ invoke: () => new Promise(() => {}) });
    expect(
      (await ask(`${door.url}/sandbox-runs/r`, { headers: { 'connect-timeout-ms': '20' } })).status,
    ).toBe(504);
  });

  it('caps a huge deadline at what the contract allows', async () => {
    const get = rpcs.filter(({ id }) => id === 'svc.sandboxruns.v1.SandboxRunsService/Get');
    const short = get.map((rpc) => ({ ...rpc, timeoutMs: 30 }));
    const { url } = await open({}, { apps: [testApp({ invoke: () => new Promise(() => {}) }, short)] });
    const headers = { 'connect-timeout-ms': '9999999999' };
    expect((await ask(`${url}/sandbox-runs/r`, { headers })).status).toBe(504);
  });

  it('aborts the call when the client leaves, and records it as 499', async () => {
    const reasons: unknown[] = [];
    const wait = waitForAbort(reasons);
    let called = 0;
    const door = await open({ invoke: (call, request) => (called++, wait(call, request)) });
    await askAndLeave(door, () => called);
    await waitFor(
      () => door.records,
      () => door.records.length === 1,
    );
    expect([reasons, door.records[0]?.status]).toEqual([['client_closed'], 499]);
  });

  it('tells the one who waits without a signal that the client has left', async () => {
    const told: boolean[] = [];
    let called = 0;
    const door = await open({
      invoke: (call) => {
        called += 1;
        call.onAborted = { handleAborted: () => void told.push(call.aborted) };
        told.push(call.aborted);
        return new Promise(() => {});
      },
    });
    await askAndLeave(door, () => called);
    await waitFor(
      () => told,
      () => told.length === 2,
    );
    expect(told).toEqual([false, true]);
  });

  it('lets the head of a call go that waits long, and answers it and the next one on its connection', async () => {
    const seen: unknown[] = [];
    const door = await open({
      invoke: (call, request) => {
        seen.push(call.header('x-mark'));
        call.forgetHead();
        seen.push(call.header('x-mark'), call.header('host'), call.request.rawHeaders.length);
        return echo()(call, request);
      },
    });
    for (const mark of ['one', 'two'])
      expect((await ask(`${door.url}/sandbox-runs/r`, { headers: { 'x-mark': mark } })).status).toBe(200);
    expect(seen).toEqual(['one', undefined, undefined, 0, 'two', undefined, undefined, 0]);
  });
});

describe('pages', () => {
  it('answers exact GET paths, with their own headers over the usual ones', async () => {
    const door = await open(
      {},
      {
        pages: {
          '/healthz': () => ({ body: 'ok', headers: { 'content-type': 'text/plain' } }),
          '/readyz': async ({ query }) => ({
            status: 503,
            body: query,
            headers: { 'cache-control': 'max-age=1' },
          }),
          '/broken': () => {
            throw new Error('secret');
          },
        },
      },
    );
    expect(await ask(`${door.url}/healthz`)).toMatchObject({ status: 200, text: 'ok' });
    const ready = await ask(`${door.url}/readyz?x=1`);
    expect([ready.status, ready.text, ready.headers.get('cache-control')]).toEqual([503, 'x=1', 'max-age=1']);
    expect((await ask(`${door.url}/healthz`, { method: 'HEAD' })).text).toBe('');
    expect((await ask(`${door.url}/healthz`, { method: 'POST' })).headers.get('allow')).toBe('GET, HEAD');
    expect((await ask(`${door.url}/healthz/`)).status).toBe(404);
    expect((await ask(`${door.url}/broken`)).text).not.toContain('secret');
  });
});

describe('several apps', () => {
  it('share one port, and none may serve the RPC of another', async () => {
    const [one, two] = [
      rpcs.filter((rpc) => rpc.desc.parent === AccountService),
      rpcs.filter((rpc) => rpc.audience === 'runner'),
    ];
    const named = (name: string): TestAnswers => ({
      invoke: (call) => {
        call.responseHeaders.set('x-app', name);
        return create(call.rpc.desc.output);
      },
    });
    const { url } = await open({}, { apps: [testApp(named('one'), one), testApp(named('two'), two)] });
    expect(
      (await ask(`${url}/account`)).headers.get('x-app') ??
        (await ask(`${url}/account/plan`)).headers.get('x-app'),
    ).toBe('one');
    expect((await ask(`${url}/runners/r/poll`, { method: 'POST' })).headers.get('x-app')).toBe('two');
    expect(() =>
      createDoor({ apps: [testApp({}, one), testApp({}, one)], log: { error() {}, warn() {} } }),
    ).toThrow('is served by two apps');
  });
});
