/** Signing keys over the real door: what everybody reads of them, and what staff do. */
import { createPublicKey } from 'node:crypto';
import { createSvcSDK, type SvcSDK } from '@svc/sdk';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { has } from '../../../test/setup/needs.ts';
import { shownTime } from '../../../test/setup/shown-time.ts';
import { firstSession } from '../../../test/setup/people.ts';
import { startTestServer, type TestServer } from '../../../test/setup/server.ts';
import { waitFor } from '../../../test/setup/wait-for.ts';

interface Listed {
  readonly id: string;
  readonly purpose: string;
  readonly state: string;
  readonly hint: string;
  readonly publicKey: string;
  readonly jwk: { readonly kid: string; readonly x: string };
}

describe.skipIf(!(await has('postgres')))('signing keys of an installation', () => {
  let server: TestServer;
  let staff: SvcSDK;
  const page = async (path: string, headers: Record<string, string> = {}): Promise<Response> =>
    await fetch(`${server.baseUrl}${path}`, { headers });
  const listed = async (): Promise<readonly Listed[]> =>
    ((await (await page('/signing-keys')).json()) as { keys: Listed[] }).keys;
  const entries = async () =>
    (await staff.adminAudit.list()).filter(({ action }) => action?.startsWith('signing_key.'));

  beforeAll(async () => {
    server = await startTestServer();
    staff = createSvcSDK({ baseUrl: server.baseUrl, token: await firstSession(server), maxRetries: 0 });
    await waitFor('three keys', listed, { holds: (keys) => keys.length === 3 });
  });
  afterAll(async () => await server?.stop());

  it('are read by everybody, as a list, as PEM and as a JWK set, with an ETag', async () => {
    const keys = await listed();
    expect(keys.map(({ purpose, state }) => `${purpose} ${state}`).toSorted()).toEqual([
      'build_customer active',
      'build_service active',
      'platform active',
    ]);
    const [key] = keys;
    const answer = await page('/signing-keys');
    const etag = answer.headers.get('etag') ?? '';
    expect(answer.headers.get('cache-control')).toBe('public, max-age=300');
    expect((await page('/signing-keys', { 'if-none-match': etag })).status).toBe(304);
    const pem = await (await page(`/signing-keys/${key?.id}.pem`)).text();
    expect(createPublicKey(pem).export({ format: 'jwk' }).x).toBe(key?.jwk.x);
    expect((await page('/signing-keys/sgk_none.pem')).status).toBe(404);
    const set = (await (await page('/.well-known/jwks.json')).json()) as {
      keys: Array<{ kid: string; d?: string }>;
    };
    expect(set.keys.map(({ kid }) => kid).toSorted()).toEqual(keys.map(({ hint }) => hint).toSorted());
    expect(JSON.stringify([keys, set])).not.toContain('"d"');
  });

  it('are rotated and revoked by staff alone, with a reason in the ledger of the platform', async () => {
    const nobody = createSvcSDK({ baseUrl: server.baseUrl, token: server.first.apiKey, maxRetries: 0 });
    const rotated = nobody.adminSigningKeys.rotate({ purpose: 'platform', reason: 'no' });
    await expect(rotated).rejects.toMatchObject({ status: 403 });
    const next = await staff.adminSigningKeys.rotate({ purpose: 'platform', reason: 'yearly' });
    expect(next).toMatchObject({ purpose: 'platform', state: 'pending' });
    expect((await staff.adminSigningKeys.rotate({ purpose: 'platform', reason: 'again' })).id).toBe(next.id);
    const active = (await listed()).find(
      ({ purpose, state }) => purpose === 'platform' && state === 'active',
    );
    const tomorrow = new Date(Date.now() + 86_400_000).toISOString();
    await expect(
      staff.adminSigningKeys.revoke(active?.id ?? '', { reason: 'x', compromisedSince: tomorrow }),
    ).rejects.toMatchObject({ status: 400 });
    const since = shownTime(-3_600_000);
    const revoked = await staff.adminSigningKeys.revoke(active?.id ?? '', {
      reason: 'stolen',
      compromisedSince: since,
    });
    expect(revoked).toMatchObject({ state: 'revoked', revokeReason: 'stolen' });
    // The one that takes over is published already.
    expect(
      (await staff.adminSigningKeys.list()).filter(({ purpose }) => purpose === 'platform'),
    ).toHaveLength(2);
    expect(
      (await page('/.well-known/jwks.json').then((answer) => answer.text())).includes(revoked.hint ?? ''),
    ).toBe(false);
    expect((await entries()).map(({ action, target }) => [action, target])).toEqual([
      ['signing_key.revoked', active?.id],
      ['signing_key.published', next.id],
    ]);
  });

  it('that are revoked while they sign are followed by a new one', async () => {
    const of = async () => (await listed()).filter(({ purpose }) => purpose === 'build_service');
    const [only] = await of();
    await staff.adminSigningKeys.revoke(only?.id ?? '', { reason: 'lost' });
    expect((await of()).map(({ state }) => state)).toEqual(['revoked', 'pending']);
    await staff.adminSigningKeys.revoke(only?.id ?? '', { reason: 'lost again' });
    expect((await of()).map(({ state }) => state)).toEqual(['revoked', 'pending']);
  });
});
