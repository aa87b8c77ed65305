/**
 * Why an item of work waits, and what to do about it. Nothing is stored: the answer is what the queue and the
 * runners look like at the moment of the question, one query for any number of items. The first rule that
 * holds wins: what nobody can help before what only takes time.
 */
// No TeamScope: given the row, or the team, that the call was authorised for.
import {
  WaitingReason,
  WaitingReasonSchema,
  type Waiting as WaitingMessage,
} from '@svc/proto/gen/svc/runners/v1/runners_pb.ts';
import type { SqlTag } from '../../base/db/index.ts';
import { enumNumber, enumWord, type Row } from '../../kit/resource/index.ts';
import type { Fragment } from '../../base/sql.ts';
import { boundRunner, heldOf, isTurn, type Selector, type WorkSettings } from '../work/index.ts';
import { poolFacts, type Blocked, type PoolFacts } from './pool-facts.ts';

/** As it goes into a message. */
export type Waiting = Row<WaitingMessage>;

export interface WaitingItem {
  readonly id: string;
  /** Its feature holds it back until another build of its environment has ended. */
  readonly environmentBusy?: boolean;
}

export type WaitingSettings = Pick<
  WorkSettings,
  'feedServicePool' | 'runnersOn' | 'silentMs' | 'minVersion' | 'strikesMax'
>;

interface ItemFacts extends PoolFacts {
  readonly id: string;
  readonly needsContainer: boolean;
  readonly servicePool: boolean;
  /** An earlier build of its environment is open. */
  readonly environmentBusy: boolean;
  /**
   * Name of the one runner that may have it, of which alone the other facts then are: its environment is
   * deployed there.
   */
  readonly boundTo: string | null;
  /** That runner is revoked, or of another pool, and data of the environment lies on its machine. */
  readonly dataElsewhere: boolean;
  readonly kind: 'run' | 'build';
  readonly selector: Selector;
  /** It is a label that no runner has at all, if there is one, where none has what the item asks for. */
  readonly missing: string | null;
  readonly groupExists: boolean;
  /** The service's pool holds so many items of its team at most; it is set when that much is held. */
  readonly limit: number | null;
  /** Items of other teams that have their turns before it, about; null in a pool of one team. */
  readonly before: number | null;
  /** Not offered before, when that is still to come. */
  readonly notBefore: Date | null;
}

/** Returns reasons by id; items that are not queued are not in it. */
export async function whyWaiting(
  sql: SqlTag,
  settings: WorkSettings,
  items: readonly WaitingItem[],
): Promise<ReadonlyMap<string, Waiting>> {
  if (items.length === 0) return new Map();
  const mayHave = sql`(p.bound_id is null or r.id = p.bound_id)
    and (p.selector = '{}' or exists (select from runner_routes x where x.runner_id = r.id and x.route_id = p.route_id))`;
  const rows = await sql<ItemFacts[]>`
    with items as materialized (
      select w.id, w.pool_id, w.team_id, w.kind, w.priority, w.route_id, w.selector, w.needs_container as "needsContainer", t.service_pool as "servicePool",
        case when w.run_after > clock_timestamp() then w.run_after end as "notBefore",
        w.kind = 'build' and not ${isTurn(sql)} as "environmentBusy",
        case w.kind when 'build' then ${boundRunner(sql)} end as bound_id
      from work_items w join teams t on t.id = w.pool_id
      where w.id = any(${items.map(({ id }) => id)}::text[]) and w.state = 'queued'
    )
    select i.id, i.kind, i.selector, i."needsContainer", i."servicePool", i."notBefore", i."environmentBusy", b.name as "boundTo", coalesce(b.revoked_at is not null or b.team_id <> i.pool_id, false) as "dataElsewhere", f.*,
      case when f.enrolled = 0 then ${missingLabel(sql)} end as missing,
      exists (select from runner_groups g where g.team_id = i.pool_id and g.name = i.selector ->> 'group') as "groupExists",
      ${limitReached(sql)} as limit, case when i."servicePool" then ${itemsBefore(sql)} end as before
    from (select distinct pool_id, bound_id, route_id, selector from items) p
    cross join lateral (${poolFacts(sql, settings, { poolId: sql`p.pool_id`, only: mayHave })}) f
    left join runners b on b.id = p.bound_id
    join items i on i.pool_id = p.pool_id and i.bound_id is not distinct from p.bound_id and i.route_id = p.route_id`;
  const busy = new Set(items.filter((item) => item.environmentBusy === true).map(({ id }) => id));
  return new Map(
    rows.map((row) => [
      row.id,
      row.environmentBusy || busy.has(row.id) ? ENVIRONMENT_BUSY : reasonOf(row, settings),
    ]),
  );
}

/** A label of the item `i` that no runner of its pool has. */
function missingLabel(sql: SqlTag): Fragment {
  return sql`(
    select l.key || '=' || l.value from jsonb_each_text(i.selector -> 'labels') l
    where not exists (select from runners o where o.team_id = i.pool_id and o.revoked_at is null and runner_labels(o) ->> l.key = l.value)
    order by l.key limit 1)`;
}

/** The limit of the team of the item `i`, where it is reached. */
function limitReached(sql: SqlTag): Fragment {
  return sql`(
    select s.max_running from team_shares s
    where i."servicePool" and s.team_id = i.team_id and s.kind = i.kind and s.max_running <= ${heldOf(sql, sql`i`)})`;
}

/** It limits what counts of one other team. */
const BEFORE_MAX = 100;

/**
 * Returns how many items of other teams are granted before the item `i` if nothing else comes: the item has
 * its turn when the pool's time has come to that of its team and the items of its own before it, and until
 * then each other team gets what its weight gives it, if it has as much.
 */
function itemsBefore(sql: SqlTag): Fragment {
  return sql`(
    select coalesce(sum(least(b.count, ${BEFORE_MAX}::int, (
      select count(*) from (
        select from work_routes o join work_items w on w.route_id = o.id and w.team_id = b.team_id and w.state = 'queued'
        where o.pool_id = i.pool_id and o.kind = i.kind limit least(b.count, ${BEFORE_MAX}::int)
      ) q
    ))), 0)::int
    from (
      select t.team_id, ceil((a.at - t.vtime) * t.weight)::int as count
      from (
        select m.vtime + (
          select count(*) from work_items w
          where w.route_id = i.route_id and w.team_id = i.team_id and w.state = 'queued' and (-w.priority, w.id) < (-i.priority, i.id)
        ) / m.weight::float8 as at
        from pool_turns m where m.pool_id = i.pool_id and m.kind = i.kind and m.team_id = i.team_id
      ) a
      join pool_turns t on t.pool_id = i.pool_id and t.kind = i.kind and t.waiting and t.team_id <> i.team_id and t.vtime < a.at
    ) b)`;
}

const ENVIRONMENT_BUSY: Waiting = {
  reason: WaitingReason.ENVIRONMENT_BUSY,
  detail:
    'another build of its environment is at work; it starts when that one has ended, or cancel that one',
};

/** Returns what is the matter with a pool where no runner is able, for its own team. */
export function blockedWaiting(
  blocked: Blocked,
  { enrolled, seen, reasons }: Pick<PoolFacts, 'enrolled' | 'seen' | 'reasons'>,
  { silentMs, minVersion }: WaitingSettings,
): Waiting {
  return { reason: enumNumber(WaitingReasonSchema, blocked), detail: detailOf() };

  function detailOf(): string {
    switch (blocked) {
      case 'no_live_runner':
        if (enrolled === 0)
          return 'no runner is enrolled; make a token with: svc runners enroll, and start svc-runner on a machine of yours';
        if (seen === 0)
          return `${enrolled === 1 ? 'the one enrolled runner has' : `the ${enrolled} enrolled runners have`} not called for work yet; start svc-runner run on ${enrolled === 1 ? 'its machine' : 'their machines'}, or see its log there`;
        return `none of the ${enrolled} enrolled runners has called within ${silentMs / 1000} s; start svc-runner on their machines, or see its log there`;
      case 'not_ready':
        return `runners are in contact and cannot take work: ${reasons ?? 'they do not say why'}; svc-runner doctor on the machine says what to do`;
      case 'version_too_old':
        return `every runner in contact that is not paused or flagged is older than ${minVersion}, the least version that is given work; upgrade svc-runner`;
      case 'all_paused':
        return 'every runner in contact that is not flagged is paused or about to stop; resume a paused one with: svc runners resume, or start a stopped one again';
      case 'flagged':
        return 'every runner in contact is refused new work after divergence strikes; an owner clears them with: svc runners clear-divergence-flag';
    }
  }
}

const OR_REVOKE = ', or revoke it with: svc runners revoke, after which any other runner may take the build';

/** Returns what keeps the one runner that may have an item, and how it is helped. */
function boundBlocked(
  blocked: Blocked,
  { reasons }: Pick<PoolFacts, 'reasons'>,
  { silentMs, minVersion }: WaitingSettings,
): string {
  switch (blocked) {
    case 'no_live_runner':
      return `it has not called within ${silentMs / 1000} s; start it again`;
    case 'not_ready':
      return `it cannot take work: ${reasons ?? 'it does not say why'}; see svc-runner doctor on its machine`;
    case 'version_too_old':
      return `it is older than ${minVersion}, the least version that is given work; upgrade it`;
    case 'all_paused':
      return 'it is paused or about to stop; resume it with: svc runners resume, or start it again';
    case 'flagged':
      return 'it is refused new work after divergence strikes; an owner clears them with: svc runners clear-divergence-flag';
  }
}

/** Why an item waits that one runner alone may have. Undefined: not because of that runner. */
function boundWaiting(facts: ItemFacts, settings: WaitingSettings): Waiting | undefined {
  const { servicePool, needsContainer, notBefore, blocked, boundTo } = facts;
  if (boundTo === null) return undefined;
  // The tenant is told neither name nor trouble of the service's own runners, and it cannot revoke them.
  const where = servicePool
    ? "it waits for the one of the service's own runners on which its environment is deployed"
    : `it waits for runner ${boundTo}, on which its environment is deployed`;
  const lacksContainer = needsContainer && facts.ableContainers === 0;
  if (facts.enrolled === 0 && asks(facts.selector)) {
    return {
      reason: WaitingReason.NO_MATCHING_RUNNER,
      detail: `${where} and which does not have ${askedFor(facts.selector)}; ask for what it has, or give it that${servicePool ? '' : OR_REVOKE}`,
    };
  }
  if (servicePool && (blocked !== null || lacksContainer)) {
    return {
      reason: WaitingReason.NO_LIVE_RUNNER,
      detail: `${where}, which takes no work at the moment; it starts when that one does, or ask the service's operator to revoke that runner`,
    };
  }
  if (blocked !== null) {
    return {
      reason: enumNumber(WaitingReasonSchema, blocked),
      detail: `${where}: ${boundBlocked(blocked, facts, settings)}${OR_REVOKE}`,
    };
  }
  if (lacksContainer) {
    return {
      reason: WaitingReason.ISOLATION_REQUIRED,
      detail: `${where}: it offers namespaces alone; install podman or docker there${OR_REVOKE}`,
    };
  }
  return notBefore === null && facts.idle === 0
    ? {
        reason: WaitingReason.ALL_BUSY,
        detail: `${where} and which is at work; it starts when that one is free`,
      }
    : undefined;
}

const asks = ({ group, labels = {} }: Selector): boolean =>
  group !== undefined || Object.keys(labels).length > 0;

/** Returns `the group gpu and the labels a=b, c=d`. */
function askedFor({ group, labels = {} }: Selector): string {
  const pairs = Object.entries(labels).map(([key, value]) => `${key}=${value}`);
  const parts = [
    ...(group === undefined ? [] : [`the group ${group}`]),
    ...(pairs.length === 0 ? [] : [`the label${pairs.length === 1 ? '' : 's'} ${pairs.join(', ')}`]),
  ];
  return parts.join(' and ');
}

/** No runner of the pool, whatever its state, has what is asked for. */
function noMatch({ selector, missing, groupExists, servicePool }: ItemFacts): Waiting {
  const what =
    selector.group !== undefined && !groupExists
      ? `there is no runner group ${selector.group}`
      : missing !== null
        ? `no runner has the label ${missing}`
        : `no runner has ${askedFor(selector)} together`;
  const help = servicePool
    ? 'ask for what the service’s own runners have, or its operator for such a runner'
    : 'put a runner into the group or give it the labels with: svc runners update, or ask for what one has';
  return { reason: WaitingReason.NO_MATCHING_RUNNER, detail: `${what}; ${help}` };
}

/** Returns the reason that no runner can help. */
function switchedOff(servicePool: boolean, settings: WaitingSettings): Waiting | undefined {
  if (!settings.runnersOn()) {
    return {
      reason: WaitingReason.RUNNERS_OFF,
      detail:
        "the service's operator has switched off all runners; it starts when they are on again, and nothing has to be done",
    };
  }
  if (servicePool && !settings.feedServicePool) {
    return {
      reason: WaitingReason.POOL_OFF,
      detail:
        "the service's own runners are switched off; ask its operator, or move the team to a region with runners of your own",
    };
  }
  return undefined;
}

const dataElsewhere = ({ boundTo }: ItemFacts): Waiting => ({
  reason: WaitingReason.DATA_ELSEWHERE,
  detail: `data of its environment lies on the machine of runner ${boundTo}, which is revoked or of another region; bring the data over and delete the storage that is left behind, which an admin does, then it goes to any runner`,
});

export function reasonOf(facts: ItemFacts, settings: WaitingSettings): Waiting {
  const { servicePool, needsContainer, blocked } = facts;
  const off = switchedOff(servicePool, settings);
  if (off !== undefined) return off;
  if (facts.dataElsewhere) return dataElsewhere(facts);
  const bound = boundWaiting(facts, settings);
  if (bound !== undefined) return bound;
  if (facts.enrolled === 0 && asks(facts.selector)) return noMatch(facts);
  if (blocked !== null) {
    // A problem of the service's machines is its operator's business, not the tenant's.
    return servicePool
      ? {
          reason: WaitingReason.NO_LIVE_RUNNER,
          detail: "none of the service's own runners takes work at the moment; it starts when one does",
        }
      : blockedWaiting(blocked, facts, settings);
  }
  if (needsContainer && facts.ableContainers === 0) {
    return {
      reason: WaitingReason.ISOLATION_REQUIRED,
      detail:
        'it asks for a container and every runner that takes work offers namespaces alone; install podman or docker on one, or submit it with isolation "any"',
    };
  }
  if (facts.notBefore !== null) {
    return {
      reason: WaitingReason.RETRY_DELAY,
      detail: `it lost its runner and is offered again at ${facts.notBefore.toISOString()}; nothing has to be done`,
    };
  }
  const [able, idle] = needsContainer
    ? [facts.ableContainers, facts.idleContainers]
    : [facts.able, facts.idle];
  if (facts.limit !== null) {
    return {
      reason: WaitingReason.TEAM_AT_LIMIT,
      detail: `the service's own runners hold ${facts.limit} ${facts.kind}s of the team, which is its limit; it starts when one has ended, or ask the service's operator for more`,
    };
  }
  if (idle === 0 && facts.fullGroup !== null) {
    return {
      reason: WaitingReason.TEAM_AT_LIMIT,
      detail: servicePool
        ? 'as much is at work as the runners that could take it may hold together; it starts when some of that has ended'
        : `the runners that are free belong to the runner group ${facts.fullGroup}, whose limit is reached; it starts when something of the group has ended, or raise it with: svc runner-groups update`,
    };
  }
  if (idle === 0 && facts.before !== null && facts.before > 0) {
    return {
      reason: WaitingReason.TURN_OF_OTHERS,
      detail: `every one of the service's own runners is at work, and about ${facts.before} of other teams ${facts.before === 1 ? 'has its turn' : 'have their turns'} before it`,
    };
  }
  if (idle === 0) {
    return {
      reason: WaitingReason.ALL_BUSY,
      detail: servicePool
        ? "every one of the service's own runners is at work; it starts when one is free"
        : `${able === 1 ? 'the one runner' : `each of the ${able} runners`} that could take it is at work; it starts when one is free, or add a runner`,
    };
  }
  return {
    reason: WaitingReason.DISPATCHING,
    detail: 'a runner is free and is being offered it; nothing has to be done',
  };
}

/** Says of work at a glance why it waits. */
export function waitingWords(waiting: Waiting | undefined) {
  if (waiting === undefined) return {};
  const { reason, detail } = waiting;
  const word = typeof reason === 'string' ? reason : enumWord(WaitingReasonSchema, reason);
  return { waitingReason: word, waitingDetail: detail };
}
