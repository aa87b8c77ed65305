export { createApiKeysService, insertApiKey } from './apikeys-service.ts';
export { parseKey, secretMatches } from './key.ts';
export { endOfKey, revokeAllKeys, revokeKeysOfTeam } from './store.ts';
