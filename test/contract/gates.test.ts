/**
 * Every RPC that belongs to a platform feature, with the feature off. An internal feature must look as if it
 * had never been there: whole answers are held against those of paths that nobody serves, byte for byte,
 * whatever is sent. A public one says 403 `feature_disabled` and nothing else. What SPEC 4.6 lets succeed is
 * answered. The rows are made from the contract, so that a new RPC is tested by being there.
 */
import { MANIFEST } from '@svc/proto/features/manifest.ts';
import { rpcs } from '@svc/proto/gen/rpcs.ts';
import { createRouter, type Target } from '@svc/proto/http/router.ts';
import type { RestRoute, RpcInfo } from '@svc/proto/http/rpc.ts';
import {
  rawHttp1,
  rawHttp2,
  type RawHttp2,
  type RawRequest,
  type RawView,
} from '@svc/proto/http/testing/raw.ts';
import { UNKNOWN_ROUTE } from '@svc/proto/http/unknown-route.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createIndependentRunner, type IndependentRunner } from '../e2e/independent-runner.ts';
import { waitFor } from '../setup/wait-for.ts';
import { setFeature } from '../setup/features.ts';
import { has } from '../setup/needs.ts';
import { FIGURES, startTestServer, type TestServer } from '../setup/server.ts';

const INTERNAL: ReadonlySet<string> = new Set<string>(
  MANIFEST.filter(({ visibility }) => visibility === 'internal').map(({ key }) => key),
);
const ofFeatures = rpcs.filter(({ feature, audience }) => feature !== undefined && audience !== 'internal');
const inert = ofFeatures.filter(({ inertWhenOff }) => inertWhenOff === true);
const gated = ofFeatures.filter((rpc) => !inert.includes(rpc));
const internal = gated.filter(({ feature }) => INTERNAL.has(feature ?? ''));
const open = gated.filter(({ feature }) => !INTERNAL.has(feature ?? ''));
const keysOf = (some: readonly RpcInfo[]) => [...new Set(some.map(({ feature }) => feature ?? ''))];

/** A path that nobody serves. */
const UNSERVED = '/nobody/serves/this~';
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];
const AT_ONCE = 12;
/** Sent with every request, so that the answers need not differ in it. */
const REQUEST_ID = { 'x-request-id': 'the-same-for-both' };
const JSON_TYPE = { 'content-type': 'application/json' };

let server: TestServer;
let port: number;
let http2: RawHttp2;
let runner: IndependentRunner;
/** The ids are real ones: an answer that depends on whether the resource exists would show. */
let ids: Readonly<Record<string, string>>;

const set = async (key: string, state: 'enabled' | 'disabled'): Promise<void> =>
  await setFeature(server, key, state);

async function figures(): Promise<string> {
  return await (await fetch(`${server.baseUrl}/metrics`, { headers: FIGURES })).text();
}

describe.runIf(await has('postgres'))('gates of platform features', () => {
  beforeAll(async () => {
    server = await startTestServer();
    ({ port } = server);
    http2 = rawHttp2(port);
    for (const key of keysOf(gated)) await set(key, 'enabled');
    const { teamId, apiKey } = server.first;
    const issued = await server.call(`POST /teams/${teamId}/runners/enroll-tokens`, { as: apiKey, body: {} });
    runner = createIndependentRunner(server.baseUrl);
    ids = { teamId, runnerId: await runner.enroll(String(issued.body['token']), 'gated') };
  });
  afterAll(async () => {
    http2?.close();
    await server?.stop();
  });

  /**
   * Submitting a run is not the surface of runners: SPEC 1.5 sends a service-operated team's work to the
   * service's own pool, and 4.2 lists what is the runners' own. So work is taken in while runners are off,
   * and waits.
   */
  it('has rows for every call of and about runners, and none for the runs that they execute', () => {
    const featuresOf = (service: string) =>
      new Set(rpcs.filter(({ id }) => id.startsWith(`${service}/`)).map(({ feature }) => feature ?? 'none'));
    expect(featuresOf('svc.runner.v1.RunnerService')).toEqual(new Set(['host.runners']));
    expect(featuresOf('svc.runners.v1.RunnersService')).toEqual(new Set(['host.runners']));
    expect(featuresOf('svc.sandboxruns.v1.SandboxRunsService')).toEqual(new Set(['none']));
  });

  describe('of features whose engine is gated, in their default state', () => {
    it('are those that SPEC lets succeed', () => {
      expect(new Set(inert.map(({ id }) => id.split('/')[0]))).toEqual(
        new Set([
          'svc.incidents.v1.IncidentsService',
          'svc.maintenance.v1.MaintenanceService',
          'svc.residency.v1.ResidencyService',
        ]),
      );
    });

    for (const rpc of inert)
      it(`${rpc.id} is answered on every protocol as if it were on, and names no internal key`, async () => {
        for (const request of callsOf(rpc)) {
          // A body that never comes is waited for.
          if (request.withhold !== undefined) continue;
          const view = await http2.send(request);
          const told = [...view.headers, ...view.trailers, view.body].join('\n');
          expect(told, describeRequest(request)).not.toContain('feature_disabled');
          expect(told, describeRequest(request)).not.toContain(UNKNOWN_ROUTE);
          const byStaff = request.headers?.['authorization'] === `Bearer ${server.first.staffApiKey}`;
          if (!byStaff) for (const key of INTERNAL) expect(told, describeRequest(request)).not.toContain(key);
        }
        const [primary] = pathsOf(rpc);
        const asked = { method: primary?.route?.verb ?? '', path: primary?.path ?? '' };
        expect((await http2.send(asked)).status).toBe(401);
      });

    it('leave nothing of an internal one in the contract as served', async () => {
      const { body, text } = await server.call('GET /openapi.json');
      expect(text).toContain('"host.incidents"');
      const paths = Object.keys(body['paths'] as object);
      expect(paths.filter((path) => path.includes('maintenance'))).toEqual([]);
      expect(paths).toContain('/incidents/{incidentId}');
      expect(text).not.toContain('Maintenance');
    });
  });

  describe('of internal features that are off', () => {
    beforeAll(async () => {
      // Else all below would hold of routes that do not exist.
      for (const rpc of internal)
        for (const path of pathsOf(rpc).map(({ path }) => path)) {
          const { body } = await rawHttp1(port, { method: 'POST', path, headers: JSON_TYPE, body: '{}' });
          if (path.startsWith('/svc.')) expect(body, rpc.id).not.toContain(UNKNOWN_ROUTE);
        }
      for (const key of keysOf(internal)) await set(key, 'disabled');
    });
    afterAll(async () => {
      for (const key of keysOf(internal)) await set(key, 'enabled');
    });

    for (const rpc of internal) {
      it(`${rpc.id} is no route, whatever is sent`, async () => {
        const asked = pathsOf(rpc).flatMap(({ path, unknown }) => [
          ...requestsTo(rpc).map((make) => ({ asked: make(path), control: make(UNSERVED) })),
          // Nor is what stands beside it.
          ...requestsTo(rpc)
            .slice(0, 3)
            .map((make) => ({ asked: make(unknown), control: make(UNSERVED) })),
        ]);
        expect(asked.length).toBeGreaterThan(200);
        await inParallel(asked, async (pair) => {
          const allow = visibleVerbs(pair.asked.path);
          for (const [name, send] of doors()) {
            const seen = await send(pair.asked);
            if (allow === undefined)
              expect(seen, describeRequest(pair.asked)).toEqual(await unservedAt(name, send, pair.control));
            else expectOnly(seen, allow, pair.asked);
          }
        });
      }, 120_000);
    }

    it('takes as long as a path that nobody serves', async () => {
      const times = { hidden: [] as number[], unknown: [] as number[] };
      const headers = { ...JSON_TYPE, ...REQUEST_ID, authorization: `Bearer ${server.first.apiKey}` };
      const time = async (kind: keyof typeof times, path: string): Promise<void> => {
        const begunMs = performance.now();
        await http2.send({ method: 'POST', path, headers, body: '{"token":"enr_x"}' });
        times[kind].push(performance.now() - begunMs);
      };
      for (let round = 0; round < 100; round += 1) {
        await time('hidden', '/runners/enroll');
        await time('unknown', '/runners/enrolz');
      }
      const median = (values: number[]) => values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;
      const [hidden, unknown] = [median(times.hidden), median(times.unknown)];
      // It is a class and no figure: one look at a database, a signature or a held poll is far beyond it.
      expect(hidden, `median ${hidden} ms against ${unknown} ms`).toBeLessThan(2 * unknown + 0.5);
      expect(unknown, `median ${unknown} ms against ${hidden} ms`).toBeLessThan(2 * hidden + 0.5);
    }, 60_000);

    it('counts against no rate limit, and answers no header of one', async () => {
      for (let call = 0; call < 700; call += 1) {
        const view = await http2.send({ method: 'POST', path: '/runners/enroll', headers: JSON_TYPE });
        expect(view.status).toBe(404);
        expect(view.headers.join('\n')).not.toMatch(/ratelimit|retry-after|www-authenticate|allow/i);
      }
    });

    it('leaves nothing of them in the contract as served', async () => {
      const { body } = await server.call('GET /openapi.json');
      const paths = body['paths'] as Record<string, Record<string, unknown>>;
      for (const rpc of internal)
        for (const { template, verb } of rpc.routes) {
          const path = template.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
          expect(paths[path]?.[verb.toLowerCase()], `${verb} ${path}`).toBeUndefined();
        }
      for (const key of keysOf(internal))
        expect(JSON.stringify(body)).not.toContain(`"x-svc-feature":"${key}"`);
    });

    it('end what was held when they went off, with the answer of an unknown path', async () => {
      for (const key of keysOf(internal)) await set(key, 'enabled');
      const ended: number[] = [];
      const held = ['poll', 'build-poll'].map(async (action) => {
        const answer = await runner.call(action, { waitMs: 40_000 });
        ended.push(performance.now());
        return answer;
      });
      await waitFor('both polls to be held', async () =>
        (await figures()).includes('svc_gateway_polls_parked 2'),
      );
      for (const key of keysOf(internal)) await set(key, 'disabled');
      const switchedMs = performance.now();
      for (const answer of await Promise.all(held))
        expect(answer).toMatchObject({
          status: 404,
          body: { error: { code: 'not_found', message: UNKNOWN_ROUTE } },
        });
      expect(Math.max(...ended) - switchedMs).toBeLessThan(1_000);
    });

    it('are in no figures that others may read', async () => {
      const ask = async (path: string) => await http2.send({ method: 'GET', path, headers: REQUEST_ID });
      expect(await ask('/metrics')).toEqual(await ask('/metricz'));
    });

    it('are there again on the next call after the switch, in the contract too', async () => {
      const before = (await server.call('GET /openapi.json')).headers.get('etag');
      for (const key of keysOf(internal)) await set(key, 'enabled');
      expect((await runner.call('heartbeat', {})).status).toBe(200);
      const list = await server.call(`GET /teams/${ids['teamId']}/runners`, { as: server.first.apiKey });
      expect(list.status).toBe(200);
      const contract = await server.call('GET /openapi.json', { headers: { 'if-none-match': before ?? '' } });
      expect(contract.status).toBe(200);
      expect(Object.keys(contract.body['paths'] as object)).toContain('/teams/{teamId}/runners');
      for (const key of keysOf(internal)) await set(key, 'disabled');
    });
  });

  it('offers reflection to nobody on the public port', async () => {
    for (const version of ['v1', 'v1alpha'])
      for (const headers of [JSON_TYPE, { 'content-type': 'application/grpc', te: 'trailers' }]) {
        const ask = async (name: string) =>
          await http2.send({
            method: 'POST',
            path: `/grpc.reflection.${version}.${name}/ServerReflectionInfo`,
            headers: { ...headers, ...REQUEST_ID },
            body: '',
          });
        const seen = await ask('ServerReflection');
        expect(seen).toEqual(await ask('ServerNothing'));
        expect(seen.status).toBe(404);
      }
  });

  describe('of public features that are off', () => {
    for (const rpc of open) {
      it(`${rpc.id} says so, on every protocol, before it looks at the caller or the body`, async () => {
        const feature = rpc.feature ?? '';
        await set(feature, 'disabled');
        try {
          for (const request of callsOf(rpc))
            for (const send of [rawHttp1.bind(undefined, port), http2.send])
              expectDisabled(await send(request), feature, describeRequest(request));
        } finally {
          await set(feature, 'enabled');
        }
        const again = await http2.send({
          method: 'POST',
          path: `/${rpc.id}`,
          headers: JSON_TYPE,
          body: '{}',
        });
        expect(again.body).not.toContain('feature_disabled');
      }, 60_000);
    }
  });
});

interface PathPair {
  readonly path: string;
  /** The same with one letter changed, so that nobody serves it. */
  readonly unknown: string;
  /** It is absent on the path of Connect, gRPC and gRPC-Web. */
  readonly route?: RestRoute;
}

function pathsOf({ id, routes }: RpcInfo): PathPair[] {
  const rest = routes.map((route) => {
    const last = route.segments.findLastIndex((segment) => 'literal' in segment);
    const fill = (change: (literal: string) => string): string =>
      `/${route.segments
        .map((segment, index) => {
          if (!('literal' in segment)) return ids[segment.field] ?? 'x1';
          return index === last ? change(segment.literal) : segment.literal;
        })
        .join('/')}${route.customVerb === undefined ? '' : `:${route.customVerb}`}`;
    return {
      route,
      path: fill((literal) => literal),
      unknown: fill((literal) => `${literal.slice(0, -1)}~`),
    };
  });
  return [...rest, { path: `/${id}`, unknown: `/${id.slice(0, -1)}~` }];
}

const credentials = (): Record<string, string>[] => [
  {},
  { authorization: 'Bearer garbage' },
  { authorization: `Bearer ${server.first.apiKey}` },
  { authorization: `Bearer ${server.first.staffApiKey}` },
];

type MakeRequest = (path: string) => RawRequest;

/** Everything that has ever told a hidden route from an unknown one, somewhere. */
function requestsTo(rpc: RpcInfo): MakeRequest[] {
  const right = { authorization: `Bearer ${server.first.apiKey}` };
  const body = (content: string | Uint8Array, headers: Record<string, string>) => ({
    body: content,
    headers,
  });
  const oddities: Array<(path: string) => Partial<RawRequest>> = [
    () => body('{}', JSON_TYPE),
    () => body('{{{', JSON_TYPE),
    () => body('<x/>', { 'content-type': 'application/xml' }),
    () => body('x', { ...JSON_TYPE, 'content-encoding': 'gzip' }),
    () => body('{}', { ...JSON_TYPE, 'idempotency-key': 'a-key-of-mine' }),
    () => body('\0\0\0\0\0', { 'content-type': 'application/grpc', te: 'trailers' }),
    () => body('\0\0\0\0\0', { 'content-type': 'application/grpc-web+proto' }),
    () => body('{}', { ...JSON_TYPE, 'connect-protocol-version': '1', 'connect-timeout-ms': '5' }),
    () => ({ headers: JSON_TYPE, withhold: 1_000_000_000 }),
    () => ({ headers: JSON_TYPE, withhold: 10 }),
    () => ({ headers: { ...JSON_TYPE, expect: '100-continue' }, withhold: 10 }),
    () => ({ headers: { accept: 'text/event-stream' } }),
    () => ({ headers: { origin: 'https://elsewhere.example', cookie: 'session=x' } }),
    () => ({
      headers: {
        origin: 'https://elsewhere.example',
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'authorization, content-type',
      },
    }),
    (path) => ({ path: `${path}/` }),
    (path) => ({ path: path.replace(/\/([^/]*)$/, '%2F$1') }),
    (path) => ({
      path: path.replace(/^\/(.)/, (_, letter: string) => `/%${letter.charCodeAt(0).toString(16)}`),
    }),
    (path) => ({ path: `${path}?limit=-1&x=%zz` }),
    (path) => ({ path: `${path}?encoding=json&message=%7B%7D&connect=v1` }),
    (path) => ({ path: `/.${path}` }),
    (path) => ({ path: path.toUpperCase() }),
  ];
  const made: MakeRequest[] = METHODS.flatMap((method) => [
    ...credentials().map((headers) => (path: string) => ({
      method,
      path,
      headers: { ...REQUEST_ID, ...headers },
    })),
    ...oddities.map((odd) => (path: string) => {
      const { headers, ...more } = odd(path);
      return { method, path, ...more, headers: { ...REQUEST_ID, ...right, ...headers } };
    }),
  ]);
  const huge = new Uint8Array(rpc.bodyBytesMax + 1).fill(0x20);
  made.push((path) => ({
    method: 'POST',
    path,
    body: huge,
    headers: { ...REQUEST_ID, ...right, ...JSON_TYPE },
  }));
  return rpc.auth === 'runner' ? [...made, signed()] : made;
}

/** A signature that would be right for the path asked; on the other one it is only the same bytes. */
function signed(): MakeRequest {
  const headers = runner.sign(`/runners/${ids['runnerId']}/poll`, '{}');
  return (path) => ({ method: 'POST', path, headers: { ...REQUEST_ID, ...headers }, body: '{}' });
}

/** Verbs that visible routes of the same path have; undefined: there are none. */
function visibleVerbs(pathAndQuery: string): readonly string[] | undefined {
  const [path = ''] = pathAndQuery.split('?');
  const found = visibleRoutes().find('OPTIONS', path, () => true);
  return 'allow' in found && found.allow.length > 0 ? found.allow : undefined;
}

let routes: ReturnType<typeof createRouter<Target>> | undefined;
function visibleRoutes(): ReturnType<typeof createRouter<Target>> {
  if (routes !== undefined) return routes;
  routes = createRouter<Target>();
  for (const rpc of rpcs)
    if (rpc.audience !== 'internal' && !internal.includes(rpc))
      for (const route of rpc.routes) routes.add({ rpc, route });
  return routes;
}

/** Beside visible routes a hidden one is a verb that is not possible, and is not among those that are. */
function expectOnly(seen: RawView, verbs: readonly string[], { method, path }: RawRequest): void {
  const wanted = method === 'HEAD' ? 'GET' : method;
  if (verbs.includes(wanted)) return;
  const allow = verbs.flatMap((verb) => (verb === 'GET' ? ['GET', 'HEAD'] : [verb])).join(', ');
  expect(seen.status, `${method} ${path}`).toBe(405);
  expect(
    seen.headers.find((line) => /^allow:/i.test(line)),
    `${method} ${path}`,
  ).toBe(`allow: ${allow}`);
}

/** Makes what a client that knows the contract may send, by anybody. */
function callsOf(rpc: RpcInfo): RawRequest[] {
  return pathsOf(rpc).flatMap(({ path, route }) =>
    credentials().flatMap((headers) =>
      route === undefined ? rpcCalls(path, headers) : restCalls(path, route, headers),
    ),
  );
}

function restCalls(path: string, { verb }: RestRoute, headers: Record<string, string>): RawRequest[] {
  const head = { ...headers, ...JSON_TYPE };
  const bare: RawRequest = { method: verb, path, headers };
  if (verb === 'GET') return [bare, { ...bare, path: `${path}?x=%zz` }];
  return [bare, { ...bare, headers: head, body: '{{{' }, { ...bare, headers: head, withhold: 1_000_000_000 }];
}

function rpcCalls(path: string, headers: Record<string, string>): RawRequest[] {
  return [
    'application/json',
    'application/proto',
    'application/grpc',
    'application/grpc-web+proto',
    'text/plain',
  ].map((type) => ({ method: 'POST', path, headers: { ...headers, 'content-type': type }, body: '{{{' }));
}

function expectDisabled(view: RawView, feature: string, request: string): void {
  const told = [...view.headers, ...view.trailers, view.body].join('\n');
  expect(told, request).toContain('feature_disabled');
  // The dependency is named in a body of JSON or in the metadata of RPCs, alone, because it may be internal.
  expect(told, request).toMatch(new RegExp(`(?:"details":|x-error-details: )\\{"feature":"${feature}"\\}`));
  for (const key of INTERNAL) expect(told, request).not.toContain(key);
  expect(told, request).not.toMatch(/^www-authenticate|^ratelimit|^x-ratelimit/im);
}

function describeRequest({ method, path, headers, withhold }: RawRequest): string {
  return `${method} ${path} ${JSON.stringify(headers)}${withhold === undefined ? '' : ` withholding ${withhold} bytes`}`;
}

type Send = (request: RawRequest) => Promise<RawView>;

const doors = (): ReadonlyArray<readonly [string, Send]> => [
  ['HTTP/1.1', rawHttp1.bind(undefined, port)],
  ['HTTP/2', http2.send],
];

/** Returns what a path that nobody serves answers to a request: it is the same each time, and asked once. */
const unserved = new Map<string, Promise<RawView>>();
async function unservedAt(door: string, send: Send, request: RawRequest): Promise<RawView> {
  const { body } = request;
  const sent = { ...request, body: body instanceof Uint8Array ? body.length : body };
  const key = `${door} ${JSON.stringify(sent)}`;
  const known = unserved.get(key) ?? send(request);
  unserved.set(key, known);
  return await known;
}

async function inParallel<T>(items: readonly T[], act: (item: T) => Promise<void>): Promise<void> {
  const left = items.values();
  const work = async (): Promise<void> => {
    for (const item of left) await act(item);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
}
