/** Tests what everybody and what staff are shown of the features, over HTTP against the real server. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { MANIFEST } from '@svc/proto/features/manifest.ts';
import { has } from '../../test/setup/needs.ts';
import { join, newKey } from '../../test/setup/people.ts';
import { startTestServer, type TestServer } from '../../test/setup/server.ts';
import { operationsOf } from '../../test/setup/platformfeatures/operations.ts';

const postgresHere = await has('postgres');

describe.skipIf(!postgresHere)('resolved features', () => {
  let server: TestServer;
  let staff: string;
  const { set, resolved, reset } = operationsOf(() => server);

  beforeAll(async () => {
    server = await startTestServer({ env: { LIMIT_ANONYMOUS_PER_MINUTE: '1000000' } });
    staff = server.first.staffApiKey;
  });
  afterAll(async () => await server.stop());
  beforeEach(reset);

  describe('resolved', () => {
    it('shows nobody and non-staff alike `true` for what is enabled and public, and nothing else', async () => {
      const expected = '{"features":{"host.spaces":true,"host.graph":true,"host.ci":true}}';
      const nobody = await resolved();
      expect([nobody.status, nobody.text]).toEqual([200, expected]);
      expect(nobody.headers.get('cache-control')).toBe('no-cache');
      const member = await resolved({ as: server.first.apiKey });
      expect(member.text).toBe(expected);
      expect(member.headers.get('etag')).toBe(nobody.headers.get('etag'));
      expect(member.headers.get('cache-control')).toBe('private, no-cache');
      for (const answer of [nobody, member]) expect(answer.headers.get('vary')).toBe('authorization, cookie');
    });

    it('shows staff every feature with its reason, in the order of the manifest', async () => {
      const { body, headers } = await resolved({ as: staff });
      const features = body['features'] as Record<string, unknown>;
      expect(Object.keys(features)).toEqual(MANIFEST.map(({ key }) => key));
      expect(features['host.runners']).toEqual({
        enabled: true,
        reason: 'enabled',
        blockedBy: [],
        lifecycle: 'experimental',
        visibility: 'internal',
      });
      expect(features['host.incidents']).toMatchObject({ enabled: false, reason: 'disabled' });
      expect(headers.get('cache-control')).toBe('private, no-cache');
    });

    it('shows a key of staff without the scope "staff" what it shows everybody', async () => {
      const poor = await newKey(server, staff, { scopes: ['ci:read'] });
      expect((await resolved({ as: poor.secret })).text).toBe((await resolved()).text);
    });

    it('leaves a feature out as soon as it is off, and has it back as soon as it is on', async () => {
      await set('host.ci', 'disabled');
      expect((await resolved()).body).toEqual({ features: { 'host.spaces': true, 'host.graph': true } });
      await set('host.ci', 'enabled');
      expect((await resolved()).body['features']).toHaveProperty(['host.ci'], true);
    });

    it('names what blocks a feature whose own switch is on', async () => {
      await set('host.automation.maintenance', 'enabled');
      const features = (await resolved({ as: staff })).body['features'] as Record<string, unknown>;
      expect(features['host.automation.maintenance']).toMatchObject({
        enabled: false,
        reason: 'dependency_disabled',
        blockedBy: ['host.job_runner'],
      });
    });

    it('keeps the ETag of everybody while only internal features change, and changes that of staff', async () => {
      const tags = async () => [
        (await resolved()).headers.get('etag'),
        (await resolved({ as: staff })).headers.get('etag'),
      ];
      const before = await tags();
      await set('host.runners', 'disabled');
      const off = await tags();
      expect(off[0]).toBe(before[0]);
      expect(off[1]).not.toBe(before[1]);
      await set('host.runners', 'enabled');
      expect(await tags()).toEqual(before);
      await set('host.ci', 'disabled');
      expect((await tags())[0]).not.toBe(before[0]);
    });

    it.each([
      ['the tag itself', (tag: string) => tag],
      ['a list with it', (tag: string) => `"other", ${tag}`],
      ['its weak form', (tag: string) => `W/${tag}`],
      ['anything', () => '*'],
    ])('answers 304 without a body to whoever has %s', async (_what, known) => {
      const etag = (await resolved()).headers.get('etag') ?? '';
      expect(etag).toMatch(/^"[\w-]{22}"$/);
      const again = await resolved({ headers: { 'if-none-match': known(etag) } });
      expect([again.status, again.text]).toEqual([304, '']);
      expect(again.headers.get('etag')).toBe(etag);
      expect(again.headers.get('vary')).toBe('authorization, cookie');
    });

    it('answers 200 to whoever has another body, staff with the tag of everybody among them', async () => {
      const etag = (await resolved()).headers.get('etag') ?? '';
      expect((await resolved({ headers: { 'if-none-match': '"other"' } })).status).toBe(200);
      expect((await resolved({ as: staff, headers: { 'if-none-match': etag } })).status).toBe(200);
    });
  });

  it('does not let a member of staff be forged by membership: a viewer is no staff', async () => {
    const person = await join(server, server.first.apiKey, { teamId: server.first.teamId, role: 'viewer' });
    expect((await resolved({ as: person.token })).text).toBe((await resolved()).text);
  });
});
