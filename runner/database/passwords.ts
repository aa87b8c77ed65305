/**
 * Passwords of databases follow from one key of this machine and an id: nothing else stores them, they leave
 * the machine in no message, and a build's output is masked before its database exists.
 */
import { createHmac, randomBytes } from 'node:crypto';
import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readIfThere } from '../disk/durable-file.ts';

const KEY_BYTES = 32;
const LENGTH = 32;
/** No address, shell or file of settings needs them escaped. */
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

export type Passwords = (id: string) => string;

/** The key is made when it is asked for the first time. */
export function openPasswords(dataDir: string): Passwords {
  let key: Buffer | undefined;
  return (id) => {
    key ??= readKey(dataDir);
    return passwordOf(key, id);
  };
}

function readKey(dataDir: string): Buffer {
  const folder = join(dataDir, 'host');
  const path = join(folder, 'databases.key');
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  if (readIfThere(path) === undefined) {
    writeFileSync(`${path}.new`, randomBytes(KEY_BYTES).toString('base64url'), { mode: 0o600, flush: true });
    renameSync(`${path}.new`, path);
  }
  const key = Buffer.from(readIfThere(path) ?? '', 'base64url');
  if (key.length !== KEY_BYTES) throw new Error(`${path} holds no key of ${KEY_BYTES} bytes`);
  return key;
}

export function passwordOf(key: Buffer, id: string): string {
  const characters: string[] = [];
  for (let round = 0; characters.length < LENGTH; round += 1)
    for (const byte of createHmac('sha512', key).update(`database ${id} ${round}`).digest()) {
      // Bytes beyond the last whole multiple would make some characters likelier than others.
      if (byte >= 256 - (256 % ALPHABET.length) || characters.length === LENGTH) continue;
      characters.push(ALPHABET.charAt(byte % ALPHABET.length));
    }
  return characters.join('');
}
