import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { beforeEach, describe, expect, it } from 'vitest';
import { Client, type CallOptions, type ClientOptions } from './client.ts';
import {
  SvcAbortError,
  SvcApiError,
  SvcConflictError,
  SvcConnectionError,
  SvcInvalidRequestError,
  SvcNotFoundError,
  SvcPermissionDeniedError,
  SvcRateLimitedError,
  SvcServerError,
  SvcTimeoutError,
  SvcUnauthenticatedError,
} from './errors.ts';
import type { Operation } from './operation.ts';
import { SDK_VERSION } from './version.ts';
import { createFakeRuntime, type FakeRuntime } from './testing/fake-runtime.ts';
import { hang, reset, useFakeServer, type ScriptedReply } from './testing/fake-server.ts';

const getThing: Operation = { method: 'GET', path: '/things/{id}' };
const createThing: Operation = { method: 'POST', path: '/things', body: '*' };
const deleteThing: Operation = { method: 'DELETE', path: '/things/{id}' };

const server = useFakeServer();
let runtime: FakeRuntime;
beforeEach(() => void (runtime = createFakeRuntime()));

function client(options: ClientOptions = {}): Client {
  return new Client({ baseUrl: server.baseUrl, ...options }, runtime);
}
function failure(
  status: number,
  error: Record<string, unknown> = {},
  headers: Record<string, string> = {},
): ScriptedReply {
  return { status, headers, body: { error: { code: 'some_code', message: 'some words', ...error } } };
}
async function errorOf(call: PromiseLike<unknown>): Promise<SvcApiError> {
  try {
    await call;
  } catch (error) {
    if (error instanceof SvcApiError) return error;
    throw error;
  }
  throw new Error('the call succeeded');
}
const ok: ScriptedReply = { body: { id: 't1' } };

describe('a call', () => {
  it('sends path, query and default headers, and gives the data', async () => {
    server.reply({ body: { id: 'a/b' } });
    const data = await client({ apiKey: 'k1', defaultHeaders: { 'X-Own': '1' } }).call(getThing, {
      id: 'a/b',
      tag: ['x', 'y z'],
      none: undefined,
    });
    expect(data).toEqual({ id: 'a/b' });
    expect(server.seen[0]).toMatchObject({ method: 'GET', target: '/things/a%2Fb?tag=x&tag=y+z', body: '' });
    expect(server.seen[0]?.headers).toMatchObject({
      authorization: 'Bearer k1',
      accept: 'application/json',
      'user-agent': `svc-sdk/${SDK_VERSION}`,
      'x-own': '1',
    });
    expect(server.seen[0]?.headers).not.toHaveProperty('idempotency-key');
    expect(server.seen[0]?.headers).not.toHaveProperty('x-svc-retry-count');
  });

  it('sends a body as JSON', async () => {
    server.reply(ok);
    await client().call(createThing, { name: 'ä', nested: { deep: [1] }, skip: undefined });
    expect(server.seen[0]?.headers['content-type']).toBe('application/json');
    expect(JSON.parse(server.seen[0]?.body ?? '')).toEqual({ name: 'ä', nested: { deep: [1] } });
  });

  it('gives undefined for an answer without content', async () => {
    server.reply({ status: 204 });
    expect(await client().call(deleteThing, { id: 't1' })).toBeUndefined();
  });

  it('gives the field that the operation names', async () => {
    server.reply({ body: { tokens: [1, 2] } });
    expect(await client().call({ method: 'GET', path: '/tokens', returns: 'tokens' })).toEqual([1, 2]);
    server.reply({ body: {} }, { status: 204 });
    expect(await client().call({ method: 'GET', path: '/sso', returns: 'sso' })).toBe(null);
    expect(await client().call({ method: 'GET', path: '/sso', returns: 'sso' })).toBe(null);
  });

  it('keeps a path in baseUrl and drops a trailing slash', async () => {
    server.reply(ok);
    await client({ baseUrl: `${server.baseUrl}/api/v2/` }).call(getThing, { id: 't1' });
    expect(server.seen[0]?.target).toBe('/api/v2/things/t1');
  });

  it('takes token as another name of apiKey', async () => {
    server.reply(ok);
    await client({ token: 's1' }).call(getThing, { id: 't1' });
    expect(server.seen[0]?.headers.authorization).toBe('Bearer s1');
  });

  it('lets a call add headers and take default ones away', async () => {
    server.reply(ok);
    await client({ apiKey: 'k1', defaultHeaders: { 'X-Own': '1' } }).call(
      getThing,
      { id: 't1' },
      {
        headers: { 'x-own': null, Authorization: null, 'X-More': '2' },
      },
    );
    expect(server.seen[0]?.headers).toMatchObject({ 'x-more': '2' });
    expect(server.seen[0]?.headers).not.toHaveProperty('x-own');
    expect(server.seen[0]?.headers).not.toHaveProperty('authorization');
  });

  it('fills in the environment of the options when none is passed', async () => {
    server.reply(ok, ok);
    const withDefault = client({ environmentId: 'env_1' });
    const operation: Operation = { method: 'GET', path: '/environments/{environmentId}/builds' };
    await withDefault.call(operation, { environmentId: undefined });
    await withDefault.call(operation, { environmentId: 'env_2' });
    expect(server.seen.map((request) => request.target)).toEqual([
      '/environments/env_1/builds',
      '/environments/env_2/builds',
    ]);
  });

  it('uses an injected fetch', async () => {
    const urls: string[] = [];
    const injected = client({
      fetch: async (url) => {
        urls.push(url);
        return Response.json({ id: 'x' });
      },
    });
    expect(await injected.call(getThing, { id: 't1' })).toEqual({ id: 'x' });
    expect(urls).toEqual([`${server.baseUrl}/things/t1`]);
  });

  it('is sent although nobody awaits it', async () => {
    server.reply({ status: 204 });
    void client().call(deleteThing, { id: 't1' });
    expect((await server.request(0)).method).toBe('DELETE');
  });

  it('rejects, and sends nothing, when a path variable is missing', async () => {
    await expect(client().call(getThing, {})).rejects.toThrow('GET /things/{id} needs id, got undefined');
    await expect(client().call(getThing, { id: '..' })).rejects.toThrow('cannot take ".." as id');
    expect(server.seen).toHaveLength(0);
  });
});

describe('options', () => {
  it.each([
    [{ baseUrl: 'localhost:8080' }, 'baseUrl must be an http or https address'],
    [{ baseUrl: '' }, 'baseUrl must be an http or https address'],
    [{ baseUrl: 'http://a/?x=1' }, 'without query'],
    [{ timeoutMs: 0 }, 'timeoutMs must be at least 1, got 0'],
    [{ maxRetries: -1 }, 'maxRetries must be at least 0, got -1'],
    [{ maxRetries: Number.NaN }, 'maxRetries must be at least 0, got NaN'],
    [{ apiKey: 'a', token: 'b' }, 'apiKey and token are two names of one option'],
  ] satisfies [ClientOptions, string][])('%j is refused', (options, message) => {
    expect(() => new Client(options)).toThrow(message);
  });

  it.each<[object, string]>([
    [{ baseURL: 'http://a' }, 'createSvcSDK: unknown option "baseURL", did you mean "baseUrl"?'],
    [{ apikey: 'a' }, 'unknown option "apikey", did you mean "apiKey"?'],
    [{ retries: 3 }, 'unknown option "retries", expected some of baseUrl, apiKey, token'],
    [{ baseUrl: 'http://a', baseURL: undefined }, 'unknown option "baseURL"'],
    [JSON.parse('{"__proto__": 1}') as object, 'unknown option "__proto__"'],
  ])('unknown ones are refused by name: %j', (options, message) => {
    expect(() => new Client(options)).toThrow(TypeError);
    expect(() => new Client(options)).toThrow(message);
  });

  it('must be an object', () => {
    expect(() => new Client(null as never)).toThrow('createSvcSDK: the options are null, expected an object');
    expect(() => new Client('key' as never)).toThrow('the options are string, expected an object');
  });

  it('of a call that are unknown are refused by name, and nothing is requested', async () => {
    const message = 'GET /things/{id}: unknown option "timeout", did you mean "timeoutMs"?';
    await expect(client().call(getThing, { id: 't1' }, { timeout: 5 } as object)).rejects.toThrow(message);
    await expect(client().list(getThing, { id: 't1' }, { timeout: 5 } as object)).rejects.toThrow(message);
    const stream = client().stream({ ...getThing, stream: {} }, { id: 't1' }, { timeout: 5 } as object);
    await expect(stream.forEach(() => undefined)).rejects.toThrow(message);
    const bytes = client().byteStream({ ...getThing, raw: true }, { id: 't1' }, { timeout: 5 } as object);
    await expect(bytes.bytes()).rejects.toThrow(message);
    expect(server.seen).toHaveLength(0);
  });

  it('need not be given', () => {
    expect(new Client()).toBeInstanceOf(Client);
  });
});

describe('raw answers', () => {
  it('come with asResponse() and withResponse()', async () => {
    const reply = { ...ok, headers: { 'x-request-id': 'req_1', 'x-other': 'o' } };
    server.reply(reply, reply);
    const response = await client().call(getThing, { id: 't1' }).asResponse();
    expect(response.status).toBe(200);
    expect(response.headers.get('x-other')).toBe('o');
    expect(await response.json()).toEqual({ id: 't1' });
    const {
      data,
      requestId,
      response: other,
    } = await client().call<{ id: string }>(getThing, { id: 't1' }).withResponse();
    expect({ id: data.id, requestId, status: other.status }).toEqual({
      id: 't1',
      requestId: 'req_1',
      status: 200,
    });
  });

  it('of any content type can be had with asResponse()', async () => {
    server.reply({ body: 'plain', headers: { 'content-type': 'text/plain' } });
    expect(await (await client().call(getThing, { id: 't1' }).asResponse()).text()).toBe('plain');
  });

  it('of status 204 can be had too', async () => {
    server.reply({ status: 204 });
    expect((await client().call(deleteThing, { id: 't1' }).asResponse()).status).toBe(204);
  });

  it('do not cost another request, however often the promise is used', async () => {
    server.reply(ok);
    const call = client().call(getThing, { id: 't1' });
    await Promise.all([call, call, call.asResponse(), call.withResponse(), call.finally(() => undefined)]);
    expect(server.seen).toHaveLength(1);
    expect(call).toBeInstanceOf(Promise);
  });

  it('give CSV as text', async () => {
    server.reply({ body: 'a,b\n1,2\n', headers: { 'content-type': 'text/csv; charset=utf-8' } });
    expect(await client().call(getThing, { id: 't1' })).toBe('a,b\n1,2\n');
  });
});

describe('idempotency keys', () => {
  it('are fresh per call on everything but GET, unless passed', async () => {
    server.reply(ok, ok, ok, ok);
    await client().call(createThing, { name: 'a' });
    await client().call(deleteThing, { id: 't1' });
    await client().call(createThing, { name: 'a' }, { idempotencyKey: 'mine' });
    await client().call(getThing, { id: 't1' }, { idempotencyKey: 'mine' });
    expect(server.seen.map((request) => request.headers['idempotency-key'])).toEqual([
      'key-1',
      'key-2',
      'mine',
      undefined,
    ]);
  });

  it('are UUIDs outside of tests', async () => {
    server.reply(ok);
    await new Client({ baseUrl: server.baseUrl }).call(createThing, {});
    expect(server.seen[0]?.headers['idempotency-key']).toMatch(
      /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
    );
  });

  it('stay the same over all attempts of a call, counted in X-Svc-Retry-Count', async () => {
    server.reply(failure(503), failure(503), ok);
    expect(await client().call(createThing, { name: 'a' })).toEqual({ id: 't1' });
    expect(server.seen.map((request) => request.headers['idempotency-key'])).toEqual([
      'key-1',
      'key-1',
      'key-1',
    ]);
    expect(server.seen.map((request) => request.headers['x-svc-retry-count'])).toEqual([undefined, '1', '2']);
    expect(new Set(server.seen.map((request) => request.body)).size).toBe(1);
  });
});

describe('retries', () => {
  it.each([429, 500, 502, 503, 504, 599])('%i is tried again up to maxRetries', async (status) => {
    server.reply(failure(status), failure(status), failure(status));
    expect(await errorOf(client().call(getThing, { id: 't1' }))).toMatchObject({ status, retryable: true });
    expect(server.seen).toHaveLength(3);
    // Full jitter with a random value of one half gives half of 500 and of 1000 ms.
    expect(runtime.pauses).toEqual([250, 500]);
  });

  it.each([
    ['400', failure(400)],
    ['401', failure(401)],
    ['403', failure(403)],
    ['404', failure(404)],
    ['409', failure(409)],
    ['422', failure(422)],
    ['501', failure(501)],
    ['501 even with a status text of its own', { status: 501, body: '<html>' }],
    ['500 with retryable: false', failure(500, { retryable: false })],
    ['429 with retryable: false', failure(429, { retryable: false })],
    ['503 with x-should-retry: false', failure(503, { retryable: true }, { 'x-should-retry': 'false' })],
    ['404 with retryable: true', failure(404, { retryable: true })],
  ])('%s is not tried again', async (_name, reply) => {
    server.reply(reply, ok);
    expect((await errorOf(client().call(createThing, {}))).retryable).toBe(false);
    expect(server.seen).toHaveLength(1);
  });

  it.each([
    ['409 while the first attempt still runs', failure(409, { code: 'idempotency_in_progress' })],
    ['409 with retryable: true', failure(409, { retryable: true })],
    ['408 with retryable: true', failure(408, { retryable: true })],
    ['400 with x-should-retry: true', failure(400, {}, { 'x-should-retry': 'true' })],
    ['a proxy error page', { status: 502, body: '<html>Bad gateway</html>' }],
    ['a reset connection', reset],
    [
      'a connection reset in the middle of the body',
      { headers: { 'content-type': 'application/json' }, chunks: ['{"id":'], then: 'reset' },
    ],
  ] satisfies [string, ScriptedReply][])('%s is tried again', async (_name, reply) => {
    server.reply(reply, ok);
    expect(await client().call(createThing, {})).toEqual({ id: 't1' });
    expect(server.seen).toHaveLength(2);
  });

  it('stop at a network error after maxRetries, with its cause', async () => {
    server.reply(reset, reset, reset);
    const error = await errorOf(client().call(getThing, { id: 't1' }));
    expect(error).toBeInstanceOf(SvcConnectionError);
    expect(error).toMatchObject({ status: 0, code: 'connection_failed', retryable: true });
    expect(error.message).toMatch(/^GET \/things\/\{id\} got no answer: /);
    expect(error.cause).toBeInstanceOf(Error);
    expect(server.seen).toHaveLength(3);
  });

  it('are made after a refused connection too', async () => {
    const closed = createServer();
    await once(closed.listen(0, '127.0.0.1'), 'listening');
    const { port } = closed.address() as AddressInfo;
    await new Promise((resolve) => closed.close(resolve));
    const error = await errorOf(client({ baseUrl: `http://127.0.0.1:${port}` }).call(getThing, { id: 't1' }));
    expect(error.message).toContain('ECONNREFUSED');
    expect(runtime.pauses).toHaveLength(2);
  });

  it('are as many as the options or the call say', async () => {
    server.reply(...Array.from({ length: 5 }, () => failure(503)));
    await errorOf(client({ maxRetries: 3 }).call(getThing, { id: 't1' }));
    expect(server.seen).toHaveLength(4);
    await errorOf(client({ maxRetries: 3 }).call(getThing, { id: 't1' }, { maxRetries: 0 }));
    expect(server.seen).toHaveLength(5);
  });
});

describe('Retry-After', () => {
  const inTwentySeconds = new Date(Date.UTC(2026, 10, 20) + 20_000).toUTCString();
  it.each([
    ['1 second', { 'retry-after': '1' }, 1_000],
    ['0 seconds', { 'retry-after': '0' }, 0],
    ['a date', { 'retry-after': inTwentySeconds }, 20_000],
    ['milliseconds, which win', { 'retry-after-ms': '123', 'retry-after': '5' }, 123],
    ['120 seconds: too long, so the ordinary backoff', { 'retry-after': '120' }, 250],
    ['a date in the past: the ordinary backoff', { 'retry-after': 'Thu, 01 Jan 2026 00:00:00 GMT' }, 250],
    ['nonsense: the ordinary backoff', { 'retry-after': 'soon' }, 250],
  ] as const)('of %s', async (_name, headers, pauseMs) => {
    server.reply(failure(429, {}, headers), ok);
    await client().call(getThing, { id: 't1' });
    expect(runtime.pauses).toEqual([pauseMs]);
  });
});

describe('timeouts', () => {
  it('end each attempt after 8 s and are tried again', async () => {
    server.reply(hang, hang, hang);
    const call = errorOf(client().call(getThing, { id: 't1' }));
    for (const index of [0, 1, 2]) {
      const request = await server.request(index);
      runtime.fire(8_000);
      await request.closedByClient;
    }
    const error = await call;
    expect(error).toBeInstanceOf(SvcTimeoutError);
    expect(error).toMatchObject({
      code: 'timeout',
      retryable: true,
      message: 'GET /things/{id} got no answer within 8000 ms',
    });
    expect(server.seen).toHaveLength(3);
    expect(runtime.pending(8_000)).toBe(0);
  });

  it('cover the body too', async () => {
    runtime = createFakeRuntime({ heldMs: [70] });
    server.reply({ headers: { 'content-type': 'application/json' }, chunks: ['{"id":'], then: 'hang' }, ok);
    const call = client({ timeoutMs: 70 }).call(getThing, { id: 't1' });
    await server.request(0);
    runtime.fire(70);
    expect(await call).toEqual({ id: 't1' });
  });

  it.each<[string, ClientOptions, CallOptions, number, string]>([
    ['as long as the server may take', {}, {}, 45_000, '45000'],
    ['less, as the client has it', { timeoutMs: 8_000 }, {}, 8_000, '8000'],
    ['less, as the call has it', { timeoutMs: 60_000 }, { timeoutMs: 2_500.5 }, 2_500.5, '2501'],
    ['more than the server takes', { timeoutMs: 600_000 }, {}, 600_000, '45000'],
  ])(
    'of an operation that takes long are told to the server: %s',
    async (_, options, call, limitMs, told) => {
      const slow = { ...getThing, timeoutMs: 45_000 };
      runtime = createFakeRuntime({ heldMs: [limitMs] });
      server.reply(hang);
      const waiting = errorOf(client({ ...options, maxRetries: 0 }).call(slow, { id: 't1' }, call));
      expect((await server.request(0)).headers['connect-timeout-ms']).toBe(told);
      expect(runtime.pending(limitMs)).toBe(1);
      runtime.fire(limitMs);
      expect(await waiting).toBeInstanceOf(SvcTimeoutError);
    },
  );

  it('of other operations are not', async () => {
    server.reply(ok);
    await client().call(getThing, { id: 't1' });
    expect(server.seen[0]?.headers['connect-timeout-ms']).toBeUndefined();
  });

  it.each<[string, ClientOptions['fetch']]>([
    ['fetch', () => new Promise(() => undefined)],
    ['body never ends and', async () => new Response(new ReadableStream())],
  ])('hold although an injected %s ignores its signal', async (_, fetch) => {
    const call = errorOf(client({ fetch, maxRetries: 0 }).call(getThing, { id: 't1' }));
    while (runtime.pending(8_000) === 0) await new Promise((resolve) => setImmediate(resolve));
    runtime.fire(8_000);
    expect(await call).toBeInstanceOf(SvcTimeoutError);
  });

  it('leave no timer behind after a success or a failure', async () => {
    server.reply(ok, failure(404));
    await client().call(getThing, { id: 't1' });
    await errorOf(client().call(getThing, { id: 't1' }));
    expect(runtime.pending(8_000)).toBe(0);
  });
});

describe('AbortSignal', () => {
  it('ends a running attempt without another one', async () => {
    server.reply(hang, ok);
    const controller = new AbortController();
    const call = errorOf(client().call(getThing, { id: 't1' }, { signal: controller.signal }));
    const request = await server.request(0);
    const reason = new Error('enough');
    controller.abort(reason);
    const error = await call;
    expect(error).toBeInstanceOf(SvcAbortError);
    expect(error).toMatchObject({ code: 'aborted', retryable: false, cause: reason });
    await request.closedByClient;
    expect(server.seen).toHaveLength(1);
  });

  it('ends the pause between two attempts at once', async () => {
    runtime = createFakeRuntime({ heldMs: [250, 8_000] });
    server.reply(failure(503), ok);
    const controller = new AbortController();
    const call = errorOf(client().call(getThing, { id: 't1' }, { signal: controller.signal }));
    await server.request(0);
    while (runtime.pending(250) === 0) await new Promise((resolve) => setImmediate(resolve));
    controller.abort();
    expect(await call).toBeInstanceOf(SvcAbortError);
    expect(runtime.pending(250)).toBe(0);
    expect(server.seen).toHaveLength(1);
  });

  it('that is aborted already sends nothing', async () => {
    const call = client().call(createThing, {}, { signal: AbortSignal.abort() });
    expect(await errorOf(call)).toBeInstanceOf(SvcAbortError);
    expect(server.seen).toHaveLength(0);
    let fetched = 0;
    const deaf = client({ fetch: async () => Response.json({ sent: (fetched += 1) }) });
    expect(await errorOf(deaf.call(createThing, {}, { signal: AbortSignal.abort() }))).toBeInstanceOf(
      SvcAbortError,
    );
    expect(fetched).toBe(0);
  });

  it('keeps no listener after the call', async () => {
    server.reply(failure(503), ok);
    let listeners = 0;
    const { signal } = new AbortController();
    const add = signal.addEventListener.bind(signal);
    const remove = signal.removeEventListener.bind(signal);
    signal.addEventListener = (...args: Parameters<typeof add>) => {
      listeners += 1;
      add(...args);
    };
    signal.removeEventListener = (...args: Parameters<typeof remove>) => {
      listeners -= 1;
      remove(...args);
    };
    await client().call(getThing, { id: 't1' }, { signal });
    expect(listeners).toBe(0);
  });
});

describe('errors', () => {
  it.each([
    [400, SvcInvalidRequestError],
    [401, SvcUnauthenticatedError],
    [403, SvcPermissionDeniedError],
    [404, SvcNotFoundError],
    [409, SvcConflictError],
    [412, SvcConflictError],
    [418, SvcApiError],
    [422, SvcInvalidRequestError],
    [429, SvcRateLimitedError],
    [501, SvcServerError],
  ])('of status %i have their class', async (status, Class) => {
    server.reply(failure(status));
    const error = await errorOf(client({ maxRetries: 0 }).call(getThing, { id: 't1' }));
    expect(error.constructor).toBe(Class);
    expect(error.name).toBe(Class.name);
  });

  it('carry what the server said', async () => {
    const body = {
      error: {
        code: 'feature_disabled',
        message: 'host.ci is off',
        requestId: 'req_9',
        retryable: false,
        details: [1],
      },
    };
    server.reply({ status: 403, body, headers: { 'x-more': 'm' } });
    const error = await errorOf(client().call(getThing, { id: 't1' }));
    expect(error).toMatchObject({
      status: 403,
      code: 'feature_disabled',
      message: 'host.ci is off',
      requestId: 'req_9',
      body,
    });
    expect(error.headers.get('x-more')).toBe('m');
  });

  it('keep a body that is not JSON, and name the request', async () => {
    server.reply({
      status: 404,
      body: '<html>nginx</html>',
      headers: { 'content-type': 'text/html', 'x-request-id': 'req_2' },
    });
    expect(await errorOf(client().call(getThing, { id: 't1' }))).toMatchObject({
      code: 'http_404',
      message: 'GET /things/{id} answered 404 without a readable error body',
      body: '<html>nginx</html>',
      requestId: 'req_2',
    });
  });

  it.each([
    [
      'an HTML page',
      { body: '<html>Sign in</html>', headers: { 'content-type': 'text/html' } },
      /with text\/html instead of JSON/,
    ],
    ['text without a type', { body: 'hello' }, /with no content type instead of JSON/],
    [
      'broken JSON',
      { body: '{"id":', headers: { 'content-type': 'application/json' } },
      /with unreadable JSON/,
    ],
  ] satisfies [string, ScriptedReply, RegExp][])(
    '%s with status 200 is an error, not data',
    async (_name, reply, message) => {
      server.reply(reply);
      const error = await errorOf(client().call(getThing, { id: 't1' }));
      expect(error).toMatchObject({ status: 200, code: 'invalid_response', retryable: false });
      expect(error.message).toMatch(message);
    },
  );

  it('are told for redirects, which are not followed', async () => {
    server.reply({ status: 308, headers: { location: 'https://elsewhere.example/' } });
    expect(await errorOf(client().call(createThing, {}))).toMatchObject({
      code: 'redirected',
      message: 'POST /things was redirected to https://elsewhere.example/; set baseUrl to the final address',
    });
    expect(server.seen).toHaveLength(1);
  });
});

describe('debug', () => {
  it('logs every attempt and no secret', async () => {
    const lines: string[] = [];
    const logger = {
      debug: (message: string, details?: unknown) => void lines.push(`${message} ${JSON.stringify(details)}`),
    };
    server.reply(failure(503), { ...ok, headers: { 'x-request-id': 'req_7', 'set-cookie': 'sid=SECRET-5' } });
    const debugging = client({
      apiKey: 'SECRET-1',
      defaultHeaders: { 'X-Api': 'SECRET-2' },
      debug: true,
      logger,
    });
    await debugging.call(
      { method: 'POST', path: '/invites/{token}', body: '*' },
      { token: 'SECRET-3', password: 'SECRET-4' },
    );
    const text = lines.join('\n');
    expect(text).not.toContain('SECRET');
    expect(text).toContain('"authorization":"[redacted]"');
    expect(text).toContain('POST /invites/{token} answered 200');
    expect(text).toContain('POST /invites/{token} failed {"status":503');
    expect(text).toContain('"nextAttemptInMs":250');
    expect(text).toContain('req_7');
  });

  it('is off by default', async () => {
    const lines: string[] = [];
    server.reply(ok);
    await client({ logger: { debug: (message) => void lines.push(message) } }).call(getThing, { id: 't1' });
    expect(lines).toEqual([]);
  });
});

describe('paging', () => {
  const listThings: Operation = { method: 'GET', path: '/things', items: 'things' };
  const targets = (): string[] => server.seen.map((request) => request.target);

  it('gives every item of all pages when awaited', async () => {
    server.reply(
      { body: { things: [1, 2], nextCursor: 'c1' } },
      { body: { things: [], nextCursor: 'c2' } },
      { body: { nextCursor: 'c3' } },
      { body: { things: [3] } },
    );
    expect(await client().list(listThings, { state: ['a', 'b'] })).toEqual([1, 2, 3]);
    expect(targets()).toEqual([
      '/things?state=a&state=b',
      '/things?state=a&state=b&cursor=c1',
      '/things?state=a&state=b&cursor=c2',
      '/things?state=a&state=b&cursor=c3',
    ]);
  });

  it('gives as many items as the limit says, and asks for no more than are missing', async () => {
    server.reply(
      { body: { things: [1, 2], nextCursor: 'c1' } },
      { body: { things: [], nextCursor: 'c2' } },
      { body: { things: [3, 4], nextCursor: 'c3' } },
    );
    const ofTwo: Operation = { ...listThings, pageMax: 2 };
    expect(await client().list(ofTwo, { limit: 3 })).toEqual([1, 2, 3]);
    expect(targets()).toEqual(['/things?limit=2', '/things?limit=1&cursor=c1', '/things?limit=1&cursor=c2']);
  });

  it('asks for pages of at most 200 items, where the operation says nothing else', async () => {
    server.reply({ body: { things: [1] } });
    expect(await client().list(listThings, { limit: 1_000 })).toEqual([1]);
    expect(targets()).toEqual(['/things?limit=200']);
  });

  it.each([0, -1, 1.5, Number.NaN, '5'])('refuses %j as a limit, and requests nothing', async (limit) => {
    await expect(client().list(listThings, { limit })).rejects.toThrow(
      `GET /things: limit must be a whole number from 1 on, got ${limit}`,
    );
    expect(server.seen).toHaveLength(0);
  });

  it('requests a page only when an item of it is wanted', async () => {
    server.reply({ body: { things: [1, 2], nextCursor: 'c1' } }, { body: { things: [3] } });
    const seen: number[] = [];
    for await (const item of client().list<number>(listThings)) {
      seen.push(item);
      if (item === 2) break;
    }
    expect(seen).toEqual([1, 2]);
    expect(server.seen).toHaveLength(1);
  });

  it('requests nothing before it is used, and once however often it is awaited', async () => {
    server.reply({ body: { things: [1] } });
    const things = client().list(listThings);
    expect(server.seen).toHaveLength(0);
    expect(await Promise.all([things, things])).toEqual([[1], [1]]);
    expect(server.seen).toHaveLength(1);
  });

  it('iterates page by page, from a cursor of the caller', async () => {
    server.reply({ body: { things: [1], nextCursor: 'c9' } }, { body: { things: [2] } });
    const pages: unknown[] = [];
    for await (const page of client().list(listThings, { cursor: 'c8' }).pages()) pages.push(page);
    expect(pages).toEqual([{ items: [1], nextCursor: 'c9' }, { items: [2] }]);
    expect(targets()).toEqual(['/things?cursor=c8', '/things?cursor=c9']);
  });

  it('takes an empty or null cursor for none, because it would lead back to the first page', async () => {
    for (const nextCursor of ['', null]) {
      server.reply({ body: { things: [1], nextCursor } });
      expect(await client().list(listThings)).toEqual([1]);
    }
    expect(server.seen).toHaveLength(2);
  });

  it('does not run in circles when a page names itself as the next', async () => {
    server.reply({ body: { things: [1], nextCursor: 'c1' } }, { body: { things: [1], nextCursor: 'c1' } });
    await expect(client().list(listThings)).rejects.toThrow('answered page c1 with itself');
  });

  it('retries each page by itself', async () => {
    server.reply({ body: { things: [1], nextCursor: 'c1' } }, failure(503), { body: { things: [2] } });
    expect(await client().list(listThings)).toEqual([1, 2]);
  });

  it('rejects with the error of the page, once', async () => {
    server.reply({ body: { things: [1], nextCursor: 'c1' } }, failure(404));
    const things = client().list(listThings);
    await expect(things).rejects.toBeInstanceOf(SvcNotFoundError);
    await expect(things.catch((error: unknown) => error)).resolves.toBeInstanceOf(SvcNotFoundError);
    expect(server.seen).toHaveLength(2);
  });
});
