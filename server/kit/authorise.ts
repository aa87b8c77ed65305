/**
 * This file decides by scope and role who may do what on which team. It makes the TeamScope that stores
 * demand. The order of answers is fixed: what the credential may not do on any team is refused first, from
 * the head of the request; then a team that is not the caller's is 404; a role that is too low is told only
 * to those who may see the team.
 */
import { apiError } from '@svc/proto/http/errors.ts';
import type { RpcInfo } from '@svc/proto/http/rpc.ts';
import type { Message } from '@bufbuild/protobuf';
import type { Caller, Role, TeamScope } from './context.ts';
import { notFound } from './not-found.ts';
import { roleAtLeast, roleGrants, STAFF_SCOPE } from './scopes.ts';

/** What the credential may not do whichever team it is about. */
export function authoriseCredential(rpc: RpcInfo, caller: Caller): void {
  if (caller.kind === 'agent' && rpc.agents === 'never')
    throw apiError('agent_forbidden', 'no agent can do this, whatever it holds; a person of the team can');
  if (rpc.sessionOnly === true && caller.kind !== 'session') {
    throw apiError('session_required', 'this needs the session of a person, no key can do it; sign in first');
  }
  if (rpc.auth === 'staff' && !(caller.staff && caller.scopes.has(STAFF_SCOPE))) {
    throw apiError('scope_missing', `this needs the scope "${STAFF_SCOPE}", which only staff accounts hold`, {
      details: { scope: STAFF_SCOPE },
    });
  }
  if (rpc.scope !== undefined) requireCredentialScope(caller, rpc.scope);
}

/**
 * The same and the role on the team that the path names, which is all that is known of the request so far.
 */
export function authorisePath(rpc: RpcInfo, caller: Caller, teamId: string | undefined): TeamScope {
  authoriseCredential(rpc, caller);
  const scope = teamScope(rpc, caller, teamId);
  if (teamId !== undefined) scope.require(teamId);
  return scope;
}

export function authorise(rpc: RpcInfo, caller: Caller, request: Message): TeamScope {
  const scope = authorisePath(rpc, caller, rpc.teamInPath ? pathTeam(request) : undefined);
  refuseFieldsOfSessions(rpc, caller, request);
  return scope;
}

function refuseFieldsOfSessions({ sessionFields = [] }: RpcInfo, caller: Caller, request: Message): void {
  if (caller.kind === 'session') return;
  const fields = request as Message & Readonly<Record<string, unknown>>;
  const set = sessionFields.find((name) => fields[name] !== undefined);
  if (set === undefined) return;
  throw apiError(
    'session_required',
    `"${set}" needs the session of a person, an API key cannot set it; sign in first, or leave it out`,
    { details: { field: set } },
  );
}

function pathTeam(request: Message): string {
  const { teamId } = request as Message & { readonly teamId?: unknown };
  return typeof teamId === 'string' ? teamId : '';
}

function teamScope(rpc: RpcInfo, caller: Caller, only: string | undefined): TeamScope {
  const staffCall = rpc.auth === 'staff';
  const scope: Omit<TeamScope, symbol> = {
    teamIds: only === undefined ? [...caller.memberships.keys()] : [only],
    role: (teamId) => caller.memberships.get(teamId),
    require: (teamId) => {
      if (only !== undefined && teamId !== only) throw notFound('team');
      if (staffCall) return; // Checked above; staff act on any team through these RPCs and no others.
      const role = caller.memberships.get(teamId);
      if (role === undefined) throw notFound('team');
      // Any member may: the implementation decides what each role may do, and the credential's scope was
      // checked.
      if (rpc.role === 'viewer') return;
      if (rpc.scope !== undefined && !roleGrants(role, rpc.scope)) {
        throw roleInsufficient(
          `your role in the team is ${role}, which does not grant "${rpc.scope}"; ask an admin of the team`,
          { role, scope: rpc.scope },
        );
      }
      if (rpc.role !== undefined) requireRole(role, rpc.role);
    },
  };
  return scope as TeamScope;
}

export interface RoleNeed {
  /** Thing in which the role counts. Default: `team`. */
  readonly of?: 'team' | 'space';
  /** The act that needs it, as in "… needs admin". The default is `this`. */
  readonly act?: string;
  /** Why it needs it, and the next step. */
  readonly because?: string;
  readonly details?: Readonly<Record<string, unknown>>;
}

/** Throws `role_insufficient`. An undefined role is that of somebody who is no member. */
export function requireRole(
  role: Role | undefined,
  needed: Role,
  { of = 'team', act = 'this', because, details }: RoleNeed = {},
): void {
  if (role !== undefined && roleAtLeast(role, needed)) return;
  const message = `your role in the ${of} is ${role ?? 'none'}, ${act} needs ${needed}`;
  throw roleInsufficient(because === undefined ? message : `${message}: ${because}`, {
    role,
    needed,
    ...details,
  });
}

function roleInsufficient(message: string, details: Readonly<Record<string, unknown>>): Error {
  return apiError('role_insufficient', message, { details });
}

/**
 * This scope is for what the system does by itself to one team, and for jobs that were bound to it: it
 * refuses nothing.
 */
export function systemScope(teamId: string): TeamScope {
  const scope: Omit<TeamScope, symbol> = {
    teamIds: [teamId],
    require: () => undefined,
    role: () => undefined,
  };
  return scope as TeamScope;
}

function requireCredentialScope(caller: Caller, scope: string): void {
  if (caller.scopes.has(scope)) return;
  const what =
    caller.kind === 'agent' ? 'the agent' : caller.kind === 'session' ? 'a session' : 'the API key';
  const instead = caller.kind === 'agent' ? 'an admin changes its permissions' : 'use an API key that does';
  throw apiError('scope_missing', `${what} does not hold the scope "${scope}"; ${instead}`, {
    details: { scope },
  });
}

/** RPCs whose team stands in the body call this, and give the same answers as for a team in the path. */
export function requireTeam(scope: TeamScope, teamId: string): string {
  if (!scope.teamIds.includes(teamId)) throw notFound('team');
  scope.require(teamId);
  return teamId;
}
