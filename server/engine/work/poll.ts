/**
 * Grants work to runners: one statement for the polls that came together. It notes them, answers their open
 * offers, finds items for the others, raises their epochs, opens their leases and reads what is to be
 * executed; `skip locked` sends concurrent ones past each other. What is remembered between statements says
 * only which of two a runner's next poll goes to first; a lost answer is found again by its poll id.
 */
// No TeamScope: called by gateways, workers and the outbox, which act for no caller.
import type { WorkKind } from '@svc/proto/queue/queue.ts';
import { bounded } from '@svc/proto/process/bounded.ts';
import { isUniqueViolation, type SqlTag } from '../../base/db/index.ts';
import { newId } from '../../base/ids.ts';
import { ms, type Fragment } from '../../base/sql.ts';
import { grantColumns, plainClaims, plainRoute, wholeClaims } from './claims.ts';
import { asked, callsInBatches, freshness, isFresh, type Freshness, type Signed } from './nonces.ts';
import type { WorkSettings } from './settings.ts';
import { mayReceive, runnerColumns, type CallingRunner, type RunnerRef } from './sql.ts';

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
  /** The statement for plain runners serves it. */
  readonly plain: boolean;
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

/** Runners remembered that are not plain. */
const NOT_PLAIN_MAX = 10_000;

export function createPoll(sql: SqlTag, settings: WorkSettings): Poll {
  const lanes = (kind: WorkKind) => ({
    plain: lane(sql, settings, { kind, isPlain: true }),
    whole: lane(sql, settings, { kind, isPlain: false }),
  });
  const of = { run: lanes('run'), build: lanes('build') };
  const notPlain = new Set<string>();
  return async (input) => {
    const { kind, runnerId } = input;
    const key = `${kind} ${runnerId}`;
    let nonce = input.nonce;
    for (;;) {
      const row = await of[kind][notPlain.has(key) ? 'whole' : 'plain']({ ...input, nonce });
      if (row.plain) notPlain.delete(key);
      else bounded(notPlain, NOT_PLAIN_MAX).add(key);
      if (!row.outrun) return outcomeOf(row);
      nonce = undefined;
    }
  };
}

interface Lane {
  readonly kind: WorkKind;
  /** It grants to plain runners alone. */
  readonly isPlain: boolean;
}

function lane(sql: SqlTag, settings: WorkSettings, of: Lane): (input: PollInput) => Promise<Row> {
  return callsInBatches(sql, {
    itemsMax: ITEMS_MAX[of.kind],
    keyOf: ({ runnerId, pollId }) => `${runnerId} ${pollId}`,
    run: async (inputs) =>
      await againOnSamePoll(async () => await pollTogether(sql, settings, { ...of, inputs })),
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
  { kind, isPlain, inputs }: Lane & { readonly inputs: readonly PollInput[] },
): Promise<readonly Row[]> {
  const columns = ({ runnerId, bootId, pollId, notReady, wantsWork }: PollInput) => ({
    runner_id: runnerId,
    boot_id: bootId,
    poll_id: pollId,
    lease: wantsWork ? newId('lse') : null,
    not_ready: notReady,
  });
  const { parts, outrun, waits } = (isPlain ? plainClaims : wholeClaims)(sql, settings, kind);
  const types = sql`runner_id text, boot_id text, poll_id text, lease text, not_ready text[]`;
  return await sql<Row[]>`
    with ${asked(sql, inputs, { columns, types })},
    me as materialized (
      select c.*, ${mayReceive(sql)} as may_receive
      from (
        select a.n, a.poll_id, a.lease, a.lease is not null as wants, a.not_ready, r.group_id, ${runnerColumns(sql, settings)}, ${plainRoute(sql, settings, kind)} as route,
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
    ${parts}
    select a.n, ${freshness(sql)}, me.team_id,
      me.revoked, me.current, me.may_receive, me.draining, me.paused, me.flagged, me.outdated, me.upgradable, me.diagnostics_wanted,
      me.id is null or me.route is not null as plain,
      w.id is null and (${outrun}) as outrun,
      w.id is null and coalesce(me.wants, false) and ${waits} as waits,
      w.id as work_id, w.kind, w.team_id as work_team_id, w.lease_id, w.epoch, w.attempt, w.spec
    from asked a left join me on me.n = a.n left join (
      select w.n, ${grantColumns(sql)} from granted w
      union all
      select w.n, ${grantColumns(sql)} from open_offer w join work_leases x on x.work_id = w.id and x.epoch = w.epoch
      where w.kind = ${kind} and w.state = 'offered' and x.expires_at > clock_timestamp() and w.current
    ) w on w.n = a.n
    order by a.n`;
}
