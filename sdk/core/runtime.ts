/**
 * Defines everything that the core needs from its surroundings beside `fetch`. Not public: tests put their
 * own clock in.
 */

export interface Runtime {
  /** It returns milliseconds since 1970. */
  readonly now: () => number;
  /** It returns a number from 0 on and below 1. */
  readonly random: () => number;
  /** Makes a fresh value for Idempotency-Key. */
  readonly uuid: () => string;
  /** It runs `fire` once after `ms`; the returned function takes it back. */
  readonly timer: (ms: number, fire: () => void) => () => void;
}

export const systemRuntime: Runtime = {
  now: () => Date.now(),
  random: () => Math.random(),
  uuid: randomUuid,
  timer: (ms, fire) => {
    const handle = setTimeout(fire, ms);
    return () => clearTimeout(handle);
  },
};

/**
 * Makes a UUID of version 4. `crypto.randomUUID` is missing on pages without TLS, `getRandomValues` is not.
 */
function randomUuid(): string {
  if (typeof crypto.randomUUID === 'function') return crypto.randomUUID();
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}
