/**
 * This file says which plans can be bought at this moment. The provider is asked every three minutes; when it
 * does not answer, nothing fails, and nothing is for sale.
 */
import type { System } from '../../kit/feature.ts';
import { lookupKeyOf, PAID } from '../plans/index.ts';
import { priceIn } from './checkout.ts';
import type { Provider } from './provider.ts';

const KNOWN_MS = 3 * 60_000;
/** After a failure. */
const UNKNOWN_MS = 15_000;

export interface AvailabilityDeps extends Pick<System, 'clock' | 'onError'> {
  readonly provider: Provider;
  readonly currency: string;
}

export function createAvailability({
  provider,
  currency,
  clock,
  onError,
}: AvailabilityDeps): () => Promise<ReadonlySet<string>> {
  let asked: { readonly untilMs: number; readonly plans: Promise<ReadonlySet<string>> } | undefined;
  const ask = async (): Promise<ReadonlySet<string>> => {
    try {
      const prices = await provider.prices(PAID.map((plan) => lookupKeyOf(plan, currency)));
      const bought = PAID.filter((plan) => priceIn(prices, plan, currency) !== undefined);
      return new Set(bought.map(({ id }) => id));
    } catch (error) {
      onError(error);
      asked = asked && { ...asked, untilMs: clock.monotonicMs() + UNKNOWN_MS };
      return new Set();
    }
  };
  return async () => {
    const nowMs = clock.monotonicMs();
    if (asked === undefined || asked.untilMs <= nowMs) asked = { untilMs: nowMs + KNOWN_MS, plans: ask() };
    return await asked.plans;
  };
}
