/** One call of Stripe, and what becomes of one that fails. */
import type Stripe from 'stripe';
import { ProviderError, type Failure } from './provider.ts';

/** Makes one call; what fails becomes a ProviderError that names the call. */
export type Ask = <T>(what: string, call: (stripe: Stripe) => Promise<T>) => Promise<T>;

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

export function asProviderError(what: string, error: unknown): unknown {
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
