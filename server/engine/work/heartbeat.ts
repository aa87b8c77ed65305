/**
 * The statement for heartbeats that came together renews every lease that their runners hold, turns accepted
 * offers into leases, stores the phases of builds and notes what the runners say of themselves: a lease is
 * `ok` only together with its phase. A renewal writes the narrow row of the lease and no index; the item's
 * row is written when an offer is accepted or a phase entered. Rows are locked in the order runners, leases,
 * items, each by id, as everywhere, so that two statements never wait for each other in a circle.
 */
// No TeamScope: called by gateways, workers and the outbox, which act for no caller.
import type { SqlTag } from '../../base/db/index.ts';
import { asked, callsInBatches, freshness, isFresh, type Freshness, type Signed } from './nonces.ts';
import { enterPhases } from './build-sql.ts';
import type { WorkSettings } from './settings.ts';
import {
  begun,
  contact,
  deadline,
  openLease,
  runnerColumns,
  type CallingRunner,
  type RunnerRef,
} from './sql.ts';
import { fewRows, type Fragment } from '../../base/sql.ts';

export interface LeaseRef {
  readonly id: string;
  readonly epoch: number;
}

/** A lease as its runner reports it. */
export interface ReportedLease extends LeaseRef {
  /** Builds only: the phase that it is in or about to enter; see words.ts. */
  readonly phase?: number;
  /** Bytes of output that were written before the phase; absent: as many as are stored. */
  readonly phaseOffset?: number | undefined;
}

/** `ok`: renewed. `cancelled`: stop it and report. `superseded`: not (any more) this runner's. */
export type LeaseStatus = 'ok' | 'cancelled' | 'superseded';

export interface HeartbeatInput extends RunnerRef, Signed {
  readonly leases: readonly ReportedLease[];
  readonly draining: boolean;
  readonly diagnostics?:
    | undefined
    | {
        readonly containerCliVersion: string;
        readonly deployCliVersion: string;
        readonly workspaceFreeMb: number;
      };
  readonly facts?:
    | undefined
    | {
        readonly version: string;
        readonly os: string;
        readonly arch: string;
        readonly isolation: string;
        readonly executor: string;
        /** HostFacts of the contract, as it is stored. */
        readonly host?: object | undefined;
      };
  readonly labels?: Readonly<Record<string, string>> | undefined;
}

export interface HeartbeatOutcome extends CallingRunner {
  /** It is that of all that the runner should host; see apps/hosting. */
  readonly hostRevision: number;
  /** They stand in the order of the request. */
  readonly leases: ReadonlyArray<LeaseRef & { readonly status: LeaseStatus }>;
}

/** It is undefined when there is no such runner. When `current` is false, nothing was changed. */
export type Heartbeat = (input: HeartbeatInput) => Promise<HeartbeatOutcome | undefined>;

interface Row extends CallingRunner, Freshness {
  readonly id: string | null;
  readonly hostRevision: number;
  /** `<id> <epoch>` of what was renewed, and of what was found cancelled. */
  readonly renewed: string[];
  readonly cancelled: string[];
}

const ITEMS_MAX = 64;

export function createHeartbeat(sql: SqlTag, settings: WorkSettings): Heartbeat {
  const beat = callsInBatches<HeartbeatInput, Row>(sql, {
    itemsMax: ITEMS_MAX,
    // Two of one runner would both renew the same rows, and one of the two would be lost.
    keyOf: ({ runnerId }) => runnerId,
    run: async (inputs) => await beatTogether(sql, settings, inputs),
  });
  return async (input) => outcomeOf(input, await beat(input));
}

function outcomeOf({ leases }: HeartbeatInput, row: Row): HeartbeatOutcome | undefined {
  if (row.id === null) return undefined;
  const renewed = new Set(row.renewed);
  const cancelled = new Set(row.cancelled);
  const statusOf = ({ id, epoch }: LeaseRef): LeaseStatus => {
    if (cancelled.has(`${id} ${epoch}`)) return 'cancelled';
    return renewed.has(`${id} ${epoch}`) ? 'ok' : 'superseded';
  };
  return { ...row, leases: leases.map(({ id, epoch }) => ({ id, epoch, status: statusOf({ id, epoch }) })) };
}

const columns = ({ runnerId, bootId, draining, diagnostics, facts, labels }: HeartbeatInput) => ({
  runner_id: runnerId,
  boot_id: bootId,
  draining_now: draining,
  diagnostics,
  ...facts,
  labels,
});

/** Builds the CTE `noted`: what the runners of `me` say of themselves. */
function noteRunners(sql: SqlTag): Fragment {
  return sql`
    noted as (
      update runners r set
        last_heartbeat_at = now(), last_seen_at = now(), draining = a.draining_now,
        diagnostics = coalesce(a.diagnostics || jsonb_build_object('at', now()), r.diagnostics),
        diagnostics_requested_at = case when a.diagnostics is null then r.diagnostics_requested_at end,
        version = coalesce(a.version, r.version), os = coalesce(a.os, r.os), arch = coalesce(a.arch, r.arch),
        isolation = coalesce(a.isolation, r.isolation), executor = coalesce(a.executor, r.executor),
        host = case when a.version is null then r.host else a.host end, labels = coalesce(a.labels, r.labels)
      from me join asked a on a.n = me.n
      where r.id = me.id and me.current
    )`;
}

async function beatTogether(
  sql: SqlTag,
  settings: WorkSettings,
  inputs: readonly HeartbeatInput[],
): Promise<readonly Row[]> {
  const types = sql`runner_id text, boot_id text, draining_now boolean, diagnostics jsonb, labels jsonb, version text, os text, arch text, isolation text, executor text, host jsonb`;
  const told = inputs.flatMap(({ leases }, n) =>
    leases.map(({ id, epoch, phase = 0, phaseOffset = null }) => ({
      n,
      id,
      epoch,
      phase,
      phase_offset: phaseOffset,
    })),
  );
  // Most heartbeats report no phase, and need not pay for it. A run has none, whatever its runner reports.
  const reportsPhases = told.some(({ phase }) => phase > 0);
  const reported = reportsPhases ? sql`case w.kind when 'build' then a.phase else 0 end` : sql`0`;
  return await sql<Row[]>`
    with ${asked(sql, inputs, { columns, types })},
    told as materialized (
      -- A lease that is named twice counts once.
      select n, id, epoch, max(phase) as phase, max(phase_offset) as phase_offset
      from (${fewRows(sql, told, sql`n int, id text, epoch bigint, phase int, phase_offset bigint`)}) t
      group by n, id, epoch
    ),
    me as materialized (
      select a.n, ${runnerColumns(sql, settings)}
      from asked a join runners r on r.id = a.runner_id
      where ${isFresh(sql)}
      order by r.id for no key update of r
    ),
    held as materialized (
      select a.n, x.work_id as id, x.epoch, w.state, w.team_id, w.cancel_requested_at is not null as cancel, ${deadline(sql, settings)} as deadline_at,
        w.phase as was, ${reported} as reported, coalesce(a.phase_offset, w.log_offset) as phase_offset
      from (select t.*, m.id as runner_id from told t join me m on m.n = t.n and m.current order by t.id) a
        ${openLease(sql)} join work_items w on w.id = x.work_id
      where x.expires_at > clock_timestamp()
    ),
    renewed as (
      update work_leases x set ${contact(sql, settings, sql`not h.cancel`)}
      from held h where x.work_id = h.id and x.epoch = h.epoch
    ),
    begun as (
      update work_items w set ${begun(sql, sql`true`)}, phase = greatest(w.phase, h.reported)
      from held h
      where w.id = h.id and w.epoch = h.epoch and not h.cancel and (h.state = 'offered' or h.reported > h.was)
    ),
    ${reportsPhases ? sql`${enterPhases(sql)},` : sql``}
    ${noteRunners(sql)}
    select a.n, ${freshness(sql)}, me.id,
      me.revoked, me.current, me.draining, me.paused, me.flagged, me.outdated, me.upgradable, me.diagnostics_wanted,
      coalesce((select v.revision from host_revisions v where v.runner_id = me.id), 0) as "hostRevision",
      coalesce(h.renewed, '{}') as renewed, coalesce(h.cancelled, '{}') as cancelled
    from asked a left join me on me.n = a.n left join (
      select n, array_agg(id || ' ' || epoch) filter (where not cancel) as renewed, array_agg(id || ' ' || epoch) filter (where cancel) as cancelled
      from held group by n
    ) h on h.n = a.n
    order by a.n`;
}
