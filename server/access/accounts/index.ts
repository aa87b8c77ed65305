/** The feature keeps accounts of people: sign-in, sessions, one-time codes and claims of an address. */
import { declareFeature, filledOnce, port } from '../../kit/feature.ts';
import { createAccountService, createAdminAccounts, type PlanOfAccount } from './account-service.ts';
import { settings } from './accounts.settings.ts';
import { createAuthService } from './auth-service.ts';
import type { RevokeKeys, TeamsOfAccount } from './claims.ts';
import { purgeVerifications, verificationJobs } from './email-verification.ts';
import { purgeSessions } from './sessions.ts';
import { createTries } from './tries.ts';
export type { AccountPlan } from './account-service.ts';
export type { SessionTimes } from './accounts.settings.ts';
export { SESSION_COOKIE } from './auth-service.ts';
export { recordFor } from './claims.ts';
export type { TeamsOfAccount } from './claims.ts';
export { endSessions, hashToken, looksLikeSessionToken, purgeSessions, sessionTimesOf } from './sessions.ts';
export { createUser, findUserByEmail, findUserById, newUser, setEmailVerified } from './store.ts';
export type { User } from './store.ts';

export const teamsOfAccount = port<TeamsOfAccount>('teams of an account');
export const keysOfAccount = port<RevokeKeys>('keys of an account');
export const planOfAccount = port<PlanOfAccount>('plan of an account');

export const accountsFeature = declareFeature({
  name: 'accounts',
  contracts: ['account', 'auth'],
  settings,
  prefixes: ['user', 'ses', 'clm', 'emv'],
  reads: ['users', 'sessions'],
  writes: ['sessions'],
  start: (system, _on, sessions) => {
    const { clock, db } = system;
    const parts = {
      ...system,
      sessions,
      tries: createTries(clock),
      revokeKeys: () => filledOnce(system, keysOfAccount),
      planOf: () => filledOnce(system, planOfAccount),
      teamsOfAccount: () => filledOnce(system, teamsOfAccount),
    };
    return {
      sessions,
      services: [createAuthService(parts), createAccountService(parts), createAdminAccounts()],
      jobs: verificationJobs(system),
      purges: [
        async () => await purgeSessions(db, clock, sessions),
        async (nowMs) => await purgeVerifications(db, nowMs),
      ],
    };
  },
});
