/** Here all features are asked at once what of a team a caller finds, and what waits for the caller. */
// No TeamScope: given the row, or the team, that the call was authorised for.
import type { SearchRequest } from '@svc/proto/gen/svc/teams/v1/teams_pb.ts';
import type { SqlTag } from '../../base/db/index.ts';
import type { Fragment } from '../../base/sql.ts';
import type { Ctx, Role } from '../../kit/context.ts';
import type { Waitings, WaitingRow } from '../../kit/inbox.ts';
import { roleGrants } from '../../kit/scopes.ts';
import { closest, findsByName, type Findable, type FoundRow } from '../../kit/search.ts';

const FOUND_DEFAULT = 20;
const INBOX_MAX = 100;

type Who = Pick<Ctx, 'db' | 'teams' | 'caller' | 'clock'>;

interface Part {
  readonly scope: string;
  readonly select: Fragment;
}

/** Joins the parts. One text for everybody: what a caller may not see is not looked at. */
function seen(
  sql: SqlTag,
  { caller, role }: Pick<Who, 'caller'> & { readonly role: Role },
  parts: readonly Part[],
) {
  return parts
    .map(({ scope, select }) => {
      const isSeen = caller.scopes.has(scope) && roleGrants(role, scope);
      return sql`select f.* from (${select}) f where ${isSeen}::boolean`;
    })
    .reduce((before, part) => sql`${before} union all ${part}`);
}

export async function search(
  { db: { sql }, teams, caller }: Who,
  findables: readonly Findable[],
  { teamId, text: typed, limit: take = FOUND_DEFAULT }: Pick<SearchRequest, 'teamId' | 'text' | 'limit'>,
): Promise<readonly FoundRow[]> {
  const role = teams.role(teamId);
  const text = typed.trim();
  if (role === undefined) return [];
  const parts = findables.map(({ scope, find }) => ({ scope, select: find(sql, { teamId, text, take }) }));
  return await sql<FoundRow[]>`
    select f.* from (${seen(sql, { caller, role }, parts)}) f order by ${closest(sql, text)} limit ${take}::int`;
}

export async function inbox(
  { db: { sql }, teams, caller, clock }: Who,
  waitings: readonly Waitings[],
  teamId: string,
): Promise<readonly WaitingRow[]> {
  const role = teams.role(teamId);
  if (role === undefined) return [];
  const of = { teamId, caller, take: INBOX_MAX, nowMs: clock.now().getTime() };
  const parts = waitings.map(({ scope, find }) => ({ scope, select: find(sql, of) }));
  return await sql<WaitingRow[]>`
    select f.* from (${seen(sql, { caller, role }, parts)}) f order by f.since desc, f.id desc limit ${INBOX_MAX}`;
}

export const foundMembers = findsByName({
  kind: 'member',
  scope: 'team:read',
  rows: (sql) => sql`
    select m.team_id as "teamId", u.id, u.username as name, null::text as "projectId", null::text as "environmentId"
    from team_members m join users u on u.id = m.user_id`,
});

/** Nobody is confirmed whose address is not the invited one any more. */
export const waitingMembers: Waitings = {
  scope: 'team:manage',
  find: (sql, { teamId, take }) => sql`
    select 'membership_confirmation'::text as kind, i.id, u.username || ' accepted an invitation and waits to be let in' as text,
      i.awaiting_since as since, null::text as "projectId", null::text as "environmentId"
    from team_invites i join users u on u.id = i.awaiting_user_id and u.email = i.email
    where i.team_id = ${teamId} and i.accepted_at is null and i.expires_at > now()
    order by i.awaiting_since desc limit ${take}::int`,
};
