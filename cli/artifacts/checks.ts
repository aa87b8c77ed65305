/** Checks each thing that must be right about a signed statement, and says what it saw. */
import { verify, type KeyObject } from 'node:crypto';
import { defined } from '../shell/paths.ts';
import {
  checkedPayloadType,
  paeOf,
  readEnvelope,
  readStatement,
  type Envelope,
  type Statement,
} from './envelope.ts';
import type { KeyState, VerificationKey } from './keys.ts';

export const PROVENANCE_TYPE = 'https://slsa.dev/provenance/v1';

export interface Check {
  readonly check: string;
  readonly ok: boolean;
  /** Says what was seen, or what is wrong with it. */
  readonly detail: string;
}

export interface Verification {
  /** Every check holds. */
  readonly ok: boolean;
  readonly checks: readonly Check[];
  readonly predicateType?: string;
  /** Digest that the statement was to be about. */
  readonly subject: string;
  /** Key that made the signature. */
  readonly keyId?: string;
}

/** A check that needs what an earlier one did not find is left out: that one has failed already. */
export function verifyBundle(
  bundle: Uint8Array,
  subject: string,
  keys: readonly VerificationKey[],
): Verification {
  const checks: Check[] = [];
  const look = <T>(check: string, find: () => readonly [detail: string, found: T]): T | undefined => {
    try {
      const [detail, found] = find();
      checks.push({ check, ok: true, detail });
      return found;
    } catch (error) {
      checks.push({ check, ok: false, detail: (error as Error).message });
      return undefined;
    }
  };
  const envelope = look('bundle', () => {
    const read = readEnvelope(bundle);
    return [`${read.form}, one signature`, read];
  });
  if (envelope === undefined) return { ok: false, checks, subject };
  look('payload type', () => [checkedPayloadType(envelope), undefined]);
  const statement = look('statement', () => {
    const read = readStatement(envelope);
    return [`${read.type} of ${read.predicateType}`, read];
  });
  if (statement !== undefined) look('subject', () => [checkedSubject(statement, subject), undefined]);
  const key = look('signature', () => {
    const by = signerOf(envelope, keys);
    return [`by ${by.id}`, by];
  });
  if (key !== undefined && statement !== undefined) {
    const { purpose, state } = key;
    if (purpose !== undefined) look('purpose', () => [checkedPurpose(purpose, statement), undefined]);
    if (state !== undefined) look('revocation', () => [checkedState(state, statement), undefined]);
  }
  const ok = checks.every((check) => check.ok);
  const predicateType = statement?.predicateType;
  return defined({ ok, checks, predicateType, subject, keyId: key?.id });
}

/** A good signature about something else is the classic hole. */
function checkedSubject({ digests }: Statement, subject: string): string {
  if (digests.includes(subject)) return subject;
  const [first = 'nothing with a SHA-256', ...more] = digests;
  const others = more.length === 0 ? '' : ` and ${more.length} more`;
  throw new Error(`it is about ${first}${others}, expected ${subject}`);
}

function signerOf({ payloadType, payload, signature, hint }: Envelope, keys: readonly VerificationKey[]) {
  const candidates = hint === '' ? keys : keys.filter(({ hints }) => hints.includes(hint));
  const named = JSON.stringify(hint.slice(0, 100));
  if (candidates.length === 0)
    throw new Error(`the bundle names the key ${named}, which none of the ${keys.length} known keys is`);
  const signed = paeOf(payloadType, payload);
  const signer = candidates.find(({ publicKey }) => isSignedBy(publicKey, signed, signature));
  if (signer !== undefined) return signer;
  throw new Error(
    hint === ''
      ? `none of the ${keys.length} known keys made it`
      : `the key ${named}, which the bundle names, did not make it`,
  );
}

function isSignedBy(key: KeyObject, signed: Uint8Array, signature: Uint8Array): boolean {
  try {
    return verify(key.asymmetricKeyType === 'ed25519' ? undefined : 'sha256', signed, key, signature);
  } catch {
    return false; // A key of a kind that cannot verify this.
  }
}

/** Whoever builds vouches for builds, and for nothing else. */
function checkedPurpose(purpose: string, { predicateType }: Statement): string {
  const isForBuilds = purpose === 'build_service' || purpose === 'build_customer';
  const isRight = predicateType === PROVENANCE_TYPE ? isForBuilds : purpose === 'platform';
  if (isRight) return `${purpose} may sign ${predicateType}`;
  throw new Error(`a key for ${purpose} may not sign ${predicateType}`);
}

/**
 * Offline there is no ledger that has the time at which a statement was stored. The statement's own time is
 * the word of whoever had the key, a thief included: it is believed here, and the line says so.
 */
function checkedState(
  { word, reason = 'no reason is given', compromisedSince }: KeyState,
  { finishedOn }: Statement,
): string {
  if (word !== 'revoked') return `the key is ${word}`;
  const revoked = `the key was revoked: ${reason}`;
  if (compromisedSince === undefined) throw new Error(revoked);
  const since = `${revoked}; compromised since ${compromisedSince}`;
  if (finishedOn === undefined) throw new Error(`${since}, and the statement does not say when it was made`);
  if (!(Date.parse(finishedOn) < Date.parse(compromisedSince)))
    throw new Error(`${since}, and the statement is of ${finishedOn}`);
  return `${since}, after ${finishedOn}, which is the statement's own word`;
}
