import type { Feature, System } from '../../platform/feature.ts';
import { createApiKeysService } from './apikeys-service.ts';
export { insertApiKey } from './apikeys-service.ts';
export { parseKey, secretMatches } from './key.ts';
export { endOfKey, revokeAllKeys, revokeKeysOfTeam } from './store.ts';

export function apiKeysFeature(system: System): Feature {
  return { services: [createApiKeysService({ ...system, limits: system.config.limits })] };
}
