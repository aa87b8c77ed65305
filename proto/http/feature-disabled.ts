/** The refusal of what a public platform feature that is off would do. */
import { apiError, type ApiError } from './errors.ts';
import type { RpcInfo } from './rpc.ts';

/** Names the RPC's own feature alone: why that one is off may be an internal matter. */
export function featureDisabled(rpc: Pick<RpcInfo, 'feature'>): ApiError {
  const feature = rpc.feature ?? '';
  return apiError('feature_disabled', `the platform feature ${feature} is disabled on this environment`, {
    details: { feature },
  });
}
