/** The setting says how many API keys an account has. */
import { limit } from '@svc/proto/process/settings.ts';

export const settings = {
  apiKeysMax: limit('LIMIT_API_KEYS', 100, 'API keys of one account.'),
};
