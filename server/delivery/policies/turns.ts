/**
 * Gates of one account are judged one after the other, so that of those that wait for the judging thread each
 * is of another account: a policy that takes all of its time costs strangers one such time, however often it
 * is asked and of however many teams. An account is that of the caller, whose gates wait for each other
 * first, and that of whoever pays for the team, where one gate of each caller waits.
 */
import { apiError } from '@svc/proto/http/errors.ts';

/**
 * One caller may have so many, the one that is judged among them: each may hold a connection to the database,
 * of which there are 10 by default.
 */
const OF_CALLER_MAX = 5;
/** Callers of the teams of one payer. */
const OF_PAYER_MAX = 10;
/** A transaction that does nothing for 10 s is ended. */
const WAIT_MS = 2_000;

export interface TurnLimits {
  readonly atOnceMax: number;
  readonly waitMs: number;
}

export type Turns = <T>(key: string, work: () => Promise<T>) => Promise<T>;

interface Line {
  count: number;
  end: Promise<unknown>;
}

/**
 * Throws `unavailable` (503) when as many of the key wait as may, and for one that has waited for too long.
 */
export function createTurns({ atOnceMax, waitMs }: TurnLimits): Turns {
  const lines = new Map<string, Line>();
  return async (key, work) => {
    const line = lines.get(key) ?? { count: 0, end: Promise.resolve() };
    if (line.count >= atOnceMax)
      throw refusal(`${line.count} acts of the account are judged at once, which is the limit`);
    lines.set(key, line);
    line.count += 1;
    const turn = inTurn(line.end, work, waitMs);
    line.end = turn.over;
    try {
      return await turn.answer;
    } finally {
      line.count -= 1;
      if (line.count === 0) lines.delete(key);
    }
  };
}

/** `over` resolves when the next one may begin. */
function inTurn<T>(
  before: Promise<unknown>,
  work: () => Promise<T>,
  waitMs: number,
): { readonly answer: Promise<T>; readonly over: Promise<unknown> } {
  let isGivenUp = false;
  const late = new Promise<never>((_, reject) => {
    const timer = setTimeout(() => {
      isGivenUp = true;
      reject(refusal(`an act of the account waited ${waitMs} ms for those before it`));
    }, waitMs);
    void before.then(() => clearTimeout(timer));
  });
  const done = before.then(async () => (isGivenUp ? await late : await work()));
  return { answer: Promise.race([done, late]), over: done.catch(() => undefined) }; // told to its own caller
}

const refusal = (why: string): Error =>
  apiError('unavailable', `the policies cannot be judged now: ${why}; try again`, { retryAfterMs: 1_000 });

export interface Accounts {
  /** Account of the caller; it is empty where nobody calls. */
  readonly callerId: string;
  /** Account that pays for the team; it is null where nobody is known to pay. */
  readonly payerId: string | null;
  readonly teamId: string;
}

export type AccountTurns = <T>(accounts: Accounts, work: () => Promise<T>) => Promise<T>;

export function createAccountTurns(): AccountTurns {
  const callers = createTurns({ atOnceMax: OF_CALLER_MAX, waitMs: WAIT_MS });
  const payers = createTurns({ atOnceMax: OF_PAYER_MAX, waitMs: WAIT_MS });
  return async ({ callerId, payerId, teamId }, work) => {
    const ofPayer = async () => await payers(payerId ?? teamId, work);
    return callerId === '' ? await ofPayer() : await callers(callerId, ofPayer);
  };
}
