/** Accounts: how often an address tries to sign in. */
import { limit } from '@svc/proto/process/settings.ts';

export const limits = {
  loginsPerMinute: limit(
    'LIMIT_LOGINS_PER_MINUTE',
    20,
    'Calls of sign-in and the like a minute from one address.',
  ),
};
