/**
 * Grants work to runners: one statement for the polls that came together. It notes them, answers their open
 * offers, finds items for the others, raises their epochs, opens their leases and reads what is to be
 * executed; `skip locked` sends concurrent ones past each other. Nothing is remembered between statements: a
 * lost answer is found again by its poll id.
 */
// No TeamScope: called by gateways, workers and the outbox, which act for no caller.
import type { WorkKind } from '@svc/proto/queue/queue.ts';
import { isUniqueViolation, nextEpoch } from '../../base/db/index.ts';
import type { SqlTag } from '../../base/db/index.ts';
import { newId } from '../../base/ids.ts';
import { ms } from '../../base/sql.ts';
import type { Fragment } from '../../base/sql.ts';
import { asked, callsInBatches, freshness, isFresh } from './nonces.ts';
import { boundRunner, isTurn } from './build-sql.ts';
import type { Freshness, Signed } from './nonces.ts';
import type { WorkSettings } from './settings.ts';
import { mayReceive, runnerColumns } from './sql.ts';
import type { CallingRunner, RunnerRef } from './sql.ts';
import { chargeTurns, itemsOf, pickByTurns } from './turns.ts';

/** A grant: what the runner is told. */
export interface Grant {
  readonly workId: string;
  readonly kind: WorkKind;
  /** Whose work it is. */
  readonly teamId: string;
  /** The runner is another team's: one of the service's pool. */
  readonly shared: boolean;
  readonly leaseId: string;
  readonly epoch: number;
  /** Number of the attempt that begins when the runner accepts, from 1. */
  readonly attempt: number;
  readonly spec: Record<string, unknown>;
}

export interface PollInput extends RunnerRef, Signed {
  readonly kind: WorkKind;
  readonly pollId: string;
  readonly notReady: readonly string[];
  /** It is false when the poll only reports the runner's state. */
  readonly wantsWork: boolean;
}

export interface PollOutcome extends CallingRunner {
  readonly teamId: string;
  readonly grant: Grant | undefined;
  /** Without a grant: something waits under its routes that it cannot have now. */
  readonly waits: boolean;
}

/** It is undefined when there is no such runner. */
export type Poll = (input: PollInput) => Promise<PollOutcome | undefined>;

interface Row extends CallingRunner, Freshness {
  readonly team_id: string | null;
  /** Its item went to a poll of another class, or its group got something meanwhile. */
  readonly outrun: boolean;
  /** It got nothing although something waits under its routes. */
  readonly waits: boolean;
  readonly work_id: string | null;
  readonly work_team_id: string;
  readonly kind: WorkKind;
  readonly lease_id: string;
  readonly epoch: number;
  readonly attempt: number;
  readonly spec: Record<string, unknown>;
}

const POLL_INDEX = 'work_items_poll';
/** Which builds a poll may have depends on its runner: each is asked for alone. */
const ITEMS_MAX: Readonly<Record<WorkKind, number>> = { run: 64, build: 1 };

export function createPoll(sql: SqlTag, settings: WorkSettings): Poll {
  const lanes = { run: lane(sql, settings, 'run'), build: lane(sql, settings, 'build') };
  return async (input) => {
    let nonce = input.nonce;
    for (;;) {
      const row = await lanes[input.kind]({ ...input, nonce });
      if (!row.outrun) return outcomeOf(row);
      nonce = undefined;
    }
  };
}

function lane(sql: SqlTag, settings: WorkSettings, kind: WorkKind): (input: PollInput) => Promise<Row> {
  return callsInBatches(sql, {
    itemsMax: ITEMS_MAX[kind],
    keyOf: ({ runnerId, pollId }) => `${runnerId} ${pollId}`,
    run: async (inputs) =>
      await againOnSamePoll(async () => await pollTogether(sql, settings, { kind, inputs })),
  });
}

/**
 * The loser of two requests with one poll id at once, at two servers, reads what the winner got. Its nonces
 * were not used, because nothing was done.
 */
async function againOnSamePoll<T>(statement: () => Promise<T>): Promise<T> {
  try {
    return await statement();
  } catch (error) {
    if (!isUniqueViolation(error, POLL_INDEX)) throw error;
    return await statement();
  }
}

function outcomeOf(row: Row): PollOutcome | undefined {
  if (row.team_id === null) return undefined;
  return { teamId: row.team_id, ...row, grant: toGrant(row) };
}

const toGrant = (row: Row): Grant | undefined =>
  row.work_id === null
    ? undefined
    : {
        workId: row.work_id,
        kind: row.kind,
        teamId: row.work_team_id,
        shared: row.work_team_id !== row.team_id,
        leaseId: row.lease_id,
        epoch: row.epoch,
        attempt: row.attempt + 1,
        spec: row.spec,
      };

/** Returns what is needed of an item, and no more: every column of a CTE costs at each call. */
const grantColumns = (sql: SqlTag): Fragment =>
  sql`w.id, w.kind, w.team_id, w.lease_id, w.epoch, w.attempt, w.spec`;

/**
 * Holds when it is the turn of the build of `w`, and `me` may have it. By `case`: the second is read for
 * those alone whose turn it is, and neither becomes a join, for which the planner would sort the whole queue.
 */
function isMine(sql: SqlTag): Fragment {
  return sql`case when ${isTurn(sql)} then coalesce(${boundRunner(sql)} = (select id from me), true) else false end`;
}

/** Items that a class with several routes looks past, because others are taking them at this moment. */
const SLACK = 64;

/**
 * Builds the CTEs `takers`, `classes`, `picked` and `chosen`: who gets which item. Takers of one class may
 * have the same items: they get the first ones, in the order in which they came. The order of items must be
 * spelled as the index `work_items_route` has it (`nulls last`), or each claim sorts the whole queue.
 */
function chooseItems(sql: SqlTag, { feedServicePool }: WorkSettings, kind: WorkKind): Fragment {
  const fits = sql`w.run_after <= clock_timestamp() and (not w.needs_container or c.isolation = 'container')
    ${kind === 'build' ? sql`and ${isMine(sql)}` : sql``}`;
  const shared = feedServicePool
    ? sql`exists (select from teams p where p.id = t.team_id and p.service_pool)`
    : sql`false`;
  return sql`
    ${groupsOf(sql)},
    takers as materialized (
      select m.*, dense_rank() over (order by m.team_id, m.isolation, m.routes) as class,
        row_number() over (partition by m.team_id, m.isolation, m.routes order by m.n) as place
      from (
        select m.n, m.id, m.team_id, m.isolation, m.poll_id, m.lease,
          array(select x.route_id from runner_routes x where x.runner_id = m.id and x.kind = ${kind} order by x.route_id) as routes
        from (select m.*, row_number() over (partition by m.group_id order by m.n) as in_group from wanting m) m
        left join capped g on g.id = m.group_id
        where g.id is null or m.in_group <= g.room
      ) m
    ),
    classes as materialized (
      select t.class, t.team_id as pool_id, t.isolation, t.routes, count(*) as count, ${shared} as shared
      from takers t group by t.class, t.team_id, t.isolation, t.routes
    ),
    ${feedServicePool ? sql`${pickByTurns(sql, { kind, fits })},` : sql``}
    picked as materialized (
      select c.class, p.id, row_number() over (partition by c.class order by p.priority desc nulls last, p.id) as place
      from classes c cross join lateral (
        select w.id, w.priority from work_items w
        where w.route_id = c.routes[1] and w.team_id = c.pool_id and w.state = 'queued' and ${fits}
        order by w.priority desc nulls last, w.id limit c.count
        for update of w skip locked
      ) p where not c.shared and cardinality(c.routes) = 1
      union all
      select c.class, p.id, row_number() over (partition by c.class order by p.place)
      from classes c cross join lateral (
        select w.id, i.place
        from (select c.pool_id as team_id) t
        cross join lateral (${itemsOf(sql, fits, sql`c.count + ${SLACK}::int`)}) i
        join work_items w on w.id = i.id and w.state = 'queued'
        order by i.place limit c.count
        for update of w skip locked
      ) p where not c.shared and cardinality(c.routes) > 1
      ${feedServicePool ? sql`union all select class, id, place from shared_picks` : sql``}
    ),
    chosen as materialized (
      -- Two classes of one pool may have found the same item.
      select distinct on (p.id) p.id as work_id, t.n, t.id as runner_id, t.poll_id, t.lease
      from picked p join takers t on t.class = p.class and t.place = p.place
      order by p.id, t.n
    )`;
}

/**
 * Builds the CTEs `wanting` and `capped`: who is to get something, and how much more the groups with a limit
 * may hold. `capped` locks their rows; a group to which something was granted since the statement began,
 * which it has not counted, has no room (`stale`).
 */
function groupsOf(sql: SqlTag): Fragment {
  return sql`
    wanting as materialized (
      select m.* from me m where m.may_receive and m.wants and not exists (select from open_offer o where o.n = m.n)
    ),
    capped as materialized (
      select g.id, g.stale, case when g.stale then 0 else g.max_running - (
        select count(*) from runners r join work_items h on h.runner_id = r.id and h.lease_id is not null where r.group_id = g.id
      ) end as room
      from (
        select g.id, g.max_running, g.grants <> (select o.grants from runner_groups o where o.id = g.id) as stale
        from runner_groups g
        where g.id in (select w.group_id from wanting w) and g.max_running is not null
        order by g.id for no key update of g
      ) g
    )`;
}

/** Builds the CTE `counted`: the next statement sees what the groups with a limit got. */
function countGrants(sql: SqlTag): Fragment {
  return sql`
    counted as (
      update runner_groups g set grants = g.grants + 1
      where g.id in (select w.group_id from chosen c join wanting w on w.n = c.n) and g.max_running is not null
    )`;
}

/** Builds the CTEs `granted` and `opened`: the items of `chosen` become their runners'. */
function grantChosen(sql: SqlTag, settings: WorkSettings): Fragment {
  return sql`
    granted as (
      update work_items w set
        state = 'offered', epoch = ${nextEpoch(sql, sql`w.epoch`)}, offers = w.offers + 1,
        runner_id = c.runner_id, poll_id = c.poll_id, lease_id = c.lease,
        claimed_at = date_trunc('milliseconds', clock_timestamp()), started_at = null,
        phase = 0, log_offset = 0, log_bytes = 0, log_missing = 0, log_truncated = false, log_complete = false, log_mismatch = false, log_sha256 = null
      from chosen c where w.id = c.work_id
      returning c.n, ${grantColumns(sql)}, w.pool_id, w.runner_id, w.claimed_at
    ),
    opened as (
      insert into work_leases (work_id, team_id, epoch, runner_id, granted_at, expires_at, last_contact_at)
      select g.id, g.team_id, g.epoch, g.runner_id, g.claimed_at, g.claimed_at + ${ms(sql, settings.offerMs)}, g.claimed_at from granted g
    )`;
}

/**
 * Builds the CTE `seen`: the runners were heard of. It never waits, because whoever holds a row notes the
 * same.
 */
function noteSeen(sql: SqlTag): Fragment {
  return sql`
    seen as (
      update runners r set last_seen_at = now(), not_ready = s.not_ready
      from (
        select r.id, m.not_ready from me m join runners r on r.id = m.id where m.unseen and m.current for update of r skip locked
      ) s where r.id = s.id
    )`;
}

/**
 * Answers each poll, in their order: uses its nonce up, notes it, answers its open offer, else grants the
 * next item of its pool. A poll id whose offer was accepted already is used up.
 */
export async function pollTogether(
  sql: SqlTag,
  settings: WorkSettings,
  { kind, inputs }: { readonly kind: WorkKind; readonly inputs: readonly PollInput[] },
): Promise<readonly Row[]> {
  const columns = ({ runnerId, bootId, pollId, notReady, wantsWork }: PollInput) => ({
    runner_id: runnerId,
    boot_id: bootId,
    poll_id: pollId,
    lease: wantsWork ? newId('lse') : null,
    not_ready: notReady,
  });
  const types = sql`runner_id text, boot_id text, poll_id text, lease text, not_ready text[]`;
  return await sql<Row[]>`
    with ${asked(sql, inputs, { columns, types })},
    me as materialized (
      select c.*, ${mayReceive(sql)} as may_receive
      from (
        select a.n, a.poll_id, a.lease, a.lease is not null as wants, a.not_ready, r.group_id, ${runnerColumns(sql, settings)},
          r.last_seen_at is null or r.last_seen_at < now() - ${ms(sql, settings.seenEveryMs)} or r.not_ready <> a.not_ready as unseen
        from asked a cross join lateral (select * from runners r where r.id = a.runner_id limit 1) r
        where ${isFresh(sql)}
      ) c
    ),
    ${noteSeen(sql)},
    open_offer as materialized (
      -- The limit makes it a lookup by key for each poll: for a join the planner may read the index whole, with the dead entries of all that was ever offered.
      select m.n, w.*, m.current
      from me m cross join lateral (
        select ${grantColumns(sql)}, w.state from work_items w
        where w.runner_id = m.id and w.poll_id = m.poll_id and w.lease_id is not null limit 1
      ) w
    ),
    ${chooseItems(sql, settings, kind)},
    ${grantChosen(sql, settings)},
    ${settings.feedServicePool ? sql`${chargeTurns(sql)},` : sql``}
    ${countGrants(sql)}
    select a.n, ${freshness(sql)}, me.team_id,
      me.revoked, me.current, me.may_receive, me.draining, me.paused, me.flagged, me.outdated, me.upgradable, me.diagnostics_wanted,
      w.id is null and exists (
        select from takers t join picked p on p.class = t.class and p.place = t.place where t.n = a.n
        union all
        select from wanting m join capped g on g.id = m.group_id where m.n = a.n and g.stale
      ) as outrun,
      w.id is null and coalesce(me.wants, false) and exists (
        select from unnest(array(select x.route_id from runner_routes x where x.runner_id = me.id and x.kind = ${kind})) x(id) cross join lateral (
          select from work_items q where q.route_id = x.id and q.state = 'queued' and q.run_after <= clock_timestamp() limit 1
        ) one
      ) as waits,
      w.id as work_id, w.kind, w.team_id as work_team_id, w.lease_id, w.epoch, w.attempt, w.spec
    from asked a left join me on me.n = a.n left join (
      select w.n, ${grantColumns(sql)} from granted w
      union all
      select w.n, ${grantColumns(sql)} from open_offer w join work_leases x on x.work_id = w.id and x.epoch = w.epoch
      where w.kind = ${kind} and w.state = 'offered' and x.expires_at > clock_timestamp() and w.current
    ) w on w.n = a.n
    order by a.n`;
}
