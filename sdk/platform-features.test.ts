/**
 * These tests send `sdk.platformFeatures` on the wire, and hold its types: what is written here as a caller
 * would write it also has to compile.
 */
import { beforeEach, describe, expect, expectTypeOf, it } from 'vitest';
import { useFakeServer } from './core/testing/fake-server.ts';
import {
  createSvcSDK,
  isFeatureEnabled,
  SvcApiError,
  SvcConflictError,
  SvcInvalidRequestError,
  type FeatureChange,
  type FeaturesChanged,
  type PlatformFeature,
  type SvcSDK,
} from './index.ts';

const server = useFakeServer();
let sdk: SvcSDK;
beforeEach(() => {
  sdk = createSvcSDK({ baseUrl: server.baseUrl, apiKey: 'key_1', maxRetries: 0 });
});

const blocked = {
  enabled: false,
  reason: 'dependency_disabled',
  blockedBy: ['host.job_runner'],
  lifecycle: 'experimental',
  visibility: 'internal',
};
const change = { id: 'fch_1', key: 'host.ci', from: 'enabled', to: 'disabled', revisionTo: 4 };
const feature = { key: 'host.ci', state: 'disabled', enabled: false, reason: 'disabled', revision: 4 };

describe('platformFeatures.resolved()', () => {
  it('needs no credential, and can be read as a yes or nothing', async () => {
    server.reply({ body: { features: { 'host.ci': true, 'host.spaces': true } } });
    const features = await createSvcSDK({ baseUrl: server.baseUrl }).platformFeatures.resolved();
    expect(server.seen[0]).toMatchObject({ method: 'GET', target: '/platform-features/resolved' });
    expect(server.seen[0]?.headers).not.toHaveProperty('authorization');
    const seen: string[] = [];
    if (features['host.ci']) seen.push('host.ci');
    if (features['host.runners']) seen.push('host.runners');
    expect(seen).toEqual(['host.ci']);
  });

  it('gives staff the reason of each state', async () => {
    server.reply({ body: { features: { 'host.automation.maintenance': blocked } } });
    const maintenance = (await sdk.platformFeatures.resolved())['host.automation.maintenance'];
    if (typeof maintenance !== 'object') throw new Error(`expected an object, got ${String(maintenance)}`);
    expectTypeOf(maintenance.reason).toEqualTypeOf<
      'enabled' | 'disabled' | 'dependency_disabled' | 'unknown_feature' | 'cycle_detected' | undefined
    >();
    expectTypeOf(maintenance.blockedBy).toEqualTypeOf<readonly string[]>();
    expect([maintenance.enabled, maintenance.reason, maintenance.blockedBy]).toEqual([
      false,
      'dependency_disabled',
      ['host.job_runner'],
    ]);
  });

  it('is read the same for both by isFeatureEnabled()', async () => {
    server.reply({
      body: { features: { on: { ...blocked, enabled: true }, off: blocked, bare: true } },
    });
    const features = await sdk.platformFeatures.resolved();
    expect(['on', 'off', 'bare', 'absent'].map((key) => isFeatureEnabled(features[key]))).toEqual([
      true,
      false,
      true,
      false,
    ]);
  });

  it('lets a caller keep the ETag and ask again by it', async () => {
    server.reply({ body: { features: {} }, headers: { etag: '"v1"' } }, { status: 304 });
    const { response } = await sdk.platformFeatures.resolved().withResponse();
    const headers = { 'if-none-match': response.headers.get('etag') };
    const unchanged = await sdk.platformFeatures.resolved({ headers }).catch((error: unknown) => error);
    expect(server.seen[1]?.headers['if-none-match']).toBe('"v1"');
    expect(unchanged).toBeInstanceOf(SvcApiError);
    expect(unchanged).toMatchObject({ status: 304, code: 'http_304', retryable: false });
  });
});

describe('platformFeatures.list() and get()', () => {
  it('give the features themselves', async () => {
    server.reply({ body: { features: [feature], revision: 9 } }, { body: feature });
    const list = await sdk.platformFeatures.list();
    expectTypeOf(list).toEqualTypeOf<PlatformFeature[]>();
    expect(list.map(({ key, state }) => [key, state])).toEqual([['host.ci', 'disabled']]);
    expect((await sdk.platformFeatures.get('host.ci')).revision).toBe(4);
    expect(server.seen.map(({ target }) => target)).toEqual([
      '/admin/platform-features',
      '/admin/platform-features/host.ci',
    ]);
  });

  it('keep a key in its place, whatever it holds', async () => {
    server.reply({ body: feature });
    await sdk.platformFeatures.get('../audit?x=1');
    expect(server.seen[0]?.target).toBe('/admin/platform-features/..%2Faudit%3Fx%3D1');
  });
});

describe('platformFeatures.history()', () => {
  it('is every change of all pages, or one page after the other', async () => {
    const pages = [
      { body: { changes: [change, { ...change, id: 'fch_2' }], nextCursor: 'c1' } },
      { body: { changes: [{ ...change, id: 'fch_3' }] } },
    ];
    server.reply(...pages, ...pages);
    const all = await sdk.platformFeatures.history('host.ci');
    expectTypeOf(all).toEqualTypeOf<FeatureChange[]>();
    expect(all.map(({ id }) => id)).toEqual(['fch_1', 'fch_2', 'fch_3']);
    const page = await sdk.platformFeatures.historyPage('host.ci', { limit: 2 });
    expect(page.nextCursor).toBe('c1');
    expect(server.seen.map(({ target }) => target)).toEqual([
      '/admin/platform-features/host.ci/history',
      '/admin/platform-features/host.ci/history?cursor=c1',
      '/admin/platform-features/host.ci/history?limit=2',
    ]);
  });
});

describe('platformFeatures.setState()', () => {
  const params = { state: 'disabled', reason: 'webhook storm, see INC-12' } as const;

  it('sends state and reason once, under one idempotency key', async () => {
    const answer = { feature, affected: [], changed: true };
    server.reply({ status: 503 }, { body: answer });
    const retrying = createSvcSDK({ baseUrl: server.baseUrl, apiKey: 'key_1', maxRetries: 1 });
    const { changed, feature: after } = await retrying.platformFeatures.setState('host.ci', params);
    expectTypeOf(after.state).toEqualTypeOf<'enabled' | 'disabled'>();
    expect([changed, after.revision]).toEqual([true, 4]);
    expect(server.seen.map(({ method, target, body }) => [method, target, JSON.parse(body)])).toEqual([
      ['PATCH', '/admin/platform-features/host.ci', params],
      ['PATCH', '/admin/platform-features/host.ci', params],
    ]);
    const [first, second] = server.seen.map(({ headers }) => headers['idempotency-key']);
    expect(first).toBeDefined();
    expect(second).toBe(first);
  });

  it('takes the revision that the caller saw, and tells the present one when it is another', async () => {
    const error = { code: 'precondition_failed', message: 'revision is 5', details: { current: feature } };
    server.reply({ status: 412, body: { error } });
    const refused = await sdk.platformFeatures
      .setState('host.ci', { ...params, revision: 4 })
      .catch((thrown: unknown) => thrown);
    expect(JSON.parse(server.seen[0]?.body ?? '')).toEqual({ ...params, revision: 4 });
    expect(refused).toBeInstanceOf(SvcConflictError);
    expect(refused).toMatchObject({ status: 412, code: 'precondition_failed', body: { error } });
  });

  it('can be a dry run without a reason; otherwise the server wants one', async () => {
    server.reply(
      { body: { feature, affected: [], changed: true } },
      { status: 400, body: { error: { code: 'reason_required', message: 'why?' } } },
    );
    await sdk.platformFeatures.setState('host.ci', { state: 'disabled', dryRun: true });
    const refused = await sdk.platformFeatures
      .setState('host.ci', { state: 'disabled' })
      .catch((thrown: unknown) => thrown);
    expect(refused).toBeInstanceOf(SvcInvalidRequestError);
    expect(refused).toMatchObject({ code: 'reason_required', retryable: false });
  });
});

describe('platformFeatures.watch()', () => {
  it('gives each revision, and goes on after a broken stream where it was', async () => {
    const event = (revision: number): string =>
      `id: ${revision}\ndata: ${JSON.stringify({ position: String(revision), revision })}\n\n`;
    const headers = { 'content-type': 'text/event-stream' };
    server.reply(
      { headers, chunks: [event(7)], then: 'reset' },
      { headers, chunks: [event(8), 'event: done\ndata: {}\n\n'] },
    );
    const watching = createSvcSDK({ baseUrl: server.baseUrl, apiKey: 'key_1' });
    const seen: FeaturesChanged[] = [];
    for await (const changed of watching.platformFeatures.watch()) seen.push(changed);
    expect(seen.map(({ revision }) => revision)).toEqual([7, 8]);
    expect(server.seen.map(({ headers: sent }) => sent['last-event-id'])).toEqual([undefined, '7']);
  });
});
