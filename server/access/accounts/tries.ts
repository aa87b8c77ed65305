/**
 * Limits how often an account may be guessed at, on top of the limit for each address in admission.ts. Tries
 * count for the account and the network that they come from together, so that a stranger elsewhere cannot use
 * up those of the account's owner. Guessing from many networks at once is slowed by a far higher count for
 * the account: past it, a network that never signed in to the account gets few tries, and one that did so
 * lately keeps all of its own. Each process counts by itself, in memory.
 */
import { bounded } from '@svc/proto/process/bounded.ts';
import { networkOf } from '@svc/proto/http/address.ts';
import type { Clock } from '../../base/clock.ts';
import { createRateLimiter, tooMany } from '../../base/rate-limit.ts';

const WINDOW_MS = 15 * 60_000;
/** A network that was right counts as the account's own for so long. */
const KNOWN_MS = 30 * 86_400_000;
const KNOWN_MAX = 100_000;

export interface Guesses {
  /**
   * Counts a try. Throws `rate_limited` when there were too many. `account` is the same text each time,
   * existing or not. Answers whether the account was signed in to from this network lately.
   */
  spend(account: string, address: string): boolean;
  /** It was right: the tries are given back, and the network is known. */
  wasRight(account: string, address: string): void;
}

export interface Tries {
  /** Passwords, by normalized e-mail address. */
  readonly password: Guesses;
  /** One-time codes, by account id. */
  readonly code: Guesses;
}

export function createTries(clock: Clock): Tries {
  return {
    password: createGuesses(clock, {
      what: 'wrong passwords for this account',
      fromOne: 10,
      fromAll: 100,
      fromStrangers: 2,
    }),
    // Whoever guesses these has the password. Of six digits not even a few tries for each of many networks
    // may be given away.
    code: createGuesses(clock, { what: 'one-time codes for this account', fromOne: 5, fromAll: 20 }),
  };
}

interface GuessRule {
  readonly what: string;
  /** Tries of one network, in a quarter of an hour. */
  readonly fromOne: number;
  /** Tries of all networks that are not known. */
  readonly fromAll: number;
  /** Tries that each network still has when those are used up; absent: none. */
  readonly fromStrangers?: number;
}

function createGuesses(clock: Clock, { what, fromOne, fromAll, fromStrangers }: GuessRule): Guesses {
  const limiter = (count: number) => createRateLimiter({ count, windowMs: WINDOW_MS }, clock);
  const pairs = limiter(fromOne);
  const accounts = limiter(fromAll);
  const strangers = fromStrangers === undefined ? undefined : limiter(fromStrangers);
  /** The monotonic time until which a pair is known; the oldest one stands first. */
  const known = new Map<string, number>();
  const pairOf = (account: string, address: string): string => `${networkOf(address)} ${account}`;

  return {
    spend: (account, address) => {
      const pair = pairOf(account, address);
      const own = pairs.take(pair);
      if (!own.allowed) throw tooMany(what, own.resetMs);
      if ((known.get(pair) ?? 0) > clock.monotonicMs()) return true;
      const all = accounts.take(account);
      if (all.allowed) return false;
      const few = strangers?.take(pair) ?? all;
      if (!few.allowed) throw tooMany(`${what}, from many addresses`, few.resetMs);
      return false;
    },
    wasRight: (account, address) => {
      const pair = pairOf(account, address);
      pairs.reset(pair);
      known.delete(pair);
      bounded(known, KNOWN_MAX).set(pair, clock.monotonicMs() + KNOWN_MS);
    },
  };
}
