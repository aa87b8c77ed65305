/**
 * Grants work to runners. One statement finds an item, raises its epoch, opens its lease and reads what is to be executed; `skip locked` sends
 * concurrent claims past each other. Nothing is remembered between statements: a lost answer is found again by its poll id.
 */
import type { WorkKind } from '@svc/proto/queue/queue.ts';
import { isUniqueViolation } from '../../platform/db/index.ts';
import type { SqlTag } from '../../platform/db/index.ts';
import { newId } from '../../platform/ids.ts';
import { boundRunner, isTurn } from './build-sql.ts';
import { freshNonce, notFresh } from './nonces.ts';
import type { Nonce } from './nonces.ts';
import { declineHint } from './relay.ts';
import type { WorkSettings } from './settings.ts';
import { callingRunner } from './sql.ts';
import type { CallingRunner, RunnerRef } from './sql.ts';
import { ms } from '../../platform/sql.ts';
import type { Fragment } from '../../platform/sql.ts';

/** A grant: what the runner is told. */
export interface Grant {
  readonly workId: string;
  readonly kind: WorkKind;
  readonly leaseId: string;
  readonly epoch: number;
  /** Number of the attempt that begins when the runner accepts, from 1. */
  readonly attempt: number;
  readonly spec: Record<string, unknown>;
}

export interface PollInput extends RunnerRef {
  readonly kind: WorkKind;
  readonly pollId: string;
  readonly notReady: readonly string[];
  /** False: the poll only reports the runner's state. */
  readonly wantsWork: boolean;
  /** The nonce of the request; undefined once it was used. */
  readonly nonce?: Nonce | undefined;
  /** False: this process has noted this runner a moment ago, with the same reasons against work. Default: true. */
  readonly notes?: boolean;
}

/** Undefined: there is no such runner. */
export interface PollOutcome extends CallingRunner {
  readonly teamId: string;
  readonly grant: Grant | undefined;
}

interface GrantRow {
  readonly work_id: string | null;
  readonly kind: WorkKind;
  readonly lease_id: string;
  readonly epoch: number;
  readonly attempt: number;
  readonly spec: Record<string, unknown>;
}

const POLL_INDEX = 'work_items_poll';

/** What is needed of an item, and no more: every column of a CTE costs at each call. */
const grantColumns = (sql: SqlTag): Fragment => sql`w.id, w.kind, w.lease_id, w.epoch, w.attempt, w.spec`;

/** CTEs `granted` and `opened`: the item of the CTE `pick` becomes this runner's. */
function grantPicked(
  sql: SqlTag,
  settings: WorkSettings,
  { runner: { runnerId }, pollId }: { readonly runner: RunnerRef; readonly pollId: string },
): Fragment {
  return sql`
    granted as (
      update work_items w set
        state = 'offered', epoch = w.epoch + 1, offers = w.offers + 1,
        runner_id = ${runnerId}, poll_id = ${pollId}, lease_id = ${newId('lse')},
        lease_expires_at = clock_timestamp() + ${ms(sql, settings.offerMs)},
        claimed_at = date_trunc('milliseconds', clock_timestamp()), started_at = null,
        phase = 0, log_offset = 0, log_bytes = 0, log_missing = 0, log_truncated = false, log_complete = false, log_mismatch = false, log_sha256 = null
      from pick where w.id = pick.id
      returning ${grantColumns(sql)}, w.team_id, w.runner_id, w.claimed_at
    ),
    opened as (
      insert into work_leases (work_id, team_id, epoch, runner_id, granted_at, last_contact_at)
      select g.id, g.team_id, g.epoch, g.runner_id, g.claimed_at, g.claimed_at from granted g
    )`;
}

/**
 * Whether it is the turn of the build of `w`, and `me` may have it. By `case`: the second is read for those alone whose turn it is, and neither becomes
 * a join, for which the planner would sort the whole queue.
 */
function isMine(sql: SqlTag): Fragment {
  return sql`case when ${isTurn(sql)} then coalesce(${boundRunner(sql)} = (select id from me), true) else false end`;
}

/**
 * Which queued items `me` may be given at all. Their order must be spelled as the index `work_items_queue` has it (`nulls last`), or each claim
 * sorts the whole queue.
 */
function claimable(sql: SqlTag, kind: WorkKind): Fragment {
  return sql`
    w.pool_id = (select team_id from me where may_receive) and w.kind = ${kind} and w.state = 'queued'
    and w.run_after <= clock_timestamp()
    and (not w.needs_container or (select isolation from me) = 'container')
    ${kind === 'build' ? sql`and ${isMine(sql)}` : sql``}`;
}

const toGrant = (row: GrantRow | undefined): Grant | undefined =>
  row === undefined || row.work_id === null
    ? undefined
    : {
        workId: row.work_id,
        kind: row.kind,
        leaseId: row.lease_id,
        epoch: row.epoch,
        attempt: row.attempt + 1,
        spec: row.spec,
      };

/** Two requests with one poll id at once: the loser reads what the winner got. */
async function againOnSamePoll<T>(statement: () => Promise<T>): Promise<T> {
  try {
    return await statement();
  } catch (error) {
    if (!isUniqueViolation(error, POLL_INDEX)) throw error;
    return await statement();
  }
}

/** CTE `seen`: the runner was heard of. Never waits: whoever holds the row notes the same. */
function noteSeen(sql: SqlTag, settings: WorkSettings, { runnerId, notReady }: PollInput): Fragment {
  return sql`
    seen as (
      update runners r set last_seen_at = now(), not_ready = ${[...notReady]}::text[]
      from (
        select id from runners
        where id = ${runnerId} and (select current from me)
          and (last_seen_at is null or last_seen_at < now() - ${ms(sql, settings.seenEveryMs)} or not_ready <> ${[...notReady]}::text[])
        for update skip locked
      ) s where r.id = s.id
    ),`;
}

/**
 * Uses the nonce up, notes the poll, answers the open offer of the same poll id, else grants the next item of the pool. A poll id whose offer was accepted
 * already is used up.
 */
export async function beginPoll(
  sql: SqlTag,
  settings: WorkSettings,
  input: PollInput,
): Promise<PollOutcome | undefined> {
  type Row = CallingRunner & GrantRow & { readonly fresh: boolean; readonly team_id: string | null };
  const { runnerId, pollId, kind, wantsWork } = input;
  const statement = async (): Promise<Row | undefined> => {
    const [row] = await sql<Row[]>`
      with ${freshNonce(sql, input.nonce)},
      me as materialized (${callingRunner(sql, settings, { runner: input, rest: sql`and exists (select from fresh)` })}),
      ${input.notes === false ? sql`` : noteSeen(sql, settings, input)}
      open_offer as (
        select ${grantColumns(sql)}, w.state, w.lease_expires_at
        from work_items w where w.runner_id = ${runnerId} and w.poll_id = ${pollId} and w.lease_id is not null
      ),
      pick as (
        select w.id from work_items w
        where ${claimable(sql, kind)} and ${wantsWork}::boolean and not exists (select from open_offer)
        order by w.priority desc nulls last, w.id limit 1
        for update of w skip locked
      ),
      ${grantPicked(sql, settings, { runner: input, pollId })}
      select exists (select from fresh) as fresh, me.*, w.id as work_id, w.kind, w.lease_id, w.epoch, w.attempt, w.spec
      from (select) one left join me on true left join (
        select ${grantColumns(sql)} from granted w
        union all
        select ${grantColumns(sql)} from open_offer w
        where w.kind = ${kind} and w.state = 'offered' and w.lease_expires_at > clock_timestamp() and (select current from me)
      ) w on true`;
    return row;
  };
  const row = await againOnSamePoll(statement);
  if (row?.fresh !== true) throw await notFresh(sql, input.nonce);
  return row.team_id === null ? undefined : { teamId: row.team_id, ...row, grant: toGrant(row) };
}

export interface ClaimInput extends RunnerRef {
  readonly kind: WorkKind;
  readonly pollId: string;
  /** The hinted item; undefined for the next of the pool. */
  readonly workId: string | undefined;
}

/**
 * Grants the hinted item, or the next one. Undefined: somebody else was faster, none waits, or the runner may not receive work. A hint is used up by
 * this: when its item still waits, because this runner may not have it, it is hinted again.
 */
export async function claim(
  sql: SqlTag,
  settings: WorkSettings,
  input: ClaimInput,
): Promise<Grant | undefined> {
  const { kind, pollId, workId } = input;
  const which = workId === undefined ? sql`` : sql`and w.id = ${workId}`;
  const statement = async (): Promise<GrantRow | undefined> => {
    const [row] = await sql<Array<GrantRow & { readonly waits: boolean }>>`
      with me as materialized (${callingRunner(sql, settings, { runner: input })}),
      pick as (
        select w.id from work_items w
        where ${claimable(sql, kind)} ${which}
        order by w.priority desc nulls last, w.id limit 1
        for update of w skip locked
      ),
      ${grantPicked(sql, settings, { runner: input, pollId })}
      select g.id as work_id, g.kind, g.lease_id, g.epoch, g.attempt, g.spec,
        g.id is null and exists (select from work_items w where w.id = ${workId ?? ''} and w.state = 'queued') as waits
      from (select) one left join granted g on true`;
    if (row?.waits === true && workId !== undefined) await declineHint(sql, settings, workId);
    return row;
  };
  try {
    return toGrant(await statement());
  } catch (error) {
    // The poll has an offer already; it was answered, or will be when the poll is repeated.
    if (isUniqueViolation(error, POLL_INDEX)) return undefined;
    throw error;
  }
}
