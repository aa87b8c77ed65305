/** Keys follow each other: published first, then used, then kept to verify. */
import { randomBytes, verify } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createFakeClock } from '../../../test/setup/clock.ts';
import { createTestDatabase, type TestDatabase } from '../../../test/setup/database.ts';
import { has } from '../../../test/setup/needs.ts';
import { startVault, type TestVault } from '../../../test/setup/vault/vault.ts';
import { createSecrets } from '../../base/secrets.ts';
import { createLocalKeys, type KeyStore } from './key-store.ts';
import { isDue, publishKey, PUBLISHED_MS, readKeys, type SigningKey } from './keys.ts';
import { createSigner } from './signer.ts';
import { createVaultKeys } from './vault.ts';

const DAY_MS = 24 * 60 * 60_000;
const MAX_AGE_MS = 365 * DAY_MS;
const WORDS = Buffer.from('what is signed');

describe.skipIf(!(await has('postgres')))('signing keys', () => {
  let database: TestDatabase;
  let vault: TestVault;
  let clock: ReturnType<typeof createFakeClock>;
  let store: KeyStore;
  beforeAll(async () => {
    database = await createTestDatabase();
    vault = await startVault();
  });
  afterAll(async () => {
    await database?.drop();
    await vault?.stop();
  });
  beforeEach(async () => {
    await database.db.sql`delete from signing_keys`;
    clock = createFakeClock();
    store = createLocalKeys(createSecrets(randomBytes(32)));
  });

  const now = (): Date => clock.now();
  const publish = async (isNeeded: (keys: readonly SigningKey[]) => boolean) =>
    await publishKey({ db: database.db, store, now: now() }, 'platform', isNeeded);
  const keep = async () => await publish((keys) => isDue(keys, now(), MAX_AGE_MS));
  const rotate = async () => await publish((keys) => keys.every(({ state }) => state !== 'pending'));
  const states = async () => (await readKeys(database.db, now())).map(({ state }) => state);
  const signer = () => createSigner(database.db, clock, store);

  it('begin with one that signs at once, and go on with one that was published for a quarter of an hour', async () => {
    await keep();
    expect(await states()).toEqual(['active']);
    await keep();
    const { key: next } = await rotate();
    expect((await rotate()).key?.id).toBe(next?.id);
    expect(await states()).toEqual(['active', 'pending']);
    const first = await signer().sign('platform', WORDS);
    clock.advance(PUBLISHED_MS);
    expect(await states()).toEqual(['retired', 'active']);
    const second = await signer().sign('platform', WORDS);
    expect([first.keyId === next?.id, second.keyId === next?.id]).toEqual([false, true]);
    const keys = await readKeys(database.db, now());
    for (const { keyId, signature } of [first, second])
      expect(verify('sha256', WORDS, keys.find(({ id }) => id === keyId)!.publicKey, signature)).toBe(true);
  });

  it('begin with one that signs also at a server whose clock is behind, and go on as its clock says', async () => {
    await keep();
    clock.advance(-10 * 60_000);
    expect(await states()).toEqual(['active']);
    await rotate();
    clock.advance(PUBLISHED_MS - 1);
    expect(await states()).toEqual(['active', 'pending']);
    clock.advance(1);
    expect(await states()).toEqual(['retired', 'active']);
  });

  it('are replaced when they are old, once, by however many servers', async () => {
    await Promise.all(Array.from({ length: 8 }, keep));
    expect(await states()).toEqual(['active']);
    clock.advance(MAX_AGE_MS - 1);
    await keep();
    expect(await states()).toEqual(['active']);
    clock.advance(1);
    await Promise.all(Array.from({ length: 8 }, keep));
    expect(await states()).toEqual(['active', 'pending']);
  });

  it('sign on while one takes over from the other: every signature is good, and each of one of the two', async () => {
    await keep();
    const signing = Array.from({ length: 1_000 }, async (_, n) => {
      if (n === 300) await rotate();
      if (n === 600) clock.advance(PUBLISHED_MS);
      return await signer().sign('platform', Buffer.from(`statement ${n}`));
    });
    const signed = await Promise.all(signing);
    const keys = new Map((await readKeys(database.db, now())).map((key) => [key.id, key.publicKey]));
    expect(keys.size).toBe(2);
    signed.forEach(({ keyId, signature }, n) =>
      expect(
        verify('sha256', Buffer.from(`statement ${n}`), keys.get(keyId)!, signature),
        `signature ${n}`,
      ).toBe(true),
    );
  });

  it('are not there until they were published, and say for how long', async () => {
    await keep();
    await database.db.sql`update signing_keys set revoked_at = now(), revoke_reason = 'stolen'`;
    await expect(signer().sign('platform', WORDS)).rejects.toMatchObject({ code: 'unavailable' });
    await keep();
    expect(await states()).toEqual(['revoked', 'pending']);
    await expect(signer().sign('platform', WORDS)).rejects.toMatchObject({ retryAfterMs: PUBLISHED_MS });
    await expect(signer().sign('build_service', WORDS)).rejects.toMatchObject({ code: 'unavailable' });
  });

  it('of another installation, or of another row, do not open', async () => {
    await keep();
    const other = createLocalKeys(createSecrets(randomBytes(32)));
    await expect(createSigner(database.db, clock, other).sign('platform', WORDS)).rejects.toThrow(
      /SECRETS_KEY/,
    );
    await database.db.sql`update signing_keys set id = 'sgk_moved'`;
    const fresh = signer();
    await expect(fresh.sign('platform', WORDS)).rejects.toThrow();
  });

  it('in a Vault never leave it, follow each other as versions, and wait while it is sealed', async () => {
    store = createVaultKeys({ address: vault.address, token: vault.token, mount: 'transit', prefix: 'svc' });
    await keep();
    await rotate();
    expect(vault.versionsOf('svc-platform')).toBe(2);
    const first = await signer().sign('platform', WORDS);
    clock.advance(PUBLISHED_MS);
    const second = await signer().sign('platform', WORDS);
    const keys = await readKeys(database.db, now());
    expect(keys.map(({ externalRef, privateSealed }) => [externalRef, privateSealed])).toEqual([
      ['svc-platform:1', null],
      ['svc-platform:2', null],
    ]);
    [first, second].forEach(({ signature }, n) =>
      expect(verify('sha256', WORDS, keys[n]!.publicKey, signature)).toBe(true),
    );
    vault.sealed = true;
    await expect(signer().sign('platform', WORDS)).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining('status 503') as string,
    });
    vault.sealed = false;
    const options = { address: vault.address, token: 'wrong', mount: 'transit', prefix: 'svc' };
    const wrong = createVaultKeys(options);
    await expect(createSigner(database.db, clock, wrong).sign('platform', WORDS)).rejects.toThrow(
      /status 403/,
    );
  });
});
