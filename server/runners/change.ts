/** What a team changes about a runner. Each is one statement that also writes the event; none says whether it made a difference. */
import type { SqlTag } from '../platform/db/index.ts';

interface Which {
  readonly teamId: string;
  readonly runnerId: string;
}

/** False in all of these: no such runner in the team. */
export async function pause(
  sql: SqlTag,
  { teamId, runnerId }: Which,
  note: string | undefined,
  minutes: number | undefined,
): Promise<boolean> {
  const rows = await sql`
    with changed as (
      update runners set paused_at = now(), pause_note = ${note ?? null},
        paused_until = now() + ${minutes ?? null}::int * interval '1 minute'
      where id = ${runnerId} and team_id = ${teamId} and revoked_at is null
      returning id, team_id, name
    ),
    noted as (
      insert into runner_events (team_id, runner_id, at, kind, detail)
      select team_id, id, now(), 'runner.paused', name || ' was paused' || coalesce(' for ' || ${minutes ?? null}::int || ' minutes', '') from changed
    )
    select from changed`;
  return rows.count === 1;
}

export async function resume(sql: SqlTag, { teamId, runnerId }: Which): Promise<boolean> {
  const rows = await sql`
    with found as (
      select id, team_id, name, paused_at from runners where id = ${runnerId} and team_id = ${teamId} and revoked_at is null for no key update
    ),
    changed as (
      update runners r set paused_at = null, paused_until = null, pause_note = null
      from found f where r.id = f.id and f.paused_at is not null
      returning r.id
    ),
    noted as (
      insert into runner_events (team_id, runner_id, at, kind, detail)
      select f.team_id, f.id, now(), 'runner.resumed', f.name || ' was resumed' from found f join changed c on c.id = f.id
    )
    select from found`;
  return rows.count === 1;
}

export async function clearStrikes(sql: SqlTag, { teamId, runnerId }: Which): Promise<boolean> {
  const rows = await sql`
    with found as (
      select id, team_id, name, strikes from runners where id = ${runnerId} and team_id = ${teamId} and revoked_at is null for no key update
    ),
    changed as (
      update runners r set strikes = 0 from found f where r.id = f.id and f.strikes > 0 returning r.id
    ),
    noted as (
      insert into runner_events (team_id, runner_id, at, kind, detail)
      select f.team_id, f.id, now(), 'runner.divergence_cleared', f.strikes || ' strikes of ' || f.name || ' were cleared'
      from found f join changed c on c.id = f.id
    )
    select from found`;
  return rows.count === 1;
}

export async function requestDiagnostics(sql: SqlTag, { teamId, runnerId }: Which): Promise<boolean> {
  const rows = await sql`
    update runners set diagnostics_requested_at = now() where id = ${runnerId} and team_id = ${teamId} and revoked_at is null`;
  return rows.count === 1;
}
