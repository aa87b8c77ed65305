/**
 * Callers that were proven a moment ago, so that a call costs no look at its credential. Held for 1 s at
 * most, dropped at once when something about the credential changes (kit/credential-changes.ts). The key is
 * the SHA-256 of the credential, so that memory holds no secrets. `generation` closes the gap between reading
 * a row and remembering it: what was read before a change is not stored after it.
 *
 * What was good at its last look within a day is remembered apart (`isTrusted`): it proves nothing, but tells
 * a caller who was here before from one who guesses.
 */
import { bounded } from '@svc/proto/process/bounded.ts';
import { hash } from 'node:crypto';
import type { Clock } from '../../base/clock.ts';
import type { Caller } from '../../kit/context.ts';
import type { CredentialChange } from '../../kit/credential-changes.ts';
import type { CallContext } from '@svc/proto/http/call.ts';

export interface Proven {
  readonly caller: Caller;
  /** Wall clock; the credential itself ends here. */
  readonly expiresAtMs: number;
  /** The database has this as the time of the last use. */
  readonly storedUseAt: Date | undefined;
}

const LIVE_MS = 1_000;
const ENTRIES_MAX = 20_000;
const TRUSTED_MS = 86_400_000;
const TRUSTED_MAX = 100_000;

export interface CredentialCache {
  get(credential: string): Proven | undefined;
  /** Read it before the row. */
  generation(): number;
  put(credential: string, proven: Proven, generation: number): void;
  /** Says whether the last look at the credential within a day found it good. */
  isTrusted(credential: string): boolean;
  /** Remembers what a look at the credential has found. */
  trust(credential: string, isGood: boolean): void;
  drop(change: CredentialChange | undefined): void;
}

export function createCredentialCache(clock: Clock): CredentialCache {
  const entries = new Map<string, { readonly proven: Proven; readonly untilMs: number }>();
  /** Until when, oldest first. */
  const trusted = new Map<string, number>();
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
      bounded(entries, ENTRIES_MAX).set(key, { proven, untilMs: clock.monotonicMs() + LIVE_MS });
    },
    isTrusted: (credential) => (trusted.get(nameOf(credential)) ?? 0) > clock.monotonicMs(),
    trust: (credential, isGood) => {
      const key = nameOf(credential);
      trusted.delete(key);
      if (!isGood) return;
      bounded(trusted, TRUSTED_MAX).set(key, clock.monotonicMs() + TRUSTED_MS);
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

/** Longer id_tokens are refused unread. */
export const ID_TOKEN_BYTES_MAX = 16_384;

export interface JobCredentials {
  /** The text has the form of such a credential. */
  isJobs(credential: string): boolean;
  /** Returns undefined when the credential belongs to no job. Throws `id_token_invalid`. */
  prove(call: CallContext, credential: string): Promise<Proven | undefined>;
}
