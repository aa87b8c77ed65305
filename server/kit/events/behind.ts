/**
 * This file says how far the effects of a team's events are. An event whose effect is parked is behind for
 * whoever reads what that effect writes, also when it is dead.
 */
import type { SqlTag } from '../../base/db/index.ts';
import type { EventEffect } from '../feature.ts';
import { effectName } from './effects.ts';

interface Until {
  readonly teamId: string;
  readonly until: Date;
  readonly effects: readonly EventEffect[];
}

/**
 * This says whether something that happened in the team before this time is not published yet, so that what
 * comes of it by these effects is not there.
 */
export async function isBehind(sql: SqlTag, { teamId, until, effects }: Until): Promise<boolean> {
  const names = effects.map((effect) => effectName(sql, effect));
  const left = await sql`
    (select 1 from outbox where team_id = ${teamId} and created_at < ${until} limit 1)
    union all
    (select 1 from outbox_parked where team_id = ${teamId} and effect = any(${names}::text[]) and created_at < ${until} limit 1)`;
  return left.length > 0;
}

interface EffectOfTeam {
  readonly teamId: string;
  readonly kind: string;
  /** Name of the effect that is read from. */
  readonly effect: string;
  readonly now: Date;
}

/**
 * Time up to which the effect is there of all of the team's events of a kind, as the database that is asked
 * knows it: a replica knows what it has replayed.
 */
export async function publishedUntil(
  sql: SqlTag,
  { teamId, kind, effect, now }: EffectOfTeam,
): Promise<Date> {
  const [row] = await sql<Array<{ at: Date }>>`
    select least(${now}::timestamptz, (select min(created_at) from outbox where team_id = ${teamId} and kind = ${kind}),
      (select min(created_at) from outbox_parked where team_id = ${teamId} and effect = ${effect} and kind = ${kind}),
      case when pg_is_in_recovery() then pg_last_xact_replay_timestamp() end) as at`;
  return row?.at ?? now;
}
