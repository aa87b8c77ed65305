/** Policies that say no, in words. */
import { SvcApiError } from '@svc/sdk';
import { sentence } from '../../api.ts';

/** Undefined when it was nothing of the kind. */
export function refusalOf(error: unknown): string | undefined {
  if (!(error instanceof SvcApiError) || error.code !== 'policy_denied') return undefined;
  const { error: said } = error.body as {
    error?: { details?: { failed?: readonly { policyName?: string; message: string }[] } };
  };
  const rules = (said?.details?.failed ?? []).map(({ policyName, message }) =>
    sentence(policyName === undefined ? message : `${policyName}: ${message}`),
  );
  return rules.length === 0 ? undefined : `Policies refuse it. ${rules.join(' ')}`;
}
