/** Policies that say no. */
import { SvcApiError, type PromotionRule } from '@svc/sdk';
import { sentence } from '../../api.ts';

type Rule = Pick<PromotionRule, 'policyId' | 'policyName' | 'message'>;

/** Rules that refused it; none when it was nothing of the kind. */
export function refusedBy(error: unknown): readonly Rule[] {
  if (!(error instanceof SvcApiError) || error.code !== 'policy_denied') return [];
  const { error: said } = error.body as { error?: { details?: { failed?: readonly Rule[] } } };
  return said?.details?.failed ?? [];
}

/** It is not what was shown any more. */
export const isOutdated = (error: unknown): boolean =>
  error instanceof SvcApiError && error.code === 'state_conflict';

export function refusal(rules: readonly Rule[]): string {
  return `Policies refuse it. ${rules.map(({ policyName, message }) => sentence(`${policyName}: ${message}`)).join(' ')}`;
}
