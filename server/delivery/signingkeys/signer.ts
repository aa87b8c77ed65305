/** Signs for a purpose with the key that is active at the moment. */
import { apiError } from '@svc/proto/http/errors.ts';
import type { Clock } from '../../base/clock.ts';
import type { Database } from '../../base/db/index.ts';
import type { KeyStore, Purpose } from './key-store.ts';
import { readKeys } from './keys.ts';

export interface Signature {
  readonly keyId: string;
  readonly hint: string;
  /** DER. */
  readonly signature: Uint8Array;
}

export interface Signer {
  /** Throws `unavailable` while the purpose has no key, or the store does not answer. */
  sign(purpose: Purpose, bytes: Uint8Array): Promise<Signature>;
}

export function createSigner(db: Database, clock: Clock, store: KeyStore): Signer {
  return {
    sign: async (purpose, bytes) => {
      const now = clock.now();
      const keys = (await readKeys(db, now)).filter((key) => key.purpose === purpose);
      const key = keys.find(({ state }) => state === 'active');
      if (key === undefined) {
        const next = keys.find(({ state }) => state === 'pending');
        const retryAfterMs = next === undefined ? 60_000 : next.activeFrom.getTime() - now.getTime();
        const message = `no key for ${purpose} is active now; try again later`;
        throw apiError('unavailable', message, { retryAfterMs });
      }
      return { keyId: key.id, hint: key.hint, signature: await store.sign(key, bytes) };
    },
  };
}
