/** Says what is answered where a platform feature is not open. */
import type { RpcGate } from './call.ts';
import { apiError, type ApiError } from './errors.ts';
import { UNKNOWN_ROUTE } from './unknown-route.ts';

/** It names the feature itself alone: why it is off may be an internal matter. */
export function featureDisabled(feature = ''): ApiError {
  return apiError('feature_disabled', `the platform feature ${feature} is disabled on this environment`, {
    details: { feature },
  });
}

export const isShut = (gate: RpcGate): boolean => gate !== 'open' && gate !== 'unlisted';

/**
 * Returns undefined where the gate is open. A hidden feature is answered like a route that does not exist.
 */
export function gateRefusal(gate: RpcGate, feature: string | undefined): ApiError | undefined {
  if (!isShut(gate)) return undefined;
  return gate === 'disabled' ? featureDisabled(feature) : apiError('not_found', UNKNOWN_ROUTE);
}
