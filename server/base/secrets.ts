/**
 * Envelope encryption of stored secrets, AES-256-GCM. One key-encryption key per installation wraps nothing
 * but data keys; a data key is derived for each purpose with HKDF, so that the two uses never share one. The
 * text form is `v1.<kekId>.<iv>.<ciphertext>.<tag>`; the additional data binds it to its column and row:
 * moved elsewhere, it does not open.
 */
import { createCipheriv, createDecipheriv, createHash, createHmac, hkdfSync, randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export interface Secrets {
  /** `where`: `table.column:rowId`. */
  seal(where: string, plain: Uint8Array): string;
  /** Throws when the text was changed, moved, or sealed under another key. */
  open(where: string, sealed: string): Uint8Array;
  /** HMAC-SHA-256 under a key of that purpose: peppers, cursor signatures. */
  mac(purpose: string, data: string | Uint8Array): Uint8Array;
  /** Public name of the key; tells an installation that it was started with another one. */
  readonly keyId: string;
}

const VERSION = 'v1';

export function createSecrets(kek: Uint8Array): Secrets {
  if (kek.length !== 32) throw new RangeError(`key-encryption key has ${kek.length} bytes, expected 32`);
  const derive = (purpose: string): Buffer => Buffer.from(hkdfSync('sha256', kek, 'svc', purpose, 32));
  const dataKey = derive('seal.v1');
  const keyId = createHash('sha256').update(derive('id')).digest('base64url').slice(0, 8);
  const macKeys = new Map<string, Buffer>();
  const aad = (where: string): Buffer => Buffer.from(`${VERSION}\n${keyId}\n${where}`);

  return {
    keyId,
    seal: (where, plain) => {
      const iv = randomBytes(12);
      const cipher = createCipheriv('aes-256-gcm', dataKey, iv).setAAD(aad(where));
      const text = Buffer.concat([cipher.update(plain), cipher.final()]);
      return [
        VERSION,
        keyId,
        ...[iv, text, cipher.getAuthTag()].map((part) => part.toString('base64url')),
      ].join('.');
    },
    open: (where, sealed) => {
      const [version, id, iv = '', text = '', tag = ''] = sealed.split('.');
      if (version !== VERSION || id !== keyId) {
        throw new Error(
          `secret was sealed with key ${String(id)}, this server has ${keyId}: set SECRETS_KEY to the key of the installation`,
        );
      }
      const decipher = createDecipheriv('aes-256-gcm', dataKey, Buffer.from(iv, 'base64url'), {
        authTagLength: 16,
      });
      decipher.setAAD(aad(where)).setAuthTag(Buffer.from(tag, 'base64url'));
      return Buffer.concat([decipher.update(Buffer.from(text, 'base64url')), decipher.final()]);
    },
    mac: (purpose, data) => {
      let key = macKeys.get(purpose);
      if (key === undefined) {
        key = derive(`mac.${purpose}`);
        macKeys.set(purpose, key);
      }
      return createHmac('sha256', key).update(data).digest();
    },
  };
}

/** The configured key, or the one of the data folder; undefined: none was made yet. */
export function findKek(configured: Uint8Array | undefined, dataDir: string): Uint8Array | undefined {
  return configured !== undefined || existsSync(join(dataDir, 'secrets.key'))
    ? loadKek(configured, dataDir)
    : undefined;
}

/** The configured key, or the one of the data folder, made at the first start (mode 0600). */
export function loadKek(configured: Uint8Array | undefined, dataDir: string): Uint8Array {
  if (configured !== undefined) return configured;
  mkdirSync(dataDir, { recursive: true, mode: 0o711 });
  const path = join(dataDir, 'secrets.key');
  try {
    writeFileSync(path, `${randomBytes(32).toString('base64')}\n`, { mode: 0o600, flag: 'wx' });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  const kek = Buffer.from(readFileSync(path, 'utf8').trim(), 'base64');
  if (kek.length !== 32)
    throw new Error(
      `${path} holds ${kek.length} bytes, expected 32: restore it from a backup, stored secrets depend on it`,
    );
  return kek;
}
