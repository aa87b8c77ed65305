/** One call of Stripe, and what becomes of one that fails. */
import type Stripe from 'stripe';
import { setTimeout as sleep } from 'node:timers/promises';
import { isFailure, ProviderError, type Failure } from './provider.ts';

const BUSY_TRIES = 8;
const BUSY_MS = 150;

/**
 * Makes one call; what fails becomes a ProviderError that names the call. One that another server makes with
 * the same key at this moment is made again: its answer is this one's too.
 */
export type Ask = <T>(what: string, call: (stripe: Stripe) => Promise<T>) => Promise<T>;

export function createAsk(open: () => Promise<Stripe>): Ask {
  return async (what, call) => {
    for (let tries = 1; ; tries += 1) {
      try {
        return await call(await open());
      } catch (error) {
        const failed = asProviderError(what, error);
        if (tries >= BUSY_TRIES || !isFailure(failed, 'busy')) throw failed;
        await sleep(BUSY_MS * tries);
      }
    }
  };
}

/** The same, and undefined for what does not exist. */
export async function orMissing<T>(call: Promise<T>): Promise<T | undefined> {
  try {
    return await call;
  } catch (error) {
    if (error instanceof ProviderError && error.failure === 'missing') return undefined;
    throw error;
  }
}

const FAILURES: Readonly<Record<string, Failure>> = {
  StripeConnectionError: 'away',
  StripeRateLimitError: 'away',
  StripeAPIError: 'broken',
  StripeIdempotencyError: 'key',
};

function asProviderError(what: string, error: unknown): unknown {
  if (!(error instanceof Error) || !('type' in error) || typeof error.type !== 'string') return error;
  const { type, code, statusCode, requestId } = error as Stripe.errors.StripeError;
  const failure =
    code === 'resource_missing'
      ? 'missing'
      : statusCode === 409
        ? 'busy'
        : statusCode === 503
          ? 'away'
          : (FAILURES[type] ?? 'refused');
  const about = [type, statusCode, code, requestId].filter((each) => each !== undefined).join(' ');
  return new ProviderError(failure, `the provider of payments did not do "${what}": ${about}`);
}
