/**
 * The bounds of what a caller may put into a key. A person gives what people may have; a key gives no more
 * scopes, teams or time than it has itself.
 */
import { apiError } from '@svc/proto/http/errors.ts';
import { wrongField } from '../../kit/wrong-field.ts';
import type { Caller } from '../../kit/context.ts';
import { notFound } from '../../kit/not-found.ts';
import { BY_NAME_ALONE, KEY_SCOPE, STAFF_SCOPE, TEAM_SCOPES } from '../../kit/scopes.ts';

/**
 * Nothing asked: all but what must be asked for by name. Throws `scope_missing` for more than the caller has.
 */
export function boundedScopes(caller: Caller, asked: readonly string[]): readonly string[] {
  const most =
    caller.kind === 'session'
      ? new Set([...TEAM_SCOPES, KEY_SCOPE, ...(caller.staff ? [STAFF_SCOPE] : [])])
      : caller.scopes;
  if (asked.length === 0) return [...most].filter((scope) => !BY_NAME_ALONE.has(scope)).sort();
  const beyond = asked.filter((scope) => !most.has(scope));
  if (beyond.length > 0) {
    throw apiError(
      'scope_missing',
      `the new key would hold ${beyond.map((s) => `"${s}"`).join(', ')}, which the caller does not; leave it out`,
      {
        details: { scopes: beyond },
      },
    );
  }
  return [...asked].sort();
}

/**
 * A key that is narrowed to a team makes keys for that team alone. None of them is for staff, whose calls are
 * about the whole platform.
 */
export function boundedTeam(
  caller: Caller,
  asked: string | undefined,
  scopes: readonly string[] = [],
): string | undefined {
  const team = asked ?? caller.onlyTeamId;
  if (team !== undefined && scopes.includes(STAFF_SCOPE)) {
    const message = `a key with the scope "${STAFF_SCOPE}" acts on the whole platform and cannot be narrowed to a team; leave out one of the two`;
    throw wrongField(message, { field: 'teamId', rule: 'staff' });
  }
  if (team !== undefined && !caller.memberships.has(team)) throw notFound('team');
  return team;
}

/** A person sees all keys of the account; a key without the scope `staff` does not see those that hold it. */
export function seesStaffKeys({ kind, scopes }: Caller): boolean {
  return kind === 'session' || scopes.has(STAFF_SCOPE);
}
