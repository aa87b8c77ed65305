/**
 * Gates of platform features at the door: what a hidden RPC must not betray, and what one that is off in
 * public says.
 */
import { create } from '@bufbuild/protobuf';
import * as grpc from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { rpcs } from '../gen/rpcs.ts';
import type { Gate } from './call.ts';
import { apiError } from './errors.ts';
import type { RpcInfo } from './rpc.ts';
import { openDoor, testApp, type TestDoor } from './testing/app.ts';
import { rawHttp1, rawHttp2, type RawRequest, type RawView } from './testing/raw.ts';

const RUNS = 'svc.sandboxruns.v1.SandboxRunsService';
const FEATURE = 'host.incidents';
const gates = new Map<string, Gate>();

/** The contract's RPCs of sandbox runs as if they belonged to a feature. */
const gated: readonly RpcInfo[] = rpcs
  .filter(({ id }) => id.startsWith(`${RUNS}/`))
  .map((rpc) => ({ ...rpc, feature: FEATURE }));

let door: TestDoor;
let asked: string[] = [];

beforeAll(async () => {
  const app = testApp(
    {
      gate: (rpc) => gates.get(rpc.id) ?? 'open',
      admit: (call) => {
        asked.push(call.rpc.id);
        throw apiError('credentials_missing', 'no');
      },
      invoke: (call) => create(call.rpc.desc.output),
    },
    gated,
  );
  door = await openDoor({}, { apps: [app] });
});
afterAll(async () => await door.open.close(0));

function set(state: Gate, ...names: readonly string[]): void {
  gates.clear();
  asked = [];
  for (const name of names.length === 0 ? gated.map(({ id }) => id) : names.map((each) => `${RUNS}/${each}`))
    gates.set(name, state);
}

const line = (view: RawView, name: string): string | undefined =>
  view.headers.find((each) => each.toLowerCase().startsWith(`${name}:`))?.slice(name.length + 2);

async function onBoth(request: RawRequest): Promise<readonly RawView[]> {
  const http2 = rawHttp2(door.port);
  try {
    return [await rawHttp1(door.port, request), await http2.send(request)];
  } finally {
    http2.close();
  }
}

describe('a hidden RPC beside a visible one on the same path', () => {
  const path = '/teams/t/sandbox-runs';

  it('shows in Allow neither by its verb nor by HEAD', async () => {
    set('hidden', 'List');
    for (const method of ['GET', 'HEAD', 'PUT', 'OPTIONS'])
      for (const view of await onBoth({ method, path })) {
        expect(view.status, method).toBe(405);
        expect(line(view, 'allow'), method).toBe('POST');
        expect(view.body).not.toContain('GET,');
      }
    set('hidden', 'Create');
    for (const view of await onBoth({ method: 'POST', path, body: '{}' }))
      expect([view.status, line(view, 'allow')]).toEqual([405, 'GET, HEAD']);
  });

  it('is no route at all once the visible one is hidden too', async () => {
    set('hidden', 'List', 'Create');
    for (const method of ['GET', 'HEAD', 'POST', 'OPTIONS']) {
      const [seen, unknown] = [
        await onBoth({ method, path }),
        await onBoth({ method, path: '/teams/t/nothing' }),
      ];
      for (const view of [...seen, ...unknown])
        expect([view.status, line(view, 'allow')]).toEqual([404, undefined]);
    }
  });

  it('answers before the body came', async () => {
    set('hidden');
    const headers = { 'content-type': 'application/json' };
    for (const view of await onBoth({ method: 'POST', path, headers, withhold: 1_000_000 }))
      expect(view.status).toBe(404);
    expect(asked).toEqual([]);
  });
});

describe('a public feature that is off', () => {
  const json = { 'content-type': 'application/json' };
  const expectDisabled = (view: RawView): void => {
    const body = JSON.parse(view.body) as { error: Record<string, unknown> };
    expect(view.status).toBe(403);
    expect(body.error).toMatchObject({
      code: 'feature_disabled',
      details: { feature: FEATURE },
      retryable: false,
    });
  };

  it.each<[string, RawRequest]>([
    ['without credentials', { method: 'GET', path: '/sandbox-runs/r' }],
    ['with wrong ones', { method: 'GET', path: '/sandbox-runs/r', headers: { authorization: 'Bearer x' } }],
    ['with a path that cannot be decoded', { method: 'GET', path: '/sandbox-runs/%zz?x=%zz' }],
    ['with broken JSON', { method: 'POST', path: '/teams/t/sandbox-runs', headers: json, body: '{{{' }],
    ['with a body of a wrong type', { method: 'POST', path: '/teams/t/sandbox-runs', body: '<x/>' }],
    [
      'with a body that is too large',
      { method: 'POST', path: '/teams/t/sandbox-runs', headers: json, withhold: 1e9 },
    ],
    [
      'with a body that never comes',
      { method: 'POST', path: '/teams/t/sandbox-runs', headers: json, withhold: 9 },
    ],
    [
      'as a stream',
      { method: 'GET', path: '/sandbox-runs/r/logs', headers: { accept: 'text/event-stream' } },
    ],
  ])('says so on REST %s, and asks nobody who calls', async (_, request) => {
    set('disabled');
    for (const view of await onBoth(request)) expectDisabled(view);
    expect(asked).toEqual([]);
  });

  it.each<[string, Record<string, string>, number | undefined]>([
    ['Connect with JSON', json, undefined],
    ['Connect with a body that never comes', json, 50],
    ['Connect with an unknown compression', { ...json, 'content-encoding': 'zstd' }, undefined],
    ['Connect of another version', { ...json, 'connect-protocol-version': '9' }, undefined],
    ['gRPC-Web', { 'content-type': 'application/grpc-web+proto' }, undefined],
    [
      'gRPC with an unknown compression',
      { 'content-type': 'application/grpc', 'grpc-encoding': 'zstd' },
      undefined,
    ],
  ])('says so on %s', async (_, headers, withhold) => {
    set('disabled');
    const request = { method: 'POST', path: `/${RUNS}/Get`, headers };
    for (const view of await onBoth(
      withhold === undefined ? { ...request, body: '{{{' } : { ...request, withhold },
    )) {
      const told = [...view.headers, ...view.trailers, view.body].join('\n');
      expect(told).toContain('x-error-code: feature_disabled');
      expect(told).toContain(`x-error-details: {"feature":"${FEATURE}"}`);
    }
    expect(asked).toEqual([]);
  });

  it('says so to a content-type of no protocol, in the shape of REST', async () => {
    set('disabled');
    for (const type of ['text/plain', 'application/xml'])
      for (const view of await onBoth({
        method: 'POST',
        path: `/${RUNS}/Get`,
        headers: { 'content-type': type },
        body: 'x',
      }))
        expectDisabled(view);
  });

  it('gives a gRPC client PERMISSION_DENIED with the code and the feature in the metadata', async () => {
    set('disabled');
    const client = new grpc.Client(`127.0.0.1:${door.port}`, grpc.credentials.createInsecure());
    const raw = (bytes: Uint8Array) => Buffer.from(bytes);
    const error = await new Promise<grpc.ServiceError | null>((resolve) => {
      client.makeUnaryRequest(`/${RUNS}/Get`, raw, raw, new Uint8Array(), (failure) => resolve(failure));
    });
    client.close();
    expect(error?.code).toBe(grpc.status.PERMISSION_DENIED);
    expect(error?.metadata.get('x-error-code')).toEqual(['feature_disabled']);
    expect(error?.metadata.get('x-error-details')).toEqual([JSON.stringify({ feature: FEATURE })]);
  });

  it('is seen on the very next call when it is switched on again', async () => {
    set('disabled');
    for (const view of await onBoth({ method: 'GET', path: '/sandbox-runs/r' })) expectDisabled(view);
    set('open');
    for (const view of await onBoth({ method: 'GET', path: '/sandbox-runs/r' }))
      expect(view.status).toBe(401);
  });
});
