/**
 * Callers that were proven a moment ago, so that a call costs no look at its credential. Held for 1 s at most, dropped at once
 * when something about the credential changes (platform/credential-changes.ts). The key is the SHA-256 of the credential, so
 * that memory holds no secrets. `generation` closes the gap between reading a row and remembering it: what was read before a
 * change is not stored after it.
 */
import { hash } from 'node:crypto';
import type { Clock } from '../platform/clock.ts';
import type { Caller } from '../platform/context.ts';
import type { CredentialChange } from '../platform/credential-changes.ts';

export interface Proven {
  readonly caller: Caller;
  /** Wall clock; the credential itself ends here. */
  readonly expiresAtMs: number;
  /** What the database says about the last use. */
  readonly storedUseAt: Date | undefined;
}

const LIVE_MS = 1_000;
const ENTRIES_MAX = 20_000;

export interface CredentialCache {
  get(credential: string): Proven | undefined;
  /** Read it before the row. */
  generation(): number;
  put(credential: string, proven: Proven, generation: number): void;
  drop(change: CredentialChange | undefined): void;
}

export function createCredentialCache(clock: Clock): CredentialCache {
  const entries = new Map<string, { readonly proven: Proven; readonly untilMs: number }>();
  let generation = 0;
  const nameOf = (credential: string): string => hash('sha256', credential, 'base64');

  return {
    get: (credential) => {
      const entry = entries.get(nameOf(credential));
      return entry !== undefined && clock.monotonicMs() < entry.untilMs ? entry.proven : undefined;
    },
    generation: () => generation,
    put: (credential, proven, readAt) => {
      if (readAt !== generation) return;
      const key = nameOf(credential);
      entries.delete(key);
      entries.set(key, { proven, untilMs: clock.monotonicMs() + LIVE_MS });
      if (entries.size > ENTRIES_MAX) {
        const oldest = entries.keys().next();
        if (oldest.done !== true) entries.delete(oldest.value);
      }
    },
    drop: (change) => {
      generation += 1;
      if (change === undefined) return entries.clear();
      for (const [key, { proven }] of entries) if (concerns(change, proven.caller)) entries.delete(key);
    },
  };
}

export function concerns(change: CredentialChange, caller: Caller): boolean {
  if ('credentialId' in change) return caller.credentialId === change.credentialId;
  if ('userId' in change) return caller.userId === change.userId;
  return caller.memberships.has(change.teamId);
}
