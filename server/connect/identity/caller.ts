/** Jobs of CI systems call with an id_token, which is good once, or with what it was exchanged for. */
import { apiError } from '@svc/proto/http/errors.ts';
import type { JobCredentials, Proven } from '../../access/auth/index.ts';
import type { Clock } from '../../base/clock.ts';
import { NAMELESS, type Caller, type CiJob } from '../../kit/context.ts';
import type { Database } from '../../base/db/index.ts';
import { findJobToken, looksLikeJobToken } from './store.ts';
import type { IdToken, VerifyIdToken } from './verify.ts';

export type CiJobCaller = Caller & { readonly ciJob: CiJob };

/** Nothing else that is sent as a bearer credential has two dots in it. */
export function looksLikeIdToken(text: string): boolean {
  return text.startsWith('eyJ') && text.includes('.');
}

export function isCiJob(caller: Caller): caller is CiJobCaller {
  return caller.ciJob !== undefined;
}

/** It belongs to no team yet. */
export function callerOf(job: CiJob, how: Pick<Caller, 'idToken' | 'ciConnectionId'>): CiJobCaller {
  return {
    kind: 'ci_job',
    userId: '',
    credentialId: `${job.provider}:${job.repositoryId}:${job.runId}:${job.attempt}`,
    names: NAMELESS,
    staff: false,
    scopes: new Set(),
    memberships: new Map(),
    ciJob: job,
    ...how,
  };
}

export function createCiJobs(deps: {
  readonly db: Database;
  readonly clock: Clock;
  readonly verify: VerifyIdToken;
}): JobCredentials {
  const { db, clock, verify } = deps;
  return {
    isJobs: (credential) => looksLikeJobToken(credential) || looksLikeIdToken(credential),
    prove: async ({ rpc }, credential) => {
      if (looksLikeJobToken(credential)) {
        const found = await findJobToken(db, credential, clock.now());
        if (found === undefined) return undefined;
        const { job, connectionId: ciConnectionId, expiresAt } = found;
        return proven(callerOf(job, { ciConnectionId }), expiresAt);
      }
      if (!looksLikeIdToken(credential)) return undefined;
      if (rpc.idTokens !== true)
        throw apiError(
          'credentials_invalid',
          'an id_token of a CI job is taken at /ci/runs and what lies below it alone; use an API key',
          { headers: { 'www-authenticate': 'Bearer realm="svc", error="invalid_token"' } },
        );
      const token = await verify(credential);
      return proven(callerOfIdToken(token), token.expiresAt);
    },
  };
}

function proven(caller: CiJobCaller, expiresAt: Date): Proven {
  return { caller, expiresAtMs: expiresAt.getTime(), storedUseAt: undefined };
}

export function callerOfIdToken({ job, jti, expiresAt }: IdToken): CiJobCaller {
  return callerOf(job, { idToken: { jti, expiresAt } });
}
