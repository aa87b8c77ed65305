/** This reads the closed list of scopes of the contract, with what each role grants on its team. */
import { getOption } from '@bufbuild/protobuf';
import { enumNames } from '@svc/proto/http/enum-names.ts';
import type { Role } from '@svc/proto/http/rpc.ts';
import {
  RoleSchema,
  ScopeSchema,
  type Role as RoleNumber,
  type Scope as ScopeNumber,
  value as valueOption,
} from '@svc/proto/gen/svc/options/v1/options_pb.ts';

const RANK: Readonly<Record<Role, number>> = { viewer: 1, developer: 2, admin: 3, owner: 4 };
/** Weakest first. */
export const ROLES: readonly Role[] = ['viewer', 'developer', 'admin', 'owner'];
const isRole = (name: string | undefined): name is Role => ROLES.some((role) => role === name);

export const STAFF_SCOPE = 'staff';
export const KEY_SCOPE = 'key:manage';
/** No key has them unless somebody asked for them by name. */
export const BY_NAME_ALONE: ReadonlySet<string> = new Set([STAFF_SCOPE, KEY_SCOPE, 'release:approve']);

const scopeNames = enumNames(ScopeSchema);
const roleNames = enumNames(RoleSchema);

/**
 * Scopes by the roles that grant them. Owners differ from admins by what RPCs ask a least role for, not by
 * scopes.
 */
const GRANTED = new Map(
  ROLES.map((role) => [
    role,
    new Set(
      ScopeSchema.values
        .filter((scope) => {
          const least = roleNames.byNumber.get(getOption(scope, valueOption).leastRole);
          return isRole(least) && roleAtLeast(role, least);
        })
        .map(({ number }) => scopeName(number as ScopeNumber)),
    ),
  ]),
);

/** Scopes that a team's role grants there, before the credential narrows them. */
export function roleGrants(role: Role, scope: string): boolean {
  return scopesOf(role).has(scope);
}

/** This returns all that the role grants on its team. */
export function scopesOf(role: Role): ReadonlySet<string> {
  return GRANTED.get(role) ?? new Set();
}

export function roleAtLeast(role: Role, least: Role): boolean {
  return RANK[role] >= RANK[least];
}

/** All scopes that count on teams: all but `staff` and `key:manage`. */
export const TEAM_SCOPES: readonly string[] = [...scopeNames.byNumber]
  .filter(([number, name]) => number !== 0 && name !== STAFF_SCOPE && name !== KEY_SCOPE)
  .map(([, name]) => name);

export function scopeName(scope: ScopeNumber): string {
  return scopeNames.byNumber.get(scope) ?? '';
}

export function isScope(name: string): boolean {
  return scopeNames.byName.has(name);
}

export function roleName(role: RoleNumber): Role {
  return roleNames.byNumber.get(role) as Role;
}

/**
 * Scopes that a session may hold at most. Reporting CI runs is for CI credentials, not for people (SPEC 5.1).
 */
export function sessionScopes(staff: boolean): ReadonlySet<string> {
  return new Set([
    ...TEAM_SCOPES.filter((scope) => scope !== 'ci:write'),
    KEY_SCOPE,
    ...(staff ? [STAFF_SCOPE] : []),
  ]);
}
