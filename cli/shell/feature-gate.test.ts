import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { MANIFEST } from '@svc/proto/features/manifest.ts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { groups } from '../gen/index.ts';
import { apiError, startFakeApi, useFakeApi, type Answer } from '../testing/fake-api.ts';
import { fakeIo, NOW_MS, type FakeIo } from '../testing/fake-io.ts';
import { svc } from '../testing/session.ts';
import { BLANK, type Spec } from './command.ts';
import { clientFor, type Connection } from './connection.ts';
import { CliError } from './errors.ts';
import { featureCachePath, FRESH_MS } from './feature-cache.ts';
import { checkFeature, RESOLVER_LIMIT_MS } from './feature-gate.ts';
import { TIMED } from '../../test/setup/timed.ts';

const api = await useFakeApi();
let cacheHome: string;

beforeEach(async () => {
  cacheHome = await mkdtemp(join(tmpdir(), 'svc-cache-'));
});
afterEach(async () => {
  await rm(cacheHome, { recursive: true, force: true });
});

const RESOLVER = 'GET /platform-features/resolved';
const list = { ...BLANK, words: ['list'], summary: 'x' };
const publicSpec: Spec = { ...list, group: 'ci', feature: 'host.ci', visibility: 'public' };
const internalSpec: Spec = { ...list, group: 'runners', feature: 'host.runners', visibility: 'internal' };

const resolved = (features: unknown, headers: Readonly<Record<string, string>> = {}): Answer => ({
  body: { features },
  headers,
});
const off = (reason: string, blockedBy: readonly string[] = []) => ({
  enabled: false,
  reason,
  blockedBy,
  lifecycle: 'ga',
  visibility: 'public',
});

interface Tried {
  /** The refusal; undefined when the command may proceed. */
  readonly refusal: CliError | undefined;
  readonly io: FakeIo;
  readonly tookMs: number;
}

interface Trial {
  readonly spec?: typeof publicSpec;
  readonly baseUrl?: string;
  readonly credential?: string;
  readonly nowMs?: number;
  readonly verbose?: boolean;
  readonly signal?: AbortSignal;
}

/** One command up to its gate, with the cache that the test's commands share. */
async function attempt(trial: Trial = {}): Promise<Tried> {
  const { spec = publicSpec, baseUrl = api.url, credential = 'key_1', nowMs = NOW_MS } = trial;
  const io = fakeIo({ env: { XDG_CACHE_HOME: cacheHome }, nowMs });
  const connection: Connection = { baseUrl, profileName: 'default', credential };
  const startedAt = performance.now();
  const client = clientFor(io, connection, { debug: false, maxRetries: 0 });
  const { signal = io.interrupted, verbose = false } = trial;
  const refusal = await checkFeature(spec, { io, connection, client, signal, verbose }).then(
    () => undefined,
    (error: unknown) => {
      if (error instanceof CliError) return error;
      throw error;
    },
  );
  return { refusal, io, tookMs: performance.now() - startedAt };
}

const cachePath = (): string => featureCachePath({ env: { XDG_CACHE_HOME: cacheHome }, homeFolder: '' });
const stored = async (): Promise<string> => await readFile(cachePath(), 'utf8');

describe('a gated command is refused', () => {
  it('when its public feature is not in the map, in the documented words', async () => {
    api.on(RESOLVER, resolved({ 'host.graph': true }));
    const { refusal } = await attempt();
    expect(refusal?.message).toBe(
      '"ci list" is unavailable because the platform feature "host.ci" is disabled on this environment',
    );
    expect([refusal?.code, refusal?.exitCode, refusal?.hints]).toEqual(['feature_disabled', 1, []]);
  });

  it('when nothing at all is enabled and public', async () => {
    api.on(RESOLVER, resolved({}));
    expect((await attempt()).refusal?.code).toBe('feature_disabled');
  });

  it('when staff are shown that it is off, and told why', async () => {
    api.on(RESOLVER, resolved({ 'host.runners': off('dependency_disabled', ['host.ci']) }));
    const { refusal } = await attempt({ spec: internalSpec });
    expect(refusal?.message).toContain('"runners list" is unavailable because the platform feature');
    expect(refusal?.hints).toEqual([
      'reason: dependency_disabled by host.ci; see "svc features get host.runners"',
    ]);
  });

  it('before anything else is asked of the server, and with the exit code of a refusal', async () => {
    api.on('GET /teams/team_1/runners', { body: { runners: [] } });
    api.on(RESOLVER, resolved({ 'host.runners': off('disabled') }));
    const { code, out, err } = await svc(api, 'runners list --team team_1');
    expect([code, out]).toEqual([1, '']);
    expect(err).toContain(
      'svc: "runners list" is unavailable because the platform feature "host.runners" is disabled on this environment\n',
    );
    expect(api.asked.map(({ target }) => target)).toEqual(['/platform-features/resolved']);
    const json = await svc(api, 'runners list --team team_1 --json');
    expect(JSON.parse(json.err)).toMatchObject({ error: { code: 'feature_disabled', retryable: false } });
  });
});

describe('a gated command proceeds', () => {
  const silence: Answer = () => undefined;
  const text: Answer = (response) =>
    response.writeHead(200, { 'content-type': 'text/html' }).end('<p>hi</p>');
  const cut: Answer = (response) =>
    response.writeHead(200, { 'content-type': 'application/json' }).end('{"features":{');
  const cases: readonly (readonly [string, Answer])[] = [
    ['true', resolved({ 'host.ci': true })],
    ['staff that it is on', resolved({ 'host.ci': { ...off(''), enabled: true, reason: 'enabled' } })],
    ['something that is no state', resolved({ 'host.ci': { enabled: 'no' } })],
    ['something that is no state of another feature', resolved({ 'host.graph': 'off' })],
    ['false, which no resolver says', resolved({ 'host.ci': false })],
    ['a list', resolved([])],
    ['an object without features', { body: {} }],
    ['nonsense', { body: ['x'] }],
    ['a page of something between', text],
    ['half an answer', cut],
    ['nothing with 204', { status: 204 }],
    ['a map with another status than 200', { status: 203, body: { features: {} } }],
    ['a redirect', { status: 302, headers: { location: '/elsewhere' } }],
    ['304 to a question without condition', { status: 304 }],
    ['401', apiError(401, 'credentials_invalid', 'no')],
    ['403', apiError(403, 'feature_disabled', 'no')],
    ['404, as servers without it do', apiError(404, 'not_found', 'there is nothing here')],
    ['429', apiError(429, 'rate_limited', 'slowly')],
    ['500', apiError(500, 'internal', 'broken')],
    ['503', apiError(503, 'unavailable', 'starting')],
    ['nothing in time', silence],
  ];
  it.each(cases)('when the resolver says %s', async (_what, answer) => {
    api.on(RESOLVER, answer);
    const { refusal, io } = await attempt();
    expect(refusal).toBeUndefined();
    expect(io.err()).toBe('');
    expect(api.asked).toHaveLength(1);
  });

  it('when an internal feature is not in the map, as it is for everybody but staff', async () => {
    api.on(RESOLVER, resolved({ 'host.ci': true }));
    expect((await attempt({ spec: internalSpec })).refusal).toBeUndefined();
  });

  it('when nothing listens there, or the name does not exist', async () => {
    const gone = await muteServer();
    await gone.close();
    expect((await attempt({ baseUrl: gone.url })).refusal).toBeUndefined();
    expect((await attempt({ baseUrl: 'http://nowhere.invalid' })).refusal).toBeUndefined();
  });

  it('after 400 ms at the latest, however slowly the answer drips', TIMED, async () => {
    const drip: Answer = (response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      const timer = setInterval(() => response.write(' '), 20);
      response.on('close', () => clearInterval(timer));
    };
    for (const answer of [silence, drip]) {
      api.on(RESOLVER, answer);
      const { refusal, tookMs } = await attempt();
      expect(refusal).toBeUndefined();
      expect(tookMs).toBeGreaterThanOrEqual(RESOLVER_LIMIT_MS - 5);
      // The rest is what a busy machine adds; a retry or a second limit would be another 400 ms.
      expect(tookMs).toBeLessThan(2 * RESOLVER_LIMIT_MS);
    }
    const mute = await muteServer();
    const { tookMs } = await attempt({ baseUrl: mute.url });
    void mute.close();
    expect(tookMs).toBeLessThan(2 * RESOLVER_LIMIT_MS);
  });

  it('and says why it could not be checked only when asked to', async () => {
    api.on(RESOLVER, apiError(503, 'unavailable', 'the database does not answer'));
    expect((await attempt({ verbose: true })).io.err()).toBe(
      'svc: note: the platform feature "host.ci" could not be checked, the server decides: the database does not answer\n',
    );
    api.on('GET /teams/team_1/runners', { body: { runners: [] } });
    expect((await svc(api, 'runners list --team team_1')).err).toBe('');
    const told = await svc(api, 'runners list --team team_1 --verbose');
    expect(told.code).toBe(0);
    expect(told.err).toContain('"host.runners" could not be checked');
  });

  it('to its end when it is interrupted meanwhile', async () => {
    api.on(RESOLVER, silence);
    const controller = new AbortController();
    const trying = attempt({ signal: controller.signal });
    controller.abort(new Error('Ctrl-C'));
    await expect(trying).rejects.toThrow('Ctrl-C');
  });
});

describe('an answer is remembered', () => {
  it('for a minute, in which nothing is asked', async () => {
    api.on(RESOLVER, resolved({ 'host.ci': true }));
    await attempt();
    expect((await attempt({ nowMs: NOW_MS + FRESH_MS - 1 })).refusal).toBeUndefined();
    // Another feature is answered from the same map.
    expect((await attempt({ spec: internalSpec })).refusal).toBeUndefined();
    expect(api.asked).toHaveLength(1);
    await attempt({ nowMs: NOW_MS + FRESH_MS });
    expect(api.asked).toHaveLength(2);
  });

  it('and then asked for by its ETag, 304 making it good for another minute', async () => {
    api.on(RESOLVER, resolved({}, { etag: '"v1"' }), (response, { headers }) =>
      response.writeHead(headers['if-none-match'] === '"v1"' ? 304 : 500).end(),
    );
    await attempt();
    expect((await attempt({ nowMs: NOW_MS + FRESH_MS })).refusal?.code).toBe('feature_disabled');
    // Another feature is answered from the same map, which is fresh again.
    const other = { ...internalSpec, feature: 'host.graph' };
    expect((await attempt({ spec: other, nowMs: NOW_MS + 2 * FRESH_MS - 1 })).refusal).toBeUndefined();
    expect(api.asked.map(({ headers }) => headers['if-none-match'])).toEqual([undefined, '"v1"']);
  });

  it.each([
    ['missing', publicSpec, resolved({}, { etag: '"v1"' })],
    ['disabled', internalSpec, resolved({ 'host.runners': off('disabled') }, { etag: '"v1"' })],
  ])(
    'but asked for again before a refusal: a feature that was %s and is back is used at once',
    async (_what, spec, first) => {
      api.on(RESOLVER, first, resolved({ 'host.ci': true, 'host.runners': true }, { etag: '"v2"' }));
      expect((await attempt({ spec })).refusal).toBeDefined();
      expect((await attempt({ spec, nowMs: NOW_MS + 1 })).refusal).toBeUndefined();
      expect((await attempt({ spec, nowMs: NOW_MS + 2 })).refusal).toBeUndefined();
      expect(api.asked.map(({ headers }) => headers['if-none-match'])).toEqual([undefined, '"v1"']);
    },
  );

  it('but refuses nothing when the server cannot be asked', async () => {
    api.on(RESOLVER, resolved({}, { etag: '"v1"' }), apiError(500, 'internal', 'broken'));
    expect((await attempt()).refusal).toBeDefined();
    expect((await attempt({ nowMs: NOW_MS + 1 })).refusal).toBeUndefined();
    // The clock was set back: nobody knows how old it is.
    expect((await attempt({ nowMs: NOW_MS - 1 })).refusal).toBeUndefined();
    expect(api.asked).toHaveLength(3);
  });

  it('only when it was good', async () => {
    api.on(RESOLVER, apiError(404, 'not_found', 'x'), resolved({ 'host.ci': 1 }), resolved({}));
    expect((await attempt()).refusal).toBeUndefined();
    expect((await attempt()).refusal).toBeUndefined();
    expect((await attempt()).refusal).toBeDefined();
    expect(api.asked).toHaveLength(3);
  });

  it('for one server and one credential each, of which it tells neither', async () => {
    const other = await startFakeApi();
    api.on(RESOLVER, resolved({}));
    other.on(RESOLVER, resolved({ 'host.ci': true }));
    expect((await attempt()).refusal).toBeDefined();
    expect((await attempt({ baseUrl: other.url })).refusal).toBeUndefined();
    api.on(RESOLVER, resolved({ 'host.ci': true }));
    expect((await attempt({ credential: 'key_2' })).refusal).toBeUndefined();
    expect((await attempt()).refusal).toBeUndefined();
    expect([api.asked.length, other.asked.length]).toEqual([3, 1]);
    expect(await stored()).not.toMatch(/key_1|key_2/);
    await other.close();
  });

  it('for its owner alone, whole or not at all', async () => {
    api.on(RESOLVER, resolved({ 'host.ci': true }));
    await Promise.all(Array.from({ length: 8 }, (_, index) => attempt({ credential: `key_${index}` })));
    const path = cachePath();
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect(JSON.parse(await stored())).toHaveProperty('answers');
    expect(await readdir(dirname(path))).toEqual(['features.json']);
  });

  it('of at most 20 servers and credentials', async () => {
    api.on(RESOLVER, resolved({ 'host.ci': true }));
    for (let index = 0; index < 23; index += 1)
      await attempt({ credential: `key_${index}`, nowMs: NOW_MS + index });
    const { answers } = JSON.parse(await stored()) as { answers: Record<string, { atMs: number }> };
    expect(
      Object.values(answers)
        .map(({ atMs }) => atMs - NOW_MS)
        .sort((a, b) => a - b),
    ).toEqual(Array.from({ length: 20 }, (_, index) => index + 3));
  });

  it.each([
    ['cut off', '{"answers":{'],
    ['of another program', '[1]'],
    ['with half an answer', '{"answers":{"x":{"atMs":1}}}'],
    ['without text', ''],
  ])('unless the file is %s, which is then replaced', async (_what, text) => {
    const path = cachePath();
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text);
    api.on(RESOLVER, resolved({ 'host.ci': true }));
    expect((await attempt()).refusal).toBeUndefined();
    await attempt();
    expect(api.asked).toHaveLength(1);
  });

  it('nowhere when there is no place for it', async () => {
    await rm(cacheHome, { recursive: true });
    await writeFile(cacheHome, 'a file where the folder should be');
    await chmod(cacheHome, 0o400);
    api.on(RESOLVER, resolved({}));
    expect((await attempt()).refusal).toBeDefined();
    expect((await attempt()).refusal).toBeDefined();
    expect(api.asked).toHaveLength(2);
  });
});

it('leaves commands without a feature alone', async () => {
  api.on('GET /regions', { body: { regions: [] } });
  await svc(api, 'regions list');
  expect(api.asked.map(({ target }) => target)).toEqual(['/regions']);
});

it('knows of every gated command who is shown its feature, as the manifest says', async () => {
  const tables = await Promise.all(groups.map(({ load }) => load()));
  const gated = tables.flat().filter(({ feature }) => feature !== undefined);
  expect(gated.length).toBeGreaterThan(5);
  for (const { group, words, feature, visibility } of gated) {
    const declared = MANIFEST.find(({ key }) => key === feature)?.visibility;
    expect(visibility, [group, ...words].join(' ')).toBe(declared);
  }
});

/** Takes connections and says nothing, not even a status line. */
async function muteServer(): Promise<{ readonly url: string; close(): Promise<void> }> {
  const server = createServer(() => undefined);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: async () => await new Promise((resolve) => void server.close(() => resolve())),
  };
}
