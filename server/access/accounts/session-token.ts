/**
 * Session tokens are 256 random bits, stored as SHA-256. The key is not stretched, since there is nothing to
 * guess.
 */
import { createHash, randomBytes } from 'node:crypto';

const PREFIX = 'sest_';

export function newSessionToken(): string {
  return `${PREFIX}${randomBytes(32).toString('base64url')}`;
}

export function looksLikeSessionToken(text: string): boolean {
  return text.startsWith(PREFIX) && text.length === PREFIX.length + 43;
}

export function hashToken(token: string): Uint8Array {
  return createHash('sha256').update(token).digest();
}
