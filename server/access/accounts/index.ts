import type { Feature, System } from '../../kit/feature.ts';
import { createAccountService } from './account-service.ts';
import type { AccountBilling } from './account-service.ts';
import { createAdminAccounts } from './admin-accounts-service.ts';
import { createAuthService } from './auth-service.ts';
import type { TeamsOfAccount } from './claims.ts';
import type { Passwords } from './password.ts';
import { purgeSessions } from './sessions.ts';
import { createTries } from './tries.ts';
export type { AccountBilling } from './account-service.ts';
export type { TeamsOfAccount } from './claims.ts';
export { checkPasswordStrength, createPasswords } from './password.ts';
export type { PasswordCost, Passwords } from './password.ts';
export { hashToken, looksLikeSessionToken } from './session-token.ts';
export { purgeSessions, sessionTimesOf } from './sessions.ts';
export { createUser, findUserByEmail, findUserById } from './store.ts';
export type { User } from './store.ts';

export interface AccountsDeps {
  readonly passwords: Passwords;
  readonly teamsOfAccount: TeamsOfAccount;
  readonly billing: AccountBilling;
}

export function accountsFeature(system: System, deps: AccountsDeps): Feature {
  const { clock, config, db } = system;
  const { limits, sessions } = config;
  const parts = { ...system, ...deps, tries: createTries(clock), sessions, limits };
  return {
    services: [createAuthService(parts), createAccountService(parts), createAdminAccounts()],
    purges: [async () => await purgeSessions(db, clock, sessions)],
  };
}
