/**
 * Finds out who calls. Kinds of credential are told apart by their form: API keys, session tokens, and what
 * jobs of CI systems show (ci/oidc). One that was proven in the last second is answered from memory, else one
 * indexed read finds the row together with the memberships. All refusals are the same `credentials_invalid`:
 * whether a key is unknown, revoked, expired or has a wrong secret is nobody's business. id_tokens alone are
 * told what is wrong, since they are no secret of ours.
 */
// No TeamScope: rows of an account, a credential or the installation, which belong to no team.
import type { CallContext } from '@svc/proto/http/call.ts';
import { apiError } from '@svc/proto/http/errors.ts';
import { hashToken, looksLikeSessionToken, sessionTimesOf, type SessionTimes } from '../accounts/index.ts';
import { proveAgent } from '../agents/index.ts';
import { endOfKey, parseKey, pepperOf, secretMatches, type KeyParts } from '../apikeys/index.ts';
import type { Clock } from '../../base/clock.ts';
import { NAMELESS, type Caller, type Role } from '../../kit/context.ts';
import type { CredentialChanges } from '../../kit/credential-changes.ts';
import type { Database } from '../../base/db/index.ts';
import { sessionScopes, STAFF_SCOPE } from '../../kit/scopes.ts';
import type { Secrets } from '../../base/secrets.ts';
import { createCredentialCache, type JobCredentials, type Proven } from './credential-cache.ts';
import { presented, refuseForgery } from './presented.ts';
import { createTouches } from './touches.ts';

export interface AuthenticatorDeps {
  readonly db: Database;
  readonly clock: Clock;
  readonly secrets: Secrets;
  readonly changes: CredentialChanges;
  readonly sessions: SessionTimes;
  readonly ciJobs: () => JobCredentials;
  /** Says whether a browser's page at this origin may use the cookie; pages at the public addresses may. */
  isOwnOrigin(origin: string): boolean;
}

export interface Authenticator {
  /**
   * Undefined when the call presents nothing; throws `credentials_invalid` when what it presents is not good.
   * `beforeLook` runs before a look into the database for a credential that was not good at its last look,
   * and may throw to refuse it.
   */
  authenticate(call: CallContext, beforeLook?: () => void): Promise<Caller> | Caller | undefined;
  /** Writes when credentials were last used. Called every few seconds and at the stop. */
  flush(): Promise<void>;
}

export const ANONYMOUS: Caller = {
  kind: 'anonymous',
  userId: '',
  credentialId: '',
  names: NAMELESS,
  staff: false,
  scopes: new Set(),
  memberships: new Map(),
};

interface CommonRow {
  readonly id: string;
  readonly user_id: string;
  readonly username: string;
  readonly email: string;
  readonly staff: boolean;
  readonly memberships: Readonly<Record<string, Role>> | null;
  /** A key's end is its revocation, or the end of a key that it was made with when that comes earlier. */
  readonly expires_at: Date;
}

interface KeyRow extends CommonRow {
  readonly digest: Uint8Array;
  readonly name: string;
  readonly scopes: readonly string[];
  readonly team_id: string | null;
  readonly last_used_at: Date | null;
}

interface SessionRow extends CommonRow {
  readonly last_seen_at: Date;
}

export function createAuthenticator(deps: AuthenticatorDeps): Authenticator {
  const { db, clock } = deps;
  const pepper = pepperOf(deps.secrets);
  const cache = createCredentialCache(clock);
  const touches = createTouches(db, clock);
  deps.changes.onChange((change) => cache.drop(change));

  const accept = (proven: Proven): Caller => {
    const { caller } = proven;
    if (caller.kind === 'api_key' || caller.kind === 'session')
      touches.used(caller.kind, caller.credentialId, proven.storedUseAt);
    return caller;
  };

  const read = async (call: CallContext, credential: string): Promise<Proven> => {
    const generation = cache.generation();
    const job = await deps.ciJobs().prove(call, credential);
    if (job !== undefined) {
      // Good for one call and taken with it: nothing to remember.
      if (job.caller.idToken === undefined) cache.put(credential, job, generation);
      return job;
    }
    const parts = parseKey(credential);
    const proven = looksLikeSessionToken(credential)
      ? await proveSession(deps, credential)
      : parts && (await (parts.kind === 'agent' ? proveAgent : proveKey)(deps, pepper, parts));
    cache.trust(credential, proven !== undefined);
    if (proven === undefined) throw invalid();
    cache.put(credential, proven, generation);
    return proven;
  };
  /**
   * Many calls at once with the same credential share one look; not one that began before a change, so the
   * generation is part of the name.
   */
  const reading = new Map<string, Promise<Proven>>();
  const prove = async (call: CallContext, credential: string): Promise<Caller> => {
    const name = `${cache.generation()} ${call.rpc.idTokens === true} ${credential}`;
    let shared = reading.get(name);
    if (shared === undefined) {
      shared = read(call, credential).finally(() => reading.delete(name));
      reading.set(name, shared);
    }
    return accept(await shared);
  };

  /** Never was a credential of any kind: no look into the database. */
  const isHopeless = (credential: string): boolean =>
    !looksLikeSessionToken(credential) &&
    parseKey(credential) === undefined &&
    !deps.ciJobs().isJobs(credential);

  return {
    authenticate: (call, beforeLook) => {
      const given = presented(call);
      if (given === undefined) return undefined;
      if (given.from === 'cookie') {
        refuseForgery(call, deps.isOwnOrigin);
        if (!looksLikeSessionToken(given.credential)) throw invalid(); // Nothing else is ever set as one.
      }
      const known = cache.get(given.credential);
      if (known !== undefined && known.expiresAtMs > clock.now().getTime()) return accept(known);
      if (isHopeless(given.credential)) throw invalid();
      if (!cache.isTrusted(given.credential)) beforeLook?.();
      return prove(call, given.credential);
    },
    flush: async () => await touches.flush(),
  };
}

function invalid(): Error {
  return apiError(
    'credentials_invalid',
    'the API key or session token is not valid (any more); sign in again or create a new key',
    {
      headers: { 'www-authenticate': 'Bearer realm="svc", error="invalid_token"' },
    },
  );
}

async function proveKey(
  { db, clock }: AuthenticatorDeps,
  pepper: Uint8Array,
  parts: KeyParts,
): Promise<Proven | undefined> {
  const [row] = await db.sql<KeyRow[]>`
    select k.id, k.user_id, k.digest, k.scopes, k.team_id, ${endOfKey(db.sql, db.sql`k.id`)} as expires_at, k.last_used_at, k.name, u.username, u.email, u.staff,
      (select jsonb_object_agg(m.team_id, m.role) from team_members m
       where m.user_id = k.user_id and (k.team_id is null or m.team_id = k.team_id)) as memberships
    from api_keys k join users u on u.id = k.user_id where k.kid = ${parts.kid}`;
  const matches = secretMatches(pepper, parts.secret, row?.digest);
  if (!matches || row === undefined || row.expires_at <= clock.now()) return undefined;
  const scopes = row.scopes.filter((scope) => scope !== STAFF_SCOPE || (row.staff && row.team_id === null));
  return provenOf(row, row.last_used_at ?? undefined, {
    kind: 'api_key',
    names: { username: row.username, email: row.email, key: row.name },
    scopes: new Set(scopes),
    ...(row.team_id === null ? {} : { onlyTeamId: row.team_id }),
  });
}

function provenOf(
  row: CommonRow,
  storedUseAt: Date | undefined,
  own: Pick<Caller, 'kind' | 'names' | 'scopes' | 'onlyTeamId'>,
): Proven {
  const caller: Caller = {
    userId: row.user_id,
    credentialId: row.id,
    staff: row.staff,
    memberships: new Map(Object.entries(row.memberships ?? {})),
    ...own,
  };
  return { caller, expiresAtMs: row.expires_at.getTime(), storedUseAt };
}

async function proveSession(
  { db, clock, sessions }: AuthenticatorDeps,
  credential: string,
): Promise<Proven | undefined> {
  const [row] = await db.sql<SessionRow[]>`
    select s.id, s.user_id, s.expires_at, s.last_seen_at, u.username, u.email, u.staff,
      (select jsonb_object_agg(m.team_id, m.role) from team_members m where m.user_id = s.user_id) as memberships
    from sessions s join users u on u.id = s.user_id where s.token_hash = ${hashToken(credential)}`;
  if (row === undefined) return undefined;
  const now = clock.now().getTime();
  const idleEndsMs = row.last_seen_at.getTime() + sessionTimesOf(sessions, row.staff).idleMs;
  if (row.expires_at.getTime() <= now || idleEndsMs <= now) return undefined;
  const names = { username: row.username, email: row.email };
  return provenOf(row, row.last_seen_at, { kind: 'session', names, scopes: sessionScopes(row.staff) });
}
