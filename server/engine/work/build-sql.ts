/**
 * Pieces of SQL about builds that stand in the statements of dispatch, so that a build moves with its item
 * and never after it.
 *
 * Whose turn it is in an environment is not stored but read: the open build with the smallest number. Numbers
 * are given out under a lock on the environment that is held until the commit, so that no smaller one can
 * appear later, and an ended build stays ended: once it is a build's turn, it stays its turn until that build
 * ends. So no wake-up can be lost, for there is none that counts: `roused` below only makes the next hint
 * come at once.
 */
// No TeamScope: called by gateways, workers and the outbox, which act for no caller.
import type { SqlTag } from '../../base/db/index.ts';
import type { ImageEvidence } from '../evidence/index.ts';
import { DEPLOYING, PUBLISHING } from './words.ts';
import type { Fragment } from '../../base/sql.ts';

/** Returns whether it is the turn of the build whose item is `w`. */
export function isTurn(sql: SqlTag): Fragment {
  return sql`
    not exists (
      select from builds mine join builds o on o.environment_id = mine.environment_id and o.number < mine.number and o.finished_at is null
      where mine.id = w.build_id)`;
}

/**
 * The runner that alone may have the item `w`; null: any may. An item that deploys goes to the machine on
 * which its environment was deployed last, or that one would go on serving the old version. Read at each
 * claim, so that a runner that is revoked, or a team that moves to another pool, frees what waits, unless
 * data of the environment lies there.
 */
export function boundRunner(sql: SqlTag): Fragment {
  return sql`(
    select case when h.holds_data or (r.revoked_at is null and r.team_id = w.pool_id) then r.id end
    from builds mine join host_apps h on h.environment_id = mine.environment_id join runners r on r.id = h.runner_id
    where mine.id = w.build_id and w.spec ? 'deploy')`;
}

/** The outcome of a build, as far as its runner says. */
export interface BuildOutcome extends ImageEvidence {
  readonly commit?: string | undefined;
  /** Full name of what was cloned. */
  readonly ref?: string | undefined;
  readonly buildType?: 'auto' | 'dockerfile' | 'buildpack' | undefined;
  readonly image?: string | undefined;
  readonly digest?: string | undefined;
  readonly tag?: string | undefined;
  readonly address?: string | undefined;
  /** The phase that it ended in; 0 when it was not reported. */
  readonly phase: number;
  /** One entry for each phase that was entered. */
  readonly phases: ReadonlyArray<{ readonly phase: number; readonly durationMs: number }>;
}

const COMMIT_DIGITS = 7;

/**
 * Makes the tag of the image of the build with this number. For a commit that is not known it is the
 * beginning, which its runner completes.
 */
export function tagOf(number: number, commit: string | undefined): string {
  return commit === undefined ? `${number}` : `${number}-${commit.slice(0, COMMIT_DIGITS)}`;
}

/**
 * Selects the tag of the row `b` of a build, before its report. It is the one that was reported, or the one
 * that was offered.
 */
export function publishedTag(sql: SqlTag, { digest, tag }: BuildOutcome): Fragment {
  const offered = sql`b.number || coalesce('-' || left(b.commit, ${COMMIT_DIGITS}::int), '')`;
  return sql`case when ${digest ?? null}::text is null then b.tag else coalesce(b.tag, ${tag ?? null}::text, ${offered}) end`;
}

/**
 * Builds the CTEs `settled`, `roused` and `left_phases`: the builds of the ended rows of the CTE `from` end
 * with them, or wait for a person's decision about the deploy. With `lost`, they ended because their runner
 * was lost, not by a report.
 */
export function settleBuilds(
  sql: SqlTag,
  from: string,
  { lost, outcome }: { readonly lost: boolean; readonly outcome?: BuildOutcome },
): Fragment {
  // A deploy that fails by its runner's own report has left what served before, so the environment stays
  // bound to where that is.
  const deployed = sql`(${(outcome?.address ?? '') !== ''}::boolean or (e.phase >= ${DEPLOYING}::int and (${lost}::boolean or e.state = 'succeeded')))`;
  const waits = sql`(e.state = 'succeeded' and b.approval = 'required')`;
  const reported =
    outcome === undefined
      ? sql``
      : sql`
        commit = coalesce(${outcome.commit ?? null}::text, b.commit),
        -- A tag is never shown as the branch of its name, by which policies go.
        branch = case when ${outcome.ref ?? ''}::text = 'refs/tags/' || b.branch then 'refs/tags/' || b.branch else b.branch end,
        build_type = coalesce(${outcome.buildType ?? null}::text, b.build_type),
        image = coalesce(${outcome.image ?? null}::text, b.image),
        digest = coalesce(${outcome.digest ?? null}::text, b.digest),
        tag = ${publishedTag(sql, outcome)},
        address = coalesce(${outcome.address ?? null}::text, b.address),`;
  return sql`
    settled as (
      update builds b set ${reported}
        state = case when ${waits} then 'awaiting_approval' when e.state = 'dead' then 'failed' else e.state end,
        deploy_runner_id = case when ${deployed} then e.runner_id else b.deploy_runner_id end,
        finished_at = case when ${waits} then null else e.finished_at end,
        needs_decision = ${lost}::boolean and e.phase >= ${PUBLISHING}::int and e.state <> 'cancelled'
      from ${sql(from)} e where b.id = e.build_id and e.finished_at is not null
      returning b.id, b.environment_id, b.number, b.finished_at, b.trigger, b.rollback_of, b.branch, b.commit, b.build_type, b.image, b.digest, b.address,
        b.created_by, b.approval_by
    ),
    roused as (
      -- Whoever holds the row of the next one does not have to be waited for: it is hinted a few seconds later at the latest.
      update work_items w set hint_due_at = clock_timestamp(), hint_count = 0
      where w.id in (
        select q.id
        from settled s, lateral (
          select o.work_id from builds o
          where o.environment_id = s.environment_id and o.number > s.number and o.finished_at is null
          order by o.number limit 1
        ) n join work_items q on q.id = n.work_id
        where s.finished_at is not null and q.state = 'queued'
        for update of q skip locked)
    ),
    left_phases as (
      update build_phases p set finished_at = coalesce(e.finished_at, clock_timestamp())
      from ${sql(from)} e
      where p.work_id = e.id and p.epoch = e.epoch and p.finished_at is null
        and not p.phase = any(${(outcome?.phases ?? []).map(({ phase }) => phase)}::int[])
    )`;
}

/**
 * Returns the CTE `reported_phases`, with what the runner measured of each phase. One that no heartbeat had
 * reported, because it was shorter than the way of a heartbeat, begins and ends with the report.
 */
export function reportedPhases(sql: SqlTag, from: string, { phases }: BuildOutcome): Fragment {
  return sql`
    reported_phases as (
      insert into build_phases as p (work_id, team_id, epoch, phase, started_at, log_offset, finished_at, self_reported_ms)
      select e.id, e.team_id, e.epoch, m.phase, e.finished_at, (select w.log_offset from work_items w where w.id = e.id), e.finished_at, m.duration_ms
      from ${sql(from)} e, (
        select phase, max(duration_ms) as duration_ms
        from unnest(${phases.map(({ phase }) => phase)}::int[], ${phases.map(({ durationMs }) => Math.min(durationMs, 2_147_483_647))}::int[]) u(phase, duration_ms)
        group by phase
      ) m
      on conflict (work_id, epoch, phase) do update
        set finished_at = coalesce(p.finished_at, excluded.finished_at), self_reported_ms = excluded.self_reported_ms
    )`;
}

/**
 * Builds the CTEs `entered` and `left_behind`: the phases that the rows of the CTE `held` were reported to be
 * in. There, `reported` is 0 for none, `was` is as stored, and `phase_offset` is the output before it. A
 * phase that lies behind changes nothing.
 */
export function enterPhases(sql: SqlTag): Fragment {
  return sql`
    entered as (
      insert into build_phases (work_id, team_id, epoch, phase, started_at, log_offset)
      select h.id, h.team_id, h.epoch, h.reported, clock_timestamp(), h.phase_offset from held h where not h.cancel and h.reported > h.was
      on conflict (work_id, epoch, phase) do nothing
    ),
    left_behind as (
      update build_phases p set finished_at = clock_timestamp() from held h
      where p.work_id = h.id and p.epoch = h.epoch and not h.cancel and h.reported > h.was and p.phase < h.reported and p.finished_at is null
    )`;
}
