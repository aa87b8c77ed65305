export { createApiKeysService, insertApiKey } from './apikeys-service.ts';
export { parseKey, secretMatches } from './key.ts';
export { endOfKey, revokeAllKeys } from './store.ts';
