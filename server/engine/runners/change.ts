/** A team changes this about a runner. Each change is one statement that also writes the event. */
import { isDeepStrictEqual } from 'node:util';
import type { AuditAct } from '../../kit/ledger/index.ts';
import { requireTeam } from '../../kit/authorise.ts';
import type { TeamScope } from '../../kit/context.ts';
import type { SqlTag } from '../../base/db/index.ts';
import { notFound } from '../../kit/not-found.ts';
import { withLabels } from '../runnergroups/index.ts';
import type { RunnerInTeam } from './row.ts';

/** Undefined in all of these: no such runner in the team. */
export interface Changed {
  readonly name: string;
  /** It is false when it was so already. */
  readonly changed: boolean;
  /** The ledger says this of it, besides the name. */
  readonly details?: AuditAct['details'];
}

export async function pause(
  sql: SqlTag,
  scope: TeamScope,
  {
    teamId,
    runnerId,
    note,
    minutes,
  }: RunnerInTeam & { readonly note?: string | undefined; readonly minutes?: number | undefined },
): Promise<Changed | undefined> {
  const [row] = await sql<Changed[]>`
    with changed as (
      update runners set paused_at = now(), pause_note = ${note ?? null},
        paused_until = now() + ${minutes ?? null}::int * interval '1 minute'
      where id = ${runnerId} and team_id = ${requireTeam(scope, teamId)} and revoked_at is null
      returning id, team_id, name
    ),
    noted as (
      insert into runner_events (team_id, runner_id, at, kind, detail)
      select team_id, id, now(), 'runner.paused', name || ' was paused' || coalesce(' for ' || ${minutes ?? null}::int || ' minutes', '') from changed
    )
    select name, true as changed from changed`;
  return row && { ...row, details: { note, minutes } };
}

export async function resume(
  sql: SqlTag,
  scope: TeamScope,
  { teamId, runnerId }: RunnerInTeam,
): Promise<Changed | undefined> {
  const [row] = await sql<Changed[]>`
    with found as (
      select id, team_id, name, paused_at from runners where id = ${runnerId} and team_id = ${requireTeam(scope, teamId)} and revoked_at is null for no key update
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
    select name, exists (select from changed) as changed from found`;
  return row;
}

/** Clears the strikes of a runner. */
export async function clearStrikes(
  sql: SqlTag,
  scope: TeamScope,
  { teamId, runnerId }: RunnerInTeam,
): Promise<Changed | undefined> {
  const [row] = await sql<Changed[]>`
    with found as (
      select id, team_id, name, strikes from runners where id = ${runnerId} and team_id = ${requireTeam(scope, teamId)} and revoked_at is null for no key update
    ),
    changed as (
      update runners r set strikes = 0 from found f where r.id = f.id and f.strikes > 0 returning r.id
    ),
    noted as (
      insert into runner_events (team_id, runner_id, at, kind, detail)
      select f.team_id, f.id, now(), 'runner.divergence_cleared', f.strikes || ' strikes of ' || f.name || ' were cleared'
      from found f join changed c on c.id = f.id
    )
    select name, exists (select from changed) as changed, jsonb_build_object('strikes', strikes) as details from found`;
  return row;
}

const LABELS_MAX = 32;

export interface Placed extends RunnerInTeam {
  /** It is empty when the runner is to be in none. */
  readonly groupId?: string | undefined;
  readonly labels: Readonly<Record<string, string>>;
}

/** Puts a runner into a group or takes it out, and sets labels of it. Within a transaction. */
export async function place(
  sql: SqlTag,
  scope: TeamScope,
  { teamId, runnerId, groupId, labels }: Placed,
): Promise<Changed | undefined> {
  const team = requireTeam(scope, teamId);
  const [before] = await sql<Array<{ name: string; groupId: string | null; labels: Placed['labels'] }>>`
    select name, group_id as "groupId", set_labels as labels from runners
    where id = ${runnerId} and team_id = ${team} and revoked_at is null for no key update`;
  if (before === undefined) return undefined;
  if (groupId !== undefined && groupId !== '') {
    const [group] =
      await sql`select from runner_groups where id = ${groupId} and team_id = ${team} for key share`;
    if (group === undefined) throw notFound('runner group');
  }
  const details = {
    groupId: groupId ?? before.groupId ?? '',
    labels: withLabels(before.labels, labels, { resource: 'runner', max: LABELS_MAX }),
  };
  const { name } = before;
  if (isDeepStrictEqual(details, { groupId: before.groupId ?? '', labels: before.labels }))
    return { name, changed: false, details };
  await sql`
    with changed as (
      update runners set group_id = nullif(${details.groupId}::text, ''), set_labels = ${sql.json(details.labels)}::jsonb
      where id = ${runnerId} and team_id = ${team} returning id, team_id, name
    )
    insert into runner_events (team_id, runner_id, at, kind, detail)
    select team_id, id, now(), 'runner.updated', name || ' was put into another group, or was given other labels' from changed`;
  return { name, changed: true, details };
}

export async function requestDiagnostics(
  sql: SqlTag,
  scope: TeamScope,
  { teamId, runnerId }: RunnerInTeam,
): Promise<boolean> {
  const rows = await sql`
    update runners set diagnostics_requested_at = now() where id = ${runnerId} and team_id = ${requireTeam(scope, teamId)} and revoked_at is null`;
  return rows.count === 1;
}
