/** Time-based one-time codes, RFC 6238: SHA-1, 30 seconds, 6 digits, as every authenticator app has it. */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { encodeBase32 } from '../../base/base32.ts';

export const STEP_S = 30;
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

export function stepAt(now: Date): number {
  return Math.floor(now.getTime() / 1_000 / STEP_S);
}

export function totpCode(secret: Uint8Array, step: number, digits = 6): string {
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(step));
  const mac = createHmac('sha1', secret).update(counter).digest();
  const offset = (mac[19] ?? 0) & 0x0f;
  const value = mac.readUInt32BE(offset) & 0x7fffffff;
  return String(value % 10 ** digits).padStart(digits, '0');
}

/**
 * The step that the code belongs to: the present one, the one before or the one after; undefined when none.
 */
export function matchStep(secret: Uint8Array, code: string, now: Date): number | undefined {
  const given = Buffer.from(code);
  const present = stepAt(now);
  let found: number | undefined;
  // All three are computed whatever matches, so that the time says nothing.
  for (const step of [present - 1, present, present + 1]) {
    const wanted = Buffer.from(totpCode(secret, step));
    if (given.length === wanted.length && timingSafeEqual(given, wanted)) found = step;
  }
  return found;
}

export const base32 = (bytes: Uint8Array): string => encodeBase32(bytes, ALPHABET);

export function otpauthUrl(secret: string, email: string): string {
  return `otpauth://totp/svc:${encodeURIComponent(email)}?secret=${secret}&issuer=svc&algorithm=SHA1&digits=6&period=${STEP_S}`;
}
