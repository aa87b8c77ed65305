/** Signing keys: published, rotated and revoked here, used by whoever states something about an artifact. */
import { eq, isNull, and } from 'drizzle-orm';
import { apiError } from '@svc/proto/http/errors.ts';
import { wrongField } from '../../kit/wrong-field.ts';
import { implement, type Handlers } from '@svc/proto/http/implement.ts';
import {
  AdminSigningKeysService,
  KeyPurposeSchema,
  SigningKeySchema,
} from '@svc/proto/gen/svc/signingkeys/v1/signingkeys_pb.ts';
import { timestampDate } from '@bufbuild/protobuf/wkt';
import type { Ctx } from '../../kit/context.ts';
import { declareFeature } from '../../kit/feature.ts';
import { settings } from './signingkeys.settings.ts';
import { PLATFORM_CHAIN, recordAct } from '../../kit/ledger/index.ts';
import { eachStep, startLoop } from '../../base/loop.ts';
import { notFound } from '../../kit/not-found.ts';
import { enumWord, shown } from '../../kit/resource/index.ts';
import { createLocalKeys, type KeyStore, type Purpose } from './key-store.ts';
import { ALGORITHM, isDue, pemOf, publishKey, PURPOSES, readKeys, type SigningKey } from './keys.ts';
import { createKeyPages } from './pages.ts';
import { signingKeys } from './schema.ts';
import { createSigner } from './signer.ts';
import { createVaultKeys } from './vault.ts';

export { pemOf, readKeys } from './keys.ts';
export type { SigningKey } from './keys.ts';
export { hintOf } from './key-store.ts';
export type { Purpose } from './key-store.ts';
export { publicKeyOf } from './public-keys.ts';
export type { Signer } from './signer.ts';

const CHECK_EVERY_MS = 60_000;
const DAY_MS = 24 * 60 * 60_000;

const show = (key: SigningKey) =>
  shown(SigningKeySchema, { ...key, algorithm: ALGORITHM, publicKey: pemOf(key) });

function createAdminSigningKeys(store: KeyStore): Handlers<Ctx> {
  const publish = async (
    ctx: Ctx,
    { purpose, reason }: { readonly purpose: Purpose; readonly reason: string },
    isNeeded: (keys: readonly SigningKey[]) => boolean,
  ): Promise<SigningKey> => {
    const { key, isNew } = await publishKey({ ...ctx, store, now: ctx.clock.now() }, purpose, isNeeded);
    if (key === undefined) throw apiError('internal', `no key of ${purpose} was made`);
    if (isNew)
      await ctx.db.transact(async (db) => {
        const act = { chain: PLATFORM_CHAIN, action: 'signing_key.published', target: key.id };
        await recordAct(db, ctx, { ...act, details: { purpose, hint: key.hint, reason } });
      });
    return key;
  };
  return implement(AdminSigningKeysService, {
    list: async (_request, { db, clock }: Ctx) => ({ keys: (await readKeys(db, clock.now())).map(show) }),
    rotate: async ({ purpose, reason }, ctx: Ctx) => {
      const named = { purpose: enumWord(KeyPurposeSchema, purpose) as Purpose, reason };
      const hasNext = (keys: readonly SigningKey[]): boolean => keys.some(({ state }) => state === 'pending');
      return show(await publish(ctx, named, (keys) => !hasNext(keys)));
    },
    revoke: async ({ keyId, reason, compromisedSince }, ctx: Ctx) => {
      const now = ctx.clock.now();
      const since = compromisedSince === undefined ? null : timestampDate(compromisedSince);
      if (since !== null && since > now) {
        const message = `compromisedSince is ${since.toISOString()}, which has not come yet`;
        throw wrongField(message, { field: 'compromisedSince', rule: 'past' });
      }
      await ctx.db.transact(async (db) => {
        const [revoked] = await db.orm
          .update(signingKeys)
          .set({ revokedAt: now, compromisedSince: since, revokeReason: reason })
          .where(and(eq(signingKeys.id, keyId), isNull(signingKeys.revokedAt)))
          .returning();
        if (revoked === undefined) return;
        const details = { purpose: revoked.purpose, reason, compromisedSince: since?.toISOString() ?? null };
        const act = { chain: PLATFORM_CHAIN, action: 'signing_key.revoked', target: keyId };
        await recordAct(db, ctx, { ...act, details });
      });
      const key = (await readKeys(ctx.db, now)).find(({ id }) => id === keyId);
      if (key === undefined) throw notFound('signing key');
      const { purpose, activeFrom } = key;
      await publish(ctx, { purpose, reason: `${keyId} was revoked` }, (keys) =>
        keys.every(
          ({ state, activeFrom: from }) => state !== 'pending' && (state !== 'active' || from < activeFrom),
        ),
      );
      return show(key);
    },
  });
}

export const signingKeysFeature = declareFeature({
  name: 'signingkeys',
  settings,
  check: ({ vault: { address, token } }, { problem }) => {
    if (address !== undefined && token === undefined)
      problem('VAULT_ADDR is set and VAULT_TOKEN is not: signing needs both');
  },
  prefixes: ['sgk'],
  start: ({ db, clock, secrets, onError }, _on, { vault, signingKeyMaxAgeDays }) => {
    const { address, token = '', mount, prefix } = vault;
    const local = createLocalKeys(secrets);
    const remote = address === undefined ? undefined : createVaultKeys({ address, token, mount, prefix });
    const store: KeyStore = {
      make: async (id, purpose) => await (remote ?? local).make(id, purpose),
      sign: async (key, bytes) => {
        if (key.externalRef === null) return await local.sign(key, bytes);
        if (remote !== undefined) return await remote.sign(key, bytes);
        throw apiError('unavailable', `the signing key ${key.id} is held by a Vault; set VAULT_ADDR`, {
          retryAfterMs: 60_000,
        });
      },
    };
    const maxAgeMs = signingKeyMaxAgeDays * DAY_MS;
    const keep = async (): Promise<void> => {
      const now = clock.now();
      const steps = PURPOSES.map(
        (purpose) => async () =>
          await publishKey({ db, store, now }, purpose, (keys) => isDue(keys, now, maxAgeMs)),
      );
      await eachStep(steps, onError);
    };
    return {
      signer: createSigner(db, clock, store),
      services: [createAdminSigningKeys(store)],
      endpoints: () => createKeyPages(db, clock),
      loops: [() => startLoop({ everyMs: CHECK_EVERY_MS, onError, run: keep })],
    };
  },
});
