/** The settings that decide about amounts. */
import type { System } from '../../kit/feature.ts';

export interface Pricing {
  /** ISO 4217, in lower case. */
  readonly currency: string;
  /** There is a provider of payments; without one nothing is included, and nothing refused by plan. */
  readonly charges: boolean;
}

export function pricingOf({ config: { billing } }: Pick<System, 'config'>): Pricing {
  return { currency: billing.currency, charges: billing.stripeSecretKey !== undefined };
}
