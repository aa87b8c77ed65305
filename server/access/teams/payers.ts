/**
 * The table says who pays for teams. Rows outlive teams and accounts, because months are settled after either
 * is gone.
 */
// No TeamScope: memberships and invitations, which a TeamScope is made of.
import { apiError } from '@svc/proto/http/errors.ts';
import { requireRole } from '../../kit/authorise.ts';
import type { Database, SqlTag } from '../../base/db/index.ts';
import { notFound } from '../../kit/not-found.ts';
import { findMember, lockTeam, type Member } from './store.ts';

/** Returns who pays for a team now; it is null where nobody is known to. */
export async function payerOf(sql: SqlTag, teamId: string): Promise<string | null> {
  const [row] = await sql<Array<{ payerId: string }>>`
    select payer_id as "payerId" from team_payers where team_id = ${teamId} order by from_at desc limit 1`;
  return row?.payerId ?? null;
}

/**
 * Makes an owner pay for the team from now on. Returns false, and changes nothing, for the one who pays
 * already. The team's row is locked, so that of two at the same moment the second one comes after the first
 * one, and an owner who leaves meanwhile does not pay; what comes after is later by a millisecond at least,
 * also by a clock that is behind. Throws `not_found`, and `role_insufficient` for who is no owner (any more).
 */
export async function becomePayer(
  db: Database,
  { teamId, payerId, now }: { readonly teamId: string; readonly payerId: string; readonly now: Date },
): Promise<boolean> {
  return await db.transact(async (tx) => {
    if (!(await lockTeam(tx, teamId))) throw notFound('team');
    const member = await findMember(tx, { teamId, userId: payerId });
    if (member === undefined) throw notFound('member');
    requireRole(member.role, 'owner', { act: 'paying for the team' });
    const rows = await tx.sql`
      with last as (select payer_id, from_at from team_payers where team_id = ${teamId} order by from_at desc limit 1)
      insert into team_payers (team_id, from_at, payer_id)
      select ${teamId}, greatest(${now}::timestamptz, (select from_at + interval '1 millisecond' from last)), ${payerId}
      where (select payer_id from last) is distinct from ${payerId}
      returning 1`;
    return rows.length > 0;
  });
}

/** Throws `billing_payer` when the account pays for the team. Under the lock of the team's row. */
export async function assertNotPayer(
  sql: SqlTag,
  { teamId, userId, username }: Pick<Member, 'teamId' | 'userId' | 'username'>,
): Promise<void> {
  if ((await payerOf(sql, teamId)) !== userId) return;
  throw apiError(
    'billing_payer',
    `${username} pays for the team, and can leave it or be removed only when another owner does; that owner takes it over first: svc billing become-payer --team ${teamId}`,
    { details: { resource: 'team', teamId, userId } },
  );
}

export interface Paying {
  /** It is null where nobody is known to pay; the team then stands for itself. */
  readonly payerId: string | null;
  /** All teams of the payer, this one among them. */
  readonly teamIds: readonly string[];
}

/** Returns who paid for a team right before a moment, and for which others. */
export async function payingFor(
  sql: SqlTag,
  { teamId, before }: { readonly teamId: string; readonly before: Date },
): Promise<Paying> {
  const [row] = await sql<Paying[]>`
    with mine as (
      select payer_id from team_payers where team_id = ${teamId} and from_at < ${before} order by from_at desc limit 1
    )
    select (select payer_id from mine) as "payerId", coalesce((
      select array_agg(p.team_id order by p.team_id) from (select distinct team_id from team_payers where payer_id = (select payer_id from mine)) t
      cross join lateral (
        select l.team_id, l.payer_id from team_payers l where l.team_id = t.team_id and l.from_at < ${before} order by l.from_at desc limit 1
      ) p
      where p.payer_id = (select payer_id from mine)
    ), array[${teamId}::text]) as "teamIds"`;
  return row ?? { payerId: null, teamIds: [teamId] };
}

/** Teams that an account pays for, those that are gone too. */
export async function teamsPaidBy(
  sql: SqlTag,
  { payerId, before }: { readonly payerId: string; readonly before: Date },
): Promise<readonly string[]> {
  const rows = await sql<Array<{ id: string }>>`
    select t.team_id as id from (select distinct team_id from team_payers where payer_id = ${payerId}) t
    cross join lateral (select payer_id from team_payers l where l.team_id = t.team_id and l.from_at < ${before} order by l.from_at desc limit 1) p
    where p.payer_id = ${payerId} order by 1`;
  return rows.map(({ id }) => id);
}

export interface PaidTeam {
  readonly teamId: string;
  /** It is null where nobody is known to pay for the team. */
  readonly payerId: string | null;
}

/** The teams, and all others that those who pay for them right before a moment pay for. */
export async function teamsPaidWith(
  sql: SqlTag,
  { teamIds, before }: { readonly teamIds: readonly string[]; readonly before: Date },
): Promise<readonly PaidTeam[]> {
  return await sql<PaidTeam[]>`
    with mine as materialized (
      select m.team_id, p.payer_id from unnest(${teamIds}::text[]) m(team_id)
      left join lateral (select l.payer_id from team_payers l where l.team_id = m.team_id and l.from_at < ${before} order by l.from_at desc limit 1) p on true
    ),
    payers as materialized (select distinct payer_id from mine where payer_id is not null),
    theirs as (select distinct t.team_id from payers join team_payers t using (payer_id))
    select m.team_id as "teamId", null as "payerId" from mine m where m.payer_id is null
    union all
    select t.team_id, p.payer_id from theirs t
    cross join lateral (select l.payer_id from team_payers l where l.team_id = t.team_id and l.from_at < ${before} order by l.from_at desc limit 1) p
    join payers using (payer_id)
    order by 2, 1`;
}
