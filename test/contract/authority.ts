/** Reads from the database who may do what, which the matrix compares before and after a call. */
import type postgres from 'postgres';
import { roleAtLeast, scopesOf } from '../../server/kit/scopes.ts';
import type { Role } from '@svc/proto/http/rpc.ts';

/** One thing that lets somebody do something. */
export interface Authority {
  readonly kind: string;
  readonly scopes?: readonly string[];
  readonly role?: Role;
  readonly teamId?: string | null;
  readonly userId?: string;
  /** The API key that it ends with. */
  readonly withKey?: string | null;
  readonly endsAt?: string;
  readonly events?: readonly string[];
  readonly [detail: string]: unknown;
}

/** Everything that holds; what was revoked or used is none any more. */
export async function authorities(sql: postgres.Sql): Promise<readonly Authority[]> {
  const [row] = await sql<Array<{ all: Authority[] }>>`
    select coalesce(jsonb_agg(a), '[]') as "all" from (
      select jsonb_build_object('kind', 'password', 'userId', id, 'hash', password_hash, 'staff', staff) a from users
      union all select jsonb_build_object('kind', 'verified address', 'userId', id) from users where email_verified_at is not null
      union all select jsonb_build_object('kind', 'second factor', 'userId', user_id, 'secret', secret) from totp
      union all select jsonb_build_object('kind', 'session', 'id', id, 'userId', user_id) from sessions
      union all select jsonb_build_object('kind', 'claim', 'id', id) from account_claims where used_at is null
      union all select jsonb_build_object('kind', 'API key', 'id', id, 'userId', user_id, 'scopes', scopes, 'teamId', team_id,
        'withKey', parent_id, 'endsAt', expires_at) from api_keys where revoked_at is null
      union all select jsonb_build_object('kind', 'agent key', 'id', k.id, 'scopes', a.permissions, 'teamId', k.team_id,
        'withKey', k.issued_with, 'endsAt', k.expires_at) from agent_keys k join agents a on a.id = k.agent_id where k.revoked_at is null and a.enabled
      union all select jsonb_build_object('kind', 'approval', 'id', id) from agent_approvals where state = 'granted'
      union all select jsonb_build_object('kind', 'membership', 'teamId', team_id, 'userId', user_id, 'role', role) from team_members
      union all select jsonb_build_object('kind', 'invitation', 'id', id, 'teamId', team_id, 'role', role, 'withKey', invited_with_key,
        'awaits', awaiting_user_id) from team_invites where accepted_at is null
      union all select jsonb_build_object('kind', 'space role', 'spaceId', space_id, 'userId', user_id, 'role', role) from space_members
      union all select jsonb_build_object('kind', 'enrollment token', 'id', id, 'teamId', team_id, 'withKey', created_with_key)
        from enrollment_tokens where used_at is null
      union all select jsonb_build_object('kind', 'runner', 'id', id, 'key', key_id) from runners where revoked_at is null
      union all select jsonb_build_object('kind', 'receiver', 'id', id, 'teamId', team_id, 'url', url, 'events', events, 'secret', secret)
        from webhook_endpoints where enabled
      union all select jsonb_build_object('kind', 'CI connection', 'id', id, 'repository', repository_key, 'branch', default_branch,
        'policy', oidc_policy) from ci_connections
      union all select jsonb_build_object('kind', 'CI host token', 'id', id, 'token', token) from ci_connections where token is not null
      union all select jsonb_build_object('kind', 'CI webhook', 'id', id, 'secret', secret) from ci_webhooks where secret is not null
      union all select jsonb_build_object('kind', 'CI job token', 'hash', encode(token_hash, 'hex')) from ci_job_tokens
    ) every`;
  return row?.all ?? [];
}

/** Lists what holds now and did not before. */
export function added(before: readonly Authority[], after: readonly Authority[]): readonly Authority[] {
  const known = new Set(before.map((each) => JSON.stringify(each)));
  return after.filter((each) => !known.has(JSON.stringify(each)));
}

export interface HeldKey {
  readonly id: string;
  readonly userId: string;
  readonly scopes: ReadonlySet<string>;
  readonly teamId: string | undefined;
  readonly endsAt: string;
}

const READS_EVENT: Readonly<Record<string, string>> = {
  build: 'project:read',
  run: 'run:read',
  runner: 'runner:read',
};
const IN_SPACES = ['project:read', 'project:write'];

/** Says in what the new thing goes beyond the key that made it; undefined when it does not. */
export function excess(made: Authority, key: HeldKey): string | undefined {
  const { kind, role } = made;
  const lacks = (scopes: Iterable<string>): string | undefined => {
    const more = [...scopes].filter((scope) => !key.scopes.has(scope));
    return more.length === 0 ? undefined : `${kind} brings ${more.join(', ')}`;
  };
  const outlives = made.withKey === key.id ? undefined : `${kind} does not end with the key`;
  const elsewhere =
    key.teamId !== undefined && made.teamId !== key.teamId
      ? `${kind} reaches beyond the key’s team`
      : undefined;
  const high = role !== undefined && roleAtLeast(role, 'admin') ? `${kind} as ${role} by a key` : undefined;
  const late =
    made.endsAt !== undefined && new Date(made.endsAt) > new Date(key.endsAt)
      ? `${kind} ends later`
      : undefined;
  switch (kind) {
    case 'API key':
      return lacks(made.scopes ?? []) ?? elsewhere ?? late ?? outlives;
    case 'agent key':
      // One that was there before, of which the permissions were changed, ends by itself.
      return (
        lacks(made.scopes ?? []) ?? elsewhere ?? (made.withKey === null ? undefined : (late ?? outlives))
      );
    case 'membership':
      // A team that was founded: empty, and the account's own.
      if (made.userId === key.userId && role === 'owner') return elsewhere;
      return high ?? lacks(scopesOf(role ?? 'owner')) ?? elsewhere;
    case 'invitation':
      return high ?? lacks(scopesOf(role ?? 'owner')) ?? elsewhere ?? outlives;
    case 'space role':
      if (made.userId === key.userId && role === 'owner') return lacks(['project:write']);
      return high ?? lacks(IN_SPACES);
    case 'enrollment token':
      return lacks(['runner:manage']) ?? elsewhere ?? outlives;
    case 'receiver':
      return (
        lacks((made.events ?? []).map((event) => READS_EVENT[event.split('.')[0] ?? ''] ?? event)) ??
        elsewhere
      );
    default:
      return `${kind} by a key`;
  }
}
