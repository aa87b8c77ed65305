/**
 * A credential gives nothing to others that it may not do itself. Owners and admins are made by people alone;
 * an API key gives a role only when it holds every scope that the role brings, so that nobody gets through
 * somebody else what the key was not trusted with.
 */
import { apiError } from '@svc/proto/http/errors.ts';
import type { Caller, Role } from './context.ts';
import { roleAtLeast, scopesOf } from './scopes.ts';

/**
 * This checks the credential alone; whether the person's own role allows it is asked beside it. `brings` is
 * what the role grants, where it is not a team's role.
 */
export function assertMayGrantRole(
  caller: Caller,
  role: Role,
  brings: ReadonlySet<string> = scopesOf(role),
): void {
  if (caller.kind === 'session') return;
  if (roleAtLeast(role, 'admin')) {
    throw apiError(
      'session_required',
      `an API key cannot give the role ${role}: owners and admins are made with a session; sign in first`,
      { details: { role } },
    );
  }
  assertHoldsAll(caller, brings, `give the role ${role}`);
}

/** Throws `scope_missing`, naming what the credential lacks. `act`: what it wanted, as in "cannot …". */
export function assertHoldsAll(caller: Caller, scopes: Iterable<string>, act: string): void {
  const missing = [...scopes].filter((scope) => !caller.scopes.has(scope));
  if (missing.length === 0) return;
  throw apiError(
    'scope_missing',
    `the API key cannot ${act}: it does not hold ${missing.map((scope) => `"${scope}"`).join(', ')}; sign in, or use one that does`,
    { details: { scopes: missing } },
  );
}
