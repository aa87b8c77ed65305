/** Keeps what the first request with a key was answered, for 24 hours. */
import { Refusal } from './refusal.ts';

const KEPT_SECONDS = 24 * 3600;

export interface Answer {
  readonly status: number;
  readonly body: string;
}

interface Entry {
  readonly fingerprint: string;
  readonly at: number;
  answer?: Answer;
}

export type Idempotency = ReturnType<typeof createIdempotency>;

export function createIdempotency(now: () => number) {
  const entries = new Map<string, Entry>();
  return {
    /** The saved answer; or none, and the request runs: then `save` or `forget` ends it. */
    begin: (key: string, fingerprint: string): Answer | undefined => {
      const entry = entries.get(key);
      if (entry === undefined || now() - entry.at >= KEPT_SECONDS) {
        entries.set(key, { fingerprint, at: now() });
        return undefined;
      }
      if (entry.fingerprint !== fingerprint) throw otherParameters(key);
      if (entry.answer === undefined) throw inUse(key);
      return entry.answer;
    },
    save: (key: string, answer: Answer): void => {
      const entry = entries.get(key);
      if (entry !== undefined) entry.answer = answer;
    },
    /** Nothing of the request began: it may come again, with other parameters as well. */
    forget: (key: string) => void entries.delete(key),
  };
}

const otherParameters = (key: string) =>
  new Refusal({
    status: 400,
    type: 'idempotency_error',
    message: `Keys for idempotent requests can only be used with the same parameters they were first used with. Try using a key other than '${key}' if you meant to execute a different request.`,
  });

const inUse = (key: string) =>
  new Refusal({
    status: 409,
    type: 'idempotency_error',
    code: 'idempotency_key_in_use',
    message: `There is currently another in-progress request using this Stripe-Idempotent-Key (${key}).`,
  });
