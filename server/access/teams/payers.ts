/** Who pays for teams. Rows outlive teams and accounts: months are settled after either is gone. */
import type { Database, SqlTag } from '../../platform/db/index.ts';

/** From now on; the one who pays already changes nothing. False: that one does. */
export async function becomePayer(
  { sql }: Pick<Database, 'sql'>,
  { teamId, payerId, now }: { readonly teamId: string; readonly payerId: string; readonly now: Date },
): Promise<boolean> {
  const rows = await sql`
    insert into team_payers (team_id, from_at, payer_id)
    select ${teamId}, ${now}, ${payerId}
    where (select payer_id from team_payers where team_id = ${teamId} order by from_at desc limit 1) is distinct from ${payerId}
    returning 1`;
  return rows.length > 0;
}

export interface Paying {
  /** Null: nobody is known to; the team then stands for itself. */
  readonly payerId: string | null;
  /** All teams of the payer, this one among them. */
  readonly teamIds: readonly string[];
}

/** Who paid for a team right before a moment, and for which others. */
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
