/** Here all features are asked at once what of a team a caller finds, and what waits for the caller. */
// No TeamScope: given the row, or the team, that the call was authorised for.
import type { SearchRequest } from '@svc/proto/gen/svc/teams/v1/teams_pb.ts';
import type { SqlTag } from '../../base/db/index.ts';
import type { Fragment } from '../../base/sql.ts';
import type { Ctx } from '../../kit/context.ts';
import type { FeatureGate } from '../../kit/feature-gate.ts';
import type { InboxSource, InboxItemRow } from '../../kit/inbox.ts';
import { closest, findsByName, type SearchSource, type SearchHitRow } from '../../kit/search.ts';
import { seenIn } from '../../kit/seen-by.ts';

const FOUND_DEFAULT = 20;
const INBOX_MAX = 100;

type Who = Pick<Ctx, 'db' | 'teams' | 'caller' | 'clock'>;

interface Part {
  readonly isSeen: boolean;
  readonly select: Fragment;
}

/** Joins the parts. The text is the same for everybody: what a caller may not see is not looked at. */
function joined(sql: SqlTag, parts: readonly Part[]): Fragment {
  return parts
    .map(({ isSeen, select }) => sql`select f.* from (${select}) f where ${isSeen}::boolean`)
    .reduce((before, part) => sql`${before} union all ${part}`);
}

export async function search(
  { db: { sql }, teams, caller }: Who,
  { sources, gate }: { readonly sources: readonly SearchSource[]; readonly gate: FeatureGate },
  { teamId, text: typed, limit: take = FOUND_DEFAULT }: Pick<SearchRequest, 'teamId' | 'text' | 'limit'>,
): Promise<readonly SearchHitRow[]> {
  const text = typed.trim();
  const isSeen = seenIn({ teams, caller }, gate, teamId);
  const parts = sources.map((source) => ({
    isSeen: isSeen(source),
    select: source.find(sql, { teamId, text, take }),
  }));
  return await sql<SearchHitRow[]>`
    select f.* from (${joined(sql, parts)}) f order by ${closest(sql, text)} limit ${take}::int`;
}

export async function inbox(
  { db: { sql }, teams, caller, clock }: Who,
  { sources, gate }: { readonly sources: readonly InboxSource[]; readonly gate: FeatureGate },
  { teamId, take = INBOX_MAX }: { readonly teamId: string; readonly take?: number },
): Promise<readonly InboxItemRow[]> {
  const of = { teamId, caller, take, nowMs: clock.now().getTime() };
  const isSeen = seenIn({ teams, caller }, gate, teamId);
  const parts = sources.map((source) => ({ isSeen: isSeen(source), select: source.find(sql, of) }));
  return await sql<InboxItemRow[]>`
    select f.* from (${joined(sql, parts)}) f order by f.since desc, f.id desc limit ${take}::int`;
}

export const foundMembers = findsByName({
  kind: 'member',
  scope: 'team:read',
  rows: (sql) => sql`
    select m.team_id as "teamId", u.id, u.username as name, null::text as "projectId", null::text as "environmentId"
    from team_members m join users u on u.id = m.user_id`,
});
