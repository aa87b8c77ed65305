/** The far end of the wire is a real server that answers as it is told. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { create } from '@bufbuild/protobuf';
import { CompanionFeaturesSchema } from '@svc/proto/gen/svc/platformfeatures/v1/platformfeatures_pb.ts';
import { encoder } from '@svc/proto/http/json.ts';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createFakeClock } from '../../test/setup/clock.ts';
import { createCompanion, type ReadCompanion } from './companion.ts';
import { TIMED } from '../../test/setup/timed.ts';

describe('createCompanion()', () => {
  let server: Server;
  let url: string;
  let answer: (request: IncomingMessage, response: ServerResponse) => void;
  let asked: string[];
  let clock: ReturnType<typeof createFakeClock>;
  let read: ReadCompanion;

  const says =
    (body: string, status = 200) =>
    (_request: IncomingMessage, response: ServerResponse): void => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(body);
    };
  /** As staff are shown it. */
  const shown = async (): Promise<Record<string, unknown>> =>
    JSON.parse(encoder(CompanionFeaturesSchema)(create(CompanionFeaturesSchema, await read()))) as Record<
      string,
      unknown
    >;
  const GOOD = '{"features":{"companion.reports":true}}';
  const good = { 'companion.reports': true };

  beforeAll(async () => {
    server = createServer((request, response) => {
      asked.push(request.url ?? '');
      answer(request, response);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`;
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });
  beforeEach(() => {
    asked = [];
    answer = says(GOOD);
    clock = createFakeClock(new Date('2026-03-01T12:00:00.000Z'));
    read = createCompanion({ url: `${url}/base/`, clock });
  });

  it('is not configured and asks nobody without an address', async () => {
    read = createCompanion({ url: undefined, clock });
    expect(await shown()).toEqual({ configured: false, degraded: false, features: {} });
  });

  it('shows what everybody may see as it was said, with the time', async () => {
    expect(await shown()).toEqual({
      configured: true,
      degraded: false,
      asOf: '2026-03-01T12:00:00Z',
      features: good,
    });
    expect(asked).toEqual(['/base/platform-features/resolved']);
  });

  it('takes the shape of staff as well, one blocker or a list, and leaves out words that it does not know', async () => {
    answer = says(
      JSON.stringify({
        features: {
          on: { enabled: true, reason: 'enabled', blockedBy: [], lifecycle: 'ga', visibility: 'public' },
          blocked: { enabled: false, reason: 'dependency_disabled', blockedBy: 'on', lifecycle: 'beta' },
          loop: { enabled: false, reason: 'cycle_detected', blockedBy: ['loop', 7], more: {} },
          off: false,
        },
      }),
    );
    expect((await shown())['features']).toEqual({
      on: { enabled: true, reason: 'enabled', blockedBy: [], lifecycle: 'ga', visibility: 'public' },
      blocked: { enabled: false, reason: 'dependency_disabled', blockedBy: ['on'] },
      loop: { enabled: false, reason: 'cycle_detected', blockedBy: ['loop'] },
      off: false,
    });
  });

  it('asks once in ten seconds, and once for all who look at the same time', async () => {
    await Promise.all([shown(), shown(), shown()]);
    clock.advance(9_999);
    await shown();
    expect(asked).toHaveLength(1);
    clock.advance(1);
    await shown();
    expect(asked).toHaveLength(2);
  });

  it('keeps the last good answer and says what went wrong, until it goes well again', async () => {
    await shown();
    clock.advance(10_000);
    answer = says('oops', 503);
    expect(await shown()).toEqual({
      configured: true,
      degraded: true,
      problem: 'it answered with status 503, expected 200',
      asOf: '2026-03-01T12:00:00Z',
      features: good,
    });
    // A failed try counts, so that the next page does not wait for a service that is away.
    await shown();
    expect(asked).toHaveLength(2);
    clock.advance(10_000);
    answer = says('{"features":{}}');
    expect(await shown()).toEqual({
      configured: true,
      degraded: false,
      asOf: '2026-03-01T12:00:20Z',
      features: {},
    });
  });

  it.each<[string, () => typeof answer, string]>([
    ['a status', () => says(GOOD, 404), 'it answered with status 404, expected 200'],
    [
      'a redirect, which is not followed',
      () => (_, response) => void response.writeHead(302, { location: `${url}/elsewhere` }).end(),
      'it answered with status 302, expected 200',
    ],
    ['no JSON', () => says('<html>'), 'it answered with 6 characters that are not JSON'],
    ['no features', () => says('{"features":[true]}'), 'it answered without an object "features"'],
    [
      'another kind of feature',
      () => says('{"features":{"a":"yes"}}'),
      'it answered with neither a boolean nor an object with "enabled" for a',
    ],
    [
      'too many features',
      () =>
        says(
          JSON.stringify({
            features: Object.fromEntries(Array.from({ length: 1_001 }, (_, n) => [`k${n}`, true])),
          }),
        ),
      'it answered with 1001 features, at most 1000 are shown',
    ],
    [
      'more than 256 KiB, however it is sent',
      () => (_, response) => void response.writeHead(200).end(' '.repeat(262_145)),
      'it answered with more than 262144 bytes',
    ],
    [
      'a cut connection',
      () => (_, response) => void response.destroy(),
      'it cannot be reached (UND_ERR_SOCKET)',
    ],
  ])('takes %s for a problem and never throws', async (_what, odd, problem) => {
    answer = odd();
    expect(await shown()).toEqual({ configured: true, degraded: true, problem, features: {} });
  });

  it.each<[string, (response: ServerResponse) => void]>([
    ['says nothing', () => undefined],
    ['stops in the middle', (response) => void response.writeHead(200).write('{"features":')],
  ])('gives up on a service that %s', TIMED, async (_what, begin) => {
    answer = (_, response) => begin(response);
    read = createCompanion({ url, clock, answerWithinMs: 60 });
    const began = performance.now();
    expect(await shown()).toMatchObject({ degraded: true, problem: 'it did not answer within 60 ms' });
    expect(performance.now() - began).toBeLessThan(2_000);
  });

  it('says so when nobody is there', async () => {
    const gone = createServer();
    await new Promise<void>((resolve) => gone.listen(0, '127.0.0.1', resolve));
    const address = gone.address();
    await new Promise((resolve) => gone.close(resolve));
    read = createCompanion({
      url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`,
      clock,
    });
    expect(await shown()).toMatchObject({ degraded: true, problem: 'it cannot be reached (ECONNREFUSED)' });
  });

  it('takes no name of the prototype for a word, nor for a key', async () => {
    answer = says('{"features":{"a":{"enabled":true,"reason":"toString","visibility":"internal"}}}');
    expect((await shown())['features']).toEqual({
      a: { enabled: true, blockedBy: [], visibility: 'internal' },
    });
    clock.advance(10_000);
    answer = says('{"features":{"__proto__":true}}');
    expect((await shown())['problem']).toBe('it answered with "__proto__", which is no feature key');
  });
});
