/** Private keys live sealed in the database, or in a store that signs and never gives them out. */
import { createHash, createPrivateKey, generateKeyPair, sign, type KeyObject } from 'node:crypto';
import { promisify } from 'node:util';
import type { KeyPurpose } from '@svc/proto/gen/svc/signingkeys/v1/signingkeys_pb.ts';
import type { Secrets } from '../../base/secrets.ts';

export type Purpose = Lowercase<Exclude<keyof typeof KeyPurpose & string, 'UNSPECIFIED'>>;

/** A key as it is stored: one of the two is null. */
export interface StoredSecret {
  readonly privateSealed: string | null;
  readonly externalRef: string | null;
}

export interface MadeKey extends StoredSecret {
  readonly spki: Uint8Array;
}

export interface KeyStore {
  make(id: string, purpose: Purpose): Promise<MadeKey>;
  /** ECDSA over P-256 and SHA-256, DER. */
  sign(key: StoredSecret & { readonly id: string }, bytes: Uint8Array): Promise<Uint8Array>;
}

/** A Sigstore bundle names a key so. */
export function hintOf(spki: Uint8Array): string {
  return createHash('sha256').update(spki).digest('base64');
}

const where = (id: string): string => `signing_keys.private:${id}`;
const makePair = promisify(generateKeyPair);

/** Keys that this installation made itself, under its key-encryption key. */
export function createLocalKeys(secrets: Pick<Secrets, 'seal' | 'open'>): KeyStore {
  const opened = new Map<string, KeyObject>();
  const open = (id: string, sealed: string): KeyObject => {
    const pkcs8 = secrets.open(where(id), sealed);
    const key = createPrivateKey({ key: Buffer.from(pkcs8), format: 'der', type: 'pkcs8' });
    opened.set(id, key);
    return key;
  };
  return {
    make: async (id) => {
      const { publicKey, privateKey } = await makePair('ec', { namedCurve: 'P-256' });
      const pkcs8 = privateKey.export({ format: 'der', type: 'pkcs8' });
      const spki = publicKey.export({ format: 'der', type: 'spki' });
      return { spki, privateSealed: secrets.seal(where(id), pkcs8), externalRef: null };
    },
    sign: async ({ id, privateSealed }, bytes) => {
      if (privateSealed === null) throw new Error(`signing key ${id} is held by another store than this one`);
      const key = opened.get(id) ?? open(id, privateSealed);
      return sign('sha256', bytes, { key, dsaEncoding: 'der' });
    },
  };
}
