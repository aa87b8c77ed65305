/** This is the closed list of scopes, with what each role grants on its team. It stands nowhere else. */
import { enumNames } from '@svc/proto/http/enum-names.ts';
import type { Role } from '@svc/proto/http/rpc.ts';
import {
  RoleSchema,
  ScopeSchema,
  type Role as RoleNumber,
  type Scope as ScopeNumber,
} from '@svc/proto/gen/svc/options/v1/options_pb.ts';

const VIEWER = [
  'team:read',
  'project:read',
  'run:read',
  'runner:read',
  'ci:read',
  'artifact:read',
  'cost:read',
  'policy:read',
  'release:read',
];
const DEVELOPER = [...VIEWER, 'project:write', 'run:write', 'ci:write', 'artifact:write', 'release:write'];
const ADMIN = [
  ...DEVELOPER,
  'team:manage',
  'runner:manage',
  'ci:manage',
  'audit:read',
  'billing:read',
  'billing:manage',
  'policy:manage',
  'compliance:read',
  'compliance:manage',
  'release:approve',
];

/** Owners differ from admins by what RPCs ask a least role for, not by scopes. */
const GRANTED: Readonly<Record<Role, ReadonlySet<string>>> = {
  viewer: new Set(VIEWER),
  developer: new Set(DEVELOPER),
  admin: new Set(ADMIN),
  owner: new Set(ADMIN),
};

const RANK: Readonly<Record<Role, number>> = { viewer: 1, developer: 2, admin: 3, owner: 4 };
/** Weakest first. */
export const ROLES: readonly Role[] = ['viewer', 'developer', 'admin', 'owner'];

export const STAFF_SCOPE = 'staff';
export const KEY_SCOPE = 'key:manage';
/** No key has them unless somebody asked for them by name. */
export const BY_NAME_ALONE: ReadonlySet<string> = new Set([STAFF_SCOPE, KEY_SCOPE, 'release:approve']);

/** Scopes that a team's role grants there, before the credential narrows them. */
export function roleGrants(role: Role, scope: string): boolean {
  return GRANTED[role].has(scope);
}

/** This returns all that the role grants on its team. */
export function scopesOf(role: Role): ReadonlySet<string> {
  return GRANTED[role];
}

export function roleAtLeast(role: Role, least: Role): boolean {
  return RANK[role] >= RANK[least];
}

const scopeNames = enumNames(ScopeSchema);
const roleNames = enumNames(RoleSchema);

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
